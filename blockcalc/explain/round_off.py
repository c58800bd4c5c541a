"""Tell which small numbers are round-off, and how many of the printed digits are certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from blockcalc.explain.arithmetic import printed
from blockcalc.explain.document import Heading, Piece, Remark, listing
from blockcalc.explain.grids import Shown
from blockcalc.messages import say
from blockcalc.notation.digits import exact_figure, unit_of
from blockcalc.notation.quantities import significant
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.evaluate import exact_value
from blockcalc.ops.expr import At, Cell, Expr, Figure, substitute, walk
from blockcalc.ops.op import Array, Ref
from blockcalc.program.exactness import Exactness
from blockcalc.program.program import Equation, Program
from blockcalc.records import dataclass


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

    def certainties(self, program: Program, names: Collection[str] | None) -> list[Certainty]:
        """Tell which digits of the steps, or of those that are named, are certain."""
        from blockcalc.program.bounds import run_bounds

        errors = run_bounds(program, self.arrays)
        refs = (eq.out for eq in program.equations if names is None or eq.out.name in names)
        return [certainty(self.matrix(ref), errors[ref.name]) for ref in refs]


def is_certain(eq: Equation, inputs: Sequence[Array], at: At) -> bool:
    """Tell whether a small number is exact, computed from exact operands."""

    def leaf(e: Expr) -> Expr:
        return exact_figure(float(inputs[e.operand][e.at])) if isinstance(e, Cell) else e

    tree = substitute(eq.op.cell(at, eq.inputs), leaf)
    short = all(len(e.digits) <= 13 for e in walk(tree) if isinstance(e, Figure))
    return short and exact_value(tree, printed) not in (None, 0)


# which digits are certain ------------------------------------------------------------------------

MOST_DIGITS = 17


@dataclass(frozen=True)
class Certainty:
    """The bound on the error of a step, and which printed digits it leaves certain.

    Attributes
    ----------
    name : str
    bound : float
        The largest over the cells.
    digits : int
        The significant digits that are certain in every number but 0.
    printed, uncertain : int
        How many numbers are printed, and how many of them end in a digit that is not certain.
    """

    name: str
    bound: float
    digits: int
    printed: int
    uncertain: int


def certainty(shown: Shown, error: Array) -> Certainty:
    """Find the certain digits of a matrix: those of which the bound is at most half a unit."""
    digits, printed, uncertain = MOST_DIGITS, 0, 0
    for at in shown.places():
        x, off = abs(shown.number(at)), float(error[at])
        printed += 1
        if off == 0 or not math.isfinite(x):
            continue
        if shown.noise(at):
            off += x  # it is printed as 0
        elif x:
            digits = min(digits, _certain_digits(x, off))
        uncertain += not 2 * off <= unit_of(shown.figure(at))
    return Certainty(shown.ref.name, float(error.max(initial=0.0)), digits, printed, uncertain)


def verified(found: Sequence[Certainty], digits: int) -> Iterator[Piece]:
    """List the bounds of steps, and say whether all printed digits are certain."""
    yield Heading(say("heading.verify"), prose=say("prose.verify"))
    rows = [
        (c.name, significant(c.bound, 2), str(c.digits), f"{c.uncertain}/{c.printed}")
        for c in found
    ]
    yield listing(("step", "bound", "certain", "uncertain"), rows, ())
    yield verdict(found, digits)


def verdict(found: Sequence[Certainty], digits: int) -> Remark:
    """Say in one sentence whether all printed digits are certain."""
    of, n = sum(c.printed for c in found), sum(c.uncertain for c in found)
    least = min((c.digits for c in found), default=MOST_DIGITS)
    key = "verify.some" if n else "verify.all"
    return Remark(say(key, n=n, of=of, digits=digits, least=least))


def _certain_digits(x: float, off: float) -> int:
    """Count the significant digits of a number of which an error is no more than half a unit."""
    if not math.isfinite(off):
        return 0
    places = math.floor(-math.log10(2 * off))
    return min(max(math.floor(math.log10(x)) + 1 + places, 0), MOST_DIGITS)
