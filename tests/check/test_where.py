"""Where wrong cells lie, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.check.where import where


def cells(shape: tuple[int, ...], *index: Any) -> Any:
    bad = np.zeros(shape, dtype=bool)
    for one in index:
        bad[one] = True
    return bad


ROWS, SCORES = ("token", "d_model"), ("query", "key")
HEADS = ("head", "query", "key")


@pytest.mark.parametrize(
    ("bad", "axes", "said"),
    [
        (cells((2, 2)), ROWS, ""),
        (cells((2, 2), ...), ROWS, "every cell"),
        (cells((1, 1), ...), ROWS, "the only cell"),
        (cells((3, 3), (1, 2)), ROWS, "cell [2, 3]"),
        (cells((3, 3), 1), ROWS, "row 2: 3 of its 3 cells"),
        (cells((3, 3), (1, 0), (1, 1)), ROWS, "row 2: 2 of its 3 cells"),
        (cells((3, 3), 2), ROWS, "the last row: 3 of its 3 cells"),
        (cells((3, 3), np.s_[:, 1]), ROWS, "column 2: 3 of its 3 cells"),
        (cells((2, 3, 3), 1), HEADS, "head 2: 9 of its 9 cells"),
        (cells((2, 3, 3), 0), ("batch", *ROWS), "batch 1: 9 of its 9 cells"),
        (np.triu(np.ones((4, 4), bool), 1), SCORES, "above the diagonal: 6 cells"),
        (np.stack([np.triu(np.ones((4, 4), bool), 1)] * 2), HEADS, "above the diagonal: 12 cells"),
        (cells((3, 6), np.s_[:, 1::2]), ROWS, "every second column, from column 2"),
        (cells((3, 6), np.s_[:, ::2]), ROWS, "every second column, from column 1"),
        (cells((4, 40), np.s_[:, 32:]), ROWS, "the columns from 33 on, past a multiple of 32"),
        (cells((4, 200), np.s_[:, 128:]), ROWS, "the columns from 129 on, past a multiple of 128"),
        (cells((4, 4), np.s_[1:, 1:]), ROWS, "every row but the first"),
        (cells((4, 4), (0, 0), (1, 2), (2, 1)), ROWS, "3 of 16 cells"),
    ],
)
def test_patterns(bad: Any, axes: tuple[str, ...], said: str) -> None:
    assert where(bad, np.ones(bad.shape, bool), axes, bad * 1.0) == said


def test_growing_with_the_position() -> None:
    bad = cells((6, 4), np.s_[:, :3])
    apart = bad * (np.arange(1, 7) ** 2)[:, None]
    assert where(bad, np.ones((6, 4), bool), ROWS, apart) == "every row, growing with the position"
    assert where(bad, np.ones((6, 4), bool), ROWS, bad * 1.0) == "18 of 24 cells"


def test_only_given_cells_count() -> None:
    judged = cells((3, 3), 0)
    assert where(judged, judged, ROWS, judged * 1.0) == "every cell"


def test_a_single_number_and_a_vector() -> None:
    one = np.array(True)
    assert where(one, one, (), np.array(1.0)) == "the only cell"
    vector = cells((5,), 2, 4)
    assert where(vector, np.ones(5, bool), ("token",), vector * 1.0) == "2 of 5 cells"
