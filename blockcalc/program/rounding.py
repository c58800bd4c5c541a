"""The rounding of a run: half away from zero on the decimal text of a number, as on paper.

The rule rounds 0.605 to 0.61 and 2.5 to 3. Floating-point round-off may hide such a tie;
then the cell is computed again in exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.ops.evaluate import exact_value, fraction
from blockcalc.ops.expr import Cell, Expr
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.records import dataclass

WIDE = Context(prec=400, rounding=ROUND_HALF_UP)


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounding after each step, to decimals or to significant figures.

    Examples
    --------
    >>> Rounding("decimals", 2)(np.array([0.605, -0.125, 2.5]))
    array([ 0.61, -0.13,  2.5 ])
    """

    kind: str
    digits: int

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        flat = [self._one(v) for v in plain_floats(values.ravel())]
        return np.array(flat, dtype=values.dtype).reshape(values.shape)

    def _one(self, x: float) -> float:
        return self.of(shortest(x)) if math.isfinite(x) and x else x

    def of(self, x: Decimal) -> float:
        """Round a decimal number, and convert it to a float."""
        places = self.digits if self.kind == "decimals" else self.digits - 1 - x.adjusted()
        return float(x.quantize(Decimal(1).scaleb(-places), context=WIDE)) + 0.0

    def result(
        self, op: Op, refs: Sequence[Ref], inputs: Sequence[Array], value: Array
    ) -> NDArray[Any]:
        """Round the result of an operation; exactly where round-off could decide.

        If a result is so close to a tie that its round-off, estimated from the size of its terms,
        could have moved it across, the cell is computed in fractions from the decimal text of its
        operands. An irrational result is rounded as a float.
        """
        out = self(value)
        if not op.worked:
            return out
        for at in np.argwhere(self._doubtful(op, refs, inputs, value)):
            place = tuple(map(int, at))
            exact = exact_value(op.cell(place, refs), lambda e: _written(e, inputs))
            if exact is not None:
                ratio = WIDE.divide(Decimal(exact.numerator), Decimal(exact.denominator))
                out[place] = self.of(ratio) if ratio else 0.0
        return out

    def _doubtful(
        self, op: Op, refs: Sequence[Ref], inputs: Sequence[Array], value: Array
    ) -> NDArray[np.bool_]:
        """Tell which results are within their round-off of a tie, or of 0."""
        with np.errstate(all="ignore"):
            size = op.magnitude(inputs)
            size = np.abs(value) if size is None else np.maximum(size, np.abs(value))
            noise = np.finfo(value.dtype).eps * (op.per_cell(refs) + 8) * size
            places: Array = np.full_like(value, self.digits)
            if self.kind != "decimals":
                places = self.digits - 1 - np.floor(np.log10(np.abs(value)))
            unit = 10.0 ** np.minimum(places, 300.0)
            scaled = np.abs(value) * unit
            near = np.abs(scaled - np.floor(scaled) - 0.5) <= noise * unit
            lost = (np.abs(value) <= noise) & (noise > 0)
            edge = (self.kind != "decimals") & (np.abs(scaled - np.rint(scaled)) <= noise * unit)
            return np.asarray(
                np.isfinite(value) & (near | lost | (edge & _power_of_ten(scaled, self.digits)))
            )


def _power_of_ten(scaled: Array, digits: int) -> NDArray[np.bool_]:
    """Tell where a number, scaled to ``digits`` whole digits, is next to a power of ten."""
    low, high = 10.0 ** (digits - 1), 10.0**digits
    return np.asarray((np.rint(scaled) == low) | (np.rint(scaled) == high))


def _written(leaf: Expr, inputs: Sequence[Array]) -> Fraction | None:
    """Give the decimal number that is written for a cell of an operand."""
    assert isinstance(leaf, Cell)
    x = inputs[leaf.operand][leaf.at]
    return fraction(float(str(x))) if np.isfinite(x) else None


def plain_floats(values: NDArray[Any]) -> list[float]:
    """Convert to Python floats with the same shortest text: 0.1 in float32 becomes 0.1."""
    if values.dtype == np.float64:
        floats: list[float] = values.tolist()
        return floats
    return [float(str(v)) for v in values]


def shortest(x: float, exact: bool = False) -> Decimal:
    """Give the shortest decimal text of a number, without floating-point noise.

    A number within 1e-14 of one with 12 digits becomes that one, such as 0.3 for 0.1 + 0.2, unless
    ``exact`` asks for all digits.
    """
    short = Decimal(f"{x:.11e}")
    near = not exact and abs(float(short) - x) <= 1e-14 * abs(x)
    return short if near else Decimal(repr(x))


def rounded(x: float, places: int, exact: bool = False) -> Decimal:
    """Round to ``places`` decimals, half away from zero on the shortest text of ``x``.

    Examples
    --------
    >>> rounded(0.605, 2), rounded(-2.5, 0)
    (Decimal('0.61'), Decimal('-3'))
    """
    return shortest(x, exact).quantize(Decimal(1).scaleb(-places), context=WIDE)


def exponent_of(x: float) -> int:
    """Give the power of ten of the leading digit: 2 for 312.5, -2 for 0.015."""
    return Decimal(repr(x)).adjusted()
