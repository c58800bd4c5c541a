"""Steps as they are said: their titles, worked cells, notes and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.explain.document import Given, Grid, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.nn.activations import ACTIVATIONS, Activation
from blockcalc.notation.alphabets import Text
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.evaluate import FUNCTIONS
from blockcalc.ops.expr import (
    Call,
    Slot,
    exp,
)
from tests.blocks import ATTENTION, SQUARE
from tests.helpers import TINY_SPEC, steps


def test_the_worked_cells_are_named() -> None:
    said = {s.name: s.worked for s in steps(TINY_SPEC)}
    assert said["attn.scores"] == "worked for t1"
    assert {s.worked for s in steps(TINY_SPEC, detail="cells")} == {"every cell"}
    assert {s.worked for s in steps(TINY_SPEC, detail="tables")} == {None}
    rng = np.random.RandomState(0)
    wide = blockcalc.load({"x": rng.normal(0, 1, (2, 12)), "attn": {"out": np.ones((2, 12))}})
    by_name = {s.name: s for s in steps(wide)}
    assert by_name[
        "residual1"
    ].worked == "worked for the first 8 of 12 cells of the row; --detail cells shows all" or (
        by_name["residual1"].worked
        == "the first 8 of 12 cells of the row; --detail cells shows all"
    )
    assert len(by_name["residual1"].lines) == 8
    assert by_name["norm1.mean"].lines[0].shortened is False
    one = blockcalc.load({"x": [[1, 2]], "attn": {"out": [[1, 1]]}})
    assert {s.worked for s in steps(one)} == {"every cell"}


def test_titles_of_the_parts_of_a_norm() -> None:
    data: dict[str, Any] = {"x": [[1, 2, 4]], "attn": {"out": [[1, 1, 0]]}}
    for norm, titles in (
        ({}, ["Normalized rows"]),
        ({"gamma": [1, 2, 3]}, ["Normalized rows", "Times gamma"]),
        ({"beta": [1, 2, 3]}, ["Normalized rows", "Plus beta"]),
        ({"gamma": [1, 2, 3], "beta": [1, 2, 3]}, ["Normalized rows", "Times gamma", "Plus beta"]),
    ):
        found = [s.title for s in steps(blockcalc.load({**data, "norm1": norm}))]
        assert found[5:] == titles


def test_a_function_in_a_formula_is_spelled_out() -> None:
    spec = blockcalc.load(folder() / "three_features.yaml", [("ffn.activation", "gelu")])
    act = next(s for s in steps(spec) if s.name == "ffn.act")
    assert act.definition is not None
    assert [Text().render(side) for side in act.definition] == ["GELU(x)", "0.5×x×erfc((-x) / √2)"]
    assert all(s.definition is None for s in steps(spec, detail="tables"))


def test_a_row_that_paper_cannot_answer_is_noted() -> None:
    pre = TINY_SPEC.with_order("pre")
    norm = next(s for s in steps(pre, detail="cells") if s.name == "norm1")
    assert norm.notes == (
        "Row 3 (t3): all its entries are equal and eps is 0, so the norm would divide 0 by 0; "
        "its normalized entries are set to 0.",
    )
    assert [line.middle for line in norm.lines[4:]] == [None, None]
    assert [s.notes for s in steps(pre, detail="tables") if s.name == "attn.weights"] == [()]


def test_tables_elide_and_say_where() -> None:
    x = np.arange(40 * 2.0).reshape(40, 2)
    step = next(
        s for s in steps(blockcalc.load({"x": x, "attn": {"out": x}})) if s.name == "norm1.mean"
    )
    grid = step.grids[0]
    assert isinstance(grid, Grid)
    assert grid.row_gap == (8, 24)
    assert len(grid.rows) == 16
    whole = steps(blockcalc.load({"x": x, "attn": {"out": x}}), whole=True)[0]
    assert len(whole.grids[0].rows) == 40


def test_a_function_needs_no_place_in_the_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, "log1p", np.log1p)
    softplus = Elementwise(Call("log1p", (exp(Slot(0)),)), "Softplus")
    monkeypatch.setitem(ACTIVATIONS, "relu", Activation(softplus))
    act = next(s for s in steps(replace(TINY_SPEC), detail="cells") if s.name == "ffn.act")
    assert Text().render(act.formula) == "Softplus(U)"
    line = act.lines[0]
    assert line.middle is not None
    assert f"{line.equals} {Text().render(line.result)}" == "≈ 1.3133"
    assert Text().render(line.middle) == "log1p(exp(1))"


def test_an_exponential_out_of_range_is_no_cancellation() -> None:
    eye = np.eye(3)
    spec = blockcalc.load(
        {
            "x": [[-1e8, 1, 800]],
            "norm": "pre",
            "attn": {"out": [[0, 0, 0]]},
            "norm2": {"gamma": [1e8, 1e3, 1e3]},
            "ffn": {"activation": "silu", "w_1": eye, "w_2": eye},
        }
    )
    act = next(s for s in steps(spec, detail="cells") if s.name == "ffn.act")
    assert [line.words for line in act.lines] == [
        "an intermediate value exceeds the floating-point range",
        None,
        None,
    ]
    assert act.lines[0].middle is None


@pytest.mark.slow
def test_rows_that_see_nothing_are_named_once_with_their_place() -> None:
    words = [["pad", "pad"], ["keep", "pad"]]
    data = {"x": [SQUARE, SQUARE], "attn": {**ATTENTION, "n_heads": 2, "padding": words}}
    spec = blockcalc.load(data)
    steps = {p.name: p for p in explain(spec, blockcalc.run(spec)) if isinstance(p, StepPiece)}
    notes = steps["attn.weights"].notes
    assert [n for n in notes if "has all its keys masked" in n] == [
        "Row 1 (t1), batch 1 has all its keys masked; its weights are set to 0.",
        "Row 2 (t2), batch 1 has all its keys masked; its weights are set to 0.",
    ]
    assert notes[-1].startswith("Each other row of weights adds up to 1")
    mask = {"keep": [[[1, 1], [1, 1]], [[0, 0], [1, 1]]]}
    spec = blockcalc.load({"x": SQUARE, "attn": {**ATTENTION, "n_heads": 2, "mask": mask}})
    steps = {p.name: p for p in explain(spec, blockcalc.run(spec)) if isinstance(p, StepPiece)}
    assert steps["attn.weights"].notes[0].startswith("Row 1 (t1), head 2 has all its keys masked")


@pytest.mark.slow
def test_padding_of_a_batch_is_not_headed_by_the_first_sentence() -> None:
    data = {"x": [SQUARE, SQUARE], "tokens": [["a", "b"], ["c", "d"]],
            "attn": {**ATTENTION, "padding": [["keep", "keep"], ["keep", "pad"]]}}  # fmt: skip
    spec = blockcalc.load(data)
    pieces = explain(spec, blockcalc.run(spec))
    given = next(p for p in pieces if isinstance(p, Given))
    grid = next(grids[0] for operand, grids in given.matrices if operand.name == "attn.padding")
    assert grid.column_labels == ("1", "2")
