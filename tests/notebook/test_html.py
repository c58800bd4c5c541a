"""What a notebook shows: whole, escaped, self-contained, small, with every number."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Grid, StepPiece
from blockcalc.ops.expr import Figure
from blockcalc.views.html.page import MOST_CELLS, page
from blockcalc.views.html.style import MOST_HEAT, STYLE
from blockcalc.views.html.tables import grid_table
from tests.helpers import SAMPLES, THREE, TINY_SPEC

pytestmark = pytest.mark.slow

VOID = {"br"}
TINY = blockcalc.run(TINY_SPEC)
ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></table></details></div><h1>",
    "&lt;b&gt; 'quoted'",
    "</style><style>*{display:none}",
    "a\x1b[2J\u202eb",
)


class Reader(HTMLParser):
    """Reads HTML strictly: every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)
            if {"td", "th"} & set(self.open[-3:]):
                self.rows[-1][-1] += data


def everything() -> list[Any]:
    """Give one of each kind that shows itself."""
    spec = blockcalc.load(THREE)
    trace, gradient = blockcalc.run(spec), blockcalc.grad(spec, "sum")
    return [
        spec,
        trace,
        gradient,
        trace.step("scores"),
        gradient.step("grad.attn.w_q"),
        blockcalc.cost(spec),
        blockcalc.cost(preset="gpt2"),
        blockcalc.compare(spec),
        blockcalc.judge(TINY_SPEC, {"attn.scores": [[1, 0, 1], [1, 1, 2], [2, 1, 2]]}),
        blockcalc.judge(spec, {"grad.attn.w_q": gradient["grad.attn.w_q"] + 1}),
    ]


@pytest.mark.parametrize("value", everything(), ids=lambda v: type(v).__name__)
def test_every_kind_shows_itself_in_one_line_and_as_whole_html(value: Any) -> None:
    line = repr(value)
    assert "\n" not in line
    assert len(line) < 200
    assert line.startswith("<")
    assert line.endswith(">")
    text = value._repr_html_()
    read = Reader(text)
    assert read.tags <= {"div", "style", "details", "summary", "span", "table", "thead", "tbody", "tr", "th", "td", "sub", "sup", "b", "br"}  # fmt: skip
    assert read.attributes <= {"class", "style", "scope", "colspan", "open"}
    assert not re.search(r"https?:|url\(|@import|src=", text)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_number_label_and_line_of_the_steps_is_there(path: Any) -> None:
    trace = blockcalc.run(path)
    text = trace._repr_html_()
    read = Reader(text)
    said = re.sub(r"\s+", " ", "".join(read.text))
    pieces = [p for p in trace.explainer(Depth()).pieces() if isinstance(p, StepPiece)]
    assert len(pieces) == len(trace)
    rows = {tuple(cell.strip() for cell in row) for row in read.rows}
    for piece in pieces:
        assert piece.title in said
        assert piece.name in said
        assert not piece.lines or str(piece.worked) in said
        for grid in piece.grids:
            for label, row in zip(grid.row_labels, grid.rows, strict=True):
                numbers = (f"{f.digits.replace('inf', '∞')}{_power(f)}" for f in row)
                assert (label, *numbers) in rows


def _power(f: Figure) -> str:
    return "" if f.exponent is None else f"×10{f.exponent}"


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_a_file_becomes_markup(attack: str) -> None:
    data = {
        "title": attack, "notes": attack, "tokens": [attack, "b"], "x": [[1, 0], [0.5, 1]],
        "attn": {"w_q": [[1, 0], [0, 1]], "w_k": [[1, 0], [0, 1]], "w_v": [[1, 0], [0, 1]]},
        "stop": "attn.z",
    }  # fmt: skip
    spec = blockcalc.load(data)
    trace = blockcalc.run(spec)
    plain = blockcalc.run(blockcalc.load({**data, "title": "t", "notes": "n", "tokens": ["a", "b"]}))  # fmt: skip
    answers = {"attn.scores": [[9, 9], [9, 9]], attack: [[1]]}
    values: list[Any] = [
        spec,
        trace,
        trace.step("scores"),
        blockcalc.grad(spec, "sum"),
        blockcalc.cost(spec),
    ]
    values += [blockcalc.compare(trace.spec, plain.spec), blockcalc.judge(spec, answers)]
    for value in values:
        text = value._repr_html_()
        Reader(text)
        assert "<script" not in text
        assert "<img" not in text
        assert "<h1" not in text
        assert text.count("<style>") == text.count("</style>") == 1
        assert not set(text) & {"\x1b", "\u202e"}
        assert "\x1b" not in repr(value)
    one, other = Reader(trace._repr_html_()), Reader(plain._repr_html_())
    assert one.tags == other.tags
    assert one.attributes == other.attributes


def test_attention_weights_are_shaded_by_value_with_their_numbers() -> None:
    rows = re.findall(r"<td[^>]*>[^<]*</td>", TINY.step("weights")._repr_html_())
    shades = [float(x) for x in re.findall(r"rgba\(66,133,244,([\d.]+)\)", "".join(rows))]
    numbers = [float(re.sub("<[^>]*>", "", row)) for row in rows if "bc-n" in row]
    assert len(shades) == len(numbers) == 9
    assert np.allclose(shades, MOST_HEAT * np.array(numbers), atol=1e-3)
    assert "rgba(66" not in "".join(re.findall(r"<td[^>]*>", TINY.step("scores")._repr_html_()))


def test_masked_weights_have_no_shade_and_masked_scores_are_written() -> None:
    trace = blockcalc.run(blockcalc.sample("causal"))
    assert "-∞" in trace.step("masked")._repr_html_()
    cells = re.findall(r"<td([^>]*)>0 *</td>", trace.step("weights")._repr_html_())
    assert cells
    assert not any("style" in cell for cell in cells)


def test_a_gap_is_marked_in_rows_and_columns() -> None:
    names = tuple("abcd")
    figures = tuple(tuple(Figure(str(i + j)) for j in range(4)) for i in range(4))
    grid = Grid("S", "query", "key", names, names, figures, None, (2, 30), (2, 5))
    read = Reader(grid_table(grid))
    assert read.rows[0] == ["", "a", "b", "…", "c", "d"]
    assert read.rows[2] == ["b", "1", "2", "…", "3", "4"]
    assert read.rows[3] == ["…"]
    said = "".join(read.text)
    assert "30" in said
    assert "5" in said


def large(tokens: int, d_model: int, heads: int) -> blockcalc.Spec:
    """Make a block with drawn numbers."""

    def drawn(*shape: int) -> Any:
        return {"random": list(shape), "seed": 1, "std": 0.5}

    weights = {f"w_{name}": drawn(d_model, d_model) for name in "qkvo"}
    return blockcalc.load({
        "x": drawn(tokens, d_model), "attn": {"n_heads": heads, **weights},
        "ffn": {"w_1": drawn(d_model, 64), "w_2": drawn(64, d_model)},
    })  # fmt: skip


@pytest.mark.slow
def test_a_large_trace_stays_small() -> None:
    trace = blockcalc.run(large(64, 64, 32))
    text = trace._repr_html_()
    assert len(text) < 1_500_000
    assert text.count("<td") < 2 * MOST_CELLS
    assert "more tables of attn.scores" in text
    Reader(text)
    one = trace.step("scores")._repr_html_()
    assert 256 * 5 < one.count("<td") < 4_000


def test_nothing_is_a_page_too() -> None:
    assert "".join(Reader(page([])).text) == ""


def test_bars_begin_below_each_other() -> None:
    page = blockcalc.cost(blockcalc.sample("tiny"))._repr_html_()
    shares = re.findall(r'<td class="bc-math">([ \d.]+ %)<span class="bc-bar"', page)
    assert {"100.0 %", " 50.0 %", "  1.8 %"} <= set(shares)
    assert {len(share) for share in shares} == {7}
    assert "vertical-align:baseline" in STYLE  # texts of unlike fonts stand on one line
