"""The source of the LaTeX export: every number stands in it, and what is marked is worked."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import blockcalc
from blockcalc.explain.data import run_document
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Column, Listing, Panel, Remark, Sign, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.notation.alphabets import Latex
from blockcalc.ops.expr import Figure, Name
from blockcalc.views import FORMATS
from blockcalc.views.formats.latex import _Writer, latex
from blockcalc.views.tex.lists import MOST_ROWS, short_lists
from blockcalc.views.tex.macros import Kind, macros
from blockcalc.views.tex.matrix import Matrices
from tests.blocks import ATTENTION, SQUARE
from tests.helpers import SAMPLES, TINY, TINY_SPEC, cli, text
from tests.read_back import check, from_latex

MARKS = re.compile(r"\\block(?:lit|worked)\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")


def panel(rows: int = 2, columns: int = 2, **more: object) -> Panel:
    figures = tuple(tuple(Figure(f"{10 * i + j}.5") for j in range(columns)) for i in range(rows))
    given = {"row_labels": tuple(f"t{i + 1}" for i in range(rows)),
             "column_labels": tuple(str(j + 1) for j in range(columns)), "rows": figures, **more}  # fmt: skip
    return Panel(Name("Q"), "", ("q", (), False), **given)  # type: ignore[arg-type]


def entries(matrices: list[str]) -> list[str]:
    """Give the numbers of matrices, without marks, labels and padding."""
    found = []
    for matrix in matrices:
        body = matrix[matrix.index("}{") :] if matrix.startswith(r"\blockmatrix") else matrix
        plain = MARKS.sub(r"\1", re.sub(r"\\phantom\{[^}]*\}|\\text\{[^}]*\}", "", body))
        found += re.findall(r"-?\d+\.\d+(?: \\times 10\^\{-?\d+\})?", plain)
    return found


def test_a_matrix_has_its_labels_beside_it_and_its_symbol_below() -> None:
    (made,) = Matrices().write(panel())
    assert made == "\\blockmatrix{\\text{t1}\\\\\\text{t2}}{rr}{0.5 & 1.5\\\\\n10.5 & 11.5}{Q}"


def test_labels_of_tokens_stand_above() -> None:
    (made,) = Matrices().write(panel(column_labels=("a", "b & c")))
    assert made.startswith("\\blocktable{ & \\text{a} & \\text{b \\& c}\\cr\n\\text{t1} & 0.5")


def test_the_worked_cell_is_boxed_and_what_it_reads_is_bold() -> None:
    (worked,) = Matrices().write(panel(worked=(1, 0)))
    assert worked.count(r"\block") == 2
    assert r"\blockworked{10.5} & 11.5" in worked
    (lit,) = Matrices().write(panel(lit=frozenset({(0, 0), (0, 1)})))
    assert r"{\blocklit{0.5} & \blocklit{1.5}\\" in lit


def test_decimal_points_are_aligned_and_large_and_infinite_numbers_are_left_alone() -> None:
    figures = [Figure(t) for t in ("1", "-0.25", "10.5", "-inf")] + [Figure("1.5", 7)]
    assert Matrices().column(figures) == [
        r"1\phantom{.00}", "-0.25", r"10.5\phantom{0}", r"-\infty", r"1.5 \times 10^{7}",
    ]  # fmt: skip


@pytest.mark.parametrize(("rows", "columns"), [(2, 40), (80, 2), (80, 40), (1, 1)])
def test_a_large_matrix_is_split_and_loses_nothing(rows: int, columns: int) -> None:
    given = panel(rows, columns, worked=(rows - 1, columns - 1))
    made = list(Matrices().write(given))
    assert sorted(entries(made)) == sorted(f.digits for row in given.rows for f in row)
    assert "".join(made).count(r"\blockworked") == 1
    if len(made) > 1:
        heads = re.findall(r"\\text\{(\d+)\}", "".join(made))
        assert set(heads) == {str(j + 1) for j in range(columns)}


def test_what_is_left_out_is_dotted() -> None:
    (made,) = Matrices().write(panel(row_breaks=(1,), column_breaks=(1,)))
    assert r"\text{t1} & 0.5 & \cdots & 1.5" in made
    assert r" & \vdots & \vdots & \vdots" in made
    assert r"\text{1} &  & \text{2}" in made


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_every_number_of_a_picture_is_in_the_source(path: Path) -> None:
    spec = blockcalc.load(path)
    write = Matrices().write
    for piece in explain(spec, blockcalc.run(spec), Depth(pictures=True)):
        if isinstance(piece, StepPiece) and piece.picture is not None:
            for part in (*piece.picture.parts, *piece.picture.others):
                if isinstance(part, Panel):
                    made = MARKS.sub(r"\1", "".join(write(part)))
                    for row in part.rows:
                        assert all(Latex().figure(f) in made for f in row)


@pytest.mark.parametrize("args", [(), ("--detail", "cells"), ("--grad",), ("--digits", "9")])
def test_the_printed_lines_are_true(args: tuple[str, ...]) -> None:
    source = text(cli("export", TINY, "--latex", *args)).replace(r"\blockfrac", r"\frac")
    source = source.replace(r"\blockexp{", "e^{")
    lines = re.findall(r"^\\blockline\{(.*)\}\{\}$", source, re.MULTILINE)
    assert len(lines) >= 24
    for line in lines:
        left, _, rest = line.partition("}{")
        check(f"{left} {rest}", from_latex)


def test_each_step_is_one_call_by_its_name() -> None:
    for form in ("--latex", "--beamer"):
        source = text(cli("export", TINY, form))
        names = re.findall(r"^\\blockstep\{(.*?)\}", source, re.MULTILINE)
        assert names == [eq.out.name for eq in blockcalc.run(TINY_SPEC).program.equations]


def test_the_mark_is_explained_once_where_there_is_one() -> None:
    said = "A box marks the worked cell"
    assert text(cli("export", TINY, "--latex")).count(said) == 1
    assert said not in text(cli("export", TINY, "--latex", "--detail", "tables"))
    assert said not in text(cli("cost", TINY, "--latex"))


def test_tables_alone_have_neither_operands_nor_arithmetic() -> None:
    source = text(cli("export", TINY, "--latex", "--fragment", "--detail", "tables"))
    body = source.partition(r"\makeatother")[2]
    assert r"\blockline{" not in body
    assert r"\blocksign" not in body


def test_documents_without_pictures_show_their_tables() -> None:
    spec = blockcalc.load({"x": [SQUARE, SQUARE], "attn": ATTENTION})
    plain = replace(run_document(spec, blockcalc.run(spec)), drawn=None)
    made = FORMATS["latex"].write(plain, True).decode()
    assert r"\text{batch 1}" in made
    assert r"\text{batch 2}" in made
    assert r"\blockworked" not in made.partition(r"\makeatother")[2]


@pytest.mark.parametrize(
    ("sign", "said"),
    [
        (Sign("@"), ""),
        (Sign("*"), r"\times"),
        (Sign("/", Name("d_head")), r"/\;d_{\mathrm{head}}"),
        (Sign("->"), r"\longrightarrow"),
        (Sign("->", "sqrt"), r"\xrightarrow{\sqrt{\phantom{x}}}"),
        (Sign("->", "gelu_tanh"), r"\xrightarrow{\mathrm{gelu\_tanh}}"),
        (Sign("->", Name("W_Q")), r"\xrightarrow{W_{Q}}"),
    ],
)
def test_signs_between_matrices(sign: Sign, said: str) -> None:
    assert _Writer(slides=False).sign(sign) == said


def test_the_macros_are_defined_once_and_are_not_the_host_s() -> None:
    for slides, heat in product((False, True), repeat=2):
        written = macros(Kind(slides, heat=heat))
        defined = re.findall(r"\\(?:new\w+|[gx]?def(?!i))\{?(?:\\?)(\w+)", written)
        own = [name for name in defined if name not in ("par", "cr", "blocknext")]
        assert all(name.startswith("block") for name in own)
        assert written.startswith(r"\makeatletter\ifdefined\blockstep\else")


def test_a_remark_belongs_to_the_part_before() -> None:
    made = latex([Remark("one"), Remark("two", quiet=True)], True).decode()
    assert made.count("\n\\blockpart{text}") == 1


def test_a_list_on_slides_is_cut_between_rows() -> None:
    rows = [(str(i), f"step{i}") for i in range(MOST_ROWS + 1)]
    piece = Listing((Column("n", "number"), Column("name", "name")), tuple(rows))
    parts = list(short_lists(piece))
    assert len(parts) == 2
    assert sum(line.endswith(r" \\") for part in parts for line in part) == MOST_ROWS + 1
