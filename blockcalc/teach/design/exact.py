"""The steps of a block in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from blockcalc.nn.block import build
from blockcalc.nn.spec import Spec
from blockcalc.ops.evaluate import evaluate, exact_value, fraction
from blockcalc.ops.expr import At, Cell, Expr
from blockcalc.ops.op import Array
from blockcalc.program.program import Equation, Program
from blockcalc.reading.load import load

MASKED = -math.inf
MOST_DENOMINATOR = 1000  # of a fraction that was given as a number, such as 1/3

Entry = Fraction | float | None  # a float is minus infinity; None is no fraction


def as_fraction(x: float) -> Fraction:
    """Give the fraction that a float was written as: 1/3, or 0.1.

    Examples
    --------
    >>> as_fraction(1 / 3), as_fraction(0.1)
    (Fraction(1, 3), Fraction(1, 10))
    """
    near = Fraction(x).limit_denominator(MOST_DENOMINATOR)
    return near if float(near) == x else fraction(x)


class Exact:
    """The steps of a block as arrays of fractions, by name; None where an entry is none.

    Parameters
    ----------
    data : mapping
        The content of an input file.
    stop : str, optional
        The last step that is worked; what is needed only after it may be missing.
    """

    def __init__(self, data: Mapping[str, Any], stop: str | None = None) -> None:
        self.spec: Spec = load({**data, "stop": stop} if stop else data)
        self.program: Program = build(self.spec)
        self.values: dict[str, Array] = {}
        for ref in self.program.inputs:
            self.values[ref.name] = _fractions(self.spec.arrays[ref.name])
        for eq in self.program.equations:
            self.values[eq.out.name] = self._result(eq)

    def __getitem__(self, name: str) -> Array:
        return self.values[self.program.aliases.get(name, name)]

    def __contains__(self, name: str) -> bool:
        return self.program.aliases.get(name, name) in self.values

    def _result(self, eq: Equation) -> Array:
        out = np.empty(eq.out.shape, object)
        for at in np.ndindex(*eq.out.shape):
            out[at] = self._entry(eq, at)
        return out

    def _entry(self, eq: Equation, at: At) -> Entry:
        seen: list[Entry] = []

        def leaf(e: Expr) -> Entry:
            assert isinstance(e, Cell)
            value: Entry = self.values[eq.inputs[e.operand].name][e.at]
            seen.append(value)
            return value

        tree = eq.op.cell(at, eq.inputs)
        found = exact_value(tree, lambda e: v if isinstance(v := leaf(e), Fraction) else None)
        if found is not None or None in seen:
            return found
        # of minus infinity: a masked score, its power, or a maximum beside it
        value = evaluate(tree, lambda e: float(leaf(e) or 0))
        if np.isneginf(value):
            return MASKED
        return as_fraction(float(value)) if MASKED in seen and np.isfinite(value) else None


def _fractions(x: Array) -> Array:
    out = np.empty(x.shape, object)
    for at in np.ndindex(*x.shape):
        out[at] = MASKED if np.isneginf(x[at]) else as_fraction(float(x[at]))
    return out


def whole(*arrays: Array) -> tuple[list[Array], int]:
    """Bring fractions to one denominator: the numerators as whole numbers, and the denominator.

    Examples
    --------
    >>> whole(np.array([Fraction(1, 2), Fraction(1, 3)]))
    ([array([3, 2])], 6)
    """
    common = math.lcm(*(x.denominator for a in arrays for x in a.flat))
    return [
        np.array([int(x * common) for x in a.flat], np.int64).reshape(a.shape) for a in arrays
    ], common
