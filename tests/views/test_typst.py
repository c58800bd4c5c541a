"""The source of the Typst export: every number stands in it, and what was typed is only text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import blockcalc
from blockcalc.explain.data import run_document
from blockcalc.explain.document import (
    Bar,
    Closing,
    Column,
    Head,
    Heading,
    Line,
    Listing,
    Match,
    Overview,
    Panel,
    Piece,
    Remark,
    Right,
    Sign,
    StepPiece,
    Worked,
    Wrong,
)
from blockcalc.notation.alphabets import Text, Typst
from blockcalc.ops.expr import Figure, Fold, Name, Num, word
from blockcalc.views import FORMATS
from blockcalc.views.formats.typst import _Writer, typst
from blockcalc.views.typst.definitions import DEFINITIONS
from blockcalc.views.typst.lists import listing
from blockcalc.views.typst.matrix import Matrices, label_width, number
from blockcalc.views.typst.text import breakable, quoted, written
from tests.blocks import ATTENTION, SQUARE
from tests.helpers import SAMPLES, TINY, TINY_SPEC, cli, pieces, text

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def panel(rows: int = 2, columns: int = 2, **more: object) -> Panel:
    figures = tuple(tuple(Figure(f"{10 * i + j}.5") for j in range(columns)) for i in range(rows))
    given = {"row_labels": tuple(f"t{i + 1}" for i in range(rows)),
             "column_labels": tuple(str(j + 1) for j in range(columns)), "rows": figures, **more}  # fmt: skip
    return Panel(Name("Q"), "", ("q", (), False), **given)  # type: ignore[arg-type]


def body(source: str) -> str:
    return source.partition(DEFINITIONS)[2]


def test_a_matrix_has_labels_numbers_and_its_symbol() -> None:
    (made,) = Matrices().write(panel())
    under = 'under: block-formula("Q", $Q$)'
    assert made == f'block-matrix(2, labels: ("t1", "t2"), {under},\n"0.5", "1.5",\n"10.5", "11.5")'
    (bare,) = Matrices().write(panel(row_labels=("", "")), named=False)
    assert bare.startswith('block-matrix(2,\n"0.5"')
    (said,) = Matrices().write(replace(panel(), symbol="yours", caption="head 1"))
    assert 'under: "yours" + ", head 1"' in said


def test_labels_of_tokens_stand_above() -> None:
    (made,) = Matrices().write(panel(column_labels=("a", "#b")))
    assert 'heads: ("a", "#b")' in made


def test_the_worked_cell_and_what_it_reads_are_marked() -> None:
    (worked,) = Matrices().write(panel(worked=(1, 0)))
    assert 'block-worked("10.5"), "11.5"' in worked
    (lit,) = Matrices().write(panel(lit=frozenset({(0, 0), (0, 1)})))
    assert 'block-lit("0.5"), block-lit("1.5"),' in lit
    assert "block-worked" not in lit


def test_decimal_points_are_aligned() -> None:
    figures = [Figure(t) for t in ("1", "-0.25", "-inf")] + [Figure("1.5", 7)]
    (made,) = Matrices().write(replace(panel(4, 1), rows=tuple((f,) for f in figures)))
    column = made.split("\n")[1:]
    assert column == [
        'block-padded("1", ".00"),', '"−0.25",', '"−∞",', 'block-power("1.5", "7"))',
    ]  # fmt: skip
    assert number(Figure("1", -5)) == 'block-power("1", "−5")'


@pytest.mark.parametrize(("rows", "columns"), [(2, 60), (80, 2), (80, 60), (1, 1)])
def test_a_large_matrix_is_split_and_loses_nothing(rows: int, columns: int) -> None:
    given = panel(rows, columns, worked=(rows - 1, columns - 1))
    made = list(Matrices().write(given))
    assert (len(made) > 1) == (rows * columns > 1)
    found = re.findall(r'"(\d+\.5)"', "".join(made))
    assert sorted(found) == sorted(f.digits for row in given.rows for f in row)
    assert "".join(made).count("block-worked") == 1


def test_a_matrix_in_part_has_marks_and_all_labels() -> None:
    (made,) = Matrices().write(panel(row_breaks=(1,), column_breaks=(1,)))
    assert 'labels: ("t1", "", "t2")' in made
    assert 'heads: ("1", "", "2")' in made
    assert '"0.5", "⋯", "1.5",\n"⋮", "⋮", "⋮",\n"10.5", "⋯", "11.5")' in made


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ('#read("/etc/hostname")', '"#read(\\"/etc/hostname\\")"'),
        ("\\", '"\\\\"'),
        ('\\"', '"\\\\\\""'),
        ("$x$ `r` @a <b> // c /* d */", '"$x$ `r` @a <b> // c /* d */"'),
        ("a\x1b[2J\n\u202e\u200b", '"a\\\\x1b[2J\\\\n\\\\u202e\\\\u200b"'),
        ("e\u0301 苹果", '"é 苹果"'),
        ("\\u{41}", '"\\\\u{41}"'),
    ],
)
def test_what_was_typed_is_a_string(typed: str, shown: str) -> None:
    assert quoted(typed) == shown
    assert STRING.fullmatch(shown)


def test_long_words_may_be_broken() -> None:
    assert written("a b") == '"a b"'
    assert written("a " + "w" * 30) == f'{{"a"; " "; block-word("{"w" * 30}")}}'
    (made,) = Matrices().write(panel(row_labels=("x" * 40, "b")))
    assert f'labels: (block-label({{block-word("{"x" * 40}")}}), "b")' in made
    assert [label_width(t) for t in ("ab", "AB", "苹果", "w" * 99)] == [2, 3, 4, 24]


NAMES = ['#read("/etc/hostname")', "$x$", "\\", '"', "`", "@r", "<l>", "// c", "]", '")#panic()//']


def test_names_of_a_file_stand_in_strings_alone() -> None:
    data = {"title": '#panic("t")', "notes": "= a\n#panic()", "tokens": NAMES, "x": [[1, 0]] * len(NAMES),
            "attn": {"w_q": [[1]] * 2, "w_k": [[1]] * 2, "w_v": [[1, 0], [0, 1]]}}  # fmt: skip
    plain = {**data, "title": "t", "notes": "a\nb", "tokens": [f"t{i}" for i in range(len(NAMES))]}
    hostile, harmless = (
        body(text(cli("export", "-", "--typst", "--all", stdin=json.dumps(d).encode())))
        for d in (data, plain)
    )
    assert STRING.sub('""', hostile) == STRING.sub('""', harmless)
    for name in NAMES:
        assert quoted(name)[1:-1] in hostile


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
@pytest.mark.slow
def test_every_number_stands_in_the_source(path: Path) -> None:
    spec = blockcalc.load(path)
    steps = [p for p in pieces(spec, pictures=True) if isinstance(p, StepPiece)]
    made = body(FORMATS["typst"].write(run_document(spec, blockcalc.run(spec))).decode())
    alphabet = Typst()
    assert len(steps) > 10
    for step in steps:
        assert step.picture
        for part in step.picture.parts:
            figures = [f for row in part.rows for f in row] if isinstance(part, Panel) else []
            assert all(number(f) in made for f in figures)
        for line in step.lines:
            assert alphabet.render(line.left) in made
            assert alphabet.render(line.result) in made


def test_formulas_carry_their_plain_text() -> None:
    source = body(text(cli("export", TINY, "--typst")))
    assert r'block-formula("R⁽¹⁾ = X + O", $R^(\(1\)) = X + O$)' in source
    outside = re.sub(r'block-formula\("[^"]*", \$[^$]*\$\)', "", source)
    assert "$" not in STRING.sub("", outside)


def test_long_arguments_may_break_after_a_comma() -> None:
    figures = tuple(Figure(f"0.{i}") for i in range(10, 20))
    made = breakable("=", Fold("max", figures), "=", Figure("0.19"))
    assert len(made) == 10
    assert made[0] == r'block-formula("= max(0.10,", $= op("max") \(0.10\,$) + " "'
    assert made[-1] == r'block-formula("0.19) = 0.19", $0.19\) = 0.19$)'
    inside = word("sqrt", Fold("max", figures))
    assert len(breakable("=", inside)) == 1
    assert len(breakable("=", Fold("max", figures[:2]))) == 1
    assert breakable(Figure("1") / Figure("3")) == ['block-formula("1 / 3", $blockfrac(1, 3)$)']


@pytest.mark.parametrize(
    ("sign", "shown"),
    [
        (Sign("@"), "[]"),
        (Sign("*"), 'block-formula("×", $×$)'),
        (Sign("-"), 'block-formula("-", $-$)'),
        (Sign("/", Name("d_head")), r'block-formula("/ d_head", $\/ d_"head"$)'),
        (Sign("->"), 'block-formula("→", $⟶$)'),
        (Sign("->", "sqrt"), 'block-formula("→ sqrt", $stretch(→)^"√"$)'),
        (Sign("->", "gelu_tanh"), 'block-formula("→ gelu_tanh", $stretch(→)^"gelu_tanh"$)'),
        (Sign("->", Name("W_Q")), 'block-formula("→ W_Q", $stretch(→)^(W_Q)$)'),
    ],
)
def test_signs_between_matrices(sign: Sign, shown: str) -> None:
    assert _Writer().sign(sign) == shown


@pytest.mark.slow
def test_no_heading_is_of_a_level_that_leaves_one_out() -> None:
    sources = [text(cli("export", str(path), "--typst", *more)) for path in SAMPLES
               for more in ([], ["--grad"], ["--steps", "*residual1"])]  # fmt: skip
    for source in sources:
        levels = [int(n) for n in re.findall(r"block-(?:section|step)\((\d)", body(source))]
        assert levels[0] == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))
    assert {len(set(re.findall(r"block-step\((\d)", body(s)))) for s in sources} == {1}


def test_heads_headings_and_remarks() -> None:
    head = Head("Title", "notes", (), ("hint",), "headline")
    given: list[Piece] = [head, Heading("Block", level=1), Heading("Part", "attn", "about"), Remark("said"),
             Head("Other", None, (), ()), Head("", None, (("fact", ("a", "b")),), ()), Remark("quiet", quiet=True)]  # fmt: skip
    made = typst(given).decode()
    assert '#set document(title: "Title", date: none)' in made
    assert body(made).strip().splitlines() == [
        '#title("Title")',
        '#par("notes")',
        '#par(strong("headline"))',
        '#block-note("hint")',
        '#block-section(1, "Block", size: 16pt)',
        '#block-section(2, "Part", name: raw("attn"), prose: "about")',
        '#block-note("said")',
        '#block-section(1, "Other")',
        "#block-facts(",
        '("fact", "a; b"))',
        '#block-small("quiet")',
    ]
    assert '#set document(title: "A Transformer block"' in typst([Remark("said")]).decode()
    with pytest.raises(TypeError):
        typst([Overview((Match("a", 1, 1, None, "", True),))])


def test_worked_cells_by_themselves() -> None:
    line = Line(Name("x"), "=", None, "=", Figure("1"), words="given")
    short = Line(Name("y"), "≈", Num(2.0), "≈", Figure("2"), shortened=True)
    made = body(typst([Worked((line, short), "from these")]).decode())
    assert '#block-small("from these:")' in made
    assert '(block-formula("x", $x$), block-formula("= 1", $= 1$) + " (given)")' in made
    assert 'block-formula("≈ 2 ≈ 2", $≈ 2 ≈ 2$) + " (terms left out for length)"' in made
    assert body(typst([Worked(())]).decode()).strip() == ""


def test_a_list_has_kinds_of_columns_and_sums() -> None:
    columns = (Column("name", "name"), Column("n", "number"), Column("f", "formula"), Column("s", "bar"), Column("why", "text"))  # fmt: skip
    rows = (("attn.q", "-1.5", Name("C") ** 2.0, Bar(0.25), Wrong("no")), ("the whole", "2", "", "", Right("yes")))  # fmt: skip
    made = list(listing(Listing(columns, rows, (1,))))
    assert made == [
        "#block-list((auto, auto, auto, auto, 1fr,), (left, right, left, left, left,),",
        '  ("name", "n", "f", "s", "why",),',
        '  raw("attn.q"), "−1.5", block-formula("C²", $C^(2)$), block-bar("25.0 %", 3.75mm), strong("no"),',
        '  table.hline(stroke: 0.5pt), "the whole", "2", "", "", "yes",',
        ")",
    ]


def test_the_mark_is_explained_once_where_there_is_one() -> None:
    said = "A box marks the worked cell"
    assert text(cli("export", TINY, "--typst")).count(said) == 1
    assert said not in text(cli("export", TINY, "--typst", "--detail", "tables"))
    assert said not in text(cli("cost", TINY, "--typst"))


def test_documents_without_pictures_show_their_tables() -> None:
    spec = blockcalc.load({"x": [SQUARE, SQUARE], "attn": ATTENTION})
    plain = replace(run_document(spec, blockcalc.run(spec)), drawn=None)
    made = body(FORMATS["typst"].write(plain).decode())
    assert ', batch 1"' in made
    assert ', batch 2"' in made
    assert "block-worked" not in made


def test_a_fragment_has_no_page() -> None:
    whole, part = (text(cli("export", TINY, "--typst", *more)) for more in ([], ["--fragment"]))
    assert "#set page" in whole.partition(DEFINITIONS)[0]
    assert "#set page" not in part
    assert body(part) == body(whole)


def test_the_language_is_that_of_the_texts() -> None:
    words = '#show regex("\\\\p{Han}+"): set text(lang: "zh")'
    english = typst([Head("The 苹果 block", None, (), ())]).decode()
    assert 'lang: "en"' in english
    assert words in english
    assert words not in typst([Head("りんごの木 block", None, (), ())]).decode()
    chinese = text(cli("export", TINY, "--typst", "--lang", "zh"))
    assert 'lang: "zh", font' in chinese
    assert words not in chinese


def test_a_heat_map_has_a_ground_for_each_finite_number() -> None:
    shades = ((0, 4), (None, 2))
    rows = ((Figure("0.1"), Figure("-1")), (Figure("-inf"), Figure("0.5")))
    (made,) = Matrices().write(replace(panel(), rows=rows, shades=shades))
    assert 'labels: ("t1", "t2"), heads: ("1", "2"), shaded: true' in made
    assert 'block-shade(0, "0.1"), block-shade(4, block-padded("−1", ".0"))' in made
    assert 'block-quiet("−∞"), block-shade(2, "0.5"))' in made
    source = body(text(cli("export", TINY, "--typst", "--heat")))
    assert source.count("block-shade(") == 9
    assert source.count("The stronger the shade") == 1


def test_closing_formulas_stand_beside_each_other() -> None:
    made = body(typst([Closing("In short", ((Name("A"), Name("B")),))]).decode())
    assert (
        made.strip()
        == '#block-section(1, "In short")\n#block-flow(\nblock-formula("A = B", $A = B$))'
    )


def test_the_text_alphabet_is_read_aloud() -> None:
    source = body(
        FORMATS["typst"].write(run_document(TINY_SPEC, blockcalc.run(TINY_SPEC))).decode()
    )
    lines = [
        line
        for p in pieces(TINY_SPEC, pictures=True)
        if isinstance(p, StepPiece)
        for line in p.lines
    ]
    for line in lines:
        assert line.middle is not None
        parts = (line.relation, Text().render(line.middle), line.equals, Text().render(line.result))
        assert f'block-formula("{" ".join(parts)}"' in source
