"""The long table of a run: every number once, at full precision, where it belongs."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.data import run_document
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.run import work_gradients
from blockcalc.nn.spec import Spec
from blockcalc.program.trace import Trace
from blockcalc.views import FORMATS
from tests.blocks import ATTENTION, SQUARE
from tests.helpers import FEW_SAMPLES, THREE, cli, text

HOSTILE = ['a,"b"', "line\nbreak", "=1+1", "远方；", " x ", ""]


def read(content: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content, newline="")))


def rows_of(spec: Spec, trace: Trace) -> list[dict[str, str]]:
    return read(FORMATS["csv"].write(run_document(spec, trace)).decode())


def index(row: dict[str, str], axes: tuple[str, ...]) -> tuple[int, ...]:
    """Give the place of a row in its matrix."""
    sides = {row["row_axis"]: row["row"], row["column_axis"]: row["column"]}
    lead = {"batch": row["batch"], "head": row["head"], "kv_head": row["head"]}
    return tuple(int(sides.get(axis) or lead[axis]) - 1 for axis in axes)


def hold(rows: list[dict[str, str]], trace: Trace) -> None:
    """Require that the rows are all the numbers of a run, each once and exactly."""
    refs = trace.program.refs()
    found = {name: np.full(value.shape, np.nan) for name, value in trace.arrays.items()}
    for row in rows:
        at = index(row, refs[row["name"]].axes)
        assert np.isnan(found[row["name"]][at]), row
        found[row["name"]][at] = float(row["value"])
    for name, value in trace.arrays.items():
        np.testing.assert_array_equal(found[name].astype(value.dtype), value)


@pytest.mark.parametrize("path", FEW_SAMPLES, ids=lambda p: p.stem)
def test_every_number_of_a_sample_is_in_the_table(path: Any) -> None:
    spec = blockcalc.load(path)
    trace = blockcalc.run(spec)
    hold(rows_of(spec, trace), trace)


def test_every_number_of_a_backward_pass_is_in_the_table() -> None:
    spec = blockcalc.load(THREE)
    trace = work_gradients(spec, "mse", False, 0.1)
    document = run_document(spec, trace, explained=explain_gradient)
    rows = read(FORMATS["csv"].write(document).decode())
    hold(rows, trace)
    assert {"loss", "grad.x", "new.ffn.w_1"} <= {row["name"] for row in rows}


def test_single_precision_and_sequences() -> None:
    spec = blockcalc.load({"x": [SQUARE, SQUARE], "attn": ATTENTION})
    trace = blockcalc.run(spec, dtype="float32")
    rows = rows_of(spec, trace)
    hold(rows, trace)
    assert {row["batch"] for row in rows if row["name"] == "attn.q"} == {"1", "2"}


def test_labels_are_as_typed() -> None:
    data = {"tokens": HOSTILE, "x": np.eye(6, 2).tolist(), "attn": {"out": np.eye(6, 2).tolist()},
            "stop": "residual1"}  # fmt: skip
    spec = blockcalc.load(data)
    labels = [row["row_label"] for row in rows_of(spec, blockcalc.run(spec))
              if row["name"] == "residual1" and row["column"] == "1"]  # fmt: skip
    assert labels == HOSTILE


def test_steps_are_chosen_and_numbered() -> None:
    rows = read(text(cli("export", THREE, "--csv", "--steps", "norm1.var,attn.w_q")))
    assert {(row["step"], row["name"]) for row in rows} == {("", "attn.w_q"), ("14", "norm1.var")}
