"""Write numbers in sentences and lists: grouped counts, units, significant digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from blockcalc.notation.alphabets import Text
from blockcalc.notation.digits import LARGEST_FIXED, SMALLEST_FIXED, power_figure
from blockcalc.ops.expr import Figure

THOUSANDS = "kMGTPE"
ROUNDS_UP = 999.95  # to four digits
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def significant(x: float, digits: int) -> str:
    """Write a number with at most ``digits`` significant digits, without trailing zeros.

    Examples
    --------
    >>> [significant(x, 4) for x in (0.36224, 7.2371e-7, 0.0, 1e21)]
    ['0.3622', '7.237×10⁻⁷', '0', '1×10²¹']
    """
    if not x or not math.isfinite(x):
        return f"{x:g}"
    shown = power_figure(x, digits)
    if "." in shown.digits:
        shown = replace(shown, digits=shown.digits.rstrip("0").rstrip("."))
    return Text().figure(shown)


def grouped(n: int) -> str:
    """Write a whole number in groups of three: 1,769,472."""
    return f"{n:,}"


def compact(n: int) -> str:
    """Write a count; a long one with four digits and an SI letter.

    Examples
    --------
    >>> compact(85054464), compact(3072)
    ('85.05 M', '3,072')
    """
    if n < 10**6:
        return grouped(n)
    power = min((len(str(n)) - 1) // 3, len(THOUSANDS))
    power += power < len(THOUSANDS) and n / 1000**power >= ROUNDS_UP
    return f"{significant(n / 1000**power, 4)} {THOUSANDS[power - 1]}"


def with_unit(n: int, unit: str) -> str:
    """Write a count before its unit, with the SI letter at the unit.

    Examples
    --------
    >>> with_unit(19_300_000_000, "FLOP"), with_unit(3072, "FLOP")
    ('19.3 GFLOP', '3,072 FLOP')
    """
    text = compact(n)
    return f"{text}{unit}" if text[-1].isalpha() else f"{text} {unit}"


def per_byte(x: float) -> str:
    """Write operations per byte."""
    return f"{x:,.0f}" if x >= 1000 else significant(x, 3)


def size(n: int) -> str:
    """Write bytes in the largest binary unit that leaves at least 1.

    Examples
    --------
    >>> size(134217728), size(1536), size(7)
    ('128 MiB', '1.5 KiB', '7 B')
    """
    power = 0
    while power < len(UNITS) - 1 and n >= 1024 ** (power + 1):
        power += 1
    power += 0 < power < len(UNITS) - 1 and n / 1024**power >= 1023.5
    return f"{significant(n / 1024**power, 4)} {UNITS[power]}"


MOST_PLACES = 17
SMALL, LARGE = float(f"1e{SMALLEST_FIXED}"), float(f"1e{LARGEST_FIXED}")


def places_apart(pairs: Sequence[tuple[float, ...]], halves: Sequence[float], written: bool) -> int:
    """Count the decimals at which the numbers of each pair look different.

    Parameters
    ----------
    pairs : sequence of pairs of float
    halves : sequence of float
        Half a unit of the last digit written of each, 0 where a number is exact.
    written : bool
        Whether the decimals that were written are enough; else a second digit of the difference is
        shown.

    Examples
    --------
    >>> places_apart([(0.654, -0.65353)], [0.0005], True)
    3
    >>> places_apart([(0.02977, 0.02992)], [0], False)
    5
    """
    units = [round(-math.log10(2 * half)) for half in halves if half > 0]
    places = min(max([0, *units]), MOST_PLACES)
    for a, b in pairs:
        if not (math.isfinite(a) and math.isfinite(b)) or a == b:
            continue
        size = max(abs(a), abs(b))
        most = max(MOST_PLACES - 1 - math.floor(math.log10(size)), 0)
        needed = places
        while needed < most and f"{a:.{needed}f}" == f"{b:.{needed}f}":
            needed += 1
        if not written:
            needed = min(max(needed, math.ceil(-math.log10(abs(a - b))) + 1), most)
        places = max(places, needed)
    return places


def in_column(numbers: Sequence[float], places: int) -> list[str]:
    """Write numbers with the same decimals, very large or small ones with a power of ten.

    Examples
    --------
    >>> in_column([1, -0.5], 2), in_column([1.5e-8, 1e-9], 9)
    (['1.00', '-0.50'], ['1.5×10⁻⁸', '1.0×10⁻⁹'])
    """
    size = max((abs(x) for x in numbers if math.isfinite(x)), default=0.0)
    if not size or SMALL <= size < LARGE:
        return [_fixed(x, places) for x in numbers]
    digits = max(math.floor(math.log10(size)) + places, 1)
    return [_power(x, min(digits, MOST_PLACES - 1)) for x in numbers]


def _fixed(x: float, places: int) -> str:
    """Write a number with ``places`` decimals; one that rounds to 0 has no sign."""
    text = f"{x:.{places}f}"
    return text.lstrip("-") if x and not float(text) else text


def _power(x: float, digits: int) -> str:
    """Write a number with ``digits`` decimals and a power of ten."""
    if not math.isfinite(x) or not x:
        return f"{x:g}"
    mantissa, _, exponent = f"{x:.{digits}e}".partition("e")
    return Text().figure(Figure(mantissa, int(exponent)))
