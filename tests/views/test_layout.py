"""The layout of tables: columns in blocks that fit."""

from __future__ import annotations

import pytest

from blockcalc.views.layout import column_ends, shortened


@pytest.mark.parametrize(
    ("widths", "ends"),
    [([5] * 8, [4, 8]), ([30, 5, 5, 5, 5, 5, 5, 5], [2, 8]), ([5] * 7, [7]), ([99, 99], [1, 2])],
)
def test_tables_break_evenly(widths: list[int], ends: list[int]) -> None:
    assert column_ends(widths, 36) == ends


def test_long_labels_are_shortened_and_stay_apart() -> None:
    alike = ["x" * 50 + c for c in "abc"]
    assert shortened(["t1", *alike], 10) == ["t1", *(f"{'x' * 9}…{n}" for n in (2, 3, 4))]
    assert shortened(["苹果树" * 9], 8) == ["苹果树…"]
    assert shortened(["short", "远方"], 8) == ["short", "远方"]
