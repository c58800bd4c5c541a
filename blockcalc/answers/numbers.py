"""Numbers as they were typed: each with half a unit of its last digit."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from blockcalc.answers.answer import Array
from blockcalc.files.source import Path, short
from blockcalc.messages import say
from blockcalc.reading.checker import FRACTION, Checker, depth_of, spaces_hint

MOST_AXES = 4
LONGEST = 6  # characters of an exponent; more is beyond float64
RANKS = tuple(range(1, MOST_AXES + 1))
Cell3 = tuple[Array, Array, Array]  # values, which cells are given, half a unit of each
_WORDS = {
    **{s + word: float(s + "inf") for s in ("", "+", "-") for word in ("inf", ".inf", "infinity", "∞")},
    **{s + word: math.nan for s in ("", "+", "-") for word in ("nan", ".nan")},
}  # fmt: skip


class Typed(float):
    """A number that keeps its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Typed:
        own = super().__new__(cls, text)
        own.text = text
        return own


def half_unit(text: str) -> float:
    """Give half a unit of the last digit of a number; a whole number is exact.

    Examples
    --------
    >>> [half_unit(text) for text in ("0.17", "0.170", "1.5e-3", "2", "1e3", "1.25e3")]
    [0.005, 0.0005, 5e-05, 0.0, 0.0, 5.0]
    """
    if "e" not in text and "E" not in text:
        point = text.find(".") + 1
        return _half(point - len(text)) if 0 < point < len(text) else 0.0
    digits, _, exponent = text.lower().partition("e")
    places = len(digits) - digits.find(".") - 1 if "." in digits else 0
    power = int(exponent or 0) if len(exponent) < LONGEST else 0
    if not digits.strip("-+0."):  # the exponent of a zero does not make it less exact
        power = min(power, 0)
    return _half(power - places) if places or power < 0 else 0.0


@cache
def _half(power: int) -> float:
    return float(f"5e{power - 1}")


def typed_half(value: float) -> float:
    """Give half a unit of the last digit of a number: of its text, or else its shortest form."""
    if isinstance(value, int) or not math.isfinite(value):
        return 0.0
    return half_unit(value.text if isinstance(value, Typed) else repr(float(value)))


def fraction_half(text: str) -> float:
    """Bound the error of a fraction: 0 of whole numbers, else by half a unit of each last digit.

    Examples
    --------
    >>> fraction_half("1/3"), round(fraction_half("5/1.732"), 6), round(fraction_half("-0.5/3"), 6)
    (0.0, 0.000834, 0.016667)
    """
    over, under = (part.strip() for part in text.split("/"))
    a, b = float(over), float(under)
    corners = [
        (a + i * half_unit(over)) / (b + j * half_unit(under)) for i in (-1, 1) for j in (-1, 1)
    ]
    return max(abs(corner - a / b) for corner in corners)


def word_value(text: str) -> float | None:
    """Read the usual spellings of nan and infinity."""
    return _WORDS.get(text.strip().lower())


_PLAIN = {Typed, int}
_EXACT = 2**53  # float64 holds every whole number up to here


class Cells:
    """The cells of an answer, row by row: values, which are given, and half a unit of each."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.values: list[float] = []
        self.judged: list[bool] = []
        self.half: list[float] = []

    def add(self, value: Any, path: Path) -> None:
        """Read one cell; report one that is not a number."""
        if isinstance(value, Typed) and (wrong := _beyond(value)):
            self.checker.fault(path, say(wrong, text=short(value.text)), say("hint.too_large"))
        elif isinstance(value, float):
            self._put(value, typed_half(value))
        elif is_blank(value):
            self._put(math.nan, 0.0, False)
        elif isinstance(value, str) and (word := word_value(value)) is not None:
            self._put(word, 0.0)
        elif isinstance(value, str) and not FRACTION.fullmatch(value.strip()):
            from blockcalc.files.misread import number_hint  # imported only for errors

            hint = number_hint(value) or spaces_hint(value) or say("answers.number.hint")
            self.checker.fault(path, say("number.text", text=short(value)), hint)
        else:
            number = self.checker.number(value, path)
            half = fraction_half(value) if isinstance(value, str) and number is not None else 0.0
            self._put(math.nan if number is None else number, half)

    def row(self, values: list[Any], path: Path) -> None:
        """Read the cells of a row: at once where they are plain numbers, as most are."""
        plain = set(map(type, values)) <= _PLAIN and 0 not in values
        if plain and min(values) > -_EXACT and max(values) < _EXACT:
            self.values += values
            self.judged += [True] * len(values)
            self.half += [half_unit(v.text) if type(v) is Typed else 0.0 for v in values]
            return
        for i, one in enumerate(values):
            self.add(one, (*path, i))

    def _put(self, value: float, half: float, judged: bool = True) -> None:
        self.values.append(value)
        self.half.append(half)
        self.judged.append(judged)

    def arrays(self, shape: tuple[int, ...]) -> Cell3:
        """Return values, which cells are given, and halves in a shape."""
        values = np.array(self.values, dtype=np.float64).reshape(shape)
        judged = np.array(self.judged, dtype=bool).reshape(shape)
        half = np.array(self.half, dtype=np.float64).reshape(shape)
        return values, judged, half


def is_blank(value: Any) -> bool:
    """Tell whether a cell is left open."""
    return value is None or (isinstance(value, str) and value.strip() in ("", "?"))


def _beyond(value: Typed) -> str | None:
    """State what is wrong with a number that float64 cannot hold."""
    if not math.isfinite(value):
        return "number.not_finite"
    return "number.small" if not value and _has_digits(value.text) else None


def _has_digits(text: str) -> bool:
    return bool(text.lower().partition("e")[0].strip("-+0."))


def grid(c: Checker, value: Any, path: Path) -> Cell3 | None:
    """Read a number, or nested lists of numbers with up to four axes; None after an error."""
    cells = Cells(c)
    if not isinstance(value, list):
        cells.add(value, path)
        return None if c.faults else cells.arrays(())
    if depth_of(value) > MOST_AXES:
        c.fault(path, say(f"array.deep{MOST_AXES}"))
        return None
    whole = _filled(value)
    shape = c.measure(whole, path, RANKS)
    if shape is not None and not c.faults:
        _collect(cells, whole, path)
    return None if shape is None or c.faults else cells.arrays(shape)


def _filled(value: list[Any]) -> list[Any]:
    """Expand a blank in place of a whole row to a row of blanks."""
    rows = [v for v in value if isinstance(v, list)]
    if not rows:
        return value
    first = _filled(rows[0])
    return [
        _filled(v) if isinstance(v, list) else _open(first) if is_blank(v) else v for v in value
    ]


def _open(like: Any) -> Any:
    return [_open(v) for v in like] if isinstance(like, list) else None


def _collect(cells: Cells, value: list[Any], path: Path) -> None:
    if isinstance(value[0], list):
        for i, row in enumerate(value):
            _collect(cells, row, (*path, i))
        return
    cells.row(value, path)
