"""Choose the cell of a step that is worked: the first where every part of the formula matters.

A part that is 0 or ±1, or the same in all terms, tells little: the weight 1 of the one visible key
of a causal mask, cos 0, five times 1/5. The choice is made from the tree of the cell and the
numbers in it, so it needs no rule for any operation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product

from blockcalc.errors import Fault, UsageError
from blockcalc.explain.depth import Depth
from blockcalc.explain.grids import Shown
from blockcalc.messages import say
from blockcalc.messages.words import listed
from blockcalc.ops.expr import At, Cell, Expr, walk
from blockcalc.program.trace import Step

ROWS = ("token", "query")
MOST_READ = 6000  # numbers that are read to choose a cell
PERFECT = (0, 0)
NEAR = 1e-9  # how near to 0 or 1 a number counts as that


class Choice:
    """Chooses the worked cell of each step; the rows of one section agree where they can.

    Raises
    ------
    UsageError
        The chosen row or cell is in no step.
    """

    def __init__(self, depth: Depth, tokens: Sequence[Sequence[str]], shapes: Iterable[At]) -> None:
        self.wanted = None if depth.row is None else _row(depth.row, tokens)
        self.cell = None if depth.cell is None else tuple(n - 1 for n in depth.cell)
        self.row: int | None = None
        if self.cell is not None and not any(_within(self.cell, shape) for shape in shapes):
            text = ",".join(map(str, depth.cell or ()))
            raise UsageError(Fault(say("cell.none", cell=text), hint=say("cell.none.hint")))

    def begin(self) -> None:
        """Begin a section: its rows need not agree with those before."""
        self.row = None

    def of(self, step: Step, operands: Sequence[Shown], shown: Shown) -> At:
        """Give the worked cell of a step."""
        shape = step.value.shape
        if self.cell is not None and (at := _within(self.cell, shape)):
            return at
        places = self._places(step, shown)
        at = _best(step, operands, shown, places) if step.equation.op.worked else places[0]
        axis = row_axis(step)
        self.row = self.row if axis is None else at[axis]
        return at

    def _places(self, step: Step, shown: Shown) -> list[At]:
        """List the cells of the first head and sequence that may be worked, in order of preference.

        These are the cells of the row that was asked for, else those of the last row come first.
        """
        shape, axis = step.value.shape, row_axis(step)
        ranges: list[Sequence[int]] = [(0,)] * max(0, len(shape) - 2)
        ranges += [shown.indices(n)[0] for n in shape[-2:]]
        if axis is not None and self.wanted is not None and self.wanted < shape[axis]:
            ranges[axis] = (self.wanted,)
        places = list(product(*ranges))
        if axis is not None and self.row is not None:
            places.sort(key=lambda at: at[axis] != self.row)
        return places


def row_axis(step: Step) -> int | None:
    """Find the axis of the tokens, or of the queries; None if there is none."""
    axes = step.equation.out.axes
    return next((i for i in reversed(range(len(axes))) if axes[i] in ROWS), None)


def _best(step: Step, operands: Sequence[Shown], shown: Shown, places: Sequence[At]) -> At:
    """Find the cell whose parts tell most, the first of those that tell the same."""
    if len(places) == 1:
        return places[0]
    eq = step.equation
    best, least, read = places[0], (math.inf, math.inf), 0
    for at in places:
        tree = eq.op.cell(at, eq.inputs)
        score, n = dullness(tree, operands, shown.number(at))
        if score < least:
            best, least = at, score
        read += n
        if least == PERFECT or read > MOST_READ:
            break
    return best


def dullness(tree: Expr, operands: Sequence[Shown], result: float) -> tuple[tuple[int, int], int]:
    """Count what tells little in a cell: first what has no effect, then what has a plain one.

    Parameters
    ----------
    tree : Expr
        The tree of the cell.
    operands : sequence of Shown
    result : float
        The value of the cell.

    Returns
    -------
    (int, int)
        How many numbers, the result among them, are 0 or infinite; and how many are ±1, or the same
        in every term.
    int
        How many numbers were read.
    """
    found: dict[int, list[float]] = {}
    for e in walk(tree):
        if isinstance(e, Cell):
            found.setdefault(e.operand, []).append(operands[e.operand].number(e.at))
    every = [x for values in found.values() for x in values]
    silent = sum(abs(x) < NEAR or not math.isfinite(x) for x in (*every, result))
    plain = sum(abs(abs(x) - 1) < NEAR for x in (*every, result))
    alike = sum(len(values) > 2 and len(set(values)) == 1 for values in found.values())
    return (silent, plain + alike), len(every)


def _row(text: str, tokens: Sequence[Sequence[str]]) -> int:
    """Read a row: the label of a token, or a number from 1."""
    for labels in tokens:
        if text in labels:
            return list(labels).index(text)
    count = max(map(len, tokens))
    if text.isascii() and text.isdecimal() and 0 < int(text) <= count:
        return int(text) - 1
    known = listed([*dict.fromkeys(label for labels in tokens for label in labels)])
    raise UsageError(
        Fault(say("row.none", row=text, n=count), hint=say("row.none.hint", names=known))
    )


def _within(cell: At, shape: At) -> At | None:
    """Give a cell in a matrix; None if it is outside.

    If no head or sequence is given, it is the first; a vector takes the row.
    """
    if len(shape) == 1:
        cell = cell[-2:-1]
    at = (0,) * (len(shape) - len(cell)) + cell
    return at if len(at) == len(shape) and all(map(int.__lt__, at, shape)) else None
