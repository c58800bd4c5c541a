"""Lists in LaTeX: tables that break between pages, or short ones for slides."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from blockcalc.explain.document import Bar, Entry, Listing, Wrong
from blockcalc.notation.alphabets import Latex
from blockcalc.views.tex.text import escape

MOST_ROWS = 12  # rows of one list that fit on a slide
_ALPHABET = Latex()


def long_list(piece: Listing) -> Iterator[str]:
    """Write a list that breaks between pages."""
    columns = _columns(piece)
    if piece.columns[-1].kind == "text":
        columns = f"{columns[:-1]}p{{{_rest(piece)}mm}}"
    yield r"\par{\small\setlength{\tabcolsep}{4pt}\setlength{\LTleft}{0pt}\setlength{\LTpre}{4pt}"
    yield rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}"
    yield _heads(piece) + r" \\[2pt] \hline \endhead"
    yield from _rows(piece, range(len(piece.rows)))
    yield r"\end{longtable}}"


def short_lists(piece: Listing) -> Iterator[list[str]]:
    """Write a list in parts for slides; a part that is too wide is made smaller."""
    for start in range(0, len(piece.rows), MOST_ROWS):
        rows = range(start, min(start + MOST_ROWS, len(piece.rows)))
        yield [
            r"\blockfit{\small\setlength{\tabcolsep}{4pt}",
            rf"\begin{{tabular}}{{@{{}}{_columns(piece)}@{{}}}}",
            _heads(piece) + r" \\[2pt] \hline",
            *_rows(piece, rows),
            r"\end{tabular}}",
        ]


def _columns(piece: Listing) -> str:
    letters = {"number": "r", "bar": "r@{\\;}l"}
    return "".join(letters.get(column.kind, "l") for column in piece.columns)


def _heads(piece: Listing) -> str:
    heads = [
        rf"\multicolumn{{2}}{{l}}{{{escape(c.title)}}}" if c.kind == "bar" else escape(c.title)
        for c in piece.columns
    ]
    return " & ".join(heads)


def _rows(piece: Listing, rows: range) -> Iterator[str]:
    for i in rows:
        ruled = i in piece.totals and i - 1 not in piece.totals
        entries = zip(piece.rows[i], piece.columns, strict=True)
        cells = " & ".join(_entry(entry, column.kind) for entry, column in entries)
        strut = r"\rule{0pt}{2.6ex}" if ruled or i == rows[0] else ""
        yield (r"\hline " if ruled else "") + strut + cells + r" \\"


def _entry(entry: Entry, kind: str) -> str:
    """Write one entry."""
    if isinstance(entry, Bar):
        return rf"{100 * entry.share:.1f}\,\% & \rule{{{entry.share * 15:.2f}mm}}{{1.2ex}}"
    if isinstance(entry, str):
        name = kind == "name" and " " not in entry
        text = rf"\texttt{{{escape(entry)}}}" if name else escape(entry)
        minus = kind == "number" and entry[:1] == "-"
        text = r"\textminus " + text.removeprefix("{-}") if minus else text
        text = rf"\textbf{{{text}}}" if isinstance(entry, Wrong) and entry else text
        return text + (" &" if kind == "bar" else "")
    return f"${_ALPHABET.render(entry)}$"


def _rest(piece: Listing) -> int:
    """Give the width in millimetres left for the last column, which is a text that wraps."""
    widths = [
        max([cell_len(column.title), *(cell_len(str(row[j])) for row in piece.rows)])
        for j, column in enumerate(piece.columns[:-1])
    ]
    return max(25, 165 - round(1.95 * sum(widths)) - 3 * len(widths))
