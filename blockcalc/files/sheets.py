"""Tables of numbers in text: columns separated by commas, tabs, semicolons or spaces.

A header row and an index column are left out on request; if they seem to be there, a hint says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.decode import decode
from blockcalc.files.misread import lookalike, number_hint
from blockcalc.files.source import short
from blockcalc.files.yaml_text import plain_scalar
from blockcalc.messages import say
from blockcalc.messages.words import count
from blockcalc.records import dataclass

SHEETS = (".csv", ".tsv", ".txt", ".dat")
MAX_SHEET = 4 * 2**20
SIGNS = ("\t", ";", ",")  # column separators other than spaces
# this many of 0, 1, 2, … count as names; two are enough if the other numbers have points
CERTAIN = 3
BLANK = " \t"  # no others: lookalikes of a space are an error
_QUOTES = r'"(?:[^"]|"")*+"'
_UNCOMMENTED = re.compile(rf'(?:{_QUOTES}|[^"#]|"(?=[^"]*$))*+')
_WORDS = re.compile(rf"{_QUOTES}|[^ \t]+")
_SPACED = re.compile(r"[^ \t] +[^ \t]")
_WHOLE = re.compile(r"[-+]?[0-9]+")


@dataclass(frozen=True)
class Names:
    """Whether a table has a header row and an index column; None if not specified."""

    header: bool | None = None
    index: bool | None = None

    def __str__(self) -> str:
        """Write it as keys of a file."""
        own = {"header": self.header, "index": self.index}
        return ", ".join(f"{key}: true" for key, value in own.items() if value)


@dataclass(frozen=True)
class Row:
    """A line of a table: its number, its text, the text without comment, and its cells."""

    number: int
    text: str
    own: str
    words: list[str]


def _lines(path: Path) -> list[tuple[int, str]]:
    """Read the numbered lines of a text file; a file that is too large is an error."""
    with path.open("rb") as stream:
        raw = stream.read(MAX_SHEET + 1)
    return list(enumerate(decode(raw, str(path), MAX_SHEET).split("\n"), 1))


class Sheet:
    """A table of words; numbers are not read yet.

    Parameters
    ----------
    path : Path
    lines : iterable of (int, str), optional
        The numbered lines of a part of the file; by default all.

    Raises
    ------
    InputError
        The file is not text, is too large, or has no row.
    """

    def __init__(self, path: Path, lines: Iterable[tuple[int, str]] | None = None) -> None:
        self.path = path
        lines = _lines(path) if lines is None else lines
        kept = [(n, line, own) for n, line in lines if (own := _uncommented(line))]
        self.sign = _sign([own for _, _, own in kept])
        self.rows = [Row(*line, [word for _, word in _cells(line[2], self.sign)]) for line in kept]
        if not self.rows:
            raise InputError(Fault(say("file.empty"), Place(str(path))))

    # its numbers ----------------------------------------------------------------------------

    def numbers(self, said: Names) -> NDArray[np.float64]:
        """Read the numbers, ``[rows, columns]``, without the header row and the index column.

        Raises
        ------
        InputError
            A row has another length, a cell is not a number, or no cell is left; with its
            position, and a hint if it looks like a header or an index.
        """
        head, rows = (self.rows[0], self.rows[1:]) if said.header else (None, self.rows)
        if not rows:
            raise self.fault(self.rows[0], 0, say("sheet.only_header"))
        width = len(rows[0].words)
        for row in rows:
            if len(row.words) != width:
                sizes = {"has": count(len(row.words)), "first": count(width)}
                raise self.fault(row, 0, say("weights.ragged", **sizes), self._hint(said))
        if said.index and width == 1:
            raise self.fault(rows[0], 0, say("sheet.only_index"))
        skip = 1 if said.index else 0
        if head and width - len(head.words) not in (0, skip):
            text = say("sheet.names", has=len(head.words), wanted=width)
            raise self.fault(head, 0, text, self._hint(said))
        return np.array([self._read(row, skip, said) for row in rows])

    def _read(self, row: Row, skip: int, said: Names) -> list[float]:
        values = []
        for i, word in enumerate(row.words[skip:], skip):
            value = _number(word)
            if value is None:
                raise self._refused(row, i, said)
            values.append(value)
        return values

    def _refused(self, row: Row, i: int, said: Names) -> InputError:
        """Make the error for a cell that is not a number."""
        column, word = list(_cells(row.own, self.sign))[i]
        if not word:
            text, hint = say("sheet.blank"), None
        else:
            text, hint = say("number.text", text=short(word)), number_hint(word)
            sign = lookalike(word)
            column += sign.at if sign else 0
        if self.sign and _SPACED.search(word) and not self._hint(said):
            hint = say("sheet.apart", sign=say(f"sheet.sign.{SIGNS.index(self.sign)}"))
        return self.fault(row, column, text, hint or self._hint(said) or say("weights.csv"))

    def column(self, row: Row, i: int) -> int:
        """Give the column in which a cell begins, counted from 0."""
        return list(_cells(row.own, self.sign))[i][0]

    def fault(self, row: Row, column: int, text: str, hint: str | None = None) -> InputError:
        """Make the error for a place of a row."""
        return InputError(
            Fault(text, Place(str(self.path), row.number, column + 1, row.text), hint)
        )

    # header and index -----------------------------------------------------------------------

    def looks(self, said: Names) -> tuple[Names, Names]:
        """Guess which names the table has.

        Returns
        -------
        by_words : Names
            Names by request, by words where other cells are numbers, or by an empty or missing
            corner, as pandas and R write it.
        by_count : Names
            Further possible names: a row or a column of 0, 1, 2, …, which can also be numbers.
        """
        first, *rest = (row.words for row in self.rows)
        header = self._has_header(first, rest) if said.header is None else said.header
        body = rest if header and rest else [first, *rest]
        others = (word for row in body for word in row[1:])
        counted = len(body[0]) > 1 and _counts([row[0] for row in body], others)
        if said.index is not None:
            index, counted = said.index, False
        else:
            corner = header and (self._short or (len(first) > 1 and not first[0]))
            index = corner or _labelled(body) or (counted and header and not said.header)
        row = [] if header or said.header is not None or not rest else first[int(index) :]
        below = (word for other in rest for word in other[int(index) :])
        return Names(header, index), Names(_counts(row, below), counted and not index)

    @cached_property
    def _short(self) -> bool:
        """Tell whether the first row has one cell less than all others: no cell above the index."""
        widths = [len(row.words) for row in self.rows]
        return set(widths[1:]) == {widths[0] + 1}

    def _has_header(self, first: list[str], rest: list[list[str]]) -> bool:
        """Tell whether the first row has a word where the next has a number."""
        if not rest:
            return False
        below = rest[0][1:] if self._short else rest[0]
        if self._short and _counts(first, below):
            return True
        pairs = zip(first, below, strict=False)
        return any(_number(a) is None and _number(b) is not None for a, b in pairs)

    def _hint(self, said: Names) -> str | None:
        """Give the hint for names that are not declared."""
        needed, _ = self.looks(said)
        if (needed.header, needed.index) == (bool(said.header), bool(said.index)):
            return None
        return say("sheet.looks", names=needed)

    def remarks(self, said: Names) -> list[str]:
        """Note numbers that are probably names, and names that are probably numbers."""
        first, *rest = (row.words for row in self.rows)
        needed, perhaps = self.looks(said)
        head = first[int(bool(said.index)) :]
        column = [row[0] for row in (rest if said.header else [first, *rest])]
        notes = {
            "sheet.count.header": (perhaps.header, head),
            "sheet.count.index": (perhaps.index or (needed.index and not said.index), column),
            "sheet.lost.header": (said.header and _are_data(head, steps=True), head),
            "sheet.lost.index": (said.index and _are_data(column), column),
        }
        return [
            say(key, file=self.path.name, row=_begun(words))
            for key, (true, words) in notes.items()
            if true
        ]


def _begun(words: Sequence[str]) -> str:
    """Write the first cells of a row, with … if there are more."""
    return ", ".join(words[:CERTAIN]) + (", …" if len(words) > CERTAIN else "")


def _uncommented(line: str) -> str:
    """Give the text before a # outside quotes; empty if it is blank."""
    if "#" in line:
        found = _UNCOMMENTED.match(line)
        assert found is not None
        line = found[0]
    return line if line.strip(BLANK) else ""


def _sign(lines: Sequence[str]) -> str:
    """Find the column separator: the one in most lines, the first of equals; "" means spaces."""
    bare = [re.sub(_QUOTES, "q", line) if '"' in line else line for line in lines]
    found = {sign: sum(sign in line for line in bare) for sign in SIGNS}
    found[""] = sum(bool(_SPACED.search(line)) for line in bare)
    best = max(found, key=found.__getitem__)
    return best if found[best] else ""


def _cells(line: str, sign: str) -> Iterator[tuple[int, str]]:
    """Split a line into the index and the text of each cell; quoted text is one cell."""
    if not sign:
        yield from ((found.start(), _unquoted(found[0])) for found in _WORDS.finditer(line))
        return
    at = 0
    for part in _parts(line, sign):
        yield at + len(part) - len(part.lstrip(BLANK)), _unquoted(part.strip(BLANK))
        at += len(part) + 1


def _parts(line: str, sign: str) -> list[str]:
    if '"' not in line:
        return line.split(sign)
    pattern = re.compile(rf" *{_QUOTES}[^{sign}]*|[^{sign}]*")
    parts, at = [], 0
    while at <= len(line):
        found = pattern.match(line, at)
        assert found is not None
        parts.append(found[0])
        at = found.end() + 1
    return parts


def _unquoted(word: str) -> str:
    quoted = len(word) > 1 and word[0] == word[-1] == '"'
    return word[1:-1].replace('""', '"') if quoted else word


def _number(word: str) -> float | None:
    """Read a cell by the rules of the input file; None if it is not a finite number."""
    value = plain_scalar(word)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _counts(words: Sequence[str], others: Iterable[str]) -> bool:
    """Tell whether words are 0, 1, 2, …, like default names."""
    if list(words) != [str(i) for i in range(len(words))]:
        return False
    if len(words) >= CERTAIN:
        return True
    return len(words) == CERTAIN - 1 and not any(_WHOLE.fullmatch(word) for word in others)


def _labelled(body: Sequence[Sequence[str]]) -> bool:
    """Tell whether rows begin with a word followed by numbers."""
    numbers = [_number(word) is not None for word in body[0][1:]]
    return bool(numbers) and all(numbers) and all(_number(row[0]) is None for row in body)


def _are_data(words: Sequence[str], steps: bool = False) -> bool:
    """Tell whether words left out as names look like data: fractions, or not evenly spaced."""
    values = [_number(word) for word in words]
    if None in values:
        return False
    if not all(_WHOLE.fullmatch(word) for word in words):
        return True
    return steps and values != [values[0] + i for i in range(len(values))]  # type: ignore[operator]
