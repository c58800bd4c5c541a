"""The text of a file, and the places in it: what the readers of YAML and JSON share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from blockcalc.errors import Fault, InputError, Place
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean

if TYPE_CHECKING:
    from blockcalc.files.misread import Lookalike
MOST_LOOKED = 10_000  # texts of one value that are looked through for what is wrong with it

Path = tuple[str | int, ...]
Marks = dict[Path, tuple[int, int]]
_ENTRY = re.compile(r"[^\[\],\s]+")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \n]+)*")  # an anchor or a tag before a value
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BLANKS = frozenset(" \t\n\x85\u2028\u2029")
_FOLDED = re.compile(r"\\\n[ \t]*")  # a line break that a backslash takes away
_BLANK_RUN = re.compile("[ \t\n\x85\u2028\u2029]*")
KEY = "\0"  # before a path in the marks: the place of the key, not of the value


def short(text: str) -> str:
    """Cut a long text for a message."""
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass
class Source:
    """A text and the plain data in it.

    ``find_marks`` reads the text once more for the places of its values, which only an error pays for;
    ``find_lost`` refuses numbers too small for float64, which only a text with zeros is looked through for;
    ``rows`` has where each row of plain numbers begins, whose entries are looked for when one is asked
    for; ``overrides`` are the places of values set beside the file; ``json`` tells which of the two it is.
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
        """Give the place of the value at a path, or of its key.

        Where it has none of its own, of its nearest holder.
        """
        parts = parted(path)
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
        """Give the place of an entry of the row of numbers that begins at ``start``."""
        entry = next(islice(_ENTRY.finditer(self.text, start + 1), index, None))
        line = self.text.count("\n", 0, entry.start())
        return self.at(line, entry.start() - (self.text.rfind("\n", 0, entry.start()) + 1))

    def refuse_lost(self) -> None:
        """Refuse numbers that became 0 and were not, looked for once."""
        if self.find_lost is not None:
            find, self.find_lost = self.find_lost, None
            find(self)

    def folder(self, path: Path) -> FilePath:
        """Give the folder that a file name under a path starts from.

        That of this file; the current one for standard input, and for what is set beside the file.
        """
        beside = any(path[:n] in self.overrides for n in range(1, len(path) + 1))
        return FilePath() if beside or self.name.startswith("<") else FilePath(self.name).parent

    def value(self, path: Path) -> Any:
        """Give what was read at a path, None where there is nothing."""
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
        """Find a character that looks like another in what stands at a path, or in its key.

        Gives its place, and a hint that names it.
        """
        from blockcalc.files.misread import lookalike  # only where something went wrong

        texts = iter(()) if key else islice(_texts(self.value(path), path), MOST_LOOKED)
        for at, text in texts:
            if sign := self._wrong(at, text):
                return self.character(at, False, text, sign.at), sign.hint()
        last = path[-1] if path else None
        sign = lookalike(last, self.json) if isinstance(last, str) else None
        if sign is None:
            return None
        return self.character(path, True, str(last), sign.at), sign.hint()

    def _wrong(self, path: Path, text: str) -> Lookalike | None:
        """Find the first character of a text that may be what is wrong with it.

        A title may hold any; of labels only a comma parts two; a file that is there has its name.
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
        """Say what the backslashes of a text in double quotes were read as, if it has any."""
        from blockcalc.files.misread import escapes_hint

        typed = self.typed(path, key) if isinstance(self.value(path), str) or key else None
        return escapes_hint(typed, self.json) if typed else None

    def typed(self, path: Path, key: bool = False) -> str | None:
        """Give the text in double quotes that a value or a key was read from, None if it had none."""
        place = self.place(path, key)
        if place.line is None:
            found = _QUOTED.search(place.file)
        else:
            found = _QUOTED.match(self.text, self._start(place))
        return found[0] if found else None

    def character(self, path: Path, key: bool, text: str, index: int) -> Place:
        """Give the place of one character of a text that was read at a path, or of its key.

        Where it cannot be told, the place of the whole.
        """
        place = self.place(path, key)
        if not path and () in self._marks:
            place = self.at(*self._marks[()])  # the whole text is one value
        if place.line is None:
            return place
        at = _walk(self.text, self._start(place), text[: index + 1])
        return place if at is None else self.at(*self.spot(at))

    def _start(self, place: Place) -> int:
        """Give the index where the text of a value begins, past its anchor."""
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
        """Make the error for a place of this text."""
        return InputError(Fault(message, self.at(line, column), hint))

    def fail_at(self, message: str, index: int, hint: str | None = None) -> InputError:
        """Make the error for an index of this text."""
        return self.fail(message, *self.spot(index), hint)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Give the texts of a value, each with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            if isinstance(inner, (str, list)):
                yield from _texts(inner, (*path, i))


def parted(path: str | Path) -> Path:
    """Split a dotted path into its keys and places in lists."""
    if isinstance(path, str):
        return tuple(int(p) if is_index(p) else p for p in path.split("."))
    return path


def _walk(text: str, at: int, read: str) -> int | None:
    """Follow a scalar that begins at an index as far as it was read; give the index of its last character.

    Folded lines, doubled single quotes and escapes are stepped over; None where it is no such scalar.
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
            if after not in _BLANKS:  # a run of blanks may have been folded into fewer
                at = _BLANK_RUN.match(text, at).end()  # type: ignore[union-attr]
        elif here == sign:
            at += 2 if sign == quote == "'" else 1
        else:
            return None
    return begun


def is_index(word: str) -> bool:
    """Tell whether a part of a path is a place in a list."""
    return word.isascii() and word.isdecimal() and len(word) < 10


def nearby(path: FilePath) -> str | None:
    """Offer a file that is nearly where one was looked for: by another case, ending or spelling, or one folder up."""
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
