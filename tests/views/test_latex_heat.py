"""Heat maps in LaTeX: shaded cells with their numbers, on a page, on slides, in a fragment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.explain.data import run_document
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Panel, StepPiece
from blockcalc.explain.picture.heat import SHADES, heat
from blockcalc.messages import say
from blockcalc.notation.alphabets import Text
from blockcalc.views import FORMATS
from blockcalc.views.picture.shades import GROUNDS, INKS
from tests.helpers import TINY, cli, text
from tests.views.test_latex import pdflatex, pdftotext, typeset, xelatex

CAUSAL = str(folder() / "causal.yaml")
CHOSEN = ("attn.weights", "attn.masked")
KINDS = [name for name, form in FORMATS.items() if form.shades and form.ending == ".tex"]


def panels(name: str, patterns: tuple[str, ...] = ()) -> list[Panel]:
    """Give the heat maps of a sample."""
    spec = blockcalc.sample(name)
    pieces = heat(spec, blockcalc.run(spec), Depth(patterns=patterns))
    steps = (p for p in pieces if isinstance(p, StepPiece) and p.picture is not None)
    return [part for step in steps for part in step.picture.parts if isinstance(part, Panel)]  # type: ignore[union-attr]


def source(name: str, kind: str = "latex", fragment: bool = False, **depth: object) -> str:
    spec = blockcalc.sample(name)
    chosen = Depth(**depth)  # type: ignore[arg-type]
    document = run_document(spec, blockcalc.run(spec), chosen, shaded=True)
    return FORMATS[kind].write(document, fragment).decode()


def test_there_is_a_colour_for_each_shade() -> None:
    assert len(GROUNDS) == len(INKS) == SHADES


def test_shades_grow_darker_and_ink_stands_out() -> None:
    """In grey, as on paper: by relative luminance, with the contrast that WCAG asks of text."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    grounds = [luminance(colour) for colour in GROUNDS]
    assert grounds == sorted(grounds, reverse=True)
    for ground, ink in zip(grounds, map(luminance, INKS), strict=True):
        low, high = sorted((ground, ink))
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("patterns", [(), CHOSEN])
def test_each_finite_number_has_its_ground(kind: str, patterns: tuple[str, ...]) -> None:
    body = source("causal", kind, patterns=patterns).partition(r"\begin{document}")[2]
    shades = [s for panel in panels("causal", patterns) for row in panel.shades for s in row]
    found = [int(n) for n in re.findall(r"\\blockshade\{(\d)\}", body)]
    assert found == [s for s in shades if s is not None]
    assert body.count(r"\blockquiet{-\infty}") == shades.count(None)
    assert (shades.count(None) > 0) == bool(patterns)


def test_a_heat_map_shows_the_labels_of_all_rows_and_columns() -> None:
    body = source("two_heads")
    for label in blockcalc.sample("two_heads").tokens[0]:
        assert body.count(rf"\text{{{label}}}") == 4  # a row and a column in each of two heads


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_without_heat_loads_no_colours(kind: str) -> None:
    spec = blockcalc.sample("tiny")
    whole = FORMATS[kind].write(run_document(spec, blockcalc.run(spec))).decode()
    assert "xcolor" not in whole
    assert "blockheat" not in whole


def test_a_fragment_names_the_package() -> None:
    assert "xcolor (table)" in source("causal", fragment=True).partition("\n")[0]


def test_a_wide_heat_map_is_written_in_parts() -> None:
    spec = blockcalc.loads("x: {random: [40, 4]}\nattn: {w_q: {random: [4, 4]}, w_k: {random: [4, 4]}, w_v: {random: [4, 4]}}\nstop: attn.out\n")  # fmt: skip
    document = run_document(spec, blockcalc.run(spec), Depth(whole=True), shaded=True)
    body = FORMATS["latex"].write(document).decode().partition(r"\begin{document}")[2]
    assert body.count(r"\blockshade") == 1600
    assert body.count(r"\blockheat") > 1


def test_slides_say_on_each_what_shades_mean() -> None:
    body = source("causal", "beamer", patterns=CHOSEN).partition(r"\begin{document}")[2]
    assert body.count(say("heat.legend")) == body.count(r"\blockstep{") == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--markdown",), "--heat needs one of --latex, --beamer, --pdf, --typst, --svg"),
        (("--csv",), "--heat needs one of --latex, --beamer, --pdf, --typst, --svg"),
        (("--latex", "--markdown", "-o", "out/"), "--markdown has no heat maps; --heat works with --latex, --beamer, --pdf, --typst, --svg"),
        (("--latex", "--row", "t2"), "--heat, --row"),
    ],
)  # fmt: skip
def test_what_has_no_heat_says_so(args: tuple[str, ...], said: str) -> None:
    done = cli("export", TINY, "--heat", *args)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_data_beside_a_heat_map_is_whole(tmp_path: Path) -> None:
    out = str(tmp_path / "out") + "/"
    assert cli("export", TINY, "--heat", "--latex", "--json", "-o", out).returncode == 0
    assert (tmp_path / "out" / "tiny.json").read_bytes() == cli("export", TINY, "--json").stdout


@pytest.mark.slow
@pdflatex
@pdftotext
@pytest.mark.parametrize("kind", KINDS)
def test_heat_maps_are_set(kind: str, tmp_path: Path) -> None:
    pages = typeset(source("causal", kind, patterns=CHOSEN), tmp_path).replace("−", "-")
    numbers = [f for panel in panels("causal", CHOSEN) for row in panel.rows for f in row]
    for figure in numbers:
        assert Text().figure(figure) in pages
    assert pages.count("-∞") == 6


@pytest.mark.slow
@xelatex
@pdftotext
def test_heat_maps_with_chinese_are_set(tmp_path: Path) -> None:
    assert "苹果" in typeset(text(cli("export", str(folder() / "sentence_zh.yaml"), "--latex", "--heat")), tmp_path)  # fmt: skip


@pytest.mark.slow
@pdflatex
@pdftotext
def test_a_heat_map_joins_a_document_that_has_the_macros(tmp_path: Path) -> None:
    """The body of a run comes first; that of its heat maps adds what it needs."""
    spec = blockcalc.sample("causal")
    run = FORMATS["latex"].write(run_document(spec, blockcalc.run(spec)), True).decode()
    whole = "% !TEX program = pdflatex\n\\documentclass{article}\\usepackage{amsmath,textcomp,graphicx}\\usepackage[table]{xcolor}"  # fmt: skip
    whole += rf"\begin{{document}}\twocolumn{run}{source('causal', fragment=True)}\end{{document}}"
    assert "The stronger the shade" in " ".join(typeset(whole, tmp_path).split())


@pytest.mark.slow
@pdflatex
@pdftotext
def test_a_long_power_breaks_in_a_narrow_column(tmp_path: Path) -> None:
    """The tanh of GELU is worked as 1 / (1 + e^(…)), and an exponent does not break."""
    body = text(cli("export", CAUSAL, "--latex", "--fragment", "--steps", "ffn.act"))
    whole = "% !TEX program = pdflatex\n\\documentclass{article}\\usepackage{amsmath,textcomp,graphicx}"  # fmt: skip
    pages = typeset(rf"{whole}\begin{{document}}\twocolumn{body}\end{{document}}", tmp_path)
    assert "exp(−2" in pages
