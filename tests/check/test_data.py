"""What was found, as data: numbers, reasons, cells, rows."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from blockcalc.check.data import (
    check_data,
    led_away,
    numbers_of,
    plain,
    reason_data,
    step_rows,
    values_of,
    worst,
    worst_cells,
)
from blockcalc.check.judge import Tolerance
from blockcalc.check.reasons.sentences import reasons_text
from blockcalc.check.run import Checked
from blockcalc.check.several.points import points_of
from blockcalc.check.several.table import class_rows
from blockcalc.check.where import differences, place
from blockcalc.views.formats.json import json_bytes
from tests.check.helpers import check_arrays, check_text, right, small

Q = right(small())["attn.q"]


def dump(step: str, change: Any, read_as: str = "float64", **more: Any) -> Checked:
    """Check one step of a dump, changed."""
    return check_arrays(small(), {step: change(right(small())[step])}, read_as, **more)


def at(cell: tuple[int, ...], by: float) -> Any:
    """Add to a cell."""

    def change(array: Any) -> Any:
        array[cell] += by
        return array

    return change


@pytest.mark.parametrize(("x", "written"), [(1.5, 1.5), (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan")])  # fmt: skip
def test_numbers_that_json_has_no_word_for_are_texts(x: float, written: float | str) -> None:
    assert plain(x) == written


def test_the_differences_of_a_cell() -> None:
    data = check_data(dump("attn.q", at((1, 2), 0.25)))["steps"]["attn.q"]
    assert (data["judged"], data["wrong"], data["own_wrong"]) == (9, 1, 1)
    assert data["max_abs"] == pytest.approx(0.25)
    assert data["max_rel"] == pytest.approx(0.25 / abs(Q[1, 2]))
    assert data["worst"]["at"] == [1, 2]
    assert data["worst"]["given"] == pytest.approx(data["worst"]["right"] + 0.25)
    assert data["where"] == "cell [2, 3]"


def test_units_of_the_last_place_of_the_format() -> None:
    big = int(np.abs(Q).argmax())
    cell = divmod(big, 3)
    spacing = float(np.spacing(np.float32(abs(Q[cell]))))
    data = check_data(dump("attn.q", at(cell, 8 * spacing), "float32"))["steps"]["attn.q"]
    assert data["max_ulp"] == pytest.approx(8, rel=1e-3)
    assert data["bound_ratio"] > 1
    text = check_text(small(), f"attn.q: {Q.round(2).tolist()}")
    assert check_data(text)["steps"]["attn.q"]["max_ulp"] is None


def test_no_ratio_to_a_bound_where_a_tolerance_is_chosen() -> None:
    found = dump("attn.q", at((0, 0), 0.1), tolerance=Tolerance(0.01, 0.5))
    data = check_data(found)
    assert data["steps"]["attn.q"]["bound_ratio"] is None
    assert data["tolerance"] == "a number is right within 0.01 + 0.5 × |right|"


def test_every_step_has_a_verdict_and_all_is_json() -> None:
    data = json.loads(json_bytes(check_data(dump("attn.q", at((0, 0), math.nan)), {})))
    names = {eq.out.name for eq in small().program.equations}
    assert set(data["steps"]) == names
    assert data["infinite"] == "attn.q"
    assert data["steps"]["attn.q"]["worst"]["given"] == "nan"
    assert data["blind"] == {}


def test_what_cannot_be_read_has_its_reason() -> None:
    data = check_data(check_text(small(), "attn.q: abc\nattn.k: [[1, 2]]"))
    assert {n: s["verdict"] for n, s in data["steps"].items() if "why" in s} == {
        "attn.q": "unreadable",
        "attn.k": "unreadable",
    }
    assert data["ok"] is False


def test_the_worst_cells_come_first_and_are_no_more_than_asked_for() -> None:
    def change(array: Any) -> Any:
        return array + np.array([[0.1, 0, 0.4], [0, 0.2, 0], [0, 0, 0.3]])

    own = dump("attn.q", change).steps["attn.q"]
    cells = [(0, 2), (2, 2), (1, 1), (0, 0)]
    over = differences(own)[2]
    assert worst_cells(own, 9) == sorted(cells, key=lambda c: -over[c])
    assert len(worst_cells(own, 2)) == 2
    assert worst(own) == worst_cells(own, 1)[0]
    assert worst(dump("attn.q", lambda a: a).steps["attn.q"]) is None


def test_what_leads_away_from_the_right_number() -> None:
    values = right(small())
    own = {"attn.scores": values["attn.scores"] + 1, "attn.scaled": values["attn.scaled"]}
    found = check_arrays(small(), own).steps
    assert led_away(found["attn.scaled"], [(0, 0)])
    assert not led_away(found["attn.scores"], [(0, 0)])


def test_numbers_of_a_cell_are_written_alike() -> None:
    own = check_text(small(), "attn.q: [[0.5, ?, ?], [?, ?, ?], [?, ?, ?]]").steps["attn.q"]
    ((given, true, mine),) = numbers_of(own, [(0, 0)])
    assert given == "0.5"
    assert true == mine == f"{Q[0, 0]:.1f}"
    assert values_of(own, [(0, 0)]) == [(0.5, Q[0, 0], Q[0, 0])]


def test_a_reason_as_data_names_its_cells_and_what_is_with_it() -> None:
    found = check_arrays(small(), {"attn.scaled": right(small())["attn.scores"]})
    ((entry,),) = [reason_data(found, r) for r in found.reasons]
    assert (entry["step"], entry["name"], entry["cells"]) == ("attn.scaled", "scale_missing", 9)
    assert entry["text"] == reasons_text(found, "attn.scaled")
    assert "with" not in entry
    slip = check_text(small(), f"attn.q: {str(Q.round(2).tolist()).replace('0.7', '7.0', 1)}")
    entries = [e for r in slip.reasons for e in reason_data(slip, r)]
    assert all(e["at"] for e in entries if e["name"].startswith("slip_"))


def test_rows_of_a_class_and_of_one() -> None:
    wrong, good = dump("attn.q", at((0, 0), 1.0)), dump("attn.q", lambda a: a)
    rows = class_rows([wrong, good], points_of([wrong, good]))
    assert [(r["ok"], r["first_wrong"], r["points"], r["of"]) for r in rows] == [
        (False, "attn.q", 0, 1),
        (True, "", 1, 1),
    ]
    assert [(r["step"], r["verdict"]) for r in step_rows(good)] == [("attn.q", "right")]


def test_places_count_from_1() -> None:
    assert place((0, 2)) == "[1, 3]"
