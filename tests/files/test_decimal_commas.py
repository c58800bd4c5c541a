"""Commas that were meant as decimal points."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import TWO_ROWS, fault_of, place_of


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("norm1: {eps: 0,5}\n", 16),
        ("norm1: {eps: '0,5'}\n", 14),
        ("norm1: {eps: '-1.000,5'}\n", 14),
        ("norm1: {eps: '0,5e-3'}\n", 14),
        ("norm1:\n  eps: 0,5\n", 8),
    ],
)
def test_decimal_commas(text: str, column: int, tmp_path: Path) -> None:
    fault = fault_of("yaml", text + TWO_ROWS, tmp_path)
    assert fault.hint == "decimals use a point: 0.5, not 0,5"
    assert place_of(fault)[1] == column


@pytest.mark.parametrize(
    ("reader", "text", "place"),
    [
        ("json", '{"norm1": {"eps": 0,5}}', (1, 21)),
        ("json", '{"x": [["0,5"]], "attn": {}}', (1, 9)),
        ("json", '{"x": [[0,5, 1,2], [0,1]], "attn": {"out": [[1]]}}', (1, 20)),
        ("stdin", '{"x": [["0,5"]], "attn": {}}', (1, 9)),
        ("csv", "1;0,5\n", (1, 3)),
        ("csv", "1\t 0,5\n", (1, 4)),
    ],
)
def test_decimal_commas_elsewhere(
    reader: str, text: str, place: tuple[int, int], tmp_path: Path
) -> None:
    fault = fault_of(reader, text, tmp_path)
    assert fault.hint == "decimals use a point: 0.5, not 0,5"
    assert place_of(fault) == place
