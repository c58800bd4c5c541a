"""Tell which numbers of a run are exact: computed without any floating-point rounding."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from blockcalc.ops.evaluate import exact_value
from blockcalc.ops.expr import At, Cell, Expr
from blockcalc.ops.op import Array
from blockcalc.program.program import Equation

MOST = 20_000  # cells checked before a number counts as possibly rounded
DEEPEST = 100


class Exactness:
    """Traces cells back to the given matrices.

    A given number is exact. A result is exact if its operands are and their value in fractions
    equals it.

    Parameters
    ----------
    equations : mapping
        The equation of each result, by its name.
    values : mapping
        The numbers by name.
    """

    def __init__(self, equations: Mapping[str, Equation], values: Mapping[str, Array]) -> None:
        self.equations, self.values = equations, values
        self.known: dict[tuple[str, At], bool] = {}

    def __call__(self, name: str, at: At, depth: int = 0) -> bool:
        """Tell whether one number is exact."""
        eq = self.equations.get(name)
        if eq is None:
            return True
        key = (name, at)
        if key not in self.known:
            self.known[key] = False  # beyond the limits a number counts as rounded
            if len(self.known) <= MOST and depth <= DEEPEST:
                self.known[key] = self._result(eq, at, depth)
        return self.known[key]

    def _result(self, eq: Equation, at: At, depth: int) -> bool:
        if not eq.inputs:  # drawn
            return True

        def leaf(e: Expr) -> Fraction | None:
            if not isinstance(e, Cell) or not self(eq.inputs[e.operand].name, e.at, depth + 1):
                return None
            x = float(self.values[eq.inputs[e.operand].name][e.at])
            return Fraction(x) if np.isfinite(x) else None

        exact = exact_value(eq.op.cell(at, eq.inputs), leaf)
        x = float(self.values[eq.out.name][at])
        return exact is not None and bool(np.isfinite(x)) and exact == Fraction(x)
