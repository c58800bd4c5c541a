"""The layout of tables: columns in blocks that fit."""

from __future__ import annotations

import pytest

from blockcalc.views.layout import column_ends


@pytest.mark.parametrize(
    ("widths", "ends"),
    [([5] * 8, [4, 8]), ([30, 5, 5, 5, 5, 5, 5, 5], [2, 8]), ([5] * 7, [7]), ([99, 99], [1, 2])],
)
def test_tables_break_evenly(widths: list[int], ends: list[int]) -> None:
    assert column_ends(widths, 36) == ends
