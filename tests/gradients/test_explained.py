"""What is said of a backward pass: true lines, their order, the table, and reasons for zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import blockcalc
from blockcalc.explain.document import Heading, Line, Listing
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.run import gradient_of, parameters, work_gradients
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.program.trace import Trace
from blockcalc.reading.load import load
from tests.helpers import (
    SAMPLES,
    THREE,
    gradient_steps,
    random_data,
    sample_specs,
)
from tests.read_back import check, from_latex, from_text, plain_text, printed

pytestmark = pytest.mark.slow


def table_of(spec: Any, trace: Trace) -> dict[str, tuple[Any, ...]]:
    last = [p for p in explain_gradient(spec, trace) if isinstance(p, Listing)][-1]
    return {str(row[0]): row for row in last.rows}


def _lines(spec: Any, trace: Trace, **depth: Any) -> list[Line]:
    return [
        line
        for p in gradient_steps(spec, trace, detail="cells", whole=True, **depth)
        for line in p.lines
    ]


@pytest.mark.parametrize("chain", [False, True], ids=["closed", "chain"])
@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title[:18]}-{s.order}")
def test_every_printed_line_is_true(spec: Any, chain: bool) -> None:
    lines = [line for line in _lines(spec, work_gradients(spec, chain=chain)) if line.middle]
    assert len(lines) > 50
    for line in lines:
        check(printed(line, Text()), from_text)
        check(printed(line, Text(plain=True)), plain_text)
        check(printed(line, Latex()), from_latex)


@settings(max_examples=25)
@given(data=random_data())
def test_every_printed_line_of_any_block_is_true(data: dict[str, Any]) -> None:
    spec = load(data)
    for line in _lines(spec, work_gradients(spec)):
        if line.middle:
            check(printed(line, Text()), from_text)


def test_the_order_of_what_is_said() -> None:
    spec = load(THREE)
    titles = [
        p.title for p in explain_gradient(spec, work_gradients(spec)) if isinstance(p, Heading)
    ]
    assert titles == [
        "Inputs and weights", "Forward in brief", "The loss", "Backward from the loss", "Backward through a LayerNorm",
        "Backward through the FFN", "Sum of the parts of a gradient", "Backward through a LayerNorm", "Backward through the attention",
        "Sum of the parts of a gradient", "All gradients",
    ]  # fmt: skip
    sums = [
        p
        for p in gradient_steps(spec, work_gradients(spec))
        if any(n.startswith("Sums over") for n in p.notes)
    ]
    assert {p.name for p in sums} >= {"grad.attn.w_q", "grad.ffn.w_1"}


def test_the_table_of_all_gradients() -> None:
    spec = load(THREE)
    trace = work_gradients(spec)
    rows = table_of(spec, trace)
    assert set(rows) == {
        f"grad.{r}"
        for r in ("x", "attn.w_q", "attn.w_k", "attn.w_v", "attn.w_o", "ffn.w_1", "ffn.w_2")
    } | {"all parameters"}
    total = np.sqrt(sum((gradient_of(trace, r.name) ** 2).sum() for r in parameters(trace.program)))
    assert rows["all parameters"][1] == f"{total:.4g}"
    assert rows["grad.ffn.w_2"][4:] == ("3/9", "ReLU gives 0 there for every token")


def test_a_table_has_no_empty_column() -> None:
    for name, zeros in (("llama_style", False), ("two_heads", True)):
        spec = blockcalc.sample(name)
        pieces = list(explain_gradient(spec, work_gradients(spec)))
        prose = "".join(p.prose or "" for p in pieces if isinstance(p, Heading))
        assert ("Zeros are" in prose) == zeros
        for table in (p for p in pieces if isinstance(p, Listing)):
            assert all(any(column) for column in zip(*table.rows, strict=True))
            if table.columns[0].kind == "name":
                assert (len(table.columns) == 6) == zeros


def test_reasons_for_zeros() -> None:
    tiny = load(str(SAMPLES[0]))
    assert tiny.arrays["x"].shape[1] == 2
    assert (
        table_of(tiny, work_gradients(tiny))["grad.attn.w_q"][-1]
        == "with d_model = 2 LayerNorm passes no gradient back"
    )
    heads = load(next(str(p) for p in SAMPLES if p.stem == "two_heads"))
    row = table_of(heads, work_gradients(heads))["grad.attn.b_k"]
    assert row[4:] == ("4/4", "softmax ignores a constant added to all scores of a query")


def test_reasons_are_true() -> None:
    spec = load(THREE)
    rows = table_of(spec, work_gradients(spec, "sum"))
    assert rows["grad.x"][-1] == "the sum of a normalized row is always 0"
    some = table_of(spec, work_gradients(spec))["grad.ffn.w_1"]
    assert some[4:] == ("4/9", "ReLU gives 0 there for every token (3 of 4)")
    eye = {"eye": 3}
    data = {"x": [[1, 0, 2], [0, 1, 4]], "attn": {"w_q": eye, "w_k": eye, "w_v": eye, "padding": ["keep", "pad"]},
            "stop": "attn.z", "loss": {"kind": "sum"}}  # fmt: skip
    trace = work_gradients(load(data))
    assert np.abs(trace["grad.attn.v"][1]).max() == 0


@pytest.mark.parametrize("repeat", [1, 2])
def test_a_hidden_unit_is_dead_in_every_run_of_a_block(repeat: int) -> None:
    eye = {"eye": 3}
    block = {"attn": {"w_q": eye, "w_k": eye, "w_v": eye}, "repeat": repeat,
             "ffn": {"w_1": [[1, 1], [0, 1], [1, 0]], "b_1": [-100, 5], "w_2": {"ones": [2, 3]}}}  # fmt: skip
    data = {"x": [[1, 0, 2], [0, 1, 4]], "norm": "pre", "blocks": [block]}
    spec = load(data)
    row = table_of(spec, work_gradients(spec))["grad.blocks.0.ffn.b_1"]
    assert row[4:] == ("1/2", "ReLU gives 0 there for every token")


def test_a_query_that_sees_nothing_is_told_of_backward_too() -> None:
    eye = {"eye": 3}
    data = {"x": [[1, 0, 2], [0, 1, 4]], "attn": {"w_q": eye, "w_k": eye, "w_v": eye, "mask": {"keep": [[0, 0], [1, 1]]}},
            "loss": {"with": [[1, 2, 3], [3, 1, 2]]}}  # fmt: skip
    spec = load(data)
    steps = {p.name: p for p in gradient_steps(spec, work_gradients(spec))}
    assert (
        "A query with all keys masked passes no gradient back: row 1."
        in steps["grad.attn.masked"].notes
    )
    forward = {p.name: p for p in gradient_steps(spec, work_gradients(spec), detail="cells")}[
        "attn.weights"
    ]
    assert (
        forward.lines[0].words == "0/0 on paper; set to 0 because every key of this query is masked"
    )


def test_names_of_gradients() -> None:
    stack = load(next(str(p) for p in SAMPLES if p.stem == "stack"))
    trace = work_gradients(stack)
    for name in (
        "grad.out",
        "grad.blocks.0",
        "grad.blocks.0.attn",
        "grad.blocks.1.norm1.normalized",
    ):
        assert trace[name].shape
    chosen = [p.name for p in gradient_steps(stack, trace, patterns=("grad.attn.*",))]
    assert {f"grad.blocks.{i}.attn.{part}" for i in (0, 1) for part in ("scores", "w_q")} <= set(
        chosen
    )
    assert not any(".ffn." in name for name in chosen)
    rounded = load(THREE, [("round.decimals", "2")])
    shown = [p for p in gradient_steps(rounded, work_gradients(rounded)) if p.name == "grad.x"]
    assert max(len(f.digits) for row in shown[0].grids[0].rows for f in row) <= 8


def test_the_table_of_huge_gradients_is_finite() -> None:
    spec = blockcalc.loads(
        "x: [[1, 2, 4]]\nattn: {out: [[1, 1, 0]]}\nffn: {w_1: [[-1e160], [0], [1e160]], w_2: [[1, 1, 3]]}\n"
        "norm: {order: pre, eps: 1}\n"
    )
    trace = work_gradients(spec, "sum")
    table = [p for p in explain_gradient(spec, trace) if isinstance(p, Listing)][-1]
    assert table.rows[-1][1] == "2.683×10¹⁶⁰"
    assert table.rows[0][1] == "3.286×10¹⁶⁰"
