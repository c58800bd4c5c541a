"""Matrices in LaTeX: numbers in brackets with labels beside them, the worked cell marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from blockcalc.explain.document import Panel
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.ops.expr import Figure
from blockcalc.views.formats.latex_text import LONG_WORD, composed, escape, printed_width
from blockcalc.views.layout import column_ends

PAGE = 78  # digits that fit on a line
MOST_ROWS = 36  # rows of one matrix that fit on a page
GAP = 2.2  # digits between two columns


class Matrices:
    """Writes panels as matrices; a large one in blocks of columns and rows that fit the page."""

    def __init__(self, rows: int = MOST_ROWS) -> None:
        self.alphabet, self.measure = Latex(), Text()
        self.most_rows = rows

    def write(self, panel: Panel, named: bool = True) -> Iterator[str]:
        """Write a panel as one matrix or more, with its symbol below if ``named``."""
        for block in self._blocks(panel):
            under = self._under(block) if named else ""
            yield self._matrix(block, block is not panel, under)

    def _blocks(self, panel: Panel) -> Iterator[Panel]:
        columns = len(panel.rows[0])
        widths = [
            max(
                label_width(panel.column_labels[j]) if panel.column_labels else 0,
                *(len(self.measure.figure(row[j])) for row in panel.rows),
            )
            + GAP
            for j in range(columns)
        ]
        room = PAGE - max(map(label_width, panel.row_labels)) - 4
        ends = column_ends(widths, room)
        if len(ends) == 1 and len(panel.rows) <= self.most_rows:
            yield panel
            return
        total = len(panel.rows)
        for top in range(0, total, self.most_rows):
            for left, right in zip([0, *ends], ends, strict=False):
                yield _part(panel, (top, min(top + self.most_rows, total)), (left, right))

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
        rows = [_with_marks(row, panel.column_breaks, r"\cdots") for row in rows]
        labels = _labels(panel.row_labels, part or bool(panel.row_breaks))
        heads = _labels(panel.column_labels, part or bool(panel.column_breaks))
        dots = [r"\vdots"] * len(rows[0])
        for k in sorted(panel.row_breaks, reverse=True):
            rows.insert(k, dots)
            labels.insert(k, "")
        if any(heads):
            heads = ["", *_with_marks(heads, panel.column_breaks, "")]
            lines = [heads, *([label, *row] for label, row in zip(labels, rows, strict=True))]
            body = "\\cr\n".join(" & ".join(line) for line in lines)
            return rf"\blocktable{{{body}}}{{{under}}}"
        left = r"\\".join(labels) if any(labels) else ""
        body = "\\\\\n".join(" & ".join(row) for row in rows)
        return rf"\blockmatrix{{{left}}}{{{'r' * len(rows[0])}}}{{{body}}}{{{under}}}"

    def _marked(self, panel: Panel, at: tuple[int, int], text: str) -> str:
        number, pad = text.partition(r"\phantom")[::2]
        if panel.worked == at:
            number = rf"\blockworked{{{number}}}"
        elif at in panel.lit:
            number = rf"\blocklit{{{number}}}"
        return number + (rf"\phantom{pad}" if pad else "")

    def column(self, figures: Sequence[Figure]) -> list[str]:
        """Write numbers under each other, aligned at their decimal points."""
        plain = [f.exponent is None and "inf" not in f.digits for f in figures]
        ends = [
            "".join(f.digits.partition(".")[1:]) if p else ""
            for f, p in zip(figures, plain, strict=True)
        ]
        most = max(map(len, ends))
        out = []
        for f, p, end in zip(figures, plain, ends, strict=True):
            missing = ("." + "0" * (most - 1))[len(end) :] if p and most else ""
            out.append(self.alphabet.figure(f) + (rf"\phantom{{{missing}}}" if missing else ""))
        return out


def _part(panel: Panel, rows: tuple[int, int], columns: tuple[int, int]) -> Panel:
    """Give some rows and columns of a panel."""
    (top, bottom), (left, right) = rows, columns
    spots = {
        (i - top, j - left)
        for i, j in ({*panel.lit} | ({panel.worked} if panel.worked else set()))
        if top <= i < bottom and left <= j < right
    }
    return replace(
        panel,
        row_labels=panel.row_labels[top:bottom],
        column_labels=panel.column_labels[left:right],
        rows=tuple(row[left:right] for row in panel.rows[top:bottom]),
        row_breaks=tuple(k - top for k in panel.row_breaks if top < k <= bottom),
        column_breaks=tuple(k - left for k in panel.column_breaks if left < k <= right),
        lit=frozenset() if panel.worked else frozenset(spots),
        worked=next(iter(spots), None) if panel.worked else None,
        shades=(),
    )


def _labels(labels: Sequence[str], always: bool) -> list[str]:
    """Write the labels of an axis; plain numbers say nothing where the whole axis is shown."""
    numbers = [str(i) for i in range(1, len(labels) + 1)]
    if not any(labels) or (list(labels) == numbers and not always):
        return [""] * len(labels)
    return [_label(text) for text in labels]


def label_width(text: str) -> int:
    """Estimate the width of a label in digits; a long one is wrapped."""
    return min(round(sum(map(printed_width, composed(text)))), LONG_WORD)


def _label(text: str) -> str:
    """Write a label; a long one is wrapped."""
    if label_width(text) < LONG_WORD:
        return rf"\text{{{escape(text)}}}"
    return rf"\parbox{{42mm}}{{\raggedright {escape(text)}}}"


def _with_marks(cells: Sequence[str], breaks: Sequence[int], mark: str) -> list[str]:
    out: list[str] = []
    for j, cell in enumerate(cells):
        out.append(cell)
        if j + 1 in breaks:
            out.append(mark)
    return out
