"""Layout of matrices on pages, shared by LaTeX and Typst: blocks that fit, labels, decimals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from blockcalc.explain.document import Head, Panel, Piece, Remark, Sign, StepPiece
from blockcalc.notation.alphabets import Text
from blockcalc.ops.expr import Blank, Figure
from blockcalc.records import dataclass
from blockcalc.views.layout import column_ends, gap_sentences
from blockcalc.views.picture.panel import of_grid

MOST_ROWS = 36  # rows of one matrix that fit on a page
_MEASURE = Text()


def legend(pieces: Iterable[Piece], text: str) -> Iterator[Piece]:
    """Say after the first piece how a worked cell is marked, if one is."""
    every = list(pieces)
    pictures = (p.picture for p in every if isinstance(p, StepPiece) and p.picture is not None)
    parts = chain.from_iterable(picture.parts for picture in pictures)
    marked = any(isinstance(part, Panel) and part.worked for part in parts)
    first = next((i for i, p in enumerate(every) if isinstance(p, Head | Remark)), 0)
    for i, piece in enumerate(every):
        yield piece
        if marked and i == first:
            yield Remark(text, quiet=True)


def drawn_parts(piece: StepPiece) -> tuple[Panel | Sign, ...]:
    """Give the parts of the picture of a step, or its tables if it has no picture."""
    own = piece.picture
    return tuple(map(of_grid, piece.grids)) if own is None else (*own.parts, *own.others)


def drawn_notes(piece: StepPiece) -> tuple[str, ...]:
    """Give the notes of a step; what its tables leave out is said if it has no picture."""
    grids = piece.grids if piece.picture is None else ()
    return (*(text for grid in grids for text in gap_sentences(grid)), *piece.notes)


@dataclass(frozen=True)
class Paper:
    """What fits on a page.

    Attributes
    ----------
    digits : float
        Digits on a line.
    gap : float
        The space between two columns, in digits.
    rows : int
        Rows of one matrix.
    """

    digits: float
    gap: float
    rows: int = MOST_ROWS


def blocks(panel: Panel, paper: Paper, width: Callable[[str], int]) -> Iterator[Panel]:
    """Cut a panel into blocks of columns and rows that fit the page.

    Parameters
    ----------
    panel : Panel
    paper : Paper
    width : callable
        Estimates the width of a label in digits.
    """
    widths = [
        max(
            width(panel.column_labels[j]) if panel.column_labels else 0,
            *(len(_MEASURE.figure(row[j])) for row in panel.rows),
        )
        + paper.gap
        for j in range(len(panel.rows[0]))
    ]
    room = paper.digits - max(map(width, panel.row_labels)) - 4
    ends = column_ends(widths, room)
    total = len(panel.rows)
    most = paper.rows * 3 // 4 if panel.shades else paper.rows  # rows of a heat map are higher
    if len(ends) == 1 and total <= most:
        yield panel
        return
    for top in range(0, total, most):
        for left, right in zip([0, *ends], ends, strict=False):
            yield _part(panel, (top, min(top + most, total)), (left, right))


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
        shades=tuple(row[left:right] for row in panel.shades[top:bottom]),
    )


def shown_labels(labels: Sequence[str], always: bool) -> Sequence[str]:
    """Give the labels of an axis; plain numbers say nothing where the whole axis is shown."""
    numbers = [str(i) for i in range(1, len(labels) + 1)]
    return [""] * len(labels) if list(labels) == numbers and not always else labels


def missing_decimals(figures: Sequence[Figure]) -> list[str]:
    """Give what each number of a column lacks behind its decimal point, ``.00``, to be aligned."""
    plain = [
        f.exponent is None and "inf" not in f.digits and not isinstance(f, Blank) for f in figures
    ]
    ends = [
        "".join(f.digits.partition(".")[1:]) if p else ""
        for f, p in zip(figures, plain, strict=True)
    ]
    most = max(map(len, ends))
    pairs = zip(plain, ends, strict=True)
    return [("." + "0" * (most - 1))[len(end) :] if p and most else "" for p, end in pairs]


def with_marks(cells: Sequence[str], breaks: Sequence[int], mark: str) -> list[str]:
    """Put a mark after each cell after which some are left out."""
    out: list[str] = []
    for j, cell in enumerate(cells):
        out += [cell, mark] if j + 1 in breaks else [cell]
    return out
