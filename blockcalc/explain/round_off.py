"""Tell which small numbers are round-off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from blockcalc.explain.arithmetic import printed
from blockcalc.explain.grids import Shown
from blockcalc.notation.digits import exact_figure
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.evaluate import exact_value
from blockcalc.ops.expr import At, Cell, Expr, Figure, substitute, walk
from blockcalc.ops.op import Array, Ref
from blockcalc.program.exactness import Exactness
from blockcalc.program.program import Equation


class RoundOff:
    """Estimates the round-off of the numbers of a run.

    Parameters
    ----------
    made : mapping
        The equation of each result, by its name.
    arrays : mapping
        The numbers by name.
    matrix : callable
        Gives the shown form of a matrix.
    """

    def __init__(
        self,
        made: Mapping[str, Equation],
        arrays: Mapping[str, Array],
        matrix: Callable[[Ref], Shown],
    ) -> None:
        self.made, self.arrays, self.matrix = made, arrays, matrix
        self.exact = Exactness(made, arrays)

    def measure(self, eq: Equation, shown: Shown) -> None:
        """Attach the estimate of round-off to a shown result."""
        inputs = [self.arrays[r.name] for r in eq.inputs]
        with np.errstate(all="ignore"):
            shown.magnitude = eq.op.magnitude([self.sized(ref) for ref in eq.inputs])
        shown.certain = lambda at: is_certain(eq, inputs, at) or self.exact(eq.out.name, at)
        if shown.magnitude is None and isinstance(eq.op, Elementwise):
            shown.inherited = lambda at: self.inherited(eq, at)

    def sized(self, ref: Ref) -> Array:
        """Give the values of a matrix, with round-off replaced by the size of its terms."""
        value = self.arrays[ref.name]
        eq = self.made.get(ref.name)
        if eq is None:
            return value
        magnitude = self.matrix(ref).magnitude
        if magnitude is None:
            return value
        noise = np.abs(value) <= 8 * np.finfo(value.dtype).eps * magnitude
        return np.where(noise & (value != 0), magnitude, value)

    def inherited(self, eq: Equation, at: At) -> float:
        """Give the size below which a function value is round-off because its operands are."""
        size, others = 0.0, 1.0
        for cell in walk(eq.op.cell(at, eq.inputs)):
            if isinstance(cell, Cell):
                operand = self.matrix(eq.inputs[cell.operand])
                noise = operand.noise(cell.at)
                size = max(size, noise)
                others *= 1.0 if noise else max(1.0, abs(operand.number(cell.at)))
        return size * others


def is_certain(eq: Equation, inputs: Sequence[Array], at: At) -> bool:
    """Tell whether a small number is exact, computed from exact operands."""

    def leaf(e: Expr) -> Expr:
        return exact_figure(float(inputs[e.operand][e.at])) if isinstance(e, Cell) else e

    tree = substitute(eq.op.cell(at, eq.inputs), leaf)
    short = all(len(e.digits) <= 13 for e in walk(tree) if isinstance(e, Figure))
    return short and exact_value(tree, printed) not in (None, 0)
