"""The PDF: set without a warning, tagged, the same every time, and it shows what was typed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.errors import InternalError, UsageError
from blockcalc.explain.data import run_document
from blockcalc.explain.document import Head, Panel, StepPiece
from blockcalc.ops.expr import Figure, walk
from blockcalc.views import FORMATS
from blockcalc.views.formats.typst import pdf
from blockcalc.views.typst import setting
from blockcalc.views.typst.setting import Setter, set_pages
from tests.helpers import SAMPLES, TINY, cli, pieces, text

wheel = pytest.importorskip("typst")
pdftotext = pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext is not installed")
THERE = set(wheel.Fonts().families())
chinese = pytest.mark.skipif(not THERE & set(setting.CHINESE), reason="no font for Chinese")
SIDE, TOP = 18 / 25.4 * 72, 16 / 25.4 * 72
WIDTH, HEIGHT = 595.28, 841.89
WORD = re.compile(r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">')


def set_all(source: bytes, where: Path) -> str:
    """Set a source without a warning and nothing over the margins; give the text of its pages."""
    made, warnings = wheel.compile_with_warnings(
        source, format="pdf", pdf_standards=["ua-1"], timestamp=0
    )
    assert [w.message for w in warnings] == []
    return read(made, where)


def read(made: bytes, where: Path) -> str:
    """Give the text of a PDF, all of which stands between the margins."""
    (where / "a.pdf").write_bytes(made)
    boxes = _poppler(where, "-bbox")
    words = [tuple(map(float, m)) for m in WORD.findall(boxes)]
    assert words
    for left, top, right, bottom in words:
        assert left > SIDE - 2, (left, top)
        assert right < WIDTH - SIDE + 2, (right, top)
        assert top > TOP - 6, (left, top)
        assert bottom < HEIGHT - TOP + 6 or abs(left + right - WIDTH) < 1  # the number of the page
    return _poppler(where, "-layout").replace("−", "-")


def _poppler(where: Path, option: str) -> str:
    done = subprocess.run(
        ["pdftotext", option, "a.pdf", "-"], cwd=where, capture_output=True, check=True
    )
    return done.stdout.decode()


def exported(data: dict[str, Any], form: str, *args: str) -> bytes:
    done = cli("export", "-", form, *args, stdin=json.dumps(data).encode())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_a_pdf_is_tagged_and_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.PDF"):
        done = cli("export", TINY, "-o", name, cwd=tmp_path)
        assert done.stderr.decode() == f"wrote {name}\n"
    made = (tmp_path / "a.pdf").read_bytes()
    assert made == (tmp_path / "b.PDF").read_bytes()
    assert made == cli("export", TINY, "--pdf").stdout
    assert made.startswith(b"%PDF")
    for mark in (
        b"/StructTreeRoot",
        b"/Lang(en)",
        b"/Marked true",
        b"<pdfuaid:part>1<",
        b"/DisplayDocTitle true",
        b"A Transformer block by hand",
    ):
        assert mark in made
    assert b"CreationDate" not in made
    assert b"CreateDate" not in made


@pdftotext
@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--grad",), ("--detail", "cells"), ("--detail", "tables"), ("--digits", "17")], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_samples_are_set(path: Path, more: tuple[str, ...], tmp_path: Path) -> None:
    pages = set_all(cli("export", str(path), "--typst", *more).stdout, tmp_path)
    assert ("All gradients" if "--grad" in more else "residual1") in pages


@pdftotext
@chinese
@pytest.mark.parametrize("path", [p if p.stem == "tiny" else pytest.param(p, marks=pytest.mark.slow) for p in SAMPLES], ids=lambda p: p.stem)  # fmt: skip
def test_every_number_is_read_back(path: Path, tmp_path: Path) -> None:
    spec = blockcalc.load(path)
    document = run_document(spec, blockcalc.run(spec))
    pages = read(FORMATS["pdf"].write(document), tmp_path)
    steps = [p for p in pieces(spec, pictures=True) if isinstance(p, StepPiece)]
    assert len(steps) > 10
    for step in steps:
        assert step.name in pages
        assert step.picture
        figures = [
            f
            for part in step.picture.parts
            if isinstance(part, Panel)
            for row in part.rows
            for f in row
        ]
        for line in step.lines:
            assert line.middle
            figures += [
                f for e in (line.middle, line.result) for f in walk(e) if isinstance(f, Figure)
            ]
        for f in figures:
            assert f.digits.replace("inf", "∞") in pages, (step.name, f)
    for token in (token for names in spec.tokens or () for token in names):
        assert token in pages


@pdftotext
@pytest.mark.slow
@pytest.mark.parametrize("args", [("cost",), ("cost", "--preset", "llama-3-405b", "--lora", "4"), ("shapes",),
                                  ("shapes", "--preset", "llama-3-8b"), ("cost", "--preset", "gpt2", "--double", "tokens")],
                         ids=" ".join)  # fmt: skip
def test_lists_are_set(args: tuple[str, ...], tmp_path: Path) -> None:
    pages = set_all(cli(*args, "--typst").stdout, tmp_path)
    assert "attn.w_q" in pages or "projections" in pages


@pdftotext
@pytest.mark.slow
def test_a_report_is_set(tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"attn.k": [[1, 1], [0, 1], [2, 1]], "norm1": [[1, -1]] * 3}))
    done = cli("check", TINY, str(answers), "-o", "report.pdf", cwd=tmp_path)
    assert done.returncode == 1
    pages = read((tmp_path / "report.pdf").read_bytes(), tmp_path)
    assert "The first wrong step is attn.k" in pages


@pdftotext
@pytest.mark.slow
@pytest.mark.parametrize("columns", [11, 16, 30, 60])
def test_wide_matrices_lose_nothing(columns: int, tmp_path: Path) -> None:
    x = [[round(-123.4567 - i - j / 100, 4) for j in range(columns)] for i in range(2)]
    data = {"x": x, "attn": {"out": x}, "stop": "residual1"}
    pages = set_all(exported(data, "--typst", "--digits", "7", "--all"), tmp_path)
    for row in x:
        for entry in row:
            assert f"{entry:.4f}" in pages


@pdftotext
@pytest.mark.slow
def test_long_matrices_and_sums_are_set_whole(tmp_path: Path) -> None:
    rng = np.random.RandomState(0)
    x = np.round(rng.normal(0, 1, (40, 30)), 3).tolist()
    w = np.round(rng.normal(0, 1, (30, 3)), 3).tolist()
    data = {"x": x, "attn": {"w_q": w, "w_k": w, "w_v": w}, "stop": "attn.weights"}
    set_all(exported(data, "--typst", "--all"), tmp_path)
    set_all(exported({**data, "attn": {**data["attn"], "softmax": "shifted"}}, "--typst"), tmp_path)


NAMES = ['#read("/etc/hostname")', "$x$", "\\", "@ref", "<label>", "// c", "/* c */", '"q"', "`r`", "[b] {c} (d)",
         '#import "@preview/cetz:0.3.0": *', "a\u200bb", "a\x1b[2Jb", "x\u202ey", "w" * 200, "é ß ñ ž", "e\u0301", "яд",
         "-- --- ...", "~ * _ = - + /", "1. a", "https://a.b", "ffi -> =>", "", " ", "a long label of many words that goes on"]  # fmt: skip
SHOWN = [*NAMES[:11], r"a\u200bb", r"a\x1b[2Jb", r"x\u202ey", "é ß ñ ž", "яд", "-- --- ...", "1. a", "https://a.b", "ffi -> =>"]  # fmt: skip


def named(names: list[str]) -> dict[str, Any]:
    """Give a block whose tokens have these names."""
    return {"title": '100% #read("/etc/hostname") $&', "notes": "= a\n#panic()", "tokens": names, "stop": "attn.z",
            "x": np.eye(len(names), 3).tolist(), "attn": {"w_q": [[1]] * 3, "w_k": [[1]] * 3, "w_v": np.eye(3).tolist()}}  # fmt: skip


@pdftotext
@pytest.mark.slow
def test_names_are_shown_as_typed_and_nothing_runs(tmp_path: Path) -> None:
    pages = read(exported(named(NAMES), "--pdf", "--detail", "tables", "--all"), tmp_path)
    whole = "".join(pages.split())
    for name in (*SHOWN, '100% #read("/etc/hostname") $&', "= a", "#panic()"):
        assert "".join(name.split()) in whole, name
    assert pages.count("w" * 20) > 0


@pdftotext
@pytest.mark.slow
@pytest.mark.parametrize("names", [["🍎" * 40, "b"], ["👩‍👩‍👧‍👦", "☺️"], ["\U000e0100x", "\u0600"], ["שלום עולם", "مرحبا بالعالم"],
                                   ["हिन्दी", "ไทย", "ខ្មែរ"], ["o\u0305\u0332\u0489", "\u0301"], ["𝔸𝕏", "\ufdfd", "ﷺ"], ["", "0\U00012544\U00018d09\U00023e32"]])  # fmt: skip
def test_any_script_is_set_or_shown_by_its_code_points(names: list[str], tmp_path: Path) -> None:
    read(exported(named(names), "--pdf"), tmp_path)


@pdftotext
@chinese
@pytest.mark.slow
def test_chinese_names_are_set_with_a_font_that_is_there(tmp_path: Path) -> None:
    made = exported(named(["远方", "苹果树", "𠮷 & é"]), "--pdf", "--detail", "tables")
    pages = read(made, tmp_path)
    assert "苹果树" in pages
    assert "远方" in pages
    assert b"/Lang (zh)" in made or b"/Lang(zh)" in made
    assert b"CJK" in made or b"Sans" in made or b"Song" in made or b"Hei" in made


@pytest.fixture
def own_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine have no fonts but those of Typst."""
    alone = wheel.Fonts(include_system_fonts=False)
    monkeypatch.setattr(wheel, "Fonts", lambda **keys: alone)


@pytest.mark.slow
@pytest.mark.usefixtures("own_fonts")
def test_without_a_font_for_chinese_it_is_refused_with_the_names_of_some(tmp_path: Path) -> None:
    done = cli("export", str(folder() / "sentence_zh.yaml"), "-o", "a.pdf", cwd=tmp_path)
    assert done.returncode == 2
    said = done.stderr.decode()
    assert said.startswith("no font has ")
    assert "Noto Serif CJK SC" in said
    assert "apt install fonts-noto-cjk" in said
    assert not (tmp_path / "a.pdf").exists()


@pdftotext
@pytest.mark.usefixtures("own_fonts")
def test_other_characters_without_a_font_are_shown_as_code_points(tmp_path: Path) -> None:
    assert "U+1F34E" in read(pdf([Head("a 🍎 b", None, (), ())]), tmp_path)


def test_without_the_wheel_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    done = cli("export", TINY, "-o", "a.pdf", cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'blockcalc[pdf]'" in done.stderr.decode()
    assert not (tmp_path / "a.pdf").exists()
    assert text(cli("export", TINY, "--typst"))


def test_a_document_sees_no_file_no_package_and_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    setter = Setter(wheel.Fonts(include_system_fonts=False))
    begun = '#set document(title: "x", date: none)\n'
    assert setter.set(begun + "a").startswith(b"%PDF")
    for source in ('#read("/etc/hostname")', '#read("../../x")', f"#read({json.dumps(TINY)})",
                   '#import "@preview/cetz:0.3.0": *', '#import "@local/a:0.1.0": *', "#sys.inputs.at(\"a\")"):  # fmt: skip
        with pytest.raises(wheel.TypstError):
            setter.set(begun + source)
    with pytest.raises(InternalError, match="typst cannot set the pages"):
        set_pages(lambda families: "#panic()")


def test_fonts_are_chosen_by_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    setter = Setter(wheel.Fonts(include_system_fonts=False))
    assert setter.lacking(["é", "я", "苹", "∞", "🍎"]) == ["苹", "🍎"]
    assert setter.lacking([]) == []
    assert setter.chinese([]) == ()
    with pytest.raises(UsageError, match="no font has 苹果"):
        setter.chinese(["苹", "果", "\U00030000"])
    assert setter.chinese(["\U00030000"]) == ()


def test_a_pdf_is_no_text_and_has_no_fragment(tmp_path: Path) -> None:
    done = cli("export", TINY, "--pdf", "--fragment")
    assert done.returncode == 2
    assert "--fragment needs --latex, --beamer, --typst" in done.stderr.decode()
    text(cli("export", TINY, "--pdf", "--typst", "-o", "out/", cwd=tmp_path))
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"tiny.pdf", "tiny.typ"}


@pdftotext
@pytest.mark.parametrize("more", [("--heat",), ("--heat", "--steps", "attn.masked")], ids=" ".join)
def test_heat_maps_are_set(more: tuple[str, ...], tmp_path: Path) -> None:
    pages = set_all(cli("export", str(folder() / "causal.yaml"), "--typst", *more).stdout, tmp_path)
    assert "The stronger the shade" in pages
    assert ("-∞" in pages) == (len(more) > 1)


@pdftotext
@chinese
@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--grad",)], ids=" ".join)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_samples_are_set_in_chinese(path: Path, more: tuple[str, ...], tmp_path: Path) -> None:
    made = cli("export", str(path), "--pdf", "--lang", "zh", *more).stdout
    assert b"/Lang(zh)" in made
    assert "残差" in read(made, tmp_path)


@pdftotext
@pytest.mark.slow
@pytest.mark.parametrize(("sample", "most"), [("tiny", 3), ("pencil_pre", 4), ("three_features", 4), ("two_heads", 6)])  # fmt: skip
def test_a_small_block_takes_few_pages(sample: str, most: int, tmp_path: Path) -> None:
    pages = read(cli("export", str(folder() / f"{sample}.yaml"), "--pdf").stdout, tmp_path)
    assert pages.count("\f") <= most
