"""Matrices in LaTeX: numbers in brackets with labels beside them, the worked cell marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from blockcalc.explain.document import Panel
from blockcalc.notation.alphabets import Latex
from blockcalc.ops.expr import Blank, Figure
from blockcalc.views.layout import shortened
from blockcalc.views.panels import (
    MOST_ROWS,
    Paper,
    blocks,
    missing_decimals,
    shown_labels,
    with_marks,
)
from blockcalc.views.tex.text import LONG_WORD, composed, escape, printed_width

DIGITS = 78  # that fit on a line
GAP = 2.2  # digits between two columns
MOST_LABEL = 48  # cells of a label; the head of the document has it whole


class Matrices:
    """Writes panels as matrices; a large one in blocks of columns and rows that fit the page."""

    def __init__(self, rows: int = MOST_ROWS) -> None:
        self.alphabet = Latex()
        self.paper = Paper(DIGITS, GAP, rows)

    def write(self, panel: Panel, named: bool = True) -> Iterator[str]:
        """Write a panel as one matrix or more, with its symbol below if ``named``."""
        panel = replace(
            panel,
            row_labels=tuple(shortened(panel.row_labels, MOST_LABEL)),
            column_labels=tuple(shortened(panel.column_labels, MOST_LABEL)),
        )
        for block in blocks(panel, self.paper, label_width):
            under = self._under(block) if named else ""
            yield self._matrix(block, block is not panel, under)

    def _under(self, panel: Panel) -> str:
        symbol = panel.symbol
        text = (
            rf"\text{{{escape(symbol)}}}"
            if isinstance(symbol, str)
            else self.alphabet.render(symbol)
        )
        return text + (rf",\ \text{{{escape(panel.caption)}}}" if panel.caption else "")

    def _matrix(self, panel: Panel, part: bool, under: str) -> str:
        """Write one matrix; one that is shown in part has labels for all rows and columns."""
        rows: list[list[str]] = [[] for _ in panel.rows]
        for j, column in enumerate(zip(*panel.rows, strict=True)):
            for i, text in enumerate(self.column(column)):
                rows[i].append(self._marked(panel, (i, j), text))
        rows = [with_marks(row, panel.column_breaks, r"\cdots") for row in rows]
        part = part or bool(panel.shades)
        labels = _labels(panel.row_labels, part or bool(panel.row_breaks))
        heads = _labels(panel.column_labels, part or bool(panel.column_breaks))
        dots = [r"\vdots"] * len(rows[0])
        for k in sorted(panel.row_breaks, reverse=True):
            rows.insert(k, dots)
            labels.insert(k, "")
        if panel.shades:
            return _heat(with_marks(heads, panel.column_breaks, ""), labels, rows, under)
        if any(heads):
            heads = ["", *with_marks(heads, panel.column_breaks, "")]
            lines = [heads, *([label, *row] for label, row in zip(labels, rows, strict=True))]
            body = "\\cr\n".join(" & ".join(line) for line in lines)
            return rf"\blocktable{{{body}}}{{{under}}}"
        left = r"\\".join(labels) if any(labels) else ""
        body = "\\\\\n".join(" & ".join(row) for row in rows)
        return rf"\blockmatrix{{{left}}}{{{'r' * len(rows[0])}}}{{{body}}}{{{under}}}"

    def _marked(self, panel: Panel, at: tuple[int, int], text: str) -> str:
        number, pad = text.partition(r"\phantom")[::2]
        if panel.shades:
            shade = panel.shades[at[0]][at[1]]
            macro = r"\blockquiet" if shade is None else rf"\blockshade{{{shade}}}"
            number = rf"{macro}{{{number}}}"
        elif panel.worked == at and not isinstance(panel.rows[at[0]][at[1]], Blank):
            number = rf"\blockworked{{{number}}}"
        elif at in panel.lit:
            number = rf"\blocklit{{{number}}}"
        return number + (rf"\phantom{pad}" if pad else "")

    def column(self, figures: Sequence[Figure]) -> list[str]:
        """Write numbers under each other, aligned at their decimal points."""
        pairs = zip(figures, missing_decimals(figures), strict=True)
        return [
            self.number(f) + (rf"\phantom{{{missing}}}" if missing else "") for f, missing in pairs
        ]

    def number(self, figure: Figure) -> str:
        """Write a number, or a box to write it in."""
        if isinstance(figure, Blank):
            return rf"\blockblank{{{figure.number or ''}}}"
        return self.alphabet.figure(figure)


def _heat(
    heads: Sequence[str], labels: Sequence[str], rows: Sequence[Sequence[str]], under: str
) -> str:
    """Write a heat map: a table without brackets, whose cells have a ground."""
    lines = [["", *heads], *([label, *row] for label, row in zip(labels, rows, strict=True))]
    if not any(heads):
        del lines[0]
    body = "\\\\\n".join(" & ".join(line) for line in lines)
    return rf"\blockheat{{{'r' * len(rows[0])}}}{{{body}}}{{{under}}}"


def _labels(labels: Sequence[str], always: bool) -> list[str]:
    """Write the labels of an axis."""
    texts = shown_labels(labels, always)
    return [_label(text) for text in texts] if any(texts) else [""] * len(labels)


def label_width(text: str) -> int:
    """Estimate the width of a label in digits; a long one is wrapped."""
    return min(round(sum(map(printed_width, composed(text)))), LONG_WORD)


def _label(text: str) -> str:
    """Write a label; a long one is wrapped."""
    if label_width(text) < LONG_WORD:
        return rf"\text{{{escape(text)}}}"
    return rf"\parbox{{42mm}}{{\raggedright {escape(text)}}}"
