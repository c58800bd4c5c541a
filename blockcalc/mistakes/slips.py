"""Slips in one cell, such as a lost term, sign or digit.

They are generated from the tree of the cell, and are not in the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import Binary, Call, Cell, Expr, Fold, Num
from blockcalc.records import dataclass

NAMES = (
    "slip_term_missing",
    "slip_term_twice",
    "slip_neighbour_factor",
    "slip_neighbour_cell",
    "slip_sign",
    "slip_plus_for_times",
    "slip_exp_zero",
    "slip_root_missing",
    "slip_digits_exchanged",
    "slip_point_moved",
    "slip_carry",
    "slip_divisor",
    "slip_truncated",
    "slip_half_even",
)
Number = Callable[[Cell], float]


@dataclass(frozen=True)
class Slip:
    """What a slip makes of a cell.

    Attributes
    ----------
    name : str
        One of ``NAMES``.
    value : float
        The resulting number, not rounded.
    written : bool
        Whether it is made in writing the result, so that ``value`` is already rounded.
    """

    name: str
    value: float
    written: bool = False


def slips_of_working(
    tree: Expr, number: Number, inside: Callable[[Cell], bool], counts: Sequence[int]
) -> Iterator[Slip]:
    """Yield the results of slips made in computing a cell.

    Parameters
    ----------
    tree : Expr
        The tree of the cell.
    number : callable
        The value of a cell of an operand.
    inside : callable
        Tells whether a place lies within its operand.
    counts : sequence of int
        Numbers that may be divided by by mistake, such as the number of tokens.
    """
    for name, changed in _changed(tree, number, inside, counts):
        value = evaluate(changed, lambda e: number(e) if isinstance(e, Cell) else 0.0)
        if math.isfinite(value):
            yield Slip(name, float(value))


def _changed(
    tree: Expr, number: Number, inside: Callable[[Cell], bool], counts: Sequence[int]
) -> Iterator[tuple[str, Expr]]:
    """Yield trees with one node changed."""

    def below(child: Expr, put: Callable[[Expr], Expr]) -> Iterator[tuple[str, Expr]]:
        for name, changed in _changed(child, number, inside, counts):
            yield name, put(changed)

    match tree:
        case Fold(op=op, terms=terms):
            for i, term in enumerate(terms):
                others = terms[:i] + terms[i + 1 :]
                if op == "+" and others:
                    yield "slip_term_missing", Fold(op, others)
                    yield "slip_term_twice", Fold(op, (*terms, term))
                    yield "slip_sign", Fold(op, (*others, -term))
                yield from below(term, lambda e, i=i: Fold(op, (*terms[:i], e, *terms[i + 1 :])))  # type: ignore[misc]
        case Binary(op=op, left=left, right=right):
            if op == "^" and isinstance(left, Num) and _at(right, number) == 0:
                yield "slip_exp_zero", Num(0.0)
            yield from _binary(op, left, right, counts)
            yield from below(left, lambda e: Binary(op, e, right))
            yield from below(right, lambda e: Binary(op, left, e))
        case Call(function=function, args=args):
            if function == "sqrt":
                yield "slip_root_missing", args[0]
            if function == "exp" and _at(args[0], number) == 0:
                yield "slip_exp_zero", Num(0.0)
            if function in ("ratio", "over"):
                yield "slip_divisor", args[0]
            for i, arg in enumerate(args):
                yield from below(
                    arg,
                    lambda e, i=i: Call(function, (*args[:i], e, *args[i + 1 :])),  # type: ignore[misc]
                )
        case Cell(operand=operand, at=at):
            for axis in range(len(at)):
                for by in (-1, 1):
                    moved = Cell(operand, (*at[:axis], at[axis] + by, *at[axis + 1 :]))
                    if min(moved.at) >= 0 and inside(moved):
                        yield "slip_neighbour_factor", moved


def _binary(op: str, left: Expr, right: Expr, counts: Sequence[int]) -> Iterator[tuple[str, Expr]]:
    if op == "*":
        yield "slip_plus_for_times", left + right
        yield "slip_sign", -(left * right)
    elif op in ("+", "-"):
        yield "slip_sign", Binary("-" if op == "+" else "+", left, right)
        yield "slip_term_missing", left
        yield "slip_term_missing", right if op == "+" else -right
    elif op == "/":
        if isinstance(left, Fold) and isinstance(right, Num):
            for n in counts:
                if n and n != right.value:
                    yield "slip_divisor", left / float(n)
        yield "slip_divisor", left
    elif op == "^":
        yield "slip_plus_for_times", left + left


def _at(tree: Expr, number: Number) -> float:
    return float(evaluate(tree, lambda e: number(e) if isinstance(e, Cell) else 0.0))


def rounded(value: float, unit: float) -> float:
    """Round half away from zero to a unit of a decimal place."""
    steps = abs(value) / unit + 0.5 + 1e-9
    if not math.isfinite(steps):
        return value  # such a number is whole in this unit
    return math.copysign(round(math.floor(steps) * unit, _decimals(unit)), value)


def _decimals(unit: float) -> int:
    return max(0, -math.floor(math.log10(unit) + 0.5))


def slips_of_copying(value: float, unit: float) -> Iterator[Slip]:
    """Yield what a number becomes if its sign is lost, or two digits beside each other exchanged.

    Examples
    --------
    >>> [s.value for s in slips_of_copying(1.372, 0.01)]
    [-1.37, 3.17, 1.73]
    """
    value = rounded(value, unit)
    text = f"{abs(value):.{_decimals(unit)}f}"
    yield Slip("slip_sign", -value, True)
    places = [i for i, c in enumerate(text) if c.isdigit()]
    for i, j in pairwise(places):
        if text[i] != text[j]:
            signs = list(text)
            signs[i], signs[j] = signs[j], signs[i]
            yield Slip("slip_digits_exchanged", math.copysign(float("".join(signs)), value), True)


def slips_of_writing(value: float, unit: float) -> Iterator[Slip]:
    """Yield the results of other slips in writing a number whose last digit has this unit.

    Examples
    --------
    >>> [s.value for s in slips_of_writing(1.378, 0.01) if s.name == "slip_truncated"]
    [1.37]
    """
    yield Slip("slip_sign", -value)
    for factor in (10.0, 0.1, 100.0, 0.01):
        yield Slip("slip_point_moved", value * factor)
    for carry in (1.0, 10.0, 0.1):
        if carry >= unit / 2:
            yield Slip("slip_carry", value + carry)
            yield Slip("slip_carry", value - carry)
    steps = value / unit
    if not math.isfinite(steps):  # such a number is whole in this unit
        return
    yield Slip("slip_truncated", round(math.trunc(steps) * unit, _decimals(unit)), True)
    if abs(abs(steps - math.trunc(steps)) - 0.5) < 1e-6:
        half_even = round(2.0 * round(steps / 2.0) * unit, _decimals(unit))
        yield Slip("slip_half_even", half_even, True)
