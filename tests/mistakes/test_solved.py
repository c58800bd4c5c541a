"""Numbers of a mistake that are solved from what is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.answers.answer import Answers, written
from blockcalc.check.reasons.sentences import reasons_text
from blockcalc.ops.op import Array
from blockcalc.program.bounds import NUMBERS
from tests.check.helpers import check_arrays, check_block, check_text, made, verdicts

pytestmark = pytest.mark.slow

DRAW = np.random.RandomState(4)


def _matrix(*shape: int) -> Any:
    return np.round(DRAW.normal(size=shape) / np.sqrt(shape[0]), 3).tolist()


DATA: dict[str, Any] = {
    "x": np.round(DRAW.normal(size=(5, 8)), 3).tolist(),
    "norm": {"order": "pre", "eps": 1e-5},
    "attn": {
        "n_heads": 2,
        "causal": True,
        "rope": {"theta": 10000},
        **{f"w_{p}": _matrix(8, 8) for p in "qkvo"},
    },
    "ffn": {"w_1": _matrix(8, 12), "w_2": _matrix(12, 8)},
    "norm1": {"gamma": _matrix(8), "beta": _matrix(8)},
    "norm2": {},
}
BLOCK = made(DATA)
CAUSAL = np.tri(5, dtype=bool)
OTHER: dict[str, tuple[dict[str, Any], str, str]] = {
    "eps_other": ({"norm.eps": 0.07}, "eps", "0.07"),
    "scale_other": ({"attn.scale": 0.3}, "factor", "0.3"),
    "rope_theta": ({"attn.rope.theta": 777}, "theta", "777"),
}
STEPS = [
    ("eps_other", "norm1.std"),
    ("eps_other", "norm1.normalized"),
    ("eps_other", "norm1"),
    ("eps_other", "attn.q"),
    pytest.param("eps_other", "residual2", marks=pytest.mark.slow),
    ("scale_other", "attn.scaled"),
    ("scale_other", "attn.weights"),
    pytest.param("scale_other", "residual1", marks=pytest.mark.slow),
    ("rope_theta", "attn.q_rope"),
    ("rope_theta", "attn.weights"),
]


def other(name: str, dtype: str = "float32") -> dict[str, Array]:
    """Work the block with another number."""
    return dict(blockcalc.run(blockcalc.load(DATA, OTHER[name][0]), dtype=dtype))


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "step"), STEPS)
def test_the_number_is_told_at_its_step_and_after_it(name: str, step: str, dtype: str) -> None:
    found = check_arrays(BLOCK, {step: other(name, dtype)[step]}, dtype)
    _, word, value = OTHER[name]
    told = {r.names: r.words for r in found.reasons}
    assert found.first_wrong == step
    assert told[(name,)][word] == [value]


def test_numbers_with_few_digits_give_the_shortest_that_fits() -> None:
    rows = np.round(other("eps_other", "float64")["norm1"], 2).tolist()
    (reason,) = check_text(BLOCK, f"norm1: {rows}").reasons
    assert reason.names == ("eps_other",)
    assert 0.05 <= float(reason.words["eps"][0]) <= 0.09


def test_a_factor_that_is_no_short_decimal_is_found_to_its_digits() -> None:
    array = BLOCK.trace.arrays["attn.scores"] * np.pi / 10
    (reason,) = check_arrays(BLOCK, {"attn.scaled": array}).reasons
    assert float(reason.words["factor"][0]) == pytest.approx(np.pi / 10, rel=1e-6)


@pytest.mark.slow
def test_no_number_where_one_cell_does_not_agree() -> None:
    scaled = other("scale_other")["attn.scaled"].copy()
    scaled[1, 3, 2] *= 1.01
    found = check_arrays(BLOCK, {"attn.scaled": scaled}, "float32")
    assert found.first_wrong == "attn.scaled"
    assert not [r for r in found.reasons if "scale_other" in r.names]


@pytest.mark.slow
def test_no_number_where_half_and_double_fit_as_well() -> None:
    rows = np.round(np.array(BLOCK.trace.arrays["norm1.std"]), 1)
    rows[:2] += 0.1
    text = f"norm1.std: {rows[:2].round(1).tolist() + ['?'] * 3}".replace("'", "")
    assert not [r for r in check_text(BLOCK, text).reasons if "eps_other" in r.names]


def test_the_other_number_is_said_beside_the_own() -> None:
    found = check_arrays(BLOCK, {"norm1.std": other("eps_other")["norm1.std"]}, "float32")
    assert reasons_text(found, "norm1.std") == "these are the values with eps 0.07 instead of 1e-05"


@pytest.mark.parametrize("eps", ["0.002", "0.005", "0.01", "0.03", "0.5"])
def test_any_eps_is_found_wherever_the_search_begins(eps: str) -> None:
    own = blockcalc.run(blockcalc.load(DATA, {"norm.eps": eps}))["norm1.std"]
    (reason,) = check_arrays(BLOCK, {"norm1.std": own}).reasons
    assert reason.words["eps"] == [eps]


def test_one_eps_in_two_norms_is_named_in_the_same_form() -> None:
    own = blockcalc.run(blockcalc.load(DATA, {"norm.eps": 1e-6}), dtype="float64")
    found = check_arrays(BLOCK, {n: own[n] for n in ("norm1.var", "norm1", "norm2.var", "norm2")})
    assert {r.step: r.words["eps"] for r in found.reasons} == {
        "norm1": ["1e-06"],
        "norm2": ["1e-06"],
    }


def test_what_a_mistake_leads_to_through_cells_that_are_not_shown_follows() -> None:
    own = blockcalc.run(blockcalc.load(DATA, {"norm.eps": 0.07}))
    steps = ("norm1.normalized", "norm1", "attn.q", "attn.out", "residual1", "norm2.std", "norm2")
    given = []
    for step in steps:
        judged = np.zeros(own[step].shape, dtype=bool)
        judged[..., :2] = judged[..., -1:] = True
        given.append(written(step, own[step], judged=judged, read_as="float64"))
    found = check_block(BLOCK, Answers("a", tuple(given), dump=True))
    wrong = {name for name, verdict in verdicts(found).items() if verdict == "wrong"}
    assert wrong == {"norm1.normalized", "norm2.std"}
    assert {verdict for name, verdict in verdicts(found).items() if name not in wrong} == {
        "follows"
    }
    assert {r.step: r.words["eps"] for r in found.reasons} == {key: ["0.07"] for key in wrong}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", ["-3", "-10", "-12.5"])
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("step", ["attn.masked", "attn.weights"])
def test_any_number_for_minus_infinity_is_found(
    step: str, added: bool, number: str, dtype: str
) -> None:
    scaled = BLOCK.trace.arrays["attn.scaled"]
    masked = np.where(CAUSAL, scaled, float(number) + (scaled if added else 0))
    e = np.exp(masked - masked.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    own = {"attn.scaled": scaled, "attn.masked": masked, "attn.weights": weights}
    given = {"attn.scaled": scaled.astype(dtype), step: own[step].astype(dtype)}
    found = check_arrays(BLOCK, given, dtype)
    assert found.first_wrong == step
    (reason,) = found.reasons
    assert reason.names == ("mask_finite",)
    assert reason.words["number"] == [f"S − {number[1:]}" if added else number]


def test_another_eps_across_the_root_is_found() -> None:
    own = dict(blockcalc.run(blockcalc.load(DATA, {"norm.eps": 0.07, "norm.eps_place": "outside"})))
    found = check_arrays(BLOCK, {"norm1.std": own["norm1.std"]})
    assert [r.names for r in found.reasons] == [("eps_outside_other",)]
    assert found.reasons[0].words["eps"] == ["0.07"]


def test_the_sample_variance_and_eps_across_the_root_are_told_together() -> None:
    data = {**DATA, "norm": {"order": "pre", "eps": 1e-3}}
    x = np.array(data["x"])
    std = x.std(axis=-1, ddof=1, keepdims=True) + 1e-6
    found = check_arrays(made(data), {"norm1.normalized": (x - x.mean(-1, keepdims=True)) / std})
    assert {frozenset(r.names) for r in found.reasons} >= {
        frozenset({"variance_sample", "eps_outside_other"})
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_mask_of_a_small_number_is_no_other_way_to_the_result(dtype: str) -> None:
    right = blockcalc.run(blockcalc.load(DATA), dtype="float64")
    masked = np.where(CAUSAL, right["attn.scaled"], -5.0)
    e = np.exp(masked - masked.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    heads = weights @ right["attn.v_heads"]
    given = {
        "attn.scaled": right["attn.scaled"],
        "attn.masked": masked,
        "attn.weights": weights,
        "attn.z": heads,
    }
    stored = {name: NUMBERS[dtype](np.asarray(a, dtype=np.float64)) for name, a in given.items()}
    found = check_arrays(BLOCK, stored, dtype)
    assert verdicts(found)["attn.masked"] == "wrong"
    assert verdicts(found)["attn.weights"] == "follows"
    assert not found.ok
