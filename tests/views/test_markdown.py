"""Markdown: every number is kept, worked lines are true, and names are shown as typed."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.notation.signs import clean
from tests.helpers import FEW_SAMPLES, HERE, SAMPLES, THREE, TINY, cli, text
from tests.read_back import check, from_latex

HOSTILE = [":smile:", "a:+1:b", "a|b", "*x*", "_x_", "<script>alert(1)</script>", "$x$", "`", "``x", "line\nbreak", "\\", "\\|", "[a](b)",
           "# h", "1. x", "- x", "+", "&amp;", "a -- b...", "@me", "~~s~~", "^2^", '"q"', "x_y", "", "远方|有", "(1) x",
           "| --- |", "$$", "![i](j)", "<!--", "H~2~O"]  # fmt: skip
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def number(cell: str) -> tuple[float, float]:
    """Read a number, and half a unit of its last digit."""
    digits, _, power = cell.replace("∞", "inf").partition("×10")
    if "inf" in digits:
        return float(digits), 0.0
    value = Decimal(digits).scaleb(int(power.translate(_RAISED) or 0))
    return float(value), 0.5 * 10.0 ** int(value.as_tuple().exponent)


def plain(cell: str) -> str:
    """Undo the escapes of a cell."""
    return html.unescape(re.sub(r"\\([^A-Za-z0-9\s])", r"\1", cell))


def cells(row: str) -> list[str]:
    """Split the row of a table."""
    assert row.startswith("| ")
    assert row.endswith(" |")
    return row[2:-2].split(" | ")


def tables(source: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Give every table below a heading with a name, and that name."""
    name, table = "", list[list[str]]()
    for line in [*source.splitlines(), ""]:
        if line.startswith("|"):
            table.append(cells(line))
        elif table:
            yield name, table
            table = []
        if line.startswith("#"):
            name = (re.findall(r"`([^`]*)`$", line) or [""])[0]


def hold(found: list[list[list[str]]], value: Any) -> None:
    """Require that tables hold the numbers of a matrix, each to half a unit of its last digit."""
    rows = [row[1:] for _, _, *body in found for row in body]
    read = np.array([[number(cell) for cell in row] for row in rows])
    want = np.asarray(value).reshape(read.shape[:2])
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.isfinite(read[..., 0]), finite)
    off = np.abs(read[..., 0][finite] - want[finite])
    assert (off <= read[..., 1][finite] * 1.0000001 + 1e-15).all()


@pytest.mark.parametrize("path", FEW_SAMPLES, ids=lambda p: p.stem)
def test_every_number_is_in_a_table(path: Path) -> None:
    source = text(cli("export", str(path), "--markdown", "--all", "--no-prose"))
    trace = blockcalc.run(blockcalc.load(path))
    found: dict[str, list[list[list[str]]]] = {}
    for name, table in tables(source):
        found.setdefault(name, []).append(table)
    last = list(trace)[-1]
    found[last] = found[last][: len(found[last]) // 2 or 1]  # the result is repeated at the end
    for name in trace:
        hold(found[name], trace[name])


@pytest.mark.parametrize("path", FEW_SAMPLES, ids=lambda p: p.stem)
def test_every_worked_line_is_true(path: Path) -> None:
    source = text(cli("export", str(path), "--markdown", "--detail", "cells", "--no-prose"))
    lines = re.findall(r"^- \$(.*)\$$", source, re.MULTILINE)
    worked = [line for line in lines if re.search(r" (=|\\approx) .* (=|\\approx) ", line)]
    assert len(worked) > 20
    for line in worked:
        check(line, from_latex)


@pytest.mark.parametrize(
    "args", [(), ("--grad", "--lr", "0.1"), ("--set", "ffn.activation=gelu_tanh")]
)
def test_no_formula_needs_an_escape(args: tuple[str, ...]) -> None:
    """GitHub reads escapes and emphasis in formulas before KaTeX does."""
    source = text(cli("export", THREE, "--markdown", *args))
    for formula in formulas(source):
        assert not re.search(r"\\[^A-Za-z]", formula), formula
        assert "*" not in formula
    for paragraph in re.split(r"\n\n|\n(?=- )", source):
        opens = re.findall(r"(?<![A-Za-z0-9\\])_", " ".join(formulas(paragraph)))
        assert len(opens) < 2 or paragraph.startswith("$$"), paragraph


def formulas(source: str) -> list[str]:
    """Give the formulas of a source."""
    displayed = re.findall(r"^\$\$\n(.*?)\n\$\$$", source, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^\$\$\n.*?\n\$\$$", "", source, flags=re.DOTALL | re.MULTILINE)
    return displayed + re.findall(r"\$([^$\n]+)\$", rest)


def hostile(*args: str) -> str:
    n = len(HOSTILE)
    data = {"title": "100% | *a* <b> $x$ `c`\n# d", "notes": "- e\n> f\n$$g", "tokens": HOSTILE, "x": np.eye(n, 2).tolist(),
            "attn": {"w_q": np.eye(2).tolist(), "w_k": np.eye(2).tolist(), "w_v": np.eye(2).tolist()}, "stop": "attn.z"}  # fmt: skip
    stdin = json.dumps(data).encode()
    return text(cli("export", "-", "--markdown", "--all", *args, stdin=stdin))


def test_hostile_names_stay_in_their_cells() -> None:
    source = hostile()
    shown = [clean(token).strip() for token in HOSTILE]
    for name, (heads, _, *body) in tables(source):
        if name in ("attn.q", "attn.scores"):
            assert [plain(row[0]) for row in body] == shown
            assert {len(row) for row in (heads, *body)} == {len(heads)}
        if name == "attn.scores":
            assert [plain(head) for head in heads[1:]] == shown
    assert "<script" not in source
    assert source.startswith("# 100% &#124; \\*a\\* &lt;b&gt; &#36;x&#36; &#96;c&#96;\\\\n\\# d\n")
    assert "\n\n\\- e\n\n&gt; f\n\n&#36;&#36;g\n\n" in source


def test_left_out_rows_and_columns_are_marked() -> None:
    data = {"x": np.arange(200 * 50).reshape(200, 50).tolist(), "attn": {"out": np.eye(200, 50).tolist()}, "stop": "residual1"}  # fmt: skip
    stdin = json.dumps(data).encode()
    args = ("export", "-", "--markdown", "--steps", "residual1", "--detail", "tables")
    source = text(cli(*args, stdin=stdin))
    ((_, (heads, _, *body)),) = tables(source)
    assert len(heads) == len(body) + 1 == 18
    assert (heads[9], body[8]) == ("…", ["…"] * 18)
    assert "rows left out here" in source


@pytest.mark.parametrize("args", [("cost", TINY), ("shapes", "--preset", "gpt2")])
def test_lists_are_tables(args: tuple[str, ...]) -> None:
    listed = json.loads(text(cli(*args, "--json")))
    source = text(cli(*args, "--markdown"))
    found = [row[0] for _, table in tables(source) for row in table]
    assert listed
    assert "`attn.w_q`" in found or "`attn.qkv`" in found or "`attn.q`" in found


# with other programs ---------------------------------------------------------------------------

KATEX = """
const katex = require(process.argv[1]);
for (const tex of JSON.parse(require("fs").readFileSync(0)))
  for (const displayMode of [true, false]) {
    if (displayMode !== tex.startsWith("\\n")) continue;
    try { katex.renderToString(tex, {displayMode, strict: "error", throwOnError: true}); }
    catch (error) { console.log(tex + ": " + error.message); }
  }
"""
DEBIAN = "/usr/share/nodejs/katex"
katex = pytest.mark.skipif(
    not shutil.which("node") or not Path(DEBIAN).exists(), reason="KaTeX is not installed"
)
pandoc = pytest.mark.skipif(not shutil.which("pandoc"), reason="pandoc is not installed")
EXPORTS = [("export",), ("export", "--grad", "--chain", "--lr", "0.1"), ("export", "--detail", "cells"),
           ("cost",), ("export", "--set", "ffn.activation=gelu_tanh")]  # fmt: skip


@katex
@pytest.mark.slow
@pytest.mark.parametrize("args", EXPORTS, ids=" ".join)
def test_katex_accepts_every_formula(args: tuple[str, ...]) -> None:
    found: set[str] = set()
    for path in SAMPLES:
        done = cli(args[0], str(path), "--markdown", *args[1:])
        if done.returncode == 0:  # a sample may have no FFN to set an activation of
            source = done.stdout.decode()
            displayed = re.findall(r"^\$\$(\n.*?)\n\$\$$", source, re.DOTALL | re.MULTILINE)
            found.update(displayed, formulas(source))
    assert len(found) > 20
    command = ["node", "-e", KATEX, DEBIAN]
    done = subprocess.run(command, input=json.dumps(sorted(found)).encode(), capture_output=True, check=True)  # fmt: skip
    assert done.stdout == b""


def read_by_pandoc(source: str, kind: str) -> Any:
    command = ["pandoc", "-f", kind, "-t", "json"]
    done = subprocess.run(command, input=source.encode(), capture_output=True, check=True)
    return json.loads(done.stdout)["blocks"]


def said(node: Any) -> str:
    """Give the text of a part of pandoc's tree."""
    if isinstance(node, list):
        return "".join(map(said, node))
    if not isinstance(node, dict):
        return ""
    match node["t"]:
        case "Str":
            return str(node["c"])
        case "Space" | "SoftBreak":
            return " "
        case "Code" | "Math":
            return f"<{node['c'][-1]}>"
    return said(node.get("c"))


def rows_of(block: Any) -> list[list[str]]:
    """Give the cells of a table of pandoc, the heading first."""
    _, _, _, (_, heads), bodies, _ = block["c"]
    rows = [*heads, *(row for body in bodies for row in body[3])]
    return [[said(cell[4]) for cell in row[1]] for row in rows]


KINDS = ["markdown", "gfm+tex_math_dollars", "commonmark_x"]


@pandoc
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_pandoc_keeps_every_number(path: Path, kind: str) -> None:
    source = text(cli("export", str(path), "--markdown"))
    blocks = read_by_pandoc(source, kind)
    found = [rows_of(block) for block in blocks if block["t"] == "Table"]
    want = [[heads, *body] for _, (heads, _, *body) in tables(source)]
    assert len(found) == len(want)
    for read, own in zip(found, want, strict=True):
        shown = [[plain(cell) for cell in row] for row in own]
        assert [row[1:] for row in read] == [row[1:] for row in shown]
        assert [row[0] for row in read[1:]] == [row[0] for row in shown[1:]]
    assert sum(block["t"] == "Header" for block in blocks) == len(
        re.findall("^#", source, re.MULTILINE)
    )
    maths = re.findall(r"\"t\": ?\"Math\"", json.dumps(blocks))
    assert len(maths) == len(formulas(source))


@pandoc
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pandoc_shows_hostile_names_as_typed(kind: str) -> None:
    blocks = read_by_pandoc(hostile("--detail", "tables"), kind)
    shown = [" ".join(clean(token).split()) for token in HOSTILE]
    tables_read = [rows_of(block) for block in blocks if block["t"] == "Table"]
    scores = next(t for t in tables_read if len(t[0]) == len(HOSTILE) + 1)
    assert scores[0][1:] == shown
    assert [row[0] for row in scores[1:]] == shown
    assert said(blocks[0]["c"][2]) == "100% | *a* <b> $x$ `c`\\n# d"
    assert "RawInline" not in json.dumps(blocks)
    assert "RawBlock" not in json.dumps(blocks)


@pandoc
@pytest.mark.slow
def test_a_chinese_document_goes_through_pandoc() -> None:
    golden = (HERE / "golden" / "sentence_zh.md").read_text(encoding="utf-8")
    page = subprocess.run(["pandoc", "-f", "markdown", "-t", "html"], input=golden.encode(), capture_output=True, check=True)  # fmt: skip
    assert "远方" in page.stdout.decode()
