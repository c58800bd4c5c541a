"""The text of a file and the positions in it, shared by the YAML and JSON readers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property
from itertools import islice
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from blockcalc.errors import Fault, InputError, Place
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean
from blockcalc.records import dataclass

if TYPE_CHECKING:
    from blockcalc.files.misread import Lookalike

MOST_LOOKED = 10_000  # texts of one value that are searched for lookalikes

Path = tuple[str | int, ...]
Real = Callable[[str], Any] | None  # makes a number with a point or an exponent from its text
Marks = dict[Path, tuple[int, int]]
_ENTRY = re.compile(r"[^\[\],\s]+")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \n]+)*")  # an anchor or a tag before a value
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BLANKS = frozenset(" \t\n\x85\u2028\u2029")
_FOLDED = re.compile(r"\\\n[ \t]*")  # a line break removed by a backslash
_BLANK_RUN = re.compile("[ \t\n\x85\u2028\u2029]*")
KEY = "\0"  # prefix of a path in the marks: the position of the key, not of the value


def short(text: str) -> str:
    """Cut a long text for a message."""
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass
class Source:
    """A text and its plain data.

    ``find_marks`` reads the text again for the positions of its values, only for errors;
    ``find_lost`` raises an error for numbers too small for float64, only if the text has zeros;
    ``rows`` has the start of each row of plain numbers, whose entries are located on demand;
    ``overrides`` are the positions of values set on the command line; ``json`` tells whether it is
    JSON.
    """

    name: str
    text: str
    data: Any = None
    find_marks: Callable[[Source, Marks], None] | None = None
    find_lost: Callable[[Source], None] | None = None
    overrides: dict[Path, Place] = field(default_factory=dict)
    rows: dict[Path, int] = field(default_factory=dict)
    json: bool = False

    def place(self, path: str | Path, key: bool = False) -> Place:
        """Give the position of the value at a path, or of its key.

        If it has none, that of the nearest enclosing value.
        """
        parts = split_path(path)
        for n in range(len(parts), 0, -1):
            if parts[:n] in self.overrides:
                return self.overrides[parts[:n]]
        if not self.text:
            return Place(".".join(map(str, parts)) or self.name)
        if key and (KEY, *parts) in self._marks:
            return self.at(*self._marks[KEY, *parts])
        while parts:
            if parts in self._marks:
                return self.at(*self._marks[parts])
            if parts[:-1] in self.rows and isinstance(parts[-1], int):
                return self.in_row(self.rows[parts[:-1]], parts[-1])
            parts = parts[:-1]
        return Place(self.name)

    def in_row(self, start: int, index: int) -> Place:
        """Give the position of an entry of the row of numbers that begins at ``start``.

        If it has no such entry, that of the row.
        """
        end = self.text.index("]", start)
        entry = next(islice(_ENTRY.finditer(self.text, start + 1, end), index, None), None)
        return self.at(*self.spot(entry.start() if entry else start))

    def refuse_lost(self) -> None:
        """Raise an error for numbers that underflowed to 0; checked once."""
        if self.find_lost is not None:
            find, self.find_lost = self.find_lost, None
            find(self)

    def folder(self, path: Path) -> FilePath:
        """Give the folder to which a file name under a path is relative.

        That of this file; the current folder for standard input and for values of ``--set``.
        """
        beside = any(path[:n] in self.overrides for n in range(1, len(path) + 1))
        return FilePath() if beside or self.name.startswith("<") else FilePath(self.name).parent

    def value(self, path: Path) -> Any:
        """Give the value at a path, None if there is none."""
        data = self.data
        for part in path:
            if isinstance(data, dict):
                data = data.get(part)
            elif isinstance(data, list) and isinstance(part, int) and part < len(data):
                data = data[part]
            else:
                return None
        return data

    def misread(self, path: Path, key: bool = False) -> tuple[Place, str] | None:
        """Find a character that looks like another in the value at a path, or in its key.

        Returns its position, and a hint that names it.
        """
        from blockcalc.files.misread import form_hint, lookalike  # imported only for errors

        texts = iter(()) if key else islice(_texts(self.value(path), path), MOST_LOOKED)
        for at, text in texts:
            if sign := self._wrong(at, text):
                return self.character(at, False, text, sign.at), form_hint(text) or sign.hint()
        last = path[-1] if path else None
        sign = lookalike(last, self.json) if isinstance(last, str) else None
        if sign is None:
            return None
        return self.character(path, True, str(last), sign.at), sign.hint()

    def _wrong(self, path: Path, text: str) -> Lookalike | None:
        """Find the first lookalike in a text that may be a mistake.

        Titles may contain any character; in labels only a comma matters; names of existing files
        are correct.
        """
        from blockcalc.files.misread import lookalike, lookalikes

        if path[:1] in (("title",), ("notes",)):
            return None
        if path[:1] == ("tokens",):
            place = self.place(path)
            if place.line is not None and self.text[self._start(place)] in "'\"":
                return None
            return next((one for one in lookalikes(text, self.json) if one.meant == ","), None)
        if path[-1:] == ("file",) and os.path.exists(self.folder(path) / text):
            return None
        return lookalike(text, self.json)

    def unescaped(self, path: Path, key: bool = False) -> str | None:
        """Explain how the backslashes of a text in double quotes were read, if it has any."""
        from blockcalc.files.misread import escapes_hint

        typed = self.typed(path, key) if isinstance(self.value(path), str) or key else None
        return escapes_hint(typed, self.json) if typed else None

    def typed(self, path: Path, key: bool = False) -> str | None:
        """Give the source in double quotes of a value or a key, None if it was not quoted."""
        place = self.place(path, key)
        if place.line is None:
            found = _QUOTED.search(place.file)
        else:
            found = _QUOTED.match(self.text, self._start(place))
        return found[0] if found else None

    def character(self, path: Path, key: bool, text: str, index: int) -> Place:
        """Give the position of one character of a text at a path, or of its key.

        If it is unknown, the position of the whole text.
        """
        place = self.place(path, key)
        if not path and () in self._marks:
            place = self.at(*self._marks[()])  # the whole text is one value
        if place.line is None:
            return place
        at = _walk(self.text, self._start(place), text[: index + 1])
        return place if at is None else self.at(*self.spot(at))

    def _start(self, place: Place) -> int:
        """Give the index where the text of a value begins, after its anchor."""
        at = 0
        assert place.line is not None
        assert place.column is not None
        for _ in range(place.line - 1):
            at = self.text.index("\n", at) + 1
        found = _PROPERTIES.match(self.text, at + place.column - 1)
        assert found is not None
        return found.end()

    def spot(self, index: int) -> tuple[int, int]:
        """Give the line and the column of an index of the text, both counted from 0."""
        return self.text.count("\n", 0, index), index - (self.text.rfind("\n", 0, index) + 1)

    def at(self, line: int, column: int) -> Place:
        """Give the place of a line and a column, both counted from 0."""
        lines = self.text.split("\n")
        return Place(self.name, line + 1, column + 1, lines[line] if line < len(lines) else "")

    @cached_property
    def _marks(self) -> Marks:
        marks: Marks = {}
        if self.find_marks is not None:
            self.find_marks(self, marks)
        return marks

    def fail(self, message: str, line: int, column: int, hint: str | None = None) -> InputError:
        """Make the error for a position in this text."""
        return InputError(Fault(message, self.at(line, column), hint))

    def fail_at(self, message: str, index: int, hint: str | None = None) -> InputError:
        """Make the error for an index in this text."""
        return self.fail(message, *self.spot(index), hint)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the texts in a value, each with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            if isinstance(inner, (str, list)):
                yield from _texts(inner, (*path, i))


def split_path(path: str | Path) -> Path:
    """Split a dotted path into keys and list indices."""
    if isinstance(path, str):
        return tuple(int(p) if is_index(p) else p for p in path.split("."))
    return path


def _walk(text: str, at: int, read: str) -> int | None:
    """Follow a scalar from its first index to the end of ``read``; return the last index.

    Folded lines, doubled single quotes and escapes are handled; None if the text does not match.
    """
    from blockcalc.files.misread import ESCAPE

    quote = text[at] if text[at : at + 1] in ("'", '"') else ""
    at += len(quote)
    begun = at
    for sign, after in zip(read, [*read[1:], ""], strict=True):
        if quote == '"' and (folded := _FOLDED.match(text, at)):
            at = folded.end()
        begun, here = at, text[at : at + 1]
        if quote == '"' and here == "\\" and (escape := ESCAPE.match(text, at)):
            at = escape.end()
        elif sign in _BLANKS and here in _BLANKS:
            if after not in _BLANKS:  # several blanks may have been folded into fewer
                at = _BLANK_RUN.match(text, at).end()  # type: ignore[union-attr]
        elif here == sign:
            at += 2 if sign == quote == "'" else 1
        else:
            return None
    return begun


def is_index(word: str) -> bool:
    """Tell whether a part of a path is a list index."""
    return word.isascii() and word.isdecimal() and len(word) < 10


def unreadable(error: OSError, name: str, hint: str | None = None) -> InputError:
    """Make the error for a file that cannot be opened or read.

    ``hint`` is for a missing file if no file has a similar name.
    """
    place = Place(name)
    if isinstance(error, FileNotFoundError):
        return InputError(Fault(say("file.missing"), place, nearby(FilePath(name)) or hint))
    if isinstance(error, IsADirectoryError):
        return InputError(Fault(say("file.directory"), place))
    problem = error.strerror or str(error)
    return InputError(Fault(say("file.unreadable", problem=problem), place))


def nearby(path: FilePath) -> str | None:
    """Suggest a file with a similar name: other case, ending or spelling, or one folder up."""
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return None
    same = [n for n in names if n.lower() == path.name.lower()]
    stem = [n for n in names if FilePath(n).stem.lower() == path.stem.lower()]
    if same or stem:
        near = (same or stem)[0]
    elif (path.parent / ".." / path.name).is_file():
        near = f"../{path.name}"
    else:
        return did_you_mean(path.name, names)
    return say("hint.did_you_mean", word=near)
