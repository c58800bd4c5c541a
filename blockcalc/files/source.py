"""The text of a file, and the places in it: what the readers of YAML and JSON share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path as FilePath
from typing import Any

from blockcalc.errors import Fault, InputError, Place

Path = tuple[str | int, ...]
Marks = dict[Path, tuple[int, int]]
_ENTRY = re.compile(r"[^\[\],\s]+")
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
    for; ``overrides`` are the places of values set beside the file.
    """

    name: str
    text: str
    data: Any = None
    find_marks: Callable[[Source, Marks], None] | None = None
    find_lost: Callable[[Source], None] | None = None
    overrides: dict[Path, Place] = field(default_factory=dict)
    rows: dict[Path, int] = field(default_factory=dict)

    def place(self, path: str | Path, key: bool = False) -> Place:
        """Give the place of the value at a path, or of its key.

        Where it has none of its own, of its nearest holder.
        """
        parts = path
        if isinstance(path, str):
            parts = tuple(int(p) if is_index(p) else p for p in path.split("."))
        assert not isinstance(parts, str)
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


def is_index(word: str) -> bool:
    """Tell whether a part of a path is a place in a list."""
    return word.isascii() and word.isdecimal() and len(word) < 10
