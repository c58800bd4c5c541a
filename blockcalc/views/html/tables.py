"""Tables in HTML: matrices with their labels, shaded if they are weights, and lists."""

from __future__ import annotations

import math
from collections.abc import Sequence

from blockcalc.explain.document import Bar, Column, Entry, Grid, Listing, Right, Wrong
from blockcalc.messages import say
from blockcalc.notation.alphabets import Text
from blockcalc.ops.expr import Figure
from blockcalc.views.html.style import HEAT, MOST_HEAT
from blockcalc.views.html.text import Html, safe, tag, value_of
from blockcalc.views.layout import gap_sentences, point_aligned

HTML, PLAIN = Html(), Text()
BAR = 8.0  # the length of a full bar, in em


def cells(grid: Grid) -> int:
    """Count the numbers of a table."""
    return len(grid.rows) * len(grid.column_labels)


def grid_table(grid: Grid, caption: str = "", heat: bool = False) -> str:
    """Write the table of a matrix.

    Parameters
    ----------
    grid : Grid
    caption : str
        Finished HTML above the table, before the caption of the grid itself.
    heat : bool
        Whether its numbers, from 0 to 1, shade their cells.
    """
    own = safe(grid.caption) if grid.caption else ""
    above = " ".join(part for part in (caption, own) if part)
    parts = []
    split = grid.column_gap[0] if grid.column_gap else None
    dots = safe(say("grid.gap.mark"))
    if grid.column_axis:
        heads = [tag("th", safe(label), "n", scope="col") for label in grid.column_labels]
        parts.append(
            tag("thead", tag("tr", "<td></td>" + _joined(heads, split, f"<td>{dots}</td>")))
        )
    rows, room = [], _room_after(grid)
    for i, (label, row) in enumerate(zip(grid.row_labels, grid.rows, strict=True), 1):
        numbers = [_number(figure, room[i - 1][j], heat) for j, figure in enumerate(row)]
        head = tag("th", safe(label), scope="row")
        rows.append(tag("tr", head + _joined(numbers, split, f"<td>{dots}</td>")))
        if grid.row_gap and grid.row_gap[0] == i:
            across = str(len(row) + 1 + (split is not None))
            rows.append(tag("tr", tag("td", dots, colspan=across)))
    parts.append(tag("tbody", "".join(rows)))
    notes = (tag("div", safe(sentence), "note") for sentence in gap_sentences(grid))
    title = tag("div", above, "quiet") if above else ""
    return tag("div", title + tag("table", "".join(parts)) + "".join(notes))


def _room_after(grid: Grid) -> list[list[int]]:
    """Give the spaces after each number with which the decimal points of a column are in line."""
    columns = []
    for j in range(len(grid.column_labels)):
        aligned = point_aligned([PLAIN.figure(row[j]) for row in grid.rows])
        columns.append([len(text) - len(text.rstrip()) for text in aligned])
    return [list(row) for row in zip(*columns, strict=True)]


def _joined(parts: Sequence[str], split: int | None, mark: str) -> str:
    """Join the cells of a row, with a mark where columns are left out."""
    if split is None:
        return "".join(parts)
    return "".join((*parts[:split], mark, *parts[split:]))


def _number(figure: Figure, after: int, heat: bool) -> str:
    shade = {}
    value = value_of(figure) if heat else 0.0
    if heat and math.isfinite(value) and value > 0:
        alpha = MOST_HEAT * min(value, 1.0)
        shade["style"] = f"background:rgba({HEAT},{alpha:.3f})"
    return tag("td", HTML.figure(figure) + " " * after, "n", **shade)


def listing_table(piece: Listing) -> str:
    """Write a list under its headings."""
    heads = "".join(
        tag("th", safe(c.title), "n" if c.kind == "number" else "", scope="col")
        for c in piece.columns
    )
    rows = []
    for i, row in enumerate(piece.rows):
        entries = zip(piece.columns, row, strict=True)
        own = "".join(_entry(column, entry) for column, entry in entries)
        rows.append(tag("tr", own, "total" if i in piece.totals else ""))
    return tag("table", tag("thead", tag("tr", heads)) + tag("tbody", "".join(rows)))


def _entry(column: Column, entry: Entry) -> str:
    """Write one entry of a list: a text, a formula, or a share with its bar."""
    if isinstance(entry, Bar):
        width = f"width:{BAR * min(max(entry.share, 0.0), 1.0):.2f}em"
        bar = tag("span", "", "bar", style=width)
        return tag("td", f"{100 * entry.share:5.1f} %{bar}", "math")  # bars begin below each other
    content = safe(entry) if isinstance(entry, str) else HTML.render(entry)
    if isinstance(entry, Wrong | Right):
        content = tag("span", content, "wrong" if isinstance(entry, Wrong) else "right")
    kinds = {"number": "n", "name": "name", "formula": "math", "text": "wrap"}
    return tag("td", content, kinds.get(column.kind, ""))
