"""Slips of one cell, told by the cell's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from blockcalc.check.reasons.sentences import reasons_text
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


@pytest.mark.parametrize(
    ("at", "change", "places", "name"),
    [
        ((1, 1), lambda rows: -rows[1, 1], 2, "slip_sign"),
        ((0, 0), lambda rows: rows[0, 1], 2, "slip_neighbour_cell"),
        ((2, 1), lambda rows: rows[1, 1], 3, "slip_neighbour_cell"),
    ],
)
def test_a_usual_slip_in_a_number_of_few_decimals(
    at: tuple[int, int], change: Callable[[np.ndarray], float], places: int, name: str
) -> None:
    numbers = right(small())["residual1"].round(places)
    numbers[at] = change(numbers)
    assert name in reasons("residual1", numbers, places=places)


def test_digits_exchanged_in_a_number_of_two_decimals() -> None:
    for given in ("1.57", "7.15"):
        block = made({"x": [[1, 1], [2, 1]], "attn": {"out": [[0.5, 0.25], [0.75, 0.75]]}, "stop": "residual1"})  # fmt: skip
        checked = check_text(block, f"residual1: [[1.50, 1.25], [2.75, {given}]]")
        assert [r.names for r in checked.reasons] == [("slip_digits_exchanged",)]


def test_all_usual_slips_that_fit_are_named() -> None:
    block = made({"x": [[1, 1]], "attn": {"out": [[-2.3, 0.3]]}, "stop": "residual1"})
    checked = check_text(block, "residual1: [[1.300, 1.300]]")
    names = {name for r in checked.reasons for name in r.names}
    assert names == {"slip_sign", "slip_neighbour_cell"}


@pytest.mark.slow
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


@pytest.mark.parametrize(("given", "names"), [("-1", {"slip_sign"}), ("2", set()), ("0", set())])
def test_a_whole_number_tells_only_a_lost_sign(given: str, names: set[str]) -> None:
    checked = check_text(made({"x": [[1, 0], [0, 1]], "attn": {"w_q": [[1, 2], [2, 1]]}, "stop": "attn.q"}), f"attn.q: [[{given}, 2], [2, 1]]")  # fmt: skip
    assert {name for r in checked.reasons for name in r.names} == names


def test_one_slip_in_every_cell_of_a_column_is_told_where_one_cell_tells_it() -> None:
    values = right(small())["attn.q"].copy()
    values[:, 0] += 1
    assert reasons("attn.q", values, places=4) == {"slip_carry"}
    found = check_text(small(), f"attn.q: {typed(values, 4)}")
    said = reasons_text(found, "attn.q")
    assert said.startswith(f"in {', '.join(f'[{i + 1}, 1]' for i in range(len(values)))}, ")
    assert said.count("carry") == 1
