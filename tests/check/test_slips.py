"""Slips of one cell, told by the cell's own arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tests.check.helpers import check_text, made, right, small


def typed(numbers: np.ndarray, places: int) -> str:
    """Write a matrix with so many decimals."""
    rows = (", ".join(f"{x:.{places}f}" for x in row) for row in numbers)
    return "[" + ", ".join(f"[{row}]" for row in rows) + "]"


def reasons(
    step: str,
    numbers: np.ndarray,
    *before: str,
    places: int = 4,
) -> set[str]:
    values = right(small())
    text = "".join(f"{name}: {typed(values[name], 6)}\n" for name in before)
    checked = check_text(small(), f"{text}{step}: {typed(numbers, places)}")
    assert checked.judgement.first_wrong == step
    return {name for r in checked.reasons for name in r.names}


@pytest.mark.parametrize(
    ("at", "number", "name"),
    [
        # q[0, 0] = 1*0.7 + 0.5*0.1 - 0.3*0.5 = 0.6
        ((0, 0), 0.6 + 0.15, "slip_term_missing"),
        ((0, 0), 0.6 + 0.7, "slip_term_twice"),
        ((0, 0), 0.6 + 0.3, "slip_sign"),
        ((1, 1), -1.06, "slip_sign"),
        ((1, 1), 10.6, "slip_point_moved"),
    ],
)
def test_a_slip_in_a_product(at: tuple[int, int], number: float, name: str) -> None:
    q = right(small())["attn.q"].round(6)
    q[at] = number
    assert name in reasons("attn.q", q)


def test_digits_exchanged() -> None:
    z = right(small())["attn.z"].round(4)
    text = f"{z[1, 1]:.4f}"
    at = text.index(".") + 1
    assert text[at] != text[at + 1]
    z[1, 1] = float(text[:at] + text[at + 1] + text[at] + text[at + 2 :])
    assert "slip_digits_exchanged" in reasons("attn.z", z, "attn.weights", "attn.v")


def test_a_plain_wrong_number_is_no_slip() -> None:
    rng = np.random.RandomState(0)
    told = 0
    for _ in range(20):
        z = right(small())["attn.z"].round(5)
        z[rng.randint(3), rng.randint(3)] += round(float(rng.normal()), 5)
        told += bool(reasons("attn.z", z, "attn.weights", "attn.v", places=5))
    assert told <= 1


def test_many_wrong_cells_are_no_slips() -> None:
    q = right(small())["attn.q"].round(6) + 0.123
    assert not any(name.startswith("slip") for name in reasons("attn.q", q))


def test_the_same_slip_in_every_cell_is_the_one_named() -> None:
    block = made({"x": [[1, 2], [3, 4]], "attn": {"out": [[0.5, 0.25], [0.125, 0.75]]}, "stop": "residual1"})  # fmt: skip
    checked = check_text(block, "residual1: [[2.5, 2.25], [4.125, 4.75]]")
    cells: dict[tuple[int, ...], set[str]] = {}
    for reason in checked.reasons:
        if reason.at is not None:
            cells.setdefault(reason.at, set()).update(reason.names)
    assert all("slip_carry" in names for names in cells.values())
