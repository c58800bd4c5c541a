"""Mistakes in linear layers, the FFN and dropout: their numbers, and that they are found."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np
import pytest

from blockcalc import run
from blockcalc.messages import say
from blockcalc.mistakes import layers
from blockcalc.mistakes.alternative import Block, Mistake
from tests.mistakes.made import block_of, close, made, one
from tests.mistakes.rates import found_rate
from tests.mistakes.wrong_answers import Rng, one_quick, random_data

RNG = np.random.RandomState(5)


def tenths(*shape: int) -> Any:
    return RNG.randint(-9, 10, size=shape) / 10


X, WQ, WO, W1, W2 = tenths(3, 2), tenths(2, 2), tenths(2, 2), tenths(2, 4), tenths(4, 2)
B1, B2, BO = tenths(4) + 0.05, tenths(2) + 0.05, tenths(2) + 0.05
GATE, UP, DOWN = tenths(2, 4), tenths(2, 4), tenths(4, 2)
ATTN = {"w_q": WQ.tolist(), "w_k": WQ.tolist(), "w_v": WQ.tolist(), "w_o": WO.tolist()}


def block(activation: str = "relu", attn: Any = None, **data: Any) -> Block:
    ffn = {"w_1": W1, "b_1": B1, "w_2": W2, "b_2": B2}
    own = {key: array.tolist() for key, array in ffn.items()} | {"activation": activation}
    return block_of({"x": X.tolist(), "attn": attn or ATTN, "ffn": own, **data})


def gated(activation: str = "silu", **ffn: Any) -> Block:
    own = {"w_gate": GATE.tolist(), "w_up": UP.tolist(), "w_down": DOWN.tolist(), **ffn}
    return block_of({"x": X.tolist(), "attn": ATTN, "ffn": own | {"activation": activation}})


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def test_weight_transposed() -> None:
    own = block()
    assert close(one(own, "weight_transposed", "attn.q", which="W_Q"), X @ WQ.T)
    z = own.trace["z"]
    assert close(one(own, "weight_transposed", "attn.out", which="W_O"), z @ WO.T)
    every = one(own, "weight_transposed", "attn.q", which="W_Q, W_K, W_V, W_O")
    assert close(every, X @ WQ.T)
    assert not made(own, "weight_transposed", "ffn.pre", which="W_1")  # not square
    assert not made(block(attn={**ATTN, "w_q": [[1, 2], [2, 3]]}), "weight_transposed", "q", which="W_Q")  # fmt: skip
    turned = block_of({"x": X.tolist(), "weight_layout": "out_in", "attn": ATTN})
    assert close(one(turned, "weight_transposed", "attn.q", which="W_Q"), X @ WQ)


def test_biases() -> None:
    own = block()
    norm1 = own.trace["norm1"]
    assert close(one(own, "bias_missing", "ffn.pre", which="b_1"), norm1 @ W1)
    assert close(one(own, "bias_twice", "ffn.pre", which="b_1"), norm1 @ W1 + 2 * B1)
    act = np.maximum(norm1 @ W1, 0)
    assert close(one(own, "bias_missing", "ffn.out", which="b_1, b_2"), act @ W2)
    assert close(one(own, "bias_missing", "ffn.out", which="b_1"), act @ W2 + B2)


def test_w_o_missing() -> None:
    own = block(attn={**ATTN, "b_o": BO.tolist()})
    z = own.trace["z"]
    assert close(one(own, "w_o_missing", "attn.out", of="all"), z)
    assert close(one(own, "w_o_missing", "attn.out", of="weight"), z + BO)
    assert not made(block(attn={**ATTN, "w_o": [[1, 0], [0, 1]]}), "w_o_missing", "attn.out")


def test_activation_missing() -> None:
    own = block()
    pre = own.trace["norm1"] @ W1 + B1
    assert close(one(own, "activation_missing", "ffn.act"), pre)
    gate = gated()
    assert close(one(gate, "activation_missing", "gate_act"), gate.trace["norm1"] @ GATE)
    assert not made(block("identity"), "activation_missing", "ffn.act")


def test_activation_late() -> None:
    own = block()
    pre = own.trace["norm1"] @ W1 + B1
    where = say("form.late.out")
    late = one(own, "activation_late", "ffn.out", where=where)
    assert close(late, np.maximum(pre @ W2 + B2, 0))
    again = one(own, "activation_late", "ffn.out", where=say("form.late.again", where=where))
    assert close(again, np.maximum(np.maximum(pre, 0) @ W2 + B2, 0))
    gate = gated()
    x = gate.trace["norm1"]
    product = one(gate, "activation_late", "ffn.gated", where=say("form.late.gated"))
    assert close(product, silu((x @ GATE) * (x @ UP)))


def test_other_activations() -> None:
    own = block("gelu")
    pre = own.trace["norm1"] @ W1 + B1
    tanh = 0.5 * pre * (1 + np.tanh(np.sqrt(2 / np.pi) * (pre + 0.044715 * pre**3)))
    assert close(one(own, "gelu_other_form", "ffn.act", activation="GELU_tanh"), tanh)
    quick = pre / (1 + np.exp(-1.702 * pre))
    assert close(one(own, "gelu_other_form", "ffn.act", activation="QuickGELU"), quick)
    assert close(one(own, "activation_other", "ffn.act", activation="SiLU"), silu(pre))
    assert not made(own, "activation_other", "ffn.act", activation="GELU_tanh")
    relu = block()
    exact = np.vectorize(lambda u: u * (1 + erf(u / 2**0.5)) / 2)(pre)
    assert close(one(relu, "activation_other", "ffn.act", activation="GELU"), exact)
    assert not made(relu, "gelu_other_form", "ffn.act")


def test_gate_and_up() -> None:
    own = gated()
    x = own.trace["norm1"]
    a, b = x @ GATE, x @ UP
    assert close(one(own, "gate_up_exchanged", "ffn.gate", by="weights"), b)
    assert close(one(own, "gate_up_exchanged", "ffn.up", by="weights"), a)
    for by in ("weights", "activation"):
        assert close(one(own, "gate_up_exchanged", "ffn.gated", by=by), silu(b) * a)
    assert close(one(own, "gate_up_exchanged", "gate_act", by="activation"), silu(b))


@pytest.mark.parametrize("out_in", [False, True])
def test_gate_and_up_interleaved(out_in: bool) -> None:
    b_gate, b_up = tenths(4), tenths(4)
    weights = {"w_gate": GATE, "w_up": UP, "w_down": DOWN}
    ffn = {key: (w.T if out_in else w).tolist() for key, w in weights.items()}
    ffn |= {"b_gate": b_gate.tolist(), "b_up": b_up.tolist()}
    layout = "out_in" if out_in else "in_out"
    own = block_of({"x": X.tolist(), "attn": ATTN, "weight_layout": layout, "ffn": ffn})
    x = own.trace["norm1"]
    second, half = say("form.gate.second"), say("form.gate.half")
    side = np.hstack([x @ GATE + b_gate, x @ UP + b_up])
    assert close(one(own, "gate_up_interleaved", "ffn.gate", columns=second), side[:, 0::2])
    assert close(one(own, "gate_up_interleaved", "ffn.up", columns=second), side[:, 1::2])
    mixed = side.reshape(3, 2, 4).swapaxes(1, 2).reshape(3, 8)
    assert close(one(own, "gate_up_interleaved", "ffn.gate", columns=half), mixed[:, :4])


KEEP = [[1, 0], [0, 1], [1, 1]]


def dropped(training: bool, **more: Any) -> Block:
    dropout = {"p": 0.2, "at": ["attn.out"], "training": training, "keep": {"attn.out": KEEP}}
    return block(dropout={**dropout, **more})


def test_dropout_on_and_off() -> None:
    on = dropped(True)
    out = on.trace["attn.out"]
    assert close(one(on, "dropout_on", "out_dropped"), out)
    off = dropped(False)
    assert close(one(off, "dropout_on", "residual1"), X + out * KEEP / 0.8)
    assert not made(block(dropout=0.2), "dropout_on", "residual1")  # no pattern is known


def test_dropout_on_by_a_seed() -> None:
    off = block(dropout={"p": 0.2, "at": ["attn.out"], "seed": 3})
    keep = np.random.RandomState(3).random_sample((3, 2)) >= 0.2
    right = X + off.trace["attn.out"] * keep / 0.8
    assert close(one(off, "dropout_on", "residual1"), right)


@pytest.mark.parametrize("stack", [False, True])
@pytest.mark.parametrize("gate", [False, True])
def test_dropout_on_is_training(stack: bool, gate: bool) -> None:
    data = random_data(Rng(6), dropout=0.4, training=False, stack=stack, gated=gate)
    on = run({**data, "dropout": {**data["dropout"], "training": True}})
    assert close(one(block_of(data), "dropout_on", "out"), on["out"])
    assert not close(run(data)["out"], on["out"])


def test_dropout_of_shifted_scores() -> None:
    """A run that shifts its scores is no mistake."""
    off = block(
        attn={**ATTN, "w_q": (WQ * 9000).tolist()},
        dropout={"p": 0.2, "at": ["attn.out"], "seed": 3},
    )
    assert off.program.refs().keys() >= {"attn.weights.max"}
    (change,) = layers.MISTAKES[-3].alternatives(off)
    assert not any("weights" in eq.out.name for eq in change.equations)


def test_dropout_scaled() -> None:
    on = dropped(True)
    out, keep = on.trace["attn.out"], np.array(KEEP)
    none = one(on, "dropout_not_rescaled", "out_dropped", by=say("form.dropout.none"))
    assert close(none, out * keep)
    by_p = one(on, "dropout_not_rescaled", "out_dropped", by=say("form.dropout.p"))
    assert close(by_p, out * keep / 0.2)
    assert close(one(on, "dropout_pattern_inverted", "out_dropped"), out * (1 - keep) / 0.8)


@pytest.mark.parametrize("stop", ["attn.q", "attn.out", "residual1", "ffn.pre", "ffn.act"])
def test_a_block_that_stops_early(stop: str) -> None:
    own = block(stop=stop)
    for mistake in layers.MISTAKES:
        for change in mistake.alternatives(own):
            assert change.equations
    assert bool(made(own, "activation_missing", stop)) == (stop == "ffn.act")


def test_a_block_without_an_ffn() -> None:
    own = block_of({"x": [[1, 2]], "attn": {"out": [[0, 1]]}})
    assert not any(list(m.alternatives(own)) for m in layers.MISTAKES)


FIXED: dict[str, dict[str, Any]] = {
    "bias_missing": {"bias": True},
    "bias_twice": {"bias": True},
    "w_o_missing": {"w_o": True},
    "gelu_other_form": {"activation": "gelu"},
    "gate_up_exchanged": {"gated": True},
    "gate_up_interleaved": {"gated": True},
    "dropout_on": {"dropout": 0.4, "training": False},
    "dropout_not_rescaled": {"dropout": 0.4},
    "dropout_pattern_inverted": {"dropout": 0.4},
}


@pytest.mark.parametrize("mistake", one_quick(layers.MISTAKES), ids=lambda m: m.name)
def test_it_is_found(mistake: Mistake) -> None:
    fixed = FIXED.get(mistake.name, {})
    shown, told, missed = found_rate(mistake, seed=1, blocks=2, forms=("4",), **fixed)
    assert shown
    assert told == shown, missed
