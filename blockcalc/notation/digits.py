"""Choose how many digits a number is shown with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from blockcalc.ops.expr import Figure
from blockcalc.program.rounding import WIDE, exponent_of, rounded, shortest

SMALLEST_FIXED, LARGEST_FIXED = -4, 7  # from 1e-4 to below 1e7 a number is written out
SNAPPED = 10  # from this many digits on, rounding uses all digits, not the shortest text
ALL_DIGITS = 14  # from this many digits on, floating-point noise is shown
_KEPT = 2  # a number is written out only if at least this many of its digits show


def places_needed(x: float, exact: bool = False) -> int:
    """Count the decimals that show ``x`` completely, without floating-point noise.

    Examples
    --------
    >>> places_needed(0.30000000000000004), places_needed(0.125)
    (1, 3)
    """
    exponent = shortest(x, exact).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _as_power(x: float, digits: int) -> bool:
    """Tell whether a number is too large to be written out."""
    return exponent_of(x) >= max(digits + 2, LARGEST_FIXED)


def column_places(values: Iterable[float], digits: int) -> int:
    """Choose the number of decimals of a column.

    Every number written out gets ``digits`` significant digits, with at most ``digits``
    decimals, and no more decimals than any number of the column needs.

    Examples
    --------
    >>> column_places([2.401, 1.504, 2.576], 4)
    3
    >>> column_places([1177.0098, 16.9188], 4), column_places([1.0, 3.0], 4)
    (2, 0)
    """
    usable = [v for v in values if math.isfinite(v) and v != 0 and not _as_power(v, digits)]
    written = [v for v in usable if exponent_of(v) >= SMALLEST_FIXED]
    if not written:
        return 0
    exponents = [exponent_of(v) for v in written]
    most = max(0, min(digits, digits - 1 - min(exponents)), digits - 1 - max(exponents))
    return min(most, max(places_needed(v, digits >= ALL_DIGITS) for v in written))


def figure(x: float, places: int, digits: int, noise: float = 0.0) -> Figure:
    """Choose the digits of one number.

    Parameters
    ----------
    x : float
    places : int
        Decimals of its column.
    digits : int
        Significant digits if it is written with a power of ten.
    noise : float
        A number of at most this size is round-off and shown as 0.

    Examples
    --------
    >>> figure(-1e-17, 4, 4, noise=1e-15).digits
    '0.0000'
    >>> figure(1.5e-06, 4, 4)
    Figure(digits='1.5', exponent=-6)
    """
    if math.isinf(x):
        return Figure("-inf" if x < 0 else "inf")
    if 0 < abs(x) <= noise:
        return Figure(f"{Decimal(0):.{places}f}")
    if x == 0:
        return Figure("0")
    if not _as_power(x, digits):
        exact = digits >= ALL_DIGITS
        value = rounded(x, places, digits >= SNAPPED)
        seen = value.adjusted() + places + 1 if value else 0
        if seen >= min(_KEPT, digits) or places_needed(x, exact) <= places:
            return Figure(f"{value:.{places}f}")
    return power_figure(x, digits)


def power_figure(x: float, digits: int) -> Figure:
    """Write a number with at most ``digits`` digits, very large or small ones as a power of ten."""
    exponent = exponent_of(x)
    mantissa = shortest(x, digits >= SNAPPED).scaleb(-exponent)
    places = min(digits - 1, places_needed(float(mantissa), digits >= ALL_DIGITS))
    value = mantissa.quantize(Decimal(1).scaleb(-places), context=WIDE)
    if abs(value) >= 10:
        value, exponent = value / 10, exponent + 1
        value = value.quantize(Decimal(1).scaleb(-places), context=WIDE)
    if SMALLEST_FIXED <= exponent < LARGEST_FIXED:
        return Figure(f"{value.scaleb(exponent, WIDE):f}")
    return Figure(f"{value:f}", exponent)


def constant(x: float, digits: int = 17) -> Figure:
    """Write a constant of the file, such as eps, with all its digits.

    Examples
    --------
    >>> constant(1e-5), constant(0.25)
    (Figure(digits='1', exponent=-5), Figure(digits='0.25', exponent=None))
    """
    if x == 0 or SMALLEST_FIXED <= exponent_of(x) < LARGEST_FIXED:
        return figure(x, column_places([x], digits), digits)
    return power_figure(x, digits)


def fraction_of(shown: Figure) -> Fraction:
    """Give the exact value of a figure as printed."""
    scale = Fraction(10) ** (shown.exponent or 0)
    return Fraction(Decimal(shown.digits)) * scale


def unit_of(shown: Figure) -> Fraction:
    """Give one unit of the last digit of a figure.

    Examples
    --------
    >>> unit_of(Figure("1.50")), unit_of(Figure("1.5", -6))
    (Fraction(1, 100), Fraction(1, 10000000))
    """
    _, _, tail = shown.digits.partition(".")
    return Fraction(10) ** ((shown.exponent or 0) - len(tail))


def exact_figure(x: float) -> Figure:
    """Write all digits of ``x``, without floating-point noise past 15 digits."""
    return figure(x, places_needed(x), ALL_DIGITS - 1)
