"""Pictures of steps: which cell is worked, what is lit, and what stands between the panels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import UsageError
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Panel, Picture, Sign, StepPiece
from blockcalc.explain.picture.heat import SHADES, heat
from blockcalc.explain.picture.parts import tokens
from blockcalc.explain.steps import explain
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.run import work_gradients
from blockcalc.ops.expr import Cell, walk
from tests.helpers import SAMPLES, TINY

CAUSAL = {
    "x": [[0.5, -0.25], [1.5, 0.75], [-0.5, 2.0]],
    "tokens": ["a", "b", "c"],
    "attn": {"w_q": [[1, 0.5], [0.25, 1]], "w_k": [[0.5, 1], [1, 2]], "w_v": [[2, 1], [3, 0.5]],
             "causal": True},
}  # fmt: skip


def steps_of(data: Any, **depth: Any) -> dict[str, StepPiece]:
    spec = blockcalc.load(data)
    pieces = explain(spec, blockcalc.run(spec), Depth(pictures=True, **depth))
    return {p.name: p for p in pieces if isinstance(p, StepPiece)}


def picture(piece: StepPiece) -> Picture:
    assert piece.picture is not None
    return piece.picture


def worked_cell(piece: StepPiece) -> str:
    assert len(piece.lines) == 1
    *_, last = (p for p in picture(piece).parts if isinstance(p, Panel))
    assert last.worked is not None
    i, j = last.worked
    return f"{last.row_labels[i]} {last.column_labels[j] if last.column_labels else ''}".strip()


def test_the_worked_cell_is_where_every_part_matters() -> None:
    steps = steps_of(CAUSAL)
    assert not worked_cell(steps["attn.weights"]).startswith("a")  # a sees only itself: 1
    assert worked_cell(steps["attn.z"]).startswith("c")  # the first row that sees every key
    tiny = steps_of(TINY)
    assert worked_cell(tiny["attn.k"]) == "t3 2"  # 1×1 + 1×1, where t1 is 1×1 + 0×0
    assert worked_cell(tiny["ffn.act"]) == "t1 3"  # 2, not 0 or 1


def test_equal_weights_are_not_the_example_where_others_are() -> None:
    x = [[0, 0, 1], [1, 2, 0], [3, 1, 2]]
    eye = np.eye(3).tolist()
    steps = steps_of(
        {"x": x, "attn": {"w_q": [[1, 2, 0], [0, 1, 1], [0, 0, 0]], "w_k": eye, "w_v": eye}}
    )
    weights = steps["attn.weights"]  # the first query is 0: its weights are three times 1/3
    assert not worked_cell(weights).startswith("t1")


def test_cos_0_is_not_the_example() -> None:
    (llama,) = (path for path in SAMPLES if path.stem == "llama_style")
    assert not worked_cell(steps_of(llama)["attn.q_rope"]).startswith("good")


@pytest.mark.parametrize("row", ["t2", "2"])
def test_a_row_is_chosen_by_token_or_number(row: str) -> None:
    steps = steps_of(TINY, row=row)
    assert [len(steps[name].lines) for name in ("attn.scores", "norm1.mean")] == [3, 1]
    for name in ("attn.q", "attn.weights.sum", "norm2"):
        *_, last = (p for p in picture(steps[name]).parts if isinstance(p, Panel))
        assert last.worked is not None
        assert last.row_labels[last.worked[0]] == "t2"


def test_a_cell_is_chosen() -> None:
    steps = steps_of(TINY, cell=(2, 3))
    assert worked_cell(steps["attn.scores"]) == "t2 t3"
    assert worked_cell(steps["norm1.mean"]) == "t2"
    assert len(steps["attn.q"].lines) == 1  # has no third column: its own choice


@pytest.mark.parametrize(
    ("depth", "said"),
    [
        ({"row": "t9"}, "no token is called 't9', and there are 3"),
        ({"row": "0"}, "no token is called '0'"),
        ({"row": "4"}, "no token is called '4'"),
        ({"cell": (9, 9)}, r"no step shown has a cell \[9,9\]"),
        ({"cell": (1, 3), "patterns": ("attn.q",)}, r"no step shown has a cell \[1,3\]"),
    ],
)
def test_a_row_or_cell_that_is_not_there(depth: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        steps_of(TINY, **depth)


@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_what_is_lit_is_what_the_worked_cell_reads(path: Any) -> None:
    spec = blockcalc.load(path)
    trace = work_gradients(spec)
    pieces = explain_gradient(spec, trace, Depth(pictures=True, whole=True, detail=Detail.normal))
    equations = {eq.out.name: eq for eq in trace.program.equations}
    seen = 0
    for piece in pieces:
        if not isinstance(piece, StepPiece) or not piece.lines:
            continue
        panels = [p for p in picture(piece).parts if isinstance(p, Panel)]
        assert panels[-1].worked is not None, piece.name
        eq = equations[piece.name]
        i, j = panels[-1].worked
        lead = panels[-1].key[1]
        at = (*lead, i, j) if len(eq.out.shape) > 1 else (i,)
        reads = {(e.operand, e.at) for e in walk(eq.op.cell(at, eq.inputs)) if isinstance(e, Cell)}
        lit = sum(len(p.lit) for p in panels)
        assert lit == len(reads), piece.name
        seen += 1
    assert seen > 5


def signs(name: str, steps: dict[str, StepPiece]) -> list[str]:
    return [part.op for part in picture(steps[name]).parts if isinstance(part, Sign)]


def test_the_signs_are_those_of_the_formula() -> None:
    steps = steps_of(TINY)
    assert signs("attn.q", steps) == ["@", "="]
    assert signs("attn.scaled", steps) == ["/", "="]
    assert signs("residual1", steps) == ["+", "="]
    assert signs("norm1.centered", steps) == ["-", "="]
    for name, does in (("attn.weights.exp", "exp"), ("attn.weights.sum", "sum"),
                       ("ffn.act", "ReLU"), ("norm1.var", None)):  # fmt: skip
        (arrow,) = (part for part in picture(steps[name]).parts if isinstance(part, Sign))
        assert (arrow.op, arrow.body) == ("->", does)
    keys = picture(steps["attn.scores"]).parts[2]
    assert isinstance(keys, Panel)
    assert keys.key == ("attn.k", (), True)
    assert keys.column_labels == ("t1", "t2", "t3")


def test_every_operation_has_its_operands_in_its_picture() -> None:
    for path in SAMPLES:
        spec = blockcalc.load(path)
        for eq in work_gradients(spec).program.equations:
            line = tokens(eq.op, len(eq.inputs))
            used = [part[0] for part in line if not isinstance(part, Sign)]
            assert sorted(used) == list(range(len(eq.inputs)))


def test_a_long_operand_shows_what_is_lit() -> None:
    x = np.linspace(-2, 2, 40 * 3).reshape(40, 3).tolist()
    eye = np.eye(3).tolist()
    steps = steps_of({"x": x, "attn": {"w_q": eye, "w_k": eye, "w_v": eye}}, row="25")
    piece = steps["attn.scores"]
    panels = [p for p in picture(piece).parts if isinstance(p, Panel)]
    assert "t25" in panels[0].row_labels
    assert len(panels[0].row_labels) < 10
    assert panels[0].row_breaks
    assert panels[-1].worked is not None
    assert panels[-1].row_labels[panels[-1].worked[0]] == "t25"
    assert any("16 of 40 query, 16 of 40 key shown" in note for note in piece.notes)


def shades_of(data: Any, **depth: Any) -> dict[str, list[Panel]]:
    spec = blockcalc.load(data)
    pieces = heat(spec, blockcalc.run(spec), Depth(**depth))
    return {p.name: [part for part in picture(p).parts if isinstance(part, Panel)]
            for p in pieces if isinstance(p, StepPiece)}  # fmt: skip


def test_a_heat_map_shades_by_size() -> None:
    found = shades_of(CAUSAL, patterns=("attn.masked", "attn.weights"))
    assert list(found) == ["attn.masked", "attn.weights"]
    (masked,) = found["attn.masked"]
    assert masked.shades[0][1:] == (None, None)  # minus infinity
    (weights,) = found["attn.weights"]
    assert weights.shades[0] == (SHADES - 1, 0, 0)
    sizes = [abs(float(f.digits)) for row in weights.rows for f in row]
    shades = [shade for row in weights.shades for shade in row]
    assert [s for _, s in sorted(zip(sizes, shades, strict=True))] == sorted(shades)  # type: ignore[type-var]


def test_a_heat_map_is_of_the_weights_if_no_step_is_chosen() -> None:
    (stack,) = (path for path in SAMPLES if path.stem == "stack")
    assert list(shades_of(stack)) == ["blocks.0.attn.weights", "blocks.1.attn.weights"]
    given = {"x": [[1, 2]], "attn": {"out": [[1, 1]]}}
    with pytest.raises(UsageError, match="no attention weights"):
        shades_of(given)
    assert list(shades_of(given, patterns=("residual1",))) == ["residual1"]
