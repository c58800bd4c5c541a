"""Verdicts: what half a unit, a format and a chosen tolerance allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.answers.answer import Answer, Answers, written
from blockcalc.check.judge import FOLLOWS, RIGHT, ROUNDED, TRIVIAL, Tolerance, judge
from blockcalc.mistakes.alternative import Block
from blockcalc.program.bounds import NUMBERS
from tests.check.helpers import (
    SMALL,
    check_arrays,
    check_block,
    check_text,
    made,
    right,
    small,
    verdicts,
)
from tests.check.honest import DUMPS, WRITTEN, alarms, diagnosed, kept, stepwise, stored
from tests.mistakes.wrong_answers import blocks
from tests.recorded import CASES, as_data, our_name

SEEDS = (11, 12)


@pytest.mark.parametrize("form", DUMPS)
def test_a_run_in_a_format_has_nothing_wrong(form: str) -> None:
    for block in blocks(SEEDS[0], 12):
        assert not list(alarms(diagnosed(block, stored(block, form)).judgement))


@pytest.mark.parametrize("form", ["bfloat16", "float32"])
def test_a_backward_pass_in_a_format_has_nothing_wrong(form: str) -> None:
    for block in blocks(SEEDS[1], 3, backward=True):
        assert not list(alarms(diagnosed(block, stored(block, form)).judgement))


@pytest.mark.parametrize("form", DUMPS)
@pytest.mark.slow
def test_a_run_in_float64_that_is_cast_has_nothing_wrong(form: str) -> None:
    for block in blocks(SEEDS[1], 8):
        cast = {n: Answer(n, NUMBERS[form](a.values), a.judged, a.half, form) for n, a in kept(block, "float64").items()}  # fmt: skip
        assert not list(alarms(diagnosed(block, cast).judgement))


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("way", [kept, stepwise])
@pytest.mark.slow
def test_rounded_numbers_have_nothing_wrong(form: str, way: Any) -> None:
    for block in blocks(SEEDS[0], 8):
        assert not list(alarms(diagnosed(block, way(block, form)).judgement))


@pytest.mark.parametrize("form", ["3", "bfloat16", "float32"])
@pytest.mark.slow
def test_any_subset_of_right_steps_has_nothing_wrong(form: str) -> None:
    rng = np.random.RandomState(3)
    for block in blocks(SEEDS[0], 8):
        whole = stored(block, form, kernels=True) if form in DUMPS else kept(block, form)
        some = {name: a for name, a in whole.items() if rng.rand() < 0.3}
        assert not list(alarms(diagnosed(block, some).judgement))


@pytest.mark.slow
@pytest.mark.parametrize("form", DUMPS)
@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
@pytest.mark.slow
def test_the_numbers_of_the_frameworks(path: Path, form: str) -> None:
    with np.load(path) as z:
        block = made(_plain(as_data(path.stem, z)))
        given = {
            our_name(path.stem, key.removeprefix("i.")): NUMBERS[form](z[key])
            for key in z.files
            if key.startswith("i.")
        }
    checked = check_arrays(block, given, form)
    wrong = {n: v for n, v in verdicts(checked).items() if v not in (RIGHT, ROUNDED)}
    assert not wrong
    assert checked.ok
    assert len(checked.steps) > 20


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    return data.tolist() if isinstance(data, np.ndarray) else data


# one number ------------------------------------------------------------------------------------


LINE = {"x": [[1, 2, 4]], "attn": {"out": [[0.125, 0.0, 1e-310]]}, "stop": "residual1"}


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ("[[1.125, 2, 4]]", "right"),
        ("[[1.12, 2, 4]]", "rounded"),  # half a unit off
        ("[[1.13, 2.0, 4]]", "rounded"),  # half a unit off, on the other side
        ("[[1.11, 2, 4]]", "wrong"),
        ("[[1.1250000001, 2, 4]]", "wrong"),
        ("[[1.12500000000000001, 2, 4]]", "right"),
        ("[[1, 2, 4]]", "wrong"),  # a whole number is exact
        ("[[9/8, 2, 4]]", "right"),
        ("[[10/9, 2, 4]]", "wrong"),
        ("[[?, 2, 4.0]]", "right"),
        ("[[1.125, 2, -4]]", "wrong"),
        ("[1.125, 2, 4]", "right"),  # an axis of length 1 may be left out
        ("[[[1.125, 2, 4]]]", "right"),
        ("[[nan, 2, 4]]", "wrong"),
        ("[[inf, 2, 4]]", "wrong"),
    ],
)
def test_a_number_is_right_to_half_a_unit(given: str, verdict: str) -> None:
    assert verdicts(check_text(made(LINE), f"residual1: {given}"))["residual1"] == verdict


def test_minus_zero_is_zero() -> None:
    block = made({"x": [[1, 2]], "attn": {"out": [[-1, -2]]}, "stop": "residual1"})
    assert verdicts(check_text(block, "residual1: [[-0.0, -0]]")) == {"residual1": RIGHT}
    for form in DUMPS:
        zeros = check_arrays(block, {"residual1": np.array([[-0.0, 0.0]])}, form)
        assert verdicts(zeros) == {"residual1": RIGHT}


@pytest.mark.parametrize("form", ["float32", "bfloat16", "float16"])
def test_a_subnormal_may_be_lost(form: str) -> None:
    tiny = NUMBERS[form].tiny
    block = made({"x": [[0.4 * tiny, 1]], "attn": {"out": [[0, 0]]}, "stop": "residual1"})
    for number, verdict in ((0.0, ROUNDED), (3 * tiny, "wrong")):
        checked = check_arrays(block, {"residual1": np.array([[number, 1.0]])}, form)
        assert verdicts(checked)["residual1"] == verdict


@pytest.mark.parametrize("form", ["float32", "bfloat16", "float16"])
def test_a_few_units_are_more_than_one_step_can_do(form: str) -> None:
    block = made({"x": [[1.0, 1.5]], "attn": {"out": [[0.25, 0.75]]}, "stop": "residual1"})
    unit = NUMBERS[form].unit
    for by, verdict in ((0, RIGHT), (4, "wrong"), (-4, "wrong")):
        given = np.array([[1.25 + by * unit, 2.25]])
        checked = check_arrays(block, {"residual1": given}, form)
        assert verdicts(checked)["residual1"] == verdict
        assert checked.steps["residual1"].bad.sum() == (verdict == "wrong")


@pytest.mark.parametrize(
    ("tolerance", "verdict"),
    [
        (None, "wrong"),
        (Tolerance(0.02), ROUNDED),
        (Tolerance(0.009), "wrong"),
        (Tolerance(0.0, 0.01), ROUNDED),
        (Tolerance(0.0, 0.001), "wrong"),
    ],
)
def test_a_chosen_tolerance(tolerance: Tolerance | None, verdict: str) -> None:
    checked = check_text(made(LINE), "residual1: [[1.135, 2, 4]]", tolerance)
    assert verdicts(checked)["residual1"] == verdict


# carried forward ---------------------------------------------------------------------------------


def test_what_follows_from_a_wrong_step_is_no_second_mistake() -> None:
    values = right(small())
    values["attn.scores"][1, 2] += 1
    later = check_arrays(small(), {"attn.scores": values["attn.scores"]})
    for name, own in later.judgement.carried.carried.items():
        if name in values:
            values[name] = own.numbers
    found = verdicts(check_arrays(small(), values))
    assert found["attn.scores"] == "wrong"
    assert {found[n] for n in ("attn.q", "attn.k", "attn.v")} == {RIGHT}
    assert {found[n] for n in ("attn.scaled", "attn.weights", "attn.z", "norm2")} == {FOLLOWS}


def test_a_second_mistake_is_wrong_again() -> None:
    values = right(small())
    values["attn.scores"] += 1e-3 * np.arange(9).reshape(3, 3)
    values["ffn.pre"] += 0.1
    found = check_arrays(small(), values)
    assert [own.step for own in found.wrong][:1] == ["attn.scores"]
    assert "ffn.pre" in [own.step for own in found.wrong]


def test_a_step_right_by_accident_needs_no_carrying() -> None:
    values = right(small())
    values["attn.scores"] = values["attn.scores"] + 1  # the softmax of a row does not see it
    found = verdicts(check_arrays(small(), {k: values[k] for k in ("attn.scores", "attn.weights")}))
    assert found["attn.scores"] == "wrong"
    assert found["attn.weights"] in (RIGHT, ROUNDED)


@pytest.mark.parametrize(
    ("wrong", "then"),
    [
        ({"attn.q": np.zeros((3, 3))}, {"attn.scores": np.zeros((3, 3))}),
        ({"residual1": np.ones((3, 3))}, {"norm1": np.zeros((3, 3))}),
        ({"ffn.act": np.zeros((3, 4))}, {"ffn.out": np.zeros((3, 3))}),
    ],
)
def test_no_credit_where_earlier_numbers_make_a_step_trivial(wrong: Any, then: Any) -> None:
    found = check_arrays(small(), {**wrong, **then})
    (step,) = then
    assert verdicts(found)[step] == TRIVIAL
    assert found.score() == (0, 2)
    assert not found.ok


def test_all_masked_by_mistake_is_trivial() -> None:
    block = made({**small_data(), "attn": {**small_data()["attn"], "causal": True}})
    masked = np.full((3, 3), -np.inf)
    found = check_arrays(block, {"attn.masked": masked, "attn.weights": np.zeros((3, 3))})
    assert verdicts(found) == {"attn.masked": "wrong", "attn.weights": TRIVIAL}


def small_data() -> dict[str, Any]:
    """Give the data of the small block."""
    return SMALL


# sums --------------------------------------------------------------------------------------------


def partial(block: Block, name: str, total: float, by: float = 0.0) -> Answers:
    """Give the first and the last cell of a step, and the sum of all, as llama.cpp prints them."""
    numbers = np.round(np.array(block.trace[name]), 4)
    judged = np.zeros(numbers.shape, dtype=bool)
    judged[0, 0] = judged[-1, -1] = True
    numbers[~judged] = 0
    numbers[0, 0] += by
    answer = written(name, numbers, 5e-5, judged, total=(total, 5e-7))
    return Answers("log", (answer,), dump=True)


def test_the_sum_over_all_cells_is_judged() -> None:
    block = small()
    true = float(np.sum(block.trace["attn.weights"]))
    good = check_block(block, partial(block, "attn.weights", round(true, 6)))
    assert good.ok
    off = check_block(block, partial(block, "attn.weights", round(true + 0.01, 6)))
    own = off.steps["attn.weights"]
    assert own.verdict == "wrong"
    assert not own.bad.any()
    assert own.total is not None
    assert own.total.bad
    assert off.judgement.first_wrong == "attn.weights"
    assert not off.ok


def test_the_sum_follows_from_earlier_numbers() -> None:
    block = small()
    scores = right(block)["attn.scores"] + np.arange(3)
    first = written("attn.scores", scores, 0.0)
    own = check_block(block, Answers("log", (first,), dump=True)).judgement.carried.own
    z = own["attn.z"].numbers
    judged = np.zeros(z.shape, dtype=bool)
    judged[0, 0] = True
    second = written("attn.z", z.round(4), 5e-5, judged, total=(round(float(z.sum()), 6), 5e-7))
    found = check_block(block, Answers("log", (first, second), dump=True))
    assert verdicts(found) == {"attn.scores": "wrong", "attn.z": FOLLOWS}


def test_a_sum_of_nan_and_infinity() -> None:
    data = small_data()
    block = made({**data, "attn": {**data["attn"], "causal": True}})
    assert check_block(block, partial_infinite(block, -np.inf)).ok
    assert not check_block(block, partial_infinite(block, np.nan)).ok
    assert not check_block(block, partial_infinite(block, 1.0)).ok


def partial_infinite(block: Block, total: float) -> Answers:
    numbers = np.array(block.trace["attn.masked"])
    judged = np.zeros(numbers.shape, dtype=bool)
    judged[0] = True
    answer = written("attn.masked", numbers, 5e-5, judged, total=(total, 0.0))
    return Answers("log", (answer,), dump=True)


# nan and infinity --------------------------------------------------------------------------------


def test_the_first_infinity_is_named() -> None:
    values = right(small())
    values["attn.weights.exp"][1, 1] = np.inf
    values["attn.weights"][1] = np.nan
    found = check_arrays(small(), values)
    assert found.judgement.infinite == "attn.weights.exp"
    assert "attn.weights" in found.steps


def test_minus_infinity_of_a_mask_is_right() -> None:
    data = small_data()
    block = made({**data, "attn": {**data["attn"], "causal": True}})
    found = check_arrays(block, {"attn.masked": block.trace["attn.masked"]})
    assert found.judgement.infinite is None
    assert found.ok


def test_a_block_worked_with_rounding_is_judged_so() -> None:
    block = made({**small_data(), "round": {"decimals": 2}})
    values = right(block)
    text = "\n".join(f"{n}: {np.round(v, 2).tolist()}" for n, v in values.items())
    found = check_text(block, text)
    assert set(verdicts(found).values()) <= {RIGHT, ROUNDED}
    exact = blockcalc.run(blockcalc.load(small_data()))
    answers = {"norm2": written("norm2", exact["norm2"], read_as="float64")}
    assert judge(block.trace, answers).first_wrong == "norm2"
