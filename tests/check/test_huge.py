"""Answers near the limits of float64, and right numbers that are infinite, are reported."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from blockcalc.check.data import numbers_of
from blockcalc.check.explain import check_document
from blockcalc.check.run import Checked
from blockcalc.check.where import infinite_text
from blockcalc.explain.document import Worked
from blockcalc.mistakes.alternative import Block
from blockcalc.views.formats.json import json_bytes
from tests.check.helpers import SMALL, check_block, check_text, made

pytestmark = pytest.mark.slow

CAUSAL = made({**SMALL, "attn": {**SMALL["attn"], "causal": True}})
EYE = [[1, 0], [0, 1]]
HUGE = made({"x": [[1e100, 1], [0, 1e-100]], "attn": {"w_q": EYE, "w_k": EYE, "w_v": EYE}})


def pieces(block: Block, checked: Checked) -> list[Any]:
    """Report in every format, without a warning of NumPy."""
    document = check_document(block.spec, [checked], True)
    assert json.loads(json_bytes(document.data()))["ok"] is checked.ok  # type: ignore[misc]
    assert list(document.rows())  # type: ignore[misc]
    return list(document.pieces())


@pytest.mark.parametrize("given", ["7", "0.25", "1.0e300"])
def test_a_number_where_a_mask_is(given: str) -> None:
    text = f"attn.masked: [[?, {given}, ?], [?, ?, ?], [?, ?, ?]]"
    checked = check_text(CAUSAL, text)
    assert checked.first_wrong == "attn.masked"
    assert [row[1] for row in numbers_of(checked.steps["attn.masked"], [(0, 1)])] == ["-inf"]
    assert pieces(CAUSAL, checked)


@pytest.mark.parametrize(
    "text",
    [
        f"attn.q: [[2.5e306, 1.0], [0.0, 0.0]]\nattn.k: [[1.1, 1], [0.{'1' * 320}, 1]]",
        f"attn.v: [[1e-320, 2.{'2' * 330}], [1e-310, 0.0]]",
        "attn.out: [[-1e308, 1], [1.7e308, 1e308]]\nresidual1: [[1.5e308, -1.5e308], [3, 4]]",
        f"attn.weights: [[0.{'3' * 300}, 0.5], [0.5, 1.7e308]]",
    ],
)
def test_numbers_near_the_limits(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked = check_text(HUGE, text)
        assert not checked.ok
        assert pieces(HUGE, checked)


@pytest.mark.parametrize(
    ("text", "step", "own"),
    [
        # the true weights have no finite bound here; infinity is wrong all the same
        ("attn.weights: [[0.5, -.inf], [?, ?]]\nattn.z: [[1, ?], [?, ?]]", "attn.weights", 1.0),
        ("attn.q: [[1e300, 1], [0, 1]]\nattn.k: [[1e300, 1], [0, 1]]\nattn.scores: [[3, ?], [?, ?]]", "attn.scores", np.inf),
        ("attn.q: [[1e300, 1], [0, 1]]\nattn.k: [[-1e300, 1], [0, 1]]\nattn.scores: [[3, ?], [?, ?]]", "attn.scores", -np.inf),
        ("attn.q: [[-.inf, 1], [?, ?]]\nattn.k: [[0, 1], [0, 1]]\nattn.scores: [[3, ?], [?, ?]]", "attn.scores", np.nan),
    ],
)  # fmt: skip
def test_a_result_that_is_no_number_has_no_worked_line(text: str, step: str, own: float) -> None:
    checked = check_text(HUGE, text)
    assert checked.verdict(step) == "wrong"
    assert np.array_equal(checked.steps[step].own.numbers[0, 0], own, equal_nan=True)
    shown = pieces(HUGE, checked)
    after = shown[[getattr(piece, "name", None) for piece in shown].index(step) :]
    assert np.isfinite(own) or not any(isinstance(piece, Worked) for piece in after)


def test_a_nan_after_a_square_beyond_float64() -> None:
    row = "[?, ?, ?]"
    text = f"residual1: [[1e300, 1, 1], {row}, {row}]\nnorm1: [[.nan, ?, ?], {row}, {row}]"
    checked = check_text(CAUSAL, text)
    assert pieces(CAUSAL, checked)
    text = infinite_text(checked.judgement, checked.steps["norm1"])
    assert "whose square is beyond" in text


@pytest.mark.parametrize(
    "text",
    [
        "attn.q: [[1.5e308, 1.5e308], [0, 1]]\nattn.k: [[1, 1], [1, 1]]\nattn.scores: [[3.5, ?], [?, ?]]",
        "attn.q: [[1e308, 1e308], [0, 1]]\nattn.k: [[1e9, -1e9], [1e9, -1e9]]\nattn.scores: [[3.5, 0.25], [?, ?]]",
        "residual1: [[1.7e308, 1.7e308], [1, 2]]\nnorm1.mean: [5, 1.5]\nnorm1: [[1.0, -1.0], [?, ?]]",
        "norm1.centered: [[1e200, -1e200], [1, 2]]\nnorm1.var: [5.0, 0.25]",
        "attn.q: [[1e308, 1e308], [1e308, 1e308]]\nattn.scores: [[.nan, ?], [?, ?]]",
    ],
)
@pytest.mark.parametrize("dump", [False, True])
def test_sums_that_overflow_on_the_way(text: str, dump: bool) -> None:
    plain = made({"x": [[1, 1], [0, 1]], "attn": {"w_q": EYE, "w_k": EYE, "w_v": EYE}})
    checked = check_text(plain, text)
    if dump:
        answers = checked.answers
        given = tuple(replace(a, read_as="float64", half=0 * a.half) for a in answers.given)
        checked = check_block(plain, replace(answers, given=given))
    assert not checked.ok
    assert pieces(plain, checked)
