"""From bytes to plain data, with the line and column of every value.

YAML is read from the event stream of PyYAML with the number rules of YAML 1.2; JSON by the
strict reader of the standard library. Both give the same plain data. Places are found by a
second reading, which only an error pays for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from blockcalc.errors import Fault, InputError, Place
from blockcalc.titles import say

MAX_BYTES = 32 * 2**20
MAX_DEPTH = 64
MAX_VALUES = 5_000_000

Path = tuple[str | int, ...]
Marks = dict[Path, tuple[int, int]]
KEY = "\0"  # before a path in the marks: the place of the key, not of the value


@dataclass
class Source:
    """A text and the plain data in it; ``overrides`` are the values set beside the file."""

    name: str
    text: str
    is_json: bool
    data: Any = None
    overrides: dict[Path, Place] = field(default_factory=dict)

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
            parts = parts[:-1]
        return Place(self.name)

    def at(self, line: int, column: int) -> Place:
        """Give the place of a line and a column, both counted from 0."""
        lines = self.text.split("\n")
        return Place(self.name, line + 1, column + 1, lines[line] if line < len(lines) else "")

    @cached_property
    def _marks(self) -> Marks:
        marks: Marks = {}
        if self.is_json:
            _JsonMarks(self.text, marks).value((), 0)
        else:
            _YamlBuilder(self, marks).document()
        return marks

    def fail(self, message: str, line: int, column: int, hint: str | None = None) -> InputError:
        """Make the error for a place of this text."""
        return InputError(Fault(message, self.at(line, column), hint))


def is_index(word: str) -> bool:
    """Tell whether a part of a path is a place in a list."""
    return word.isascii() and word.isdecimal() and len(word) < 10


def decode(raw: bytes, name: str) -> str:
    """Turn bytes into text: UTF-8, or UTF-16 and UTF-8 by their byte order mark."""
    if len(raw) > MAX_BYTES:
        raise InputError(Fault(say("file.too_large", size=len(raw), limit=MAX_BYTES), Place(name)))
    encoding = "utf-8-sig"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        place = Place(name, line, 1, None)
        raise InputError(Fault(say("file.encoding", encoding=encoding[:6]), place)) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(text: str, name: str) -> Source:
    """Read a text as JSON or YAML, by its name or else by how it begins."""
    lower = name.lower()
    is_json = lower.endswith(".json")
    if not is_json and not lower.endswith((".yaml", ".yml")):
        is_json = text.lstrip()[:1] == "{" and _is_json(text)
    source = Source(name, text, is_json)
    source.data = _read_json(source) if is_json else _YamlBuilder(source, None).document()
    return source


def read_value(text: str, name: str) -> Any:
    """Read one value as a file would have it: ``true``, ``1e-5``, ``[[1, 0], [0, 1]]``."""
    return _YamlBuilder(Source(name, text, False), None).document()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _read_json(source: Source) -> Any:
    doubtful = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubtful
        found = dict(items)
        doubtful = doubtful or len(found) != len(items)
        return found

    def constant(word: str) -> float:
        nonlocal doubtful
        doubtful = True
        return 0.0

    if not source.text.strip():
        raise source.fail(say("file.empty"), 0, 0)
    try:
        data = json.loads(source.text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        message = say("json.syntax", problem=error.msg.lower())
        raise source.fail(message, error.lineno - 1, error.colno - 1) from None
    except RecursionError:
        raise source.fail(say("file.deep", limit=MAX_DEPTH), 0, 0) from None
    except ValueError:
        raise source.fail(say("number.long"), 0, 0) from None
    if _depth(data) > MAX_DEPTH:
        raise source.fail(say("file.deep", limit=MAX_DEPTH), 0, 0)
    if doubtful:
        _JsonMarks(source.text, {}, source).value((), 0)
    return data


def _depth(data: Any) -> int:
    deepest, level = 0, [data]
    while level:
        below = [v for v in level if isinstance(v, (list, dict))]
        level = [w for v in below for w in (v.values() if isinstance(v, dict) else v)]
        deepest += bool(below)
        if deepest > MAX_DEPTH:
            return deepest
    return deepest


_TOKEN = re.compile(r'[ \t\n\r]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+)')


class _JsonMarks:
    """Walks a text that the JSON reader has found well formed, and notes places.

    With a source it is looking for what that reader refused: a key given twice, NaN.
    """

    def __init__(self, text: str, marks: Marks, source: Source | None = None) -> None:
        self.text, self.marks, self.source = text, marks, source

    def token(self, at: int) -> tuple[str, int, int]:
        found = _TOKEN.match(self.text, at)
        assert found is not None
        return found[1], found.start(1), found.end()

    def spot(self, at: int) -> tuple[int, int]:
        line = self.text.count("\n", 0, at)
        return line, at - (self.text.rfind("\n", 0, at) + 1)

    def value(self, path: Path, at: int) -> int:
        word, start, end = self.token(at)
        self.marks[path] = self.spot(start)
        if self.source and word in ("NaN", "Infinity", "-Infinity"):
            raise self.source.fail(say("number.not_finite", text=word), *self.spot(start))
        if word == "{":
            return self.members(path, end)
        if word == "[":
            return self.items(path, end)
        return end

    def members(self, path: Path, at: int) -> int:
        seen: dict[str, int] = {}
        while True:
            word, start, end = self.token(at)
            if word == "}":
                return end
            if word == ",":
                at = end
                continue
            key = json.loads(word)
            if key in seen and self.source:
                first = self.spot(seen[key])[0] + 1
                message = say("key.twice", key=key, line=first)
                raise self.source.fail(message, *self.spot(start))
            seen[key] = start
            self.marks[KEY, *path, key] = self.spot(start)
            at = self.value((*path, key), self.token(end)[2])

    def items(self, path: Path, at: int) -> int:
        index = 0
        while True:
            word, _, end = self.token(at)
            if word == "]":
                return end
            if word == ",":
                at = end
                continue
            at = self.value((*path, index), at)
            index += 1


_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    ".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan"),
}  # fmt: skip


def plain_scalar(text: str) -> Any:
    """Read a plain scalar by the core rules of YAML 1.2; what is no number stays text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= 1000:
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            number = float(text)
            return number if abs(number) != float("inf") else text
    return text


# a lone ? in a row of numbers is a blank; to YAML it would begin a key
_BLANK = re.compile(r"(?<=[\[,\s])\?(?=\s*[,\]])")
_ROW = re.compile(r"(?m:(?<=[\[,:])|(?<=[\[,:-] )|^ *)\[[-+.,/?~\sA-Za-z0-9]*\]")


def _blanks(text: str) -> str:
    """Write the blanks of rows as YAML's null, which is as long."""
    if "?" not in text:
        return text
    return _ROW.sub(lambda row: _BLANK.sub("~", row[0]), text)


class _YamlBuilder:
    """Builds plain data from YAML events, within bounds, and notes places if asked."""

    def __init__(self, source: Source, marks: Marks | None) -> None:
        self.source, self.marks = source, marks
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.open: set[str] = set()
        self.count = 0

    def document(self) -> Any:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            self.events: Iterator[Any] = yaml.parse(_blanks(self.source.text), Loader=loader)
            next(self.events)
            start = next(self.events)
            if isinstance(start, yaml.StreamEndEvent):
                raise self.source.fail(say("file.empty"), 0, 0)
            data = self.node(next(self.events), (), 0)
            next(self.events)
            more = next(self.events)
            if not isinstance(more, yaml.StreamEndEvent):
                raise self.fail("yaml.second_document", more)
            return data
        except yaml.YAMLError as error:
            raise self.syntax(error) from None

    def syntax(self, error: Any) -> InputError:
        """Say in plain words what a YAML error means for the person."""
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if mark is None:
            position = getattr(error, "position", 0)
            line = self.source.text.count("\n", 0, position)
            character = self.source.text[position : position + 1]
            message = say("yaml.character", code=f"U+{ord(character or chr(0)):04X}")
            return self.source.fail(message, line, 0)
        line, column = mark.line, mark.column
        lines = self.source.text.split("\n")
        text = lines[line] if line < len(lines) else ""
        if "\t" in text[: len(text) - len(text.lstrip())]:
            return self.source.fail(say("yaml.tab"), line, 0, say("yaml.tab.hint"))
        problem = str(getattr(error, "problem", error))
        return self.source.fail(say("yaml.syntax", problem=problem), line, column)

    def fail(self, key: str, event: Any, /, **fields: Any) -> InputError:
        mark = event.start_mark
        return self.source.fail(say(key, **fields), mark.line, mark.column)

    def node(self, event: Any, path: Path, depth: int) -> Any:
        kind = type(event).__name__
        if self.marks is not None:
            self.marks[path] = (event.start_mark.line, event.start_mark.column)
        self.count += 1
        if kind == "AliasEvent":
            return self.alias(event)
        if event.tag not in (None, "!") or (event.tag == "!" and kind != "ScalarEvent"):
            raise self.fail("yaml.tag", event, tag=event.tag)
        before, anchor = self.count, event.anchor
        if anchor is not None:
            self.open.add(anchor)
        if kind == "ScalarEvent":
            value: Any = plain_scalar(event.value) if event.implicit[0] else event.value
        else:
            if depth >= MAX_DEPTH:
                raise self.fail("file.deep", event, limit=MAX_DEPTH)
            inside = self.sequence if kind == "SequenceStartEvent" else self.mapping
            value = inside(path, depth + 1)
        if self.count > MAX_VALUES:
            raise self.fail("file.values", event, limit=MAX_VALUES)
        if anchor is not None:
            self.open.discard(anchor)
            self.anchors[anchor] = (value, self.count - before + 1)
        return value

    def alias(self, event: Any) -> Any:
        if event.anchor in self.open:
            raise self.fail("yaml.alias_self", event, name=event.anchor)
        if event.anchor not in self.anchors:
            raise self.fail("yaml.alias_unknown", event, name=event.anchor)
        value, size = self.anchors[event.anchor]
        self.count += size
        if self.count > MAX_VALUES:
            raise self.fail("file.values", event, limit=MAX_VALUES)
        return value

    def sequence(self, path: Path, depth: int) -> list[Any]:
        items: list[Any] = []
        for event in self.events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            items.append(self.node(event, (*path, len(items)), depth))
        return items

    def mapping(self, path: Path, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        lines: dict[str, int] = {}
        merged: list[dict[str, Any]] = []
        for event in self.events:
            kind = type(event).__name__
            if kind == "MappingEndEvent":
                break
            if kind != "ScalarEvent":
                raise self.fail("yaml.key", event)
            key = event.value
            if key in lines:
                raise self.fail("key.twice", event, key=key, line=lines[key] + 1)
            lines[key] = event.start_mark.line
            if self.marks is not None:
                self.marks[KEY, *path, key] = (event.start_mark.line, event.start_mark.column)
            value = self.node(next(self.events), (*path, key), depth)
            if key == "<<" and event.implicit[0]:
                merged.extend(self.merge(value, event))
            else:
                items[key] = value
        for other in merged:
            for key, value in other.items():
                items.setdefault(key, value)
        return items

    def merge(self, value: Any, event: Any) -> list[dict[str, Any]]:
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            raise self.fail("yaml.merge", event)
        return parts
