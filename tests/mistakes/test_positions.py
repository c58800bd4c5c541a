"""Mistakes in rotary positions: each is what it says, and is found at its step and by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.check.judge import judge
from blockcalc.check.reasons.diagnosis import Diagnosis
from blockcalc.messages import say
from blockcalc.mistakes.alternative import Block, Mistake
from blockcalc.mistakes.attention import positions
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.table import MISTAKES
from tests.mistakes.made import block_of, close, made, one
from tests.mistakes.rates import found_rate
from tests.mistakes.wrong_answers import as_answers, one_quick, values_under

RNG = np.random.RandomState(3)
X, W, WK = (RNG.randint(-9, 10, size=s) / 10 for s in ((3, 8), (8, 8), (8, 8)))
HALF = [0, 1], [2, 3]  # first and second column of each pair
NEAR = [0, 2], [1, 3]
M = np.array([2.0, 3.0, 4.0])


def rotated(x: Any, m: Any, freqs: Any, pairs: Any = HALF) -> Any:
    """Turn pairs of columns as complex numbers."""
    first, second = pairs
    z = (x[:, first] + 1j * x[:, second]) * np.exp(1j * np.outer(m, freqs))
    out = x.copy()
    out[:, first], out[:, second] = z.real, z.imag
    return out


def block(style: str = "half", start: int = 2, **rope: Any) -> Block:
    return block_of(
        {
            "x": X.tolist(),
            "attn": {
                "w_q": W.tolist(),
                "w_k": WK.tolist(),
                "w_v": np.eye(8).tolist(),
                "n_heads": 2,
                "rope": {"theta": 100.0, "style": style, "start": start, **rope},
            },
        }
    )


def heads(w: Any = W) -> tuple[Any, Any]:
    q = X @ w
    return q[:, :4], q[:, 4:]


def both(m: Any = M, freqs: Any = (1.0, 0.1), pairs: Any = HALF) -> Any:
    """Give q_rope as it should be, or with another part."""
    return np.stack([rotated(q, m, freqs, pairs) for q in heads()])


def test_the_rotation_itself() -> None:
    assert close(block().trace["q_rope"], both())
    assert close(block("interleaved").trace["q_rope"], both(pairs=NEAR))


def test_missing() -> None:
    assert close(one(block(), "rope_missing", "q_rope"), np.stack(heads()))
    assert close(one(block(), "rope_missing", "k_rope"), np.stack(heads(WK)))


def test_other_pairing() -> None:
    assert close(one(block(), "rope_other_pairing", "q_rope"), both(pairs=NEAR))
    assert close(one(block("interleaved"), "rope_other_pairing", "q_rope"), both(pairs=HALF))
    assert not made(block(dims=2), "rope_other_pairing", "q_rope")  # one pair is both styles


def test_mixed_pairing() -> None:
    q = heads()[0]
    angles = np.outer(M, [1.0, 0.1])
    near = np.repeat(angles, 2, axis=1)  # each angle twice in turn, the columns in halves
    turned = np.concatenate([-q[:, 2:], q[:, :2]], axis=1)
    pairs = say("form.pairs.half")
    found = one(block(), "rope_mixed_pairing", "q_rope", pairs=pairs)[0]
    assert close(found, q * np.cos(near) + turned * np.sin(near))
    half = np.concatenate([angles, angles], axis=1)  # all angles twice, the columns as neighbours
    turned = np.stack([-q[:, 1], q[:, 0], -q[:, 3], q[:, 2]], axis=1)
    pairs = say("form.pairs.near")
    found = one(block("interleaved"), "rope_mixed_pairing", "q_rope", pairs=pairs)[0]
    assert close(found, q * np.cos(half) + turned * np.sin(half))


def test_off_by_one() -> None:
    own = block()
    assert close(one(own, "rope_off_by_one", "q_rope", m="m + 1"), both(M + 1))
    assert close(one(own, "rope_off_by_one", "q_rope", m="m - 1"), both(M - 1))
    assert close(one(own, "rope_off_by_one", "scores", m="m + 1"), own.trace["scores"])


def test_positions_differ() -> None:
    own, words = block(), {"m": "m + 1", "part": "Q"}
    assert close(one(own, "rope_positions_differ", "q_rope", **words), both(M + 1))
    assert close(one(own, "rope_positions_differ", "k_rope", **words), own.trace["k_rope"])
    assert not close(one(own, "rope_positions_differ", "scores", **words), own.trace["scores"])


@pytest.mark.parametrize("form", ["2", "4", "float64", "bfloat16"])
def test_other_positions_for_both_are_another_way(form: str) -> None:
    own = block()
    catalogue = Catalogue(own, list(positions.MISTAKES))
    for name, verdict in (("rope_off_by_one", "equivalent"), ("rope_positions_differ", "wrong")):
        change = next(iter(MISTAKES[name].alternatives(own)))
        answers = as_answers(values_under(own, change, form), form)
        steps = Diagnosis(judge(own.trace, answers), catalogue).judgement.steps
        assert steps["attn.q_rope"].verdict == verdict


def test_position_zero() -> None:
    start = say("form.zero.start", start=2)
    assert close(one(block(), "rope_position_zero", "q_rope", positions=start), both(M - 2))
    every = say("form.zero.all")
    assert close(one(block(), "rope_position_zero", "q_rope", positions=every), np.stack(heads()))
    assert len(made(block(start=0), "rope_position_zero", "q_rope")) == 1


def test_heads_as_positions() -> None:
    right = np.stack([rotated(q, [2.0 + h] * 3, (1.0, 0.1)) for h, q in enumerate(heads())])
    assert close(one(block(), "rope_heads_as_positions", "q_rope"), right)


def test_sign() -> None:
    back = say("form.sign.back")
    for found in made(block(), "rope_sign", "q_rope", sign=back):
        assert close(found, both(-M))
    sin = np.sin(np.outer(M, [1.0, 0.1]))
    assert any(close(v, -sin) for v in made(block(), "rope_sign", "rope.sin", sign=back))
    q = heads()[0]
    cos = np.cos(np.outer(M, [1.0, 0.1]))
    a, b = q[:, :2], q[:, 2:]
    right = np.concatenate([a * cos + b * sin, b * cos + a * sin], axis=1)
    assert close(one(block(), "rope_sign", "q_rope", sign=say("form.sign.none"))[0], right)


def test_theta() -> None:
    for theta in (10000, 1000000):
        right = both(freqs=(1.0, theta**-0.5))
        assert close(one(block(), "rope_theta", "q_rope", theta=str(theta)), right)
    assert not made(block(), "rope_theta", "q_rope", theta="100")
    assert not made(block(dims=2), "rope_theta", "q_rope")  # the first angle per step is 1


def test_frequencies() -> None:
    own = block()
    for power, freqs in {
        "2i / d": (1.0, 10.0),
        "-2(i + 1) / d": (0.1, 0.01),
        "-i / d": (1.0, 100**-0.25),
        "-2i / d_model": (1.0, 100**-0.25),
    }.items():
        found = made(own, "rope_frequencies", "q_rope", power=power)
        assert all(close(v, both(freqs=freqs)) for v in found)
    assert close(one(own, "rope_frequencies", "rope.angles"), np.outer(M, [1.0, 10.0]))


def test_q_only() -> None:
    own = block()
    assert close(one(own, "rope_q_only", "q_rope", part="K"), np.stack(heads()))
    assert close(one(own, "rope_q_only", "k_rope", part="K"), own.trace["k_rope"])
    assert close(one(own, "rope_q_only", "k_rope", part="Q"), np.stack(heads(WK)))


def test_wrong_slice() -> None:
    q = heads()[0]
    own = block(dims=2)
    last = one(own, "rope_wrong_slice", "q_rope", columns=say("form.slice.last"))[0]
    assert close(last, rotated(q, M, (1.0,), ([2], [3])))
    every = one(own, "rope_wrong_slice", "q_rope", columns=say("form.slice.all"))
    assert close(every, both())
    half = one(block(), "rope_wrong_slice", "q_rope", columns=say("form.slice.half"))[0]
    assert close(half, rotated(q, M, (1.0,), ([0], [1])))
    row = one(block(), "rope_wrong_slice", "q_rope", columns=say("form.slice.heads"))
    freqs = 100 ** (-np.arange(4) / 4)
    wide = rotated(X @ W, M, freqs, ([0, 1, 2, 3], [4, 5, 6, 7]))
    assert close(row, np.stack([wide[:, :4], wide[:, 4:]]))


@pytest.mark.parametrize("stop", ["attn.rope.angles", "attn.rope.cos", "attn.q_rope", "attn.q"])
def test_a_block_that_stops_early(stop: str) -> None:
    own = block()
    data = {"x": X.tolist(), "stop": stop, "attn": {"w_q": W.tolist(), "w_k": WK.tolist(),
            "w_v": np.eye(8).tolist(), "n_heads": 2, "rope": {"theta": 100.0}}}  # fmt: skip
    own = block_of(data)
    for mistake in positions.MISTAKES:
        for change in mistake.alternatives(own):
            assert change.equations
    if stop == "attn.rope.angles":
        angles = np.outer([0, 1, 2], [1.0, 0.01])
        assert close(one(own, "rope_theta", "rope.angles", theta="10000"), angles)


def test_no_positions_no_mistakes() -> None:
    own = block_of({"x": [[1, 2]], "attn": {"out": [[0, 1]]}})
    assert not any(list(m.alternatives(own)) for m in positions.MISTAKES)


@pytest.mark.parametrize("mistake", one_quick(positions.MISTAKES), ids=lambda m: m.name)
def test_it_is_found(mistake: Mistake) -> None:
    shown, told, missed = found_rate(mistake, seed=1, blocks=2, forms=("4",), rope=True)
    assert shown
    assert told == shown, missed
