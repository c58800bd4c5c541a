"""Find the slip that explains a wrong cell, and tell what chance would explain too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from blockcalc.answers.answer import TEXT
from blockcalc.check.carried import Carried, largest
from blockcalc.check.judge import Judged, differs
from blockcalc.check.where import wrong_cells
from blockcalc.mistakes.alternative import Alternative
from blockcalc.mistakes.slips import (
    Slip,
    rounded,
    slips_of_copying,
    slips_of_working,
    slips_of_writing,
)
from blockcalc.ops.expr import At, Cell, Expr, substitute, walk
from blockcalc.ops.op import Array, Op
from blockcalc.program.program import Equation, Program

MOST_CELLS = 3  # a slip is in one cell; more wrong cells are not slips
MOST_NODES = 400
USUAL = 6  # the first groups of slips
CHANCE = 0.01  # the probability that a number wrong for no reason seems to have one


def coincidence(own: Judged, room: Array, cells: Array) -> float:
    """Give the chance that random numbers, as large as the step or its errors, would be right."""
    with np.errstate(all="ignore"):
        apart = np.abs(own.answer.values - own.own.numbers)[cells]
        parts = room[cells] / np.maximum(apart, largest(own.own.numbers))
    return float(np.prod(np.minimum(1.0, np.nan_to_num(parts)))) if parts.size else 0.0


def values_of(own: Judged, carried: Carried, changes: Sequence[Alternative]) -> int:
    """Count the values that alternatives give the wrong cells while the others stay right."""
    cells = wrong_cells(own)
    room = 2 * (own.own.error + own.answer.half)
    grain = largest(room[cells]) or 1.0
    values = set()
    for change in changes:
        rough = carried.under(change, own.step, bounded=False)
        if rough is None or rough.numbers.shape != own.own.numbers.shape:
            continue
        if not (differs(own.answer, rough, room) & ~cells).any():
            with np.errstate(all="ignore"):
                values.add(np.round(rough.numbers[cells] / grain).tobytes())
    return max(1, len(values))


def slips(own: Judged, carried: Carried) -> list[tuple[At, tuple[str, ...]]]:
    """Name the slips that give the wrong cells of a step; empty if a cell has none.

    Returns
    -------
    list of (place, names)
        For each wrong cell all slips that give its number; if one slip explains every cell,
        only that one.
    """
    cells = [tuple(map(int, at)) for at in np.argwhere(own.bad)]
    eq = carried.equation(own.step)
    if eq is None or own.answer.read_as != TEXT or len(cells) > MOST_CELLS or not eq.op.worked:
        return []
    found = [(at, *_of_cell(own, carried, eq, at)) for at in cells]
    common = set.intersection(*(set(names) for _, names, _ in found)) if found else set()
    chances = [chance for *_, chance in found]
    # where one slip explains every cell it is enough that one of them tells it
    if (min if common else max)(chances, default=1.0) > CHANCE:
        return []
    return [(at, tuple(n for n in names if not common or n in common)) for at, names, _ in found]


def _of_cell(own: Judged, carried: Carried, eq: Equation, at: At) -> tuple[tuple[str, ...], float]:
    """Name the slips that give one number, and the chance that slips come so near to any.

    The usual slips are tried first: the more are tried, the more random numbers they would meet.
    Whole numbers are met so often that of these only a lost sign is told readily.
    """
    given, right = float(own.answer.values[at]), float(own.own.numbers[at])
    half = float(own.answer.half[at])
    room = float(own.own.error[at])
    if not np.isfinite([given, right, room]).all():
        return (), 1.0
    width = max(abs(given - right), abs(right))  # wrong numbers are about as large as right ones
    whole = half == 0 and given.is_integer()  # as uncertain as if rounded to a unit
    groups = list(_by_use(own, carried, eq, at))
    met: dict[float, float] = {}  # the room of each number that a slip gives
    fitting: list[str] = []
    told, chance = False, 1.0
    for i, tried in enumerate(groups):
        if told and i >= USUAL:
            break  # the usual slips that fit are all named
        for s in tried:
            grain = 0.5 if whole and i else half if s.written and half else max(half, room)
            near = max(1e-9 * abs(given), 1e-12) if s.written else room
            if abs(s.value - given) <= near:
                fitting.append(s.name)
            if abs(s.value - right) <= width and math.isfinite(steps := s.value / (grain or 1.0)):
                key = round(steps) * (grain or 1.0)
                met[key] = max(grain, met.get(key, 0.0))
        if fitting and width:
            chance = min(chance, sum(met.values()) / width)
        told = told or chance <= CHANCE
    return tuple(dict.fromkeys(fitting)), chance


def _by_use(own: Judged, carried: Carried, eq: Equation, at: At) -> Iterator[list[Slip]]:
    """Yield the slips of a cell in groups, the most usual first."""
    unit = 2 * float(own.answer.half[at]) or 1.0
    own_number, true_number = (float(v.numbers[at]) for v in (own.own, own.true))
    copying = list(slips_of_copying(own_number, unit))
    yield copying[:1]  # a wrong sign, even in whole numbers
    yield list(_beside(own.own.numbers, at, -1, unit))
    yield copying[1:]
    yield list(slips_of_copying(true_number, unit)) if math.isfinite(true_number) else []
    yield list(_beside(own.own.numbers, at, -2, unit)) if len(at) > 1 else []
    working = list(_tried(own, carried, eq, at))
    often = ("slip_sign", "slip_term_missing")
    yield [s for s in working if s.name in often]
    yield list(slips_of_writing(own_number, unit))
    yield [s for s in working if s.name not in often]


def _beside(numbers: Array, at: At, axis: int, unit: float) -> Iterator[Slip]:
    """Yield the numbers of the cells before and after a cell along an axis, as written."""
    for by in (-1, 1):
        place = list(at)
        place[axis] += by
        if 0 <= place[axis] < numbers.shape[axis]:
            number = float(numbers[tuple(place)])
            if math.isfinite(number):
                yield Slip("slip_neighbour_cell", rounded(number, unit), True)


def _tried(own: Judged, carried: Carried, eq: Equation, at: At) -> Iterator[Slip]:
    """Yield the numbers that slips in computing a cell give."""
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
    """Give the tree of a cell, with operands that are not given replaced by their own trees.

    Returns
    -------
    (Expr, list of str)
        Cells of the tree refer to operands by index in the list.
    """
    made = {e.out.name: e for e in program.equations}
    operands: list[str] = []

    def leaf(e: Expr, own: Equation, depth: int) -> Expr:
        if not isinstance(e, Cell):
            return e
        ref = own.inputs[e.operand]
        source = made.get(ref.name)
        spelled_out = source is not None and type(source.op).cell is not Op.cell  # no draw is
        if source is not None and spelled_out and ref.name not in given and depth:
            inner = source.op.cell(e.at, source.inputs)
            if sum(1 for _ in walk(inner)) <= MOST_NODES:
                return substitute(inner, lambda x: leaf(x, source, depth - 1))
        if ref.name not in operands:
            operands.append(ref.name)
        return Cell(operands.index(ref.name), e.at)

    tree = eq.op.cell(at, eq.inputs)
    return substitute(tree, lambda e: leaf(e, eq, 2)), operands
