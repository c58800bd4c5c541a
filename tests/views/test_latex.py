"""The LaTeX export is set by TeX without a warning that matters, and shows what was typed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.explain.data import run_document
from blockcalc.explain.document import Heading
from blockcalc.views import FORMATS
from blockcalc.views.formats.latex import beamer, latex
from blockcalc.views.tex.text import escape
from tests.helpers import HERE, SAMPLES, TINY, cli, text

pytestmark = pytest.mark.slow

pdflatex = pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
xelatex = pytest.mark.skipif(not shutil.which("xelatex"), reason="xelatex is not installed")
pdftotext = pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext is not installed")


def typeset(source: str, where: Path) -> str:
    """Set a document with the engine that it names; give the text of its pages."""
    found = re.match(r"% !TEX program = (\w+)", source)
    assert found
    (where / "block.tex").write_text(source, encoding="utf-8")
    command = [
        found[1],
        "-interaction=nonstopmode",
        "-halt-on-error",
        "-no-shell-escape",
        "block.tex",
    ]
    done = subprocess.run(command, cwd=where, capture_output=True, check=False, timeout=120)
    log = (where / "block.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-2000:]
    for trouble in ("Overfull", "Missing character", "undefined", "LaTeX Warning"):
        assert trouble not in log, re.findall(rf".*{trouble}.*\n.*", log)[:3]
    pages = subprocess.run(
        ["pdftotext", "-layout", "block.pdf", "-"], cwd=where, capture_output=True, check=True
    )
    return pages.stdout.decode()


@pdflatex
@pdftotext
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_gradients_are_set(path: Path, tmp_path: Path) -> None:
    pages = typeset(text(cli("export", str(path), "--grad", "--latex")), tmp_path)
    assert "All gradients" in pages


@pdflatex
@pdftotext
@pytest.mark.parametrize("args", [("cost",), ("cost", "--preset", "llama-3-405b", "--lora", "4"), ("shapes",),
                                  ("shapes", "--preset", "llama-3-8b"), ("cost", "--preset", "gpt2", "--double", "tokens")],
                         ids=" ".join)  # fmt: skip
def test_lists_are_set(args: tuple[str, ...], tmp_path: Path) -> None:
    pages = typeset(text(cli(*args, "--latex")), tmp_path)
    assert "attn.w_q" in pages or "projections" in pages


@pdflatex
@pdftotext
def test_a_report_is_set(tmp_path: Path) -> None:
    report = (HERE / "golden" / "check.tex").read_text(encoding="utf-8")
    pages = typeset(report, tmp_path)
    assert "The first wrong step is attn.k" in pages
    assert "two digits are exchanged" in pages


@xelatex
@pdftotext
def test_lists_of_a_chinese_file_are_set(tmp_path: Path) -> None:
    pages = typeset(text(cli("cost", str(folder() / "sentence_zh.yaml"), "--latex")), tmp_path)
    assert "苹果树" in pages


def export(data: dict[str, Any], *args: str) -> str:
    return text(cli("export", "-", "--latex", *args, stdin=json.dumps(data).encode()))


@pdflatex
@pdftotext
@pytest.mark.parametrize("detail", ["tables", "normal", "cells"])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_samples_are_set(path: Path, detail: str, tmp_path: Path) -> None:
    pages = typeset(text(cli("export", str(path), "--latex", "--detail", detail)), tmp_path)
    assert "residual1" in pages


@pdflatex
@pdftotext
@pytest.mark.parametrize("columns", [11, 12, 16, 30, 40])
def test_wide_matrices_lose_nothing(columns: int, tmp_path: Path) -> None:
    x = [[round(-123.4567 - i - j / 100, 4) for j in range(columns)] for i in range(2)]
    data = {"x": x, "attn": {"out": x}, "stop": "residual1"}
    pages = typeset(export(data, "--digits", "7", "--all"), tmp_path).replace("−", "-")
    for row in x:
        for number in row:
            assert f"{number:.4f}" in pages


@pdflatex
@pdftotext
def test_long_matrices_and_sums_are_set_whole(tmp_path: Path) -> None:
    rng = np.random.RandomState(0)
    x = np.round(rng.normal(0, 1, (70, 40)), 3).tolist()
    w = np.round(rng.normal(0, 1, (40, 3)), 3).tolist()
    data = {"x": x, "attn": {"w_q": w, "w_k": w, "w_v": w}, "stop": "attn.weights"}
    typeset(export(data, "--all"), tmp_path)
    typeset(export(data), tmp_path)


@pdflatex
@pdftotext
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu", "identity"])
def test_every_activation_is_set(activation: str, tmp_path: Path) -> None:
    source = text(cli("export", str(folder() / "three_features.yaml"), "--latex", "--detail", "cells",
                      "--set", f"ffn.activation={activation}", "--set", "norm1={gamma: [1, 2, 3], beta: [0, 1, 0]}",
                      "--set", "attn.softmax=shifted"))  # fmt: skip
    typeset(source, tmp_path)


NAMES = ["W_q 50% & #1", r"a{b}~^\$", r"\input{/etc/hostname}", "$x$", "<b> | \"q\" 'q' `", "-- ---", "é ß ñ ž", "[x] a]b",
         "γ √2 → ∞", "a" * 90, "x y " * 30, "🍎 яд", "ĦħĸĿŀŉŦŧ", ",,a <<b>>", "WWWWWWWWWWWW", r"\\ \end{document}", "%", "", " "]  # fmt: skip


@pdflatex
@pdftotext
def test_names_are_shown_as_typed(tmp_path: Path) -> None:
    rows = np.eye(len(NAMES), 3).tolist()
    data = {"title": r"100% of \today & #1", "notes": "a_b\n$c$", "tokens": NAMES, "x": rows,
            "attn": {"w_q": [[1]] * 3, "w_k": [[1]] * 3, "w_v": np.eye(3).tolist()}}  # fmt: skip
    pages = typeset(export(data, "--detail", "tables"), tmp_path)
    for name in ("W_q 50% & #1", r"a{b}~^\$", r"\input{/etc/hostname}", "$x$", "é ß ñ ž", "[x] a]b", "U+1F34E",
                 r"100% of \today & #1", r"\\ \end{document}"):  # fmt: skip
        assert name in pages, name
    assert "a" * 20 in pages


@xelatex
@pdftotext
@pytest.mark.parametrize(
    "tokens", [["привет", "мир", "как", "дела"], ["語言模型", "機器學習", "深度學習"], ["WWWWWWWW0"] * 40,
               ["👩‍👩‍👧‍👦", "b"], ["a long label of many words " + c for c in "abc"]]
)  # fmt: skip
def test_wide_labels_stay_on_the_page(tokens: list[str], tmp_path: Path) -> None:
    n = len(tokens)
    data = {"tokens": tokens, "x": np.eye(n, 3).tolist(),
            "attn": {"w_q": [[1]] * 3, "w_k": [[2]] * 3, "w_v": np.eye(3).tolist()}, "stop": "attn.weights"}  # fmt: skip
    typeset(export(data, "--all"), tmp_path)


@xelatex
@pdftotext
def test_chinese_names_are_set_with_fonts_that_exist(tmp_path: Path) -> None:
    data = {"title": "手算一个 Transformer 块 50%", "tokens": ["远方", "有", "颗", "苹果", "树 & é"], "x": np.eye(5, 3).tolist(),
            "attn": {"w_q": [[1]] * 3, "w_k": [[2]] * 3, "w_v": np.eye(3).tolist()}}  # fmt: skip
    source = export(data)
    assert source.startswith("% !TEX program = xelatex")
    pages = typeset(source, tmp_path)
    for name in ("远方", "苹果", "手算"):
        assert name in pages


HOST = "% !TEX program = pdflatex\n\\documentclass{article}\\usepackage{amsmath,textcomp,graphicx}\\begin{document}\n"


@pdflatex
@pdftotext
@pytest.mark.parametrize("sample", ["tiny", "two_heads", "llama_style"])
@pytest.mark.parametrize("width", ["", "110mm", "80mm"])
def test_a_fragment_fits_where_it_is_put(sample: str, width: str, tmp_path: Path) -> None:
    body = text(cli("export", str(folder() / f"{sample}.yaml"), "--latex", "--fragment"))
    assert r"\documentclass" not in body
    assert body.startswith("% needs the packages amsmath")
    narrow = (
        rf"\setlength{{\textwidth}}{{{width}}}\hsize=\textwidth\linewidth=\hsize" if width else ""
    )
    pages = typeset(HOST + narrow + body + "\\end{document}\n", tmp_path)
    assert "residual1" in pages


@pdflatex
@pdftotext
def test_two_fragments_go_into_one_document(tmp_path: Path) -> None:
    body = text(cli("export", TINY, "--latex", "--fragment"))
    pages = typeset(HOST + body + body + "\\end{document}\n", tmp_path)
    assert pages.count("residual2 ") == 2 * typeset(
        HOST + body + "\\end{document}\n", tmp_path
    ).count("residual2 ")


@pdflatex
@pdftotext
@pytest.mark.parametrize("form", ["--latex", "--beamer"])
def test_no_heading_is_lost(form: str, tmp_path: Path) -> None:
    pages = typeset(text(cli("export", str(folder() / "stack.yaml"), form)), tmp_path)
    for title in ("Block 1 of 2", "Block 2 of 2", "LayerNorm 1", "The first block in short"):
        assert title in pages, title
    report = [Heading("One", prose="about one"), Heading("Two", prose="about two")]
    pages = typeset({"--latex": latex, "--beamer": beamer}[form](report).decode(), tmp_path)
    assert all(f"about {n}" in pages for n in ("one", "two"))


@pdflatex
@pdftotext
@pytest.mark.parametrize("form", ["--latex", "--beamer"])
def test_a_teacher_picks_steps(form: str, tmp_path: Path) -> None:
    source = text(cli("export", TINY, form))
    picked = source.replace(
        r"\begin{document}", "\\begin{document}\n\\def\\blockonly{attn.scores, result}"
    )
    pages = typeset(picked, tmp_path)
    assert "attn.scores" in pages
    assert "The result of the block" in pages
    for other in ("attn.q", "attn.scaled", "Inputs and weights", "LayerNorm", "A box marks"):
        assert other not in pages


@pdflatex
@pdftotext
def test_a_teacher_picks_steps_of_a_fragment(tmp_path: Path) -> None:
    body = text(cli("export", TINY, "--latex", "--fragment"))
    pages = typeset(f"{HOST}\\def\\blockonly{{attn.k}}\n{body}\\end{{document}}\n", tmp_path)
    assert "attn.k" in pages
    assert "attn.v" not in pages


@pdflatex
@pdftotext
@pytest.mark.parametrize(
    ("sample", "most"), [("tiny", 3), ("pencil_pre", 4), ("three_features", 4), ("two_heads", 6)]
)
def test_a_small_block_takes_few_pages(sample: str, most: int, tmp_path: Path) -> None:
    pages = typeset(text(cli("export", str(folder() / f"{sample}.yaml"), "--latex")), tmp_path)
    assert pages.count("\f") <= most


@pdflatex
@pdftotext
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_slides_are_set(path: Path, tmp_path: Path) -> None:
    pages = typeset(text(cli("export", str(path), "--beamer")), tmp_path)
    assert "residual1" in pages


@pdflatex
@pdftotext
def test_a_step_is_one_slide(tmp_path: Path) -> None:
    pages = typeset(text(cli("export", str(folder() / "two_heads.yaml"), "--beamer")), tmp_path)
    titles = [page.strip().splitlines()[0].split() for page in pages.split("\f") if page.strip()]
    assert [t[0] for t in titles if t[0].isdecimal()] == [str(n) for n in range(1, 34)]


@pdflatex
@pdftotext
@pytest.mark.parametrize("args", [("export", TINY, "--grad"), ("cost",), ("shapes", "--preset", "gpt2"),
                                  ("export", str(folder() / "two_heads.yaml"), "--grad", "--detail", "cells")], ids=" ".join)  # fmt: skip
def test_long_parts_go_on_in_other_slides(args: tuple[str, ...], tmp_path: Path) -> None:
    typeset(text(cli(*args, "--beamer")), tmp_path)


def test_powers_of_ten_are_written_out() -> None:
    source = export({"x": [[0.0000123, 1]], "attn": {"out": [[0, 0]]}, "norm1": {"eps": 1e-5}})
    assert r"1.23 \times 10^{-5}" in source
    assert r"1 \times 10^{-5}" in source
    assert not re.search(r"[0-9]e-[0-9]", source.replace("eps = 1e{-}5", ""))


def test_only_ascii_for_english() -> None:
    source = text(cli("export", TINY, "--latex"))
    assert source.isascii()
    assert source.startswith("% !TEX program = pdflatex")


def test_escape_leaves_plain_words_alone() -> None:
    assert escape("plain words, 1 + 2") == "plain words, 1 + 2"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
@pytest.mark.parametrize("digits", [4, 9, 15, 17])
@pytest.mark.parametrize("name", ["bert_style", "two_heads", "llama_style", "pencil_pre"])
def test_long_figures_stay_on_the_page(name: str, digits: int, tmp_path: Path) -> None:
    text(
        cli(
            "export",
            str(folder() / f"{name}.yaml"),
            "--digits",
            str(digits),
            "-o",
            "a.tex",
            "--latex",
            cwd=tmp_path,
        )
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "a.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Overfull" not in (tmp_path / "a.log").read_text(encoding="utf-8", errors="replace")


def test_labels_are_measured_by_what_is_printed() -> None:
    spec = blockcalc.load({"tokens": ["a{b}~^\\$", "e\u0301", "b"], "x": [[1, 0], [0, 1], [1, 1]],
                           "attn": {"out": [[1, 0], [0, 1], [1, 1]]}, "stop": "residual1"})  # fmt: skip
    made = FORMATS["latex"].write(run_document(spec, blockcalc.run(spec))).decode()
    assert "parbox" not in made
    assert "\u0301" not in made
    assert r"\text{\'e}" in made or r"\text{é}" in made


@pytest.mark.parametrize("kind", ["latex", "beamer"])
def test_the_title_of_the_result_is_said_once(kind: str) -> None:
    spec = blockcalc.sample("tiny")
    source = FORMATS[kind].write(run_document(spec, blockcalc.run(spec))).decode()
    shown = source[source.index(r"\begin{document}") :]
    title = "The result of the block, out = norm2"
    assert shown.count(rf"\textbf{{{title}}}") == (kind == "latex")
    assert rf"\blockpart{{result}}{{{title}}}" in shown  # which is the title of a frame


@pdflatex
@pdftotext
def test_matrices_with_heads_share_slides(tmp_path: Path) -> None:
    source = text(cli("export", str(folder() / "two_heads.yaml"), "--beamer", "--grad"))
    assert source.count(r"\blockpart{given}{Forward in brief}") <= 2
    pages = typeset(source, tmp_path)
    slides = [page for page in pages.split("\f") if page.strip().startswith("Forward in brief")]
    given = [page for page in slides if "[token 3" in page or "[head 2" in page]
    named = sum(len(re.findall(r"\[(?:token|head|query)\b", page)) for page in given)
    assert len(given) <= named / 2
