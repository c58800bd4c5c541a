"""Lists in Typst: tables that break between pages, with their headings on each."""

from __future__ import annotations

from collections.abc import Iterator

from blockcalc.explain.document import Bar, Column, Entry, Listing, Wrong
from blockcalc.views.typst.text import code, formula, quoted, written

BAR = 15  # millimetres of a full bar


def listing(piece: Listing) -> Iterator[str]:
    """Write a list; a text in its last column takes the rest of the line."""
    last = len(piece.columns) - 1
    widths, sides = [], []
    for j, column in enumerate(piece.columns):
        widths.append("1fr" if j == last and column.kind == "text" else "auto")
        sides.append("right" if column.kind == "number" else "left")
    yield f"#block-list(({', '.join(widths)},), ({', '.join(sides)},),"
    yield f"  ({', '.join(written(c.title) for c in piece.columns)},),"
    for i, row in enumerate(piece.rows):
        ruled = i in piece.totals and i - 1 not in piece.totals
        cells = (_entry(e, c) for e, c in zip(row, piece.columns, strict=True))
        yield ("  table.hline(stroke: 0.5pt), " if ruled else "  ") + ", ".join(cells) + ","
    yield ")"


def _entry(entry: Entry, column: Column) -> str:
    """Write one entry."""
    if isinstance(entry, Bar):
        share = quoted(f"{100 * entry.share:.1f} %")
        return f"block-bar({share}, {entry.share * BAR:.2f}mm)"
    if not isinstance(entry, str):
        return formula(entry)
    if column.kind == "name" and " " not in entry:
        text = code(entry)
    else:
        minus = column.kind == "number" and entry[:1] == "-"
        text = written("−" + entry[1:] if minus else entry)
    return f"strong({text})" if isinstance(entry, Wrong) and entry else text
