"""Pictures on the screen: nothing is cut, steps share lines, and the worked cell is marked."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

import blockcalc
from blockcalc.explain.document import Panel, Sign
from blockcalc.notation.alphabets import Text
from blockcalc.ops.expr import Figure, Name
from blockcalc.views.picture.flow import Flow, merged
from blockcalc.views.picture.panel import Box, Drawing
from blockcalc.views.screen import style_of
from blockcalc.views.terminal import Terminal
from tests.helpers import SAMPLES, TINY, cli, text

DRAWING = Drawing(Text(), lambda x: x)


def panel(**more: object) -> Panel:
    rows = ((Figure("1.5"), Figure("-2")), (Figure("10"), Figure("3.25")))
    given = {"row_labels": ("t1", "t2"), "column_labels": ("a", "b"), "rows": rows, **more}
    return Panel(Name("Q"), "", ("q", (), False), **given)  # type: ignore[arg-type]


def lines(box: Box) -> list[str]:
    return ["".join(part for part, _ in line) for line in box.lines]


def test_a_panel_has_its_symbol_and_labels_in_the_rule() -> None:
    (box,) = DRAWING.boxes(panel(), 80)
    assert lines(box) == ["Q ──────a──────b", "t1 │  1.5  -2   ", "t2 │ 10     3.25"]
    assert {cell_len(line) for line in lines(box)} == {box.width}


@pytest.mark.parametrize("cell", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_brackets_mark_the_worked_cell_without_moving_a_number(cell: tuple[int, int]) -> None:
    (plain,), (marked,) = DRAWING.boxes(panel(), 80), DRAWING.boxes(panel(worked=cell), 80)
    assert marked.width == plain.width + 1
    shown = "\n".join(lines(marked))
    assert shown.count("[") == shown.count("]") == 1
    bare = [line.replace("[", " ").replace("]", " ").rstrip() for line in lines(marked)]
    assert bare == [line.rstrip() for line in lines(plain)]
    number = re.search(r"\[(.*)\]", shown)
    assert number is not None
    assert number[1] == [["1.5", "-2"], ["10", "3.25"]][cell[0]][cell[1]]
    assert {cell_len(line) for line in lines(marked)} == {marked.width}


def test_left_out_rows_and_columns_are_marked() -> None:
    (box,) = DRAWING.boxes(panel(row_breaks=(1,), column_breaks=(1,)), 80)
    assert lines(box)[1].split() == ["t1", "│", "1.5", "…", "-2"]
    assert lines(box)[2].split() == ["…", "│"]
    assert {cell_len(line) for line in lines(box)} == {box.width}


def test_a_wide_panel_breaks_between_columns() -> None:
    boxes = DRAWING.boxes(panel(), 11)
    assert [line.split() for box in boxes for line in lines(box)[1:]] == [
        ["t1", "│", "1.5"], ["t2", "│", "10"], ["t1", "│", "-2"], ["t2", "│", "3.25"]
    ]  # fmt: skip


def test_boxes_of_unlike_heights_stand_side_by_side() -> None:
    (box,) = DRAWING.boxes(panel(), 80)
    row = merged([box, Box(3, [[(" = ", "")]]), box])
    shown = ["".join(part for part, _ in line) for line in row]
    assert [line.count("=") for line in shown] == [0, 1, 0]
    assert len({cell_len(line) for line in shown}) == 1


def test_signs_are_written_in_ascii_where_they_must_be() -> None:
    out = cli("run", TINY, PYTHONIOENCODING="ascii", COLUMNS="100").stdout.decode("ascii")
    assert "t2 | 0  1  x" in out
    assert "exp ->" in out
    assert "X ---1--2" in out


@pytest.mark.slow
def test_the_smallest_sample_is_short_and_whole() -> None:
    out = text(cli("run", TINY, COLUMNS="100"))
    assert len(out.splitlines()) <= 150
    for number, name in enumerate(blockcalc.run(blockcalc.load(TINY)), 1):
        assert re.search(rf"^  {number} +\S.*{re.escape(name)} ", out, re.MULTILINE), name
    brief = text(cli("run", TINY, "--brief", COLUMNS="100"))
    assert len(brief.splitlines()) <= 60
    assert "=" not in brief


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_every_sample_keeps_to_the_width(path: Path, width: int) -> None:
    out = text(cli("run", str(path), COLUMNS=str(width)))
    assert max(map(cell_len, out.splitlines())) <= width
    assert not any(line.endswith(" ") for line in out.splitlines())


@pytest.mark.slow
def test_colour_adds_only_colour() -> None:
    plain = text(cli("run", TINY, COLUMNS="100"))
    colour = text(cli("run", TINY, "--color", "always", COLUMNS="100"))
    assert re.sub(r"\x1b\[[0-9;]*m", "", colour) == plain


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--row", "t9"), "no token is called 't9', and there are 3"),
        (("--cell", "2"), "--cell takes a row and a column"),
        (("--cell", "0,1"), "--cell takes a row and a column"),
        (("--cell", "9,9"), "no step shown has a cell [9,9]"),
        (("--row", "t1", "--cell", "1,1"), "--row, --cell cannot be given together"),
        (("--cell", "1,1", "--brief"), "--cell, --brief cannot be given together"),
        (("--brief", "--detail", "cells"), "--brief, --detail cells cannot be given together"),
    ],
)
def test_a_wrong_choice_is_refused(args: tuple[str, ...], said: str) -> None:
    done = cli("run", TINY, *args)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_an_arrow_says_what_it_does_if_that_is_short() -> None:
    flow = Flow(DRAWING, 80, 80)
    assert flow.sign(Sign("->", "sqrt")).lines[0][0][0] == " √ → "
    assert flow.sign(Sign("->", Name("a_long_formula"))).lines[0][0][0] == " → "
    assert flow.sign(Sign("@")).lines[0][0][0] == " × "


def test_a_heat_map_has_colours_or_characters() -> None:
    shaded = panel(shades=((0, None), (4, 2)))
    (box,) = DRAWING.boxes(shaded, 80)
    assert lines(box)[1].split() == ["t1", "│", "1.5", "-2"]
    assert lines(box)[2].split() == ["t2", "│", "10", "█", "3.25", "▒"]
    (coloured,) = Drawing(Text(), lambda x: x, shaded=True).boxes(shaded, 80)
    assert "█" not in "".join(lines(coloured))
    styles = {text.strip(): style for line in coloured.lines[1:] for text, style in line}
    assert (styles["10"], styles["1.5"], styles["-2"]) == ("shade4", "shade0", "quiet")
    for one in (box, coloured):
        assert {cell_len(line) for line in lines(one)} == {one.width}


def test_a_stronger_shade_is_darker_on_any_screen() -> None:
    """The ground of a small number too is painted: a dark screen would be the strongest shade."""
    styles = [style_of(f"shade{n}") for n in range(5)]
    grounds = [style.bgcolor.get_truecolor() for style in styles if style.bgcolor]
    light = [sum(ground) for ground in grounds]
    assert len(light) == 5
    assert light == sorted(light, reverse=True)
    assert all(
        abs(sum(style.color.get_truecolor()) - own) > 255
        for style, own in zip(styles, light, strict=True)
        if style.color
    )


def test_shades_end_under_each_other() -> None:
    """Also where the numbers of the last column have unlike decimals."""
    file = io.StringIO()
    console = Console(file=file, width=100, force_terminal=True, color_system="256")
    screen = Terminal(console)
    rows = (
        (Figure("1"), Figure("2.5")),
        (Figure("3"), Figure("4.125")),
        (Figure("5"), Figure("6")),
    )
    shaded = panel(rows=rows, row_labels=("a", "b", "c"), shades=((0, 1), (2, 3), (4, 0)))
    screen.boxes(screen.drawing.boxes(shaded, 80))
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in file.getvalue().splitlines()]
    assert lines[1].rstrip().endswith("2.5")
    assert len({cell_len(line) for line in lines[1:]}) == 1


@pytest.mark.slow
def test_heat_maps_stand_side_by_side_and_work_no_cell() -> None:
    (causal,) = (path for path in SAMPLES if path.stem == "causal")
    out = text(cli("run", str(causal), "--heat", COLUMNS="100"))
    assert re.search("P head 1 .*P head 2", out)
    assert "█" in out
    assert "[1," not in out
    done = cli("run", str(causal), "--heat", "--row", "2")
    assert "--heat, --row cannot be given together" in done.stderr.decode()


@pytest.mark.slow
def test_what_people_come_for_stands_first() -> None:
    out = text(cli("cost", "--preset", "llama-3-8b", "--tokens", "8192"))
    assert out.splitlines()[1] == "  8.03 B parameters · 19.34 GFLOP a token · KV cache 2 GiB"
    three = next(path for path in SAMPLES if path.stem == "three_features")
    out = text(cli("grad", str(three)))
    assert out.splitlines()[1].startswith("  L = 1.084, where L = mean over all N entries")
    brief = text(cli("grad", str(three), "--brief"))
    assert "all parameters" in brief
    assert brief.splitlines()[:2] == out.splitlines()[:2]
    assert not re.search(r"^ +1  ", brief, re.MULTILINE)


@pytest.mark.slow
def test_a_chosen_row_reaches_exports_and_the_backward_pass() -> None:
    tex = text(cli("export", TINY, "--latex", "--row", "t2", "--steps", "attn.scores"))
    assert "worked for t2" in tex
    assert "S_{2,1}" in tex
    assert "S_{1,1}" not in tex
    one = text(cli("export", TINY, "--latex", "--cell", "2,3", "--steps", "attn.scores"))
    assert r"\blockline{S_{2,3}}" in one
    assert one.count(r"\blockline{S") == 1
    assert "S_{2,3}" in one
    grad = text(cli("grad", TINY, "--row", "t2", "--steps", "grad.norm2"))
    assert "worked for t2" in grad
    assert "dH⁽²⁾[2,1]" in grad
