"""Which reasons are reported of a wrong step."""

from __future__ import annotations

import numpy as np
import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.table import MISTAKES
from blockcalc.program.rounding import Rounding
from tests.check.helpers import SMALL, check_arrays, check_text, made, small
from tests.mistakes.wrong_answers import as_answers, values_under

LEVEL = {
    "x": [[1, 1], [0, 1]],
    "attn": {"w_q": [[2], [0]], "w_k": [[0], [1]], "w_v": [[1, 0], [0, 1]]},
}  # scores [[2, 2], [0, 0]]: the largest of each column is the largest of all


@pytest.mark.parametrize("weights", ["", "attn.weights: [[0.5, 0.5], [0.7, 0.3]]"])
def test_mistakes_are_reported_before_other_ways(weights: str) -> None:
    exp = "attn.weights.exp: [[1, 1], [0.1353, 0.1353]]\n"
    checked = check_text(made(LEVEL), exp + weights)
    assert checked.verdict("attn.weights.exp") == "wrong"
    found = [r.names for r in checked.reasons if r.step == "attn.weights.exp"]
    assert found == [("softmax_wrong_max",)]


def test_another_way_is_reported_if_no_mistake_fits() -> None:
    block = made({**LEVEL, "x": [[1, 1], [0, 2]]})
    checked = check_text(block, "attn.weights.exp: [[0.1353, 1], [0.0183, 0.0183]]")
    assert [r.names for r in checked.reasons] == [("softmax_shifted",)]


@pytest.mark.parametrize(
    ("digits", "cells", "found"),
    [
        (1, 1, []),  # so many mistakes give nearly any number of two digits
        (9, 1, [("scale_missing",)]),
        (1, 9, [("scale_missing",)]),
    ],
)
def test_a_reason_is_more_than_chance(digits: int, cells: int, found: list[tuple[str]]) -> None:
    scores = small().trace["attn.scores"].ravel().tolist()
    given = [f"{x:.{digits}f}" if i < cells else "?" for i, x in enumerate(scores)]
    rows = "], [".join(", ".join(given[i : i + 3]) for i in (0, 3, 6))
    checked = check_text(small(), f"attn.scaled: [[{rows}]]")
    assert checked.verdict("attn.scaled") == "wrong"
    assert [r.names for r in checked.reasons] == found


def test_numbers_far_larger_than_the_right_ones_have_their_own_room() -> None:
    block = made({**SMALL, "attn": {**SMALL["attn"], "n_heads": 3}})
    (change,) = MISTAKES["softmax_heads"].alternatives(block)
    answers = as_answers(values_under(block, change, "float32"), "float32")
    arrays = {name: a.values for name, a in answers.items()}
    checked = check_arrays(block, arrays, "float32")
    assert [r.names for r in checked.reasons] == [("softmax_heads",)]


def test_a_wrong_number_after_drawn_ones_is_judged() -> None:
    block = made({**SMALL, "dropout": {"p": 0.5, "training": True, "seed": 1}})
    given = np.round(block.trace["attn.z"], 2)
    given[0, 0] += 3.0
    checked = check_text(block, f"attn.z: {given.tolist()}")
    assert checked.verdict("attn.z") == "wrong"
    assert not checked.reasons


@pytest.mark.parametrize(
    ("out", "found"),
    [
        ("", {"activation_missing", "activation_late"}),
        ("plain", {"activation_missing"}),
        ("late", {"activation_late"}),
    ],
)
def test_a_later_answer_tells_two_reasons_apart(out: str, found: set[str]) -> None:
    pre = small().trace["ffn.pre"]
    plain = pre @ np.array(SMALL["ffn"]["w_2"])
    given = {"plain": plain, "late": np.maximum(plain, 0)}
    arrays = {"ffn.pre": pre, "ffn.act": pre, **({"ffn.out": given[out]} if out else {})}
    checked = check_arrays(small(), arrays)
    assert {name for r in checked.reasons for name in r.names} == found


@pytest.mark.parametrize("form", ["plain", "shifted"])
def test_a_softmax_over_columns_after_sums_of_rows(form: str) -> None:
    block = made({**SMALL, "attn": {**SMALL["attn"], "softmax": form}})
    e = block.trace["attn.weights.exp"]
    steps = ("attn.scaled", "attn.weights.exp", "attn.weights.sum")
    given = {name: block.trace[name] for name in steps}
    checked = check_arrays(block, {**given, "attn.weights": e / e.sum(axis=0)})
    assert [(r.step, r.names) for r in checked.reasons] == [("attn.weights", ("softmax_columns",))]


def test_a_slip_in_an_earlier_step_does_not_deny_another_reason() -> None:
    spec = blockcalc.load(folder() / "two_heads.yaml")
    kept = blockcalc.run(spec.with_rounding(Rounding("decimals", 2)))
    v = np.array(kept["attn.v"])
    v[1, 2] = -1.0
    given = {"attn.v": v, "attn.weights": kept["attn.weights"]}
    form = {"float": "{:.2f}".format}
    text = "".join(
        f"{name}: {np.array2string(rows, separator=',', formatter=form)}\n"  # type: ignore[arg-type]
        for name, rows in given.items()
    )
    reasons = {r.step: r.names for r in check_text(Block(spec, blockcalc.run(spec)), text).reasons}
    assert reasons["attn.weights"] == ("rounded_each_step",)
