"""Layout shared by several views: blocks of columns, labels for axes and gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from blockcalc.explain.document import Grid, Operand
from blockcalc.messages import say
from blockcalc.messages.words import axis_word

BLANK = "_"  # what the text of a number that is left open ends with


class Whole(str):
    """A text that is not broken at its spaces."""

    __slots__ = ()


def shape_text(operand: Operand) -> Whole:
    """Write axes and shape: ``[token 3 × d_model 2]``."""
    pairs = zip(operand.axes, operand.shape, strict=True)
    return Whole("[" + " × ".join(f"{axis_word(axis)} {n}" for axis, n in pairs) + "]")


def sizes_text(operand: Operand) -> Whole:
    """Write the shape without axes, where there is little room: ``[3 × 2]``."""
    return Whole("[" + " × ".join(map(str, operand.shape)) + "]")


def shortened(labels: Sequence[str], most: int) -> list[str]:
    """Shorten labels that are longer than ``most`` cells; those alike then get their number.

    Examples
    --------
    >>> shortened(["cat", "a long label", "a long lion"], 8)
    ['cat', 'a long …2', 'a long …3']
    """
    mark = say("grid.gap.mark")
    short = [label if cell_len(label) <= most else _begin(label, most - 1) for label in labels]
    counts = Counter(short)
    return [
        label if label == own else f"{label}{mark}{i if counts[label] > 1 else ''}"
        for i, (label, own) in enumerate(zip(short, labels, strict=True), 1)
    ]


def _begin(text: str, most: int) -> str:
    """Give as much of the beginning of a text as fits into some cells."""
    used = 0
    for i, c in enumerate(text):
        used += cell_len(c)
        if used > most:
            return text[:i]
    return text


def column_ends(widths: Sequence[float], room: float) -> list[int]:
    """Find the column breaks of a table: as few blocks as possible, of similar size if they fit."""
    ends = full_ends(widths, room)
    even = [len(widths) * (n + 1) // len(ends) for n in range(len(ends))]
    fits = all(sum(widths[a:b]) <= room for a, b in zip([0, *even], even, strict=False))
    return even if fits else ends


def full_ends(widths: Sequence[float], room: float) -> list[int]:
    """Find the column breaks of a table whose blocks are each as full as possible."""
    ends, used = [], 0.0
    for i, width in enumerate(widths):
        if used and used + width > room:
            ends.append(i)
            used = 0
        used += width
    return [*ends, len(widths)]


def gap_sentences(grid: Grid) -> Iterator[str]:
    """Describe what is left out of the middle."""
    if grid.row_gap:
        yield say("grid.gap.rows", n=grid.row_gap[1], after=grid.row_labels[grid.row_gap[0] - 1])
    if grid.column_gap:
        after = grid.column_labels[grid.column_gap[0] - 1]
        yield say("grid.gap.columns", n=grid.column_gap[1], after=after)


def point_aligned(texts: Sequence[str]) -> list[str]:
    """Pad numbers so that their decimal points are aligned; a blank ends where they end."""
    parts = [text.partition(".") for text in texts]
    numbers = [(len(a), len(dot + b)) for a, dot, b in parts if not a.endswith(BLANK)]
    right = max((size for _, size in numbers), default=0)
    width = max([*(size + right for size, _ in numbers), *map(len, texts)], default=0)
    return [
        a.rjust(width - (0 if a.endswith(BLANK) else right))
        + ("" if a.endswith(BLANK) else (dot + b).ljust(right))
        for a, dot, b in parts
    ]
