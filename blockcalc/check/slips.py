"""Look for the slip that explains one wrong cell, and say none where chance would find one too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from blockcalc.answers.answer import TEXT
from blockcalc.check.carried import Carried
from blockcalc.check.judge import Judged
from blockcalc.mistakes.slips import Slip, slips_of_working, slips_of_writing
from blockcalc.ops.expr import At, Cell, Expr, substitute, walk
from blockcalc.program.program import Equation, Program

MOST_CELLS = 3  # a slip is in one cell; more than a few wrong ones are no slips
MOST_NODES = 400
CHANCE = 0.025  # how often a wrong number may seem to be a slip by accident


def slips(own: Judged, carried: Carried) -> list[tuple[At, tuple[str, ...]]]:
    """Name the slips that give the wrong cells of a step; empty where a cell has none.

    Returns
    -------
    list of (place, names)
        One for each wrong cell: all slips that give its number; where one slip was made in every cell, only such.
    """
    cells = [tuple(map(int, at)) for at in np.argwhere(own.bad)]
    eq = carried.equation(own.step)
    if eq is None or own.answer.read_as != TEXT or len(cells) > MOST_CELLS or not eq.op.worked:
        return []
    found = [(at, _of_cell(own, carried, eq, at)) for at in cells]
    if not all(names for _, names in found):
        return []
    common = set.intersection(*(set(names) for _, names in found)) if found else set()
    return [(at, tuple(n for n in names if not common or n in common)) for at, names in found]


def _of_cell(own: Judged, carried: Carried, eq: Equation, at: At) -> tuple[str, ...]:
    """Name the slips that give one number, if so few slips come near it that it is no accident."""
    given, right = float(own.answer.values[at]), float(own.own.numbers[at])
    half = float(own.answer.half[at])
    room = float(own.own.error[at])
    if not np.isfinite([given, right, room]).all():
        return ()
    grain = max(half, room) or 0.5  # whole numbers are half a unit apart from the next
    finite = own.own.numbers[np.isfinite(own.own.numbers)]
    width = max(abs(given - right), float(np.abs(finite).max(initial=0.0)))
    writing = list(slips_of_writing(right, 2 * half or 1.0))
    for tried in (writing, [*_tried(own, carried, eq, at), *writing]):
        fitting = [
            s for s in tried if abs(s.value - given) <= (1e-9 * abs(given) if s.written else room)
        ]
        distinct = {round(s.value / grain) for s in tried}
        close = sum(abs(v * grain - right) <= width for v in distinct)
        if fitting and width and close * grain / width <= CHANCE:
            return tuple(dict.fromkeys(s.name for s in fitting))
    return ()


def _tried(own: Judged, carried: Carried, eq: Equation, at: At) -> Iterator[Slip]:
    """Yield what slips in working a cell give."""
    tree, operands = spelled(carried.program, eq, at, set(carried.pins))

    def number(cell: Cell) -> float:
        return float(carried.carried[operands[cell.operand]].numbers[cell.at])

    def inside(cell: Cell) -> bool:
        shape = carried.carried[operands[cell.operand]].numbers.shape
        return all(i < n for i, n in zip(cell.at, shape, strict=True))

    sizes = {n for ref in eq.inputs for n in ref.shape}
    counts = sorted({m for n in sizes for m in (n - 1, n, n + 1) if m > 0})
    yield from slips_of_working(tree, number, inside, counts)


def spelled(program: Program, eq: Equation, at: At, given: set[str]) -> tuple[Expr, list[str]]:
    """Give the tree of a cell, with the trees of operands that are not given put in their places.

    Returns
    -------
    (Expr, list of str)
        Cells of the tree name their operand by its place in the list.
    """
    made = {e.out.name: e for e in program.equations}
    operands: list[str] = []

    def leaf(e: Expr, own: Equation, depth: int) -> Expr:
        if not isinstance(e, Cell):
            return e
        ref = own.inputs[e.operand]
        source = made.get(ref.name)
        if source is not None and ref.name not in given and depth:
            inner = source.op.cell(e.at, source.inputs)
            if sum(1 for _ in walk(inner)) <= MOST_NODES:
                return substitute(inner, lambda x: leaf(x, source, depth - 1))
        if ref.name not in operands:
            operands.append(ref.name)
        return Cell(operands.index(ref.name), e.at)

    tree = eq.op.cell(at, eq.inputs)
    return substitute(tree, lambda e: leaf(e, eq, 2)), operands
