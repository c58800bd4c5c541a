"""The layout of tables: columns in blocks that fit."""

from __future__ import annotations

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.document import Given
from blockcalc.explain.steps import explain
from blockcalc.views.layout import column_blocks

pytestmark = pytest.mark.slow


def test_tables_break_evenly() -> None:
    spec = blockcalc.load({"x": np.arange(16).reshape(2, 8), "attn": {"out": np.ones((2, 8))}})
    pieces = explain(spec, blockcalc.run(spec))
    given = next(p for p in pieces if isinstance(p, Given))
    grid = given.matrices[0][1][0]
    assert [len(b.column_labels) for b in column_blocks(grid, [5] * 8, 36)] == [4, 4]
    assert [len(b.column_labels) for b in column_blocks(grid, [30, 5, 5, 5, 5, 5, 5, 5], 36)] == [
        2,
        6,
    ]
