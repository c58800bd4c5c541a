"""Hostile names, long labels, wide numbers and large matrices, through the views."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import blockcalc
from blockcalc.explain.data import run_document
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Panel, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.notation.alphabets import Text
from blockcalc.views import FORMATS
from tests.helpers import SAMPLES, cli, text
from tests.views.test_latex import pdflatex, pdftotext, typeset
from tests.views.test_markdown import pandoc

LONG = ["x" * 200, "x" * 199 + "y", "苹果树" * 40]
SMALL = [[0.5, -1.25], [3, 2], [-0.125, 1]]
UNIT = [[1, 0], [0, 1]]


def block(**more: Any) -> dict[str, Any]:
    return {"x": SMALL, "attn": {"w_q": UNIT, "w_k": UNIT, "w_v": UNIT}, "stop": "attn.out", **more}


def shown(data: dict[str, Any]) -> Counter[str]:
    """Count the numbers in the results of all steps."""
    spec = blockcalc.load(data)
    steps = explain(spec, blockcalc.run(spec), Depth(pictures=True, brief=True, prose=False))
    panels = [
        part
        for step in steps
        if isinstance(step, StepPiece) and step.picture is not None
        for part in step.picture.parts
        if isinstance(part, Panel)
    ]
    return Counter(Text().figure(f) for panel in panels for row in panel.rows for f in row)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_long_labels_cut_no_number_and_keep_to_the_width(width: int) -> None:
    data = block(tokens=LONG)
    out = text(cli("run", "-", "--brief", stdin=json.dumps(data).encode(), COLUMNS=str(width)))
    assert max(map(cell_len, out.splitlines())) <= width
    found = Counter(re.findall(r"[^\s\[\]│]+", out))
    assert shown(data) - found == Counter()


def test_a_pipe_shows_long_labels_whole() -> None:
    out = text(cli("run", "-", stdin=json.dumps(block(tokens=LONG)).encode(), COLUMNS=""))
    assert all(label in out for label in LONG)


@pytest.mark.parametrize("width", [30, 40, 57, 80])
def test_chinese_without_spaces_is_wrapped(width: int) -> None:
    title = "远方有颗苹果树：注意力在看谁，" * 6 + "abc" + "事物、动作、处所、修饰。" * 5
    out = text(cli("run", "-", stdin=json.dumps(block(title=title)).encode(), COLUMNS=str(width)))
    lines = out.partition("tokens")[0].splitlines()
    assert "".join(line.strip() for line in lines) == title
    assert max(map(cell_len, lines)) <= width + 2  # a comma may hang into the margin
    assert not any(line[:1] in "，。、：" for line in lines if line)


@pytest.mark.slow
@pandoc
@pytest.mark.parametrize("args", [(), ("--grad",)])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_pandoc_reads_every_formula(path: Path, args: tuple[str, ...], tmp_path: Path) -> None:
    """As MathML, which also is the way to docx; what it cannot read it leaves as TeX."""
    source = cli("export", str(path), "--markdown", *args).stdout
    for kind in ("gfm+tex_math_dollars", "markdown"):
        done = subprocess.run(["pandoc", "-f", kind, "-t", "html", "--mathml"], input=source,
                              capture_output=True, check=True)  # fmt: skip
        assert done.stderr == b""


@pytest.mark.slow
@pdflatex
@pdftotext
@pytest.mark.parametrize(("rows", "columns"), [(20, 4), (30, 20), (40, 4)])
def test_slides_of_large_matrices_cut_nothing(rows: int, columns: int, tmp_path: Path) -> None:
    x = np.round(np.random.RandomState(1).normal(0, 1, (rows, columns)), 3).tolist()
    spec = blockcalc.load({"x": x, "attn": {"out": x}, "stop": "residual1"})
    document = run_document(spec, blockcalc.run(spec), Depth(whole=True))
    pages = typeset(FORMATS["beamer"].write(document).decode(), tmp_path).replace("−", "-")
    assert "too high" not in (tmp_path / "block.log").read_text(errors="replace")
    found = Counter(re.findall(r"-?\d+\.\d+", pages))
    assert Counter(f"{v:.3f}" for row in x for v in row) - found == Counter()


@pytest.mark.slow
@pdflatex
@pdftotext
@pytest.mark.parametrize("kind", ["latex", "beamer"])
def test_long_labels_fit_a_page_and_a_slide(kind: str, tmp_path: Path) -> None:
    spec = blockcalc.load(block(tokens=["a" * 200, "b c " * 50, "W_q 50% & #1" * 20]))
    document = run_document(spec, blockcalc.run(spec))
    typeset(FORMATS[kind].write(document).decode(), tmp_path)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_at_80_columns_a_heading_has_one_line(path: Path) -> None:
    """Where the shape with its axes does not fit, the sizes alone do."""
    lines = text(cli("run", str(path), COLUMNS="80")).splitlines()
    heads = [
        i
        for i, line in enumerate(lines)
        if re.match(r"  \d+  ?\S.* (attn|norm|ffn|blocks)\S+", line)
    ]
    assert heads
    broken = [lines[i + 1] for i in heads if re.match(r" {6}\[\w+ \d", lines[i + 1])]
    assert len(broken) <= len(heads) // 20


def test_the_smallest_sample_is_short() -> None:
    lengths = [len(text(cli("run", str(SAMPLES[0].parent / "tiny.yaml"), COLUMNS=w)).splitlines())
               for w in ("80", "100")]  # fmt: skip
    assert lengths[0] <= 175
    assert lengths[1] <= 150


@pytest.mark.parametrize("width", ["40", "80"])
@pytest.mark.parametrize(
    "args", [("run",), ("run", "--heat"), ("grad",), ("compare",)], ids=" ".join
)
@pytest.mark.slow
def test_colour_changes_no_character(args: tuple[str, ...], width: str) -> None:
    path = str(SAMPLES[0].parent / "bert_style.yaml")
    command, *options = args
    plain = text(cli(command, path, *options, "--color", "never", COLUMNS=width))
    coloured = text(cli(command, path, *options, "--color", "always", COLUMNS=width))
    if "--heat" not in options:
        assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_terminal_of_16_colours_gets_no_other() -> None:
    for args in (("run",), ("run", "--heat"), ("grad",), ("compare",), ("cost",)):
        command, *options = args
        out = text(cli(command, str(SAMPLES[0]), *options, "--color", "always"))  # 16, as in a pipe
        assert not re.search(r"\x1b\[[0-9;]*[34]8;[25]", out)
