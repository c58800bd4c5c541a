"""Matrices in Typst: calls of ``block-matrix`` with labels, numbers and marks."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from blockcalc.explain.document import Panel
from blockcalc.notation.alphabets import Text
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import Blank, Figure
from blockcalc.views.panels import Paper, blocks, missing_decimals, shown_labels, with_marks
from blockcalc.views.typst.text import LONG_WORD, array, formula, quoted, written

PAPER = Paper(digits=130, gap=1.4)  # what is a little wider than the page is made smaller


class Matrices:
    """Writes panels as matrices; a large one in blocks of columns and rows that fit the page."""

    def __init__(self) -> None:
        self.text = Text()

    def write(self, panel: Panel, named: bool = True) -> Iterator[str]:
        """Write a panel as one matrix or more, with its symbol below if ``named``."""
        for block in blocks(panel, PAPER, label_width):
            yield self._matrix(block, block is not panel, named)

    def _matrix(self, panel: Panel, part: bool, named: bool) -> str:
        """Write one matrix; one that is shown in part has labels for all rows and columns."""
        rows: list[list[str]] = [[] for _ in panel.rows]
        for j, column in enumerate(zip(*panel.rows, strict=True)):
            for i, (figure, missing) in enumerate(
                zip(column, missing_decimals(column), strict=True)
            ):
                rows[i].append(_entry(panel, (i, j), figure, missing))
        rows = [with_marks(row, panel.column_breaks, '"⋯"') for row in rows]
        part = part or bool(panel.shades)
        labels = list(shown_labels(panel.row_labels, part or bool(panel.row_breaks)))
        heads = shown_labels(panel.column_labels, part or bool(panel.column_breaks))
        for k in sorted(panel.row_breaks, reverse=True):
            rows.insert(k, ['"⋮"'] * len(rows[0]))
            labels.insert(k, "")
        args = [str(len(rows[0]))]
        if any(labels):
            args.append(f"labels: {array(map(_label, labels))}")
        if any(heads):
            marked = with_marks([_label(text) for text in heads], panel.column_breaks, '""')
            args.append(f"heads: {array(marked)}")
        if panel.shades:
            args.append("shaded: true")
        if named:
            args.append(f"under: {self._under(panel)}")
        body = ",\n".join(", ".join(row) for row in rows)
        return f"block-matrix({', '.join(args)},\n{body})"

    def _under(self, panel: Panel) -> str:
        symbol = panel.symbol
        text = written(symbol) if isinstance(symbol, str) else formula(symbol)
        return text + (f" + {written(', ' + panel.caption)}" if panel.caption else "")


def _entry(panel: Panel, at: tuple[int, int], figure: Figure, missing: str) -> str:
    """Write one number, marked if it is worked or read, or shaded, aligned at its point."""
    text = number(figure)
    if panel.worked == at and not isinstance(figure, Blank):  # a blank is a box already
        text = f"block-worked({text})"
    if missing:
        text = f"block-padded({text}, {quoted(missing)})"
    if panel.shades:
        shade = panel.shades[at[0]][at[1]]
        return f"block-quiet({text})" if shade is None else f"block-shade({shade}, {text})"
    return f"block-lit({text})" if at in panel.lit else text


def number(figure: Figure) -> str:
    """Write a number as text.

    Examples
    --------
    >>> print(number(Figure("-1.5")), number(Figure("1.5", -6)))
    "−1.5" block-power("1.5", "−6")
    """
    if isinstance(figure, Blank):
        return f"block-blank({quoted(str(figure.number or ''))})"
    digits = quoted(figure.digits.replace("inf", "∞").replace("-", "−"))
    if figure.exponent is None:
        return digits
    return f"block-power({digits}, {quoted(str(figure.exponent).replace('-', '−'))})"


def label_width(text: str) -> int:
    """Estimate the width of a label in digits; a long one is wrapped."""
    wide = sum(1.7 if c.isupper() else cell_len(c) for c in clean(text))
    return min(round(wide), LONG_WORD)


def _label(text: str) -> str:
    """Write a label; a long one is wrapped."""
    if label_width(text) < LONG_WORD:
        return quoted(text)
    return f"block-label({written(text, LONG_WORD // 2)})"
