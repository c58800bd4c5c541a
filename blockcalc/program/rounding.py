"""The rounding of a run, half away from zero on the shortest decimal text of a number.

The rule makes 0.605 into 0.61 and 2.5 into 3, as on paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDE = Context(prec=400, rounding=ROUND_HALF_UP)


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounding after each step, as with a pencil: to decimals or to significant figures.

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
        if not math.isfinite(x) or x == 0:
            return x
        if self.kind == "decimals":
            return float(rounded(x, self.digits)) + 0.0
        return float(rounded(x, self.digits - 1 - exponent_of(x))) + 0.0


def plain_floats(values: NDArray[Any]) -> list[float]:
    """Python floats with the shortest text of each value: 0.1 stays 0.1 from float32 too."""
    if values.dtype == np.float64:
        return [float(v) for v in values]
    return [float(str(v)) for v in values]


def shortest(x: float, exact: bool = False) -> Decimal:
    """Give the shortest decimal text of a number, the noise of floating point left aside.

    A number within 1e-14 of one of 12 digits is taken for that one, 0.1 + 0.2 for 0.3, unless
    ``exact`` asks for all digits.
    """
    short = Decimal(f"{x:.11e}")
    near = not exact and abs(float(short) - x) <= 1e-14 * abs(x)
    return short if near else Decimal(repr(x))


def rounded(x: float, places: int, exact: bool = False) -> Decimal:
    """Round to ``places`` decimals, half away from zero on the shortest text of ``x``."""
    return shortest(x, exact).quantize(Decimal(1).scaleb(-places), context=_WIDE)


def exponent_of(x: float) -> int:
    """Give the power of ten of the first digit: 2 for 312.5, -2 for 0.015."""
    return Decimal(repr(x)).adjusted()
