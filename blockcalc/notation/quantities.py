"""Write numbers in sentences and lists: grouped counts, bytes in binary units, significant digits."""

from __future__ import annotations

import math
from dataclasses import replace

from blockcalc.notation.alphabets import Text
from blockcalc.notation.digits import power_figure

THOUSANDS = "kMGTPE"
ROUNDS_UP = 999.95  # to four digits
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def significant(x: float, digits: int) -> str:
    """Write a number with at most ``digits`` significant digits, without trailing zeros.

    Examples
    --------
    >>> significant(0.36224, 4), significant(7.2371e-7, 4), significant(0.0, 4), significant(1e21, 3)
    ('0.3622', '7.237×10⁻⁷', '0', '1×10²¹')
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
