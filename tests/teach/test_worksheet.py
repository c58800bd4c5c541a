"""A worksheet and its key, in every format, and the blanks as a file that ``check`` marks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import blockcalc
from blockcalc.cli.teach.asking import Asking
from blockcalc.explain.document import Document, Given, Head, Line, Listing, Panel, Piece, StepPiece
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.ops.expr import Blank, Figure
from blockcalc.teach.sheet import Worksheet
from blockcalc.views import FORMATS
from tests.helpers import SAMPLES, TINY, TINY_SPEC, cli, sample_specs, text
from tests.read_back import check, from_latex, from_text, printed
from tests.views.test_latex import pdflatex, typeset, xelatex
from tests.views.test_markdown import pandoc

pytestmark = pytest.mark.slow

NAMES = {"three": "three_features", "heads": "two_heads", "causal": "causal", "zh": "sentence_zh"}
FILES = [
    pytest.param(p, marks=() if p.stem in ("tiny", "two_heads") else pytest.mark.slow)
    for p in SAMPLES
]
HOSTILE = ["<script>", r"\input{x}", "a|b *c* #let $y$", "苹果_%&"]


def made(spec: Spec, columns: bool = False, **wanted: Any) -> Worksheet:
    return Asking(**wanted).worksheet(spec, blockcalc.run(spec), columns)


def of(document: Document, pictures: bool = True) -> list[Piece]:
    assert document.drawn is not None
    return list(document.drawn() if pictures else document.pieces())


def shown(piece: StepPiece) -> list[Figure]:
    parts = () if piece.picture is None else (*piece.picture.parts, *piece.picture.others)
    rows = [row for part in parts if isinstance(part, Panel) for row in part.rows]
    rows += [row for grid in piece.grids for row in grid.rows]
    return [figure for row in rows for figure in row]


class Entries:
    """Writes the numbers of a step, one after the other, in place of the blanks."""

    def __init__(self, values: Iterator[float]) -> None:
        self.values = values

    def __call__(self, sign: re.Match[str]) -> str:
        value = next(self.values)
        return sign[0] if sign[0] == "~" else f"{value:.6f}"


def filled(folder: Path, spec: Spec, wrong: str | None = None) -> dict[str, Any]:
    """Fill in a file of blanks from the run; with ``wrong`` one number of a step is changed."""
    (path,) = folder.glob("sheet.yaml")
    trace = blockcalc.run(spec)
    source = path.read_text(encoding="utf-8")
    lines, name = [], ""
    for line in source.splitlines():
        if (found := re.match(r"([a-z][\w.]*):", line)) and found[1] != "points":
            name = found[1]
            value = np.asarray(trace[name]) + (name == wrong)
            turned = "transpose" in source and value.ndim > 1
            entries = Entries(iter((value.swapaxes(-1, -2) if turned else value).ravel()))
        if not line.startswith("#") and name:
            line = re.sub(r"(?<=[\[ ])[?~](?=[,\]])", entries, line)
        lines.append(line)
    answers = folder / f"answers{wrong or ''}.yaml"
    answers.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"path": str(answers), "points": yaml.safe_load(source.replace("?", "~"))["points"]}


@pytest.mark.parametrize("pictures", [True, False])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("spec", sample_specs()[::2], ids=lambda spec: spec.title[:20])
def test_every_blank_stands_on_the_sheet_and_no_answer_does(
    spec: Spec, columns: bool, pictures: bool
) -> None:
    own = made(spec, columns, blanks=6, seed=1)
    steps = {p.name: p for p in of(own.sheet(), pictures) if isinstance(p, StepPiece)}
    assert list(steps)[-1] == own.gaps[-1].step  # nothing stands after the last blank
    for gap in own.gaps:
        piece = steps[gap.step]
        assert gap.number in {f.number for f in shown(piece) if isinstance(f, Blank)}
        (line,) = [
            x for x in piece.lines if isinstance(x.result, Blank) and x.result.number == gap.number
        ]
        assert isinstance(line.middle, Blank)
    hidden = {
        n for p in steps.values() for f in shown(p) if isinstance(f, Blank) for n in [f.number]
    }
    assert hidden - {0} == {gap.number for gap in own.gaps}


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("spec", sample_specs()[::2], ids=lambda spec: spec.title[:20])
def test_the_lines_of_the_key_are_true(spec: Spec, columns: bool) -> None:
    own = made(spec, columns, blanks=10, seed=2)
    lines = [line for p in of(own.key()) if isinstance(p, StepPiece) for line in p.lines]
    assert len(lines) == 10
    for line in lines:
        check(printed(line, Text()), from_text)
        check(printed(line, Latex()), from_latex)


def test_the_key_has_the_numbers_of_the_run() -> None:
    own = made(TINY_SPEC, blanks=8)
    table = next(p for p in of(own.key()) if isinstance(p, Listing))
    assert [row[0] for row in table.rows] == [f"({n})" for n in range(1, 9)]
    for gap, row in zip(own.gaps, table.rows, strict=True):
        figure = row[3]
        assert isinstance(figure, Figure)
        assert abs(float(figure.digits) - own.trace[gap.step][gap.at]) < 5e-4


def test_the_numbers_that_were_blank_are_marked_in_the_key() -> None:
    own = made(TINY_SPEC, steps=["attn.scores"], blanks=2)
    (piece,) = [p for p in of(own.key()) if isinstance(p, StepPiece)]
    assert piece.picture is not None
    result = piece.picture.parts[-1]
    assert isinstance(result, Panel)
    assert result.lit == {gap.at for gap in own.gaps}


def test_an_easy_sheet_marks_what_a_blank_is_computed_from() -> None:
    def marked(**level: Any) -> list[Panel]:
        pieces = of(made(TINY_SPEC, blanks=3, **level).sheet())
        parts = [
            part
            for p in pieces
            if isinstance(p, StepPiece) and p.picture
            for part in p.picture.parts
        ]
        return [part for part in parts if isinstance(part, Panel) and (part.lit or part.worked)]

    assert len([p for p in marked(easy=True) if p.worked]) == 3
    assert marked() == []


def test_tokens_are_columns_where_asked() -> None:
    spec = blockcalc.sample("three_features")
    rows, columns = (
        of(made(spec, c, steps=["attn.q", "norm1.mean"], blanks=2).sheet()) for c in (False, True)
    )
    for a, b in zip(rows, columns, strict=True):
        if isinstance(a, Given):
            assert isinstance(b, Given)
            for (mine, own), (other, theirs) in zip(a.matrices, b.matrices, strict=True):
                assert other.shape == mine.shape[:-2] + mine.shape[-2:][::-1]
                assert theirs[0].rows == tuple(zip(*own[0].rows, strict=True))
    text_of = Text()
    formulas = {p.name: text_of.render(p.formula) for p in columns if isinstance(p, StepPiece)}
    assert formulas["attn.q"] == "W_Q X"
    assert formulas["attn.scores"] == "Kᵀ Q"
    assert formulas["attn.z"] == "V P"
    titles = {p.name: p.title for p in columns if isinstance(p, StepPiece)}
    assert titles["norm1.mean"] == "Mean of each column"
    assert titles["attn.weights.sum"] == "Column sums"
    head = next(p for p in columns if isinstance(p, Head))
    assert "weights multiply from the left" in str(head.facts)


def test_weights_that_are_stored_for_columns_stay_as_they_are() -> None:
    w = [[1, 2], [3, 4], [5, 6]]
    data = {"x": [[1, 2], [0, 1]], "weight_layout": "out_in", "norm": {"eps": 1},
            "attn": {"w_q": w, "w_k": w, "w_v": w, "w_o": [[1, 0, 1], [0, 1, 1]]}}  # fmt: skip
    own = made(blockcalc.load(data), True, steps=["attn.q"], blanks=2)
    pieces = of(own.sheet())
    given = next(p for p in pieces if isinstance(p, Given))
    weight = next((o, grids[0]) for o, grids in given.matrices if o.name == "attn.w_q")
    assert weight[0].shape == (3, 2)
    assert [[float(f.digits) for f in row] for row in weight[1].rows] == w
    step = next(p for p in of(own.key()) if isinstance(p, StepPiece))
    assert Text().render(step.formula) == "W_Q X"
    assert step.picture is not None
    first, second, result = (p for p in step.picture.parts if isinstance(p, Panel))
    numbers = [
        np.array([[float(f.digits) for f in row] for row in p.rows])
        for p in (first, second, result)
    ]
    np.testing.assert_array_equal(numbers[0] @ numbers[1], numbers[2])
    assert Text().render(first.symbol) == "W_Q"  # type: ignore[arg-type]
    head = next(p for p in pieces if isinstance(p, Head))
    assert "stored [out, in] multiply from the left" in str(head.facts)


def test_no_convention_speaks_of_rows_where_tokens_are_columns() -> None:
    spec = blockcalc.sample("two_heads")
    for form in ("plain", "shifted"):
        own = (
            made(spec, True)
            if form == "plain"
            else made(blockcalc.load(SAMPLES[0], {"attn.softmax": form}), True)
        )
        head = next(p for p in of(own.sheet()) if isinstance(p, Head))
        assert "column" in str(head.facts)
        assert "row " not in str(head.facts)


def test_a_product_in_columns_is_the_product_of_its_panels() -> None:
    own = made(blockcalc.sample("two_heads"), True, steps=["attn.q", "ffn.out", "attn.z"])
    for piece in of(own.key()):
        if isinstance(piece, StepPiece) and piece.picture:
            panels = [p for p in piece.picture.parts if isinstance(p, Panel)]
            first, second, *bias, result = (
                np.array([[float(f.digits) for f in row] for row in p.rows]) for p in panels
            )
            np.testing.assert_allclose(first @ second + sum(bias), result, atol=2e-3)


def test_points_are_those_of_the_file_if_it_has_any() -> None:
    assert made(TINY_SPEC, steps=["attn.scores"]).points == {"attn.scores": 9.0}
    spec = blockcalc.load(
        {**yaml.safe_load(Path(TINY).read_text(encoding="utf-8")), "points": {"scores": 2.5}}
    )
    assert made(spec, steps=["attn.scores", "norm1.mean"], blanks=3).points == {"attn.scores": 2.5}


# files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["row", "column"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_blanks_are_marked_right_when_filled_and_wrong_when_one_is_changed(
    path: Path, form: str, tmp_path: Path
) -> None:
    text(
        cli(
            "worksheet",
            str(path),
            "--blanks",
            "7",
            "--form",
            form,
            "-o",
            str(tmp_path / "sheet.md"),
        )
    )
    blank = cli("check", str(path), str(tmp_path / "sheet.yaml"), "--score")
    assert b"Score: 0 of 7." in blank.stdout
    spec = blockcalc.load(path)
    own = filled(tmp_path, spec)
    assert sum(own["points"].values()) == 7
    done = cli("check", str(path), own["path"], "--score")
    assert done.returncode == 0, done.stdout.decode()
    assert b"Score: 7 of 7." in done.stdout
    step = list(own["points"])[-1]
    changed = filled(tmp_path, spec, step)
    done = cli("check", str(path), changed["path"], "--score", "--json")
    (data,) = [json.loads(done.stdout)]
    assert done.returncode == 1
    assert data["first_wrong"] == step


def test_a_class_is_marked(tmp_path: Path) -> None:
    text(cli("worksheet", TINY, "-o", "sheet.html", cwd=tmp_path))
    right = filled(tmp_path, TINY_SPEC)
    steps = list(right["points"])
    files = [right["path"], *(filled(tmp_path, TINY_SPEC, step)["path"] for step in steps)]
    done = cli("check", TINY, *files, "--score", "--csv")
    rows = [line.split(",") for line in done.stdout.decode().splitlines()]
    n = rows[0].index("points")
    assert [float(row[n]) for row in rows[1:]] == [8.0, *(8 - right["points"][s] for s in steps)]


@pytest.mark.parametrize("ending", [".tex", ".md", ".html", ".typ"])
def test_three_files_are_written(ending: str, tmp_path: Path) -> None:
    done = cli(
        "worksheet",
        TINY,
        "-o",
        f"sheet{ending}",
        "--norm",
        "pre",
        "--set",
        "attn.scale=none",
        "--eps",
        "1e-3",
        "--round",
        "3",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {
        f"sheet{ending}",
        f"sheet.key{ending}",
        "sheet.yaml",
    }
    head = (tmp_path / "sheet.yaml").read_text(encoding="utf-8").splitlines()[1]
    assert head.endswith(
        "check tiny.yaml sheet.yaml --norm pre --eps 1e-3 --round 3 --set attn.scale=none --score"
    )
    again = cli("worksheet", TINY, "-o", f"sheet{ending}", cwd=tmp_path)
    assert (again.returncode, b"exists" in again.stderr) == (3, True)
    text(cli("worksheet", TINY, "-o", f"sheet{ending}", "--force", cwd=tmp_path))


def test_several_formats_go_into_a_folder(tmp_path: Path) -> None:
    text(cli("worksheet", TINY, "--latex", "--beamer", "--html", "-o", "out/", cwd=tmp_path))
    names = {p.name for p in (tmp_path / "out").iterdir()}
    own = {"tiny-sheet.tex", "tiny-sheet.beamer.tex", "tiny-sheet.html"}
    assert names == {*own, *(n.replace("sheet", "sheet.key", 1) for n in own), "tiny-sheet.yaml"}


def test_the_terminal_shows_the_sheet_or_the_key() -> None:
    assert "(1)____" in text(cli("worksheet", TINY))
    assert "____" not in text(cli("worksheet", TINY, "--key"))
    assert r"\blockblank{1}" in text(cli("worksheet", TINY, "--latex"))
    assert r"\blockblank{1}" not in text(cli("worksheet", TINY, "--latex", "--key"))
    plain = text(cli("worksheet", TINY, PYTHONIOENCODING="ascii"))
    assert "(1)____" in plain


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    shutil.copy(TINY, tmp_path / "tiny.yaml")
    wrong = {
        ("--steps", "nope"): "there is no step 'nope'",
        ("--steps", "attn.[z"): "attn.[z",
        ("--blanks", "900"): "but 900 are asked for",
        ("--blanks", "0"): "--blanks",
        ("--latex", "-o", "a.md"): "--latex does not write files that end in .md",
        ("-o", "a.docx"): ".docx cannot be written",
        ("-o", "a.yaml"): "that end in .yaml",
        ("-o", "tiny.tex", "--force"): "is the block itself",
        ("--easy", "--hard"): "exclude each other",
        ("--key", "-o", "a.tex"): "--key",
        ("--fragment",): "--fragment",
        ("--form", "both"): "both",
    }
    for args, said in wrong.items():
        done = cli("worksheet", "tiny.yaml", *args, cwd=tmp_path)
        assert (done.returncode, said in done.stderr.decode()) == (2, True), (args, done.stderr)
    done = cli("worksheet", "tiny.yaml", "-o", "no/a.tex", cwd=tmp_path)
    assert (done.returncode, b"no such folder" in done.stderr) == (3, True)
    assert {p.name for p in tmp_path.iterdir()} == {"tiny.yaml"}


def hostile(tmp_path: Path) -> Path:
    data = {
        **yaml.safe_load(Path(TINY).read_text(encoding="utf-8")),
        "tokens": HOSTILE[:3],
        "title": HOSTILE[2],
        "notes": HOSTILE[3],
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    path = hostile(tmp_path)
    for name in ("sheet", "key"):
        own = ("--key",) if name == "key" else ()
        page = text(cli("worksheet", str(path), "--html", *own))
        assert "<script>" not in page
        assert r"\input{x}" not in text(cli("worksheet", str(path), "--latex", *own))
    odd = tmp_path / "b\n!!x: ?.yaml"
    shutil.copy(TINY, odd)
    text(cli("worksheet", str(odd), "-o", str(tmp_path / "sheet.md")))
    assert yaml.safe_load((tmp_path / "sheet.yaml").read_text(encoding="utf-8").replace("?", "~"))[
        "points"
    ]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "args", [(), ("--key",), ("--form", "column"), ("--easy",), ("--hard", "--form", "column")]
)
def test_it_is_said_in_both_languages(lang: str, args: tuple[str, ...]) -> None:
    out = text(cli("worksheet", TINY, "--lang", lang, *args))
    assert ("练习卷" in out or "答案" in out) == (lang == "zh")
    page = text(cli("worksheet", TINY, "--lang", lang, "--html", *args))
    assert f'<html lang="{"zh-CN" if lang == "zh" else "en"}">' in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [(), ("--key",), ("--form", "column"), ("--form", "column", "--key"), ("--hard",)]
)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pdflatex
@xelatex
def test_latex_sets_it(path: Path, args: tuple[str, ...], tmp_path: Path) -> None:
    typeset(text(cli("worksheet", str(path), "--latex", *args)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("args", [(), ("--key",)])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pdflatex
@xelatex
def test_slides_are_set(path: Path, args: tuple[str, ...], tmp_path: Path) -> None:
    typeset(text(cli("worksheet", str(path), "--beamer", *args)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
@pdflatex
@xelatex
def test_latex_sets_it_with_hostile_names(lang: str, tmp_path: Path) -> None:
    typeset(text(cli("worksheet", str(hostile(tmp_path)), "--latex", "--lang", lang)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [(), ("--key",), ("--form", "column", "--lang", "zh"), ("--key", "--lang", "zh")]
)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_typst_sets_it(path: Path, args: tuple[str, ...]) -> None:
    pytest.importorskip("typst")
    assert cli("worksheet", str(path), "--pdf", *args).stdout.startswith(b"%PDF")


@pytest.mark.slow
@pytest.mark.parametrize("args", [(), ("--key",), ("--form", "column", "--lang", "zh")])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pandoc
def test_pandoc_reads_it(path: Path, args: tuple[str, ...]) -> None:
    source = cli("worksheet", str(path), "--markdown", *args).stdout
    done = subprocess.run(
        ["pandoc", "-f", "gfm", "-t", "html", "--mathml"],
        input=source,
        capture_output=True,
        check=True,
    )
    assert b"Could not convert" not in done.stderr
    assert done.stdout.count(b"<table>") > 3


def test_the_page_has_every_blank_twice_or_more() -> None:
    page = text(cli("worksheet", TINY, "--html"))
    assert all(
        page.count(f'<span class="bc-blank"><sup>{n}</sup></span>') >= 2 for n in range(1, 9)
    )
    assert page.count('class="bc-room"') == 8
    assert "script-src" not in page
    assert all(
        form.write(made(TINY_SPEC).key())
        for form in FORMATS.values()
        if form.part in ("pieces", "live") and not form.binary
    )


def test_a_line_has_no_answer_on_the_sheet() -> None:
    lines = [
        x
        for p in of(made(TINY_SPEC).sheet())
        for x in getattr(p, "lines", ())
        if isinstance(x, Line)
    ]
    assert all(isinstance(x.result, Blank) for x in lines)


def test_points_of_the_file_are_not_written_again(tmp_path: Path) -> None:
    data = {**yaml.safe_load(Path(TINY).read_text(encoding="utf-8")), "points": {"attn.scores": 3}}
    (tmp_path / "own.json").write_text(json.dumps(data), encoding="utf-8")
    text(cli("worksheet", "own.json", "--steps", "scores", "-o", "sheet.md", cwd=tmp_path))
    assert "points" not in (tmp_path / "sheet.yaml").read_text(encoding="utf-8")
    done = cli("check", "own.json", "sheet.yaml", "--score", cwd=tmp_path)
    assert b"Score: 0 of 3." in done.stdout
