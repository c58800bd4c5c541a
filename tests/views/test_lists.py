"""Lists on the screen: aligned, right and wrong in colour, never wider than the terminal."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from blockcalc.explain.document import Column, Listing, Right, Wrong
from blockcalc.views.terminal import Terminal

COLUMNS = (Column("step", "name"), Column("wrong", "number"), Column("where", "text"))
ROWS = (
    ("grad.residual1.from.norm2.product_mean", Wrong("12/128"), "the columns from 17 on"),
    ("x", Right("0/4"), ""),
)


def printed(listing: Listing, width: int, color: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
    )
    Terminal(console).listing(listing)
    return file.getvalue()


@pytest.mark.parametrize("width", [44, 50, 60, 70, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(width: int) -> None:
    text = printed(Listing(COLUMNS, ROWS), width)
    assert max(map(cell_len, text.splitlines())) <= width
    for entry in ("grad.residual1.from.norm2.product_mean", "12/128", "0/4"):
        assert entry in text
    assert "the columns from 17 on" in " ".join(text.split())


def test_a_last_text_without_room_stands_under_its_row() -> None:
    lines = printed(Listing(COLUMNS, ROWS), 60).splitlines()
    assert lines[1].endswith("12/128")
    assert lines[2].strip() == "the columns from 17 on"
    assert lines[3].split() == ["x", "0/4"]


def test_rows_without_room_for_their_numbers_are_stacked_under_their_names() -> None:
    lines = printed(Listing(COLUMNS, ROWS), 46).splitlines()
    assert lines[0].strip() == "grad.residual1.from.norm2.product_mean"
    assert lines[1].strip().startswith("wrong 12/128, the")
    assert lines[-1].strip() == "wrong 0/4"


def test_wrong_is_red_and_right_is_green_and_without_colour_all_is_plain() -> None:
    coloured = printed(Listing(COLUMNS, ROWS), 120, color=True)
    assert "\x1b[1;31m12/128\x1b[0m" in coloured
    assert "\x1b[32m0/4\x1b[0m" in coloured
    assert "\x1b" not in printed(Listing(COLUMNS, ROWS), 120)


@pytest.mark.parametrize("width", [46, 60, 120])
def test_numbers_stand_under_each_other(width: int) -> None:
    numbers = Listing(
        (Column("cell", "name"), Column("given", "number")), (("a", "-0.50"), ("b", "10.25"))
    )
    first, second = printed(numbers, width).splitlines()[1:]
    assert first.index(".") == second.index(".")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_chinese_in_a_last_column_is_wrapped_by_its_cells(width: int) -> None:
    why = "给一个查询的所有分数加上同一个常数，softmax 不变" * 3
    text = printed(Listing(COLUMNS, (("grad.attn.b_k", Right("4/4"), why),)), width)
    assert max(map(cell_len, text.splitlines())) <= width
    first, *others = text.splitlines()[1:]
    before, after, rest = first.partition("4/4")
    found = rest.strip() + "".join(line.strip() for line in others)
    assert found.replace(" ", "") == why.replace(" ", "")
    assert {len(line) - len(line.lstrip()) for line in others} == {len(before + after) + 3}
