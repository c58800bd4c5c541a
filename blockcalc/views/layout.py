"""Layout shared by several views: blocks of columns, labels for axes and gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from blockcalc.explain.document import Grid, Operand
from blockcalc.messages import say


class Whole(str):
    """A text that is not broken at its spaces."""

    __slots__ = ()


def shape_text(operand: Operand) -> Whole:
    """Write axes and shape: ``[token 3 × d_model 2]``."""
    pairs = zip(operand.axes, operand.shape, strict=True)
    return Whole("[" + " × ".join(f"{axis} {n}" for axis, n in pairs) + "]")


def column_blocks(grid: Grid, widths: Sequence[int], room: int) -> Iterator[Grid]:
    """Split a table into blocks of columns that fit; each names its columns.

    Parameters
    ----------
    grid : Grid
    widths : sequence of int
        The width of each column, including the space around it.
    room : int
        The width beside the row labels; a block has at least one column even if it does not fit.
    """
    start = 0
    for end in _ends(widths, room):
        if (start, end) == (0, len(widths)):
            yield grid
            return
        caption = say("grid.columns", first=grid.column_labels[start],
                      last=grid.column_labels[end - 1], total=_total(grid))  # fmt: skip
        gap = grid.column_gap
        if gap is not None:
            inside = start < gap[0] <= end
            gap = (gap[0] - start, gap[1]) if inside else None
        yield replace(
            grid,
            column_labels=grid.column_labels[start:end],
            rows=tuple(row[start:end] for row in grid.rows),
            caption=caption if grid.caption is None else f"{grid.caption}, {caption}",
            column_gap=gap,
        )
        start = end


def _ends(widths: Sequence[int], room: int) -> list[int]:
    """Find the column breaks of a table: as few blocks as possible, of similar size if they fit."""
    ends, used = [], 0
    for i, width in enumerate(widths):
        if used and used + width > room:
            ends.append(i)
            used = 0
        used += width
    ends.append(len(widths))
    even = [len(widths) * (n + 1) // len(ends) for n in range(len(ends))]
    fits = all(sum(widths[a:b]) <= room for a, b in zip([0, *even], even, strict=False))
    return even if fits else ends


def _total(grid: Grid) -> int:
    return len(grid.column_labels) + (grid.column_gap[1] if grid.column_gap else 0)


def gap_sentences(grid: Grid) -> Iterator[str]:
    """Describe what is left out of the middle."""
    if grid.row_gap:
        yield say("grid.gap.rows", n=grid.row_gap[1], after=grid.row_labels[grid.row_gap[0] - 1])
    if grid.column_gap:
        after = grid.column_labels[grid.column_gap[0] - 1]
        yield say("grid.gap.columns", n=grid.column_gap[1], after=after)


def point_aligned(texts: Sequence[str]) -> list[str]:
    """Pad numbers so that their decimal points are aligned."""
    parts = [text.partition(".") for text in texts]
    left = max((len(a) for a, _, _ in parts), default=0)
    right = max((len(dot + b) for _, dot, b in parts), default=0)
    return [a.rjust(left) + (dot + b).ljust(right) for a, dot, b in parts]
