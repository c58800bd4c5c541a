"""YAML text to plain data: the events of PyYAML, the numbers of YAML 1.2, within limits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from blockcalc.errors import InputError
from blockcalc.files.source import KEY, Marks, Path, Real, Source
from blockcalc.files.yaml_blanks import prepared
from blockcalc.limits import MAX_DEPTH, MAX_NODES, MAX_VALUES
from blockcalc.messages import known, say

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DIGIT = re.compile(r"[^eE]*[1-9]")
_WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    **{sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}  # fmt: skip


def plain_scalar(text: str) -> Any:
    """Read a plain scalar by the core schema of YAML 1.2; anything but a number stays text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text) if len(text) <= 1000 else text
    if _FLOAT.fullmatch(text):
        number = float(text)
        lost = number == 0 and _DIGIT.match(text)  # too small for float64
        return text if lost or abs(number) == float("inf") else number
    return text


# a line with only numbers in brackets, after a dash, a key or an anchor, before a comment
_LINE = re.compile(
    r"( *+(?:- ++)*+(?:[A-Za-z_][A-Za-z0-9_]*+: ++)?+(?:&[A-Za-z0-9_]++ ++(?=\[\[))?+[-+0-9.eE, \[\]]*+)"
    r"((?<= )#.*)?"
)
_NUMBERS = re.compile(r"\[([-+0-9.][-+0-9.eE, ]*+)\]")
_HUGE = 1e300


class _NotARow(Exception):
    """A shortened row is not a row of numbers; the text must be read number by number."""


LABELS = "tokens"  # the key whose numbers are kept as text: 007 stays 007


def read_yaml(source: Source, at: Path = (), real: Real = None) -> Any:
    """Read a text; ``at`` is the path of its value.

    ``real`` receives the text of each number that is not an integer, for callers that need more
    than its value.

    A row of plain numbers is passed to the YAML parser as one quoted text of the same length, and
    its numbers are read separately, so a matrix needs no node for each number. If anything is
    unusual, the text is read again without this shortcut.
    """
    source.find_marks = _mark
    short, rows = _shortened(source.text)
    if rows:
        try:
            builder = _Builder(source, short, rows, real=real)
            data = builder.document(at)
            if builder.met == len(rows):
                return data
        except (InputError, _NotARow):
            if builder.nodes > MAX_NODES or builder.count > MAX_VALUES:
                raise  # number by number there are only more nodes
    return _Builder(source, real=real).document(at)


def _mark(source: Source, marks: Marks) -> None:
    """Record the positions in a text; rows of plain numbers are recorded whole."""
    short, rows = _shortened(source.text)
    builder = _Builder(source, short, rows, marks)
    with suppress(InputError, _NotARow):
        builder.document()
        if builder.met == len(rows):
            return
    marks.clear()
    source.rows.clear()
    _Builder(source, marks=marks).document()


def _shortened(text: str) -> tuple[str, set[tuple[int, int]]]:
    """Quote every row of plain numbers; return the text and the starts of the rows."""
    lines = text.split("\n")
    rows: set[tuple[int, int]] = set()
    for i, line in enumerate(lines):
        parts = _LINE.fullmatch(line) if "[" in line else None
        if parts:
            rows.update((i, found.start()) for found in _NUMBERS.finditer(parts[1]))
            lines[i] = _NUMBERS.sub(r'"\1"', parts[1]) + (parts[2] or "")
    return "\n".join(lines), rows


def _numbers(text: str, real: Real = None) -> list[Any]:
    """Read the numbers of a row, each by the rules of a single number."""
    try:
        found: list[Any] = json.loads(f"[{text}]", parse_float=real)
        if max(found) < _HUGE and min(found) > -_HUGE and (0 not in found or "-" not in text):
            return found
    except ValueError:
        pass
    words = [word.strip() for word in text.split(",")]
    if not all(_INT.fullmatch(word) or _FLOAT.fullmatch(word) for word in words):
        raise _NotARow
    return [_scalar(word, real) for word in words]


def _scalar(text: str, real: Real) -> Any:
    value = plain_scalar(text)
    return real(text) if real and type(value) is float and math.isfinite(value) else value


def _events(text: str) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Iterator[Any] = yaml.parse(prepared(text), Loader=loader)
    return found


def _breaks(text: str) -> int | None:
    """Give the index at which a text cannot be read further."""
    import yaml

    from blockcalc.files.yaml_faults import spot

    try:
        for _ in _events(text):
            pass
    except (yaml.YAMLError, ValueError) as error:
        return spot(error, text)[0]
    return None


class _Builder:
    """Builds plain data from YAML events, within limits, and records positions on request.

    ``short`` is the text with its rows of numbers quoted, ``rows`` are their starts; ``met`` counts
    those already read.
    """

    def __init__(
        self,
        source: Source,
        short: str | None = None,
        rows: Collection[tuple[int, int]] = (),
        marks: Marks | None = None,
        real: Real = None,
    ) -> None:
        self.source, self.marks, self.short, self.rows = source, marks, short, rows
        self.real = real
        self.met = 0
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.open: set[str] = set()
        self.count = 0
        self.nodes = 0

    def document(self, at: Path = ()) -> Any:
        import yaml

        text = self.source.text if self.short is None else self.short
        try:
            self.events: Iterator[Any] = _events(text)
            next(self.events)
            start = next(self.events)
            if isinstance(start, yaml.StreamEndEvent):
                raise self.source.fail(say("file.empty"), 0, 0)
            data = self.node(next(self.events), at, 0)
            next(self.events)
            more = next(self.events)
            if not isinstance(more, yaml.StreamEndEvent):
                raise self.fail("yaml.second_document", more)
            return data
        except (yaml.YAMLError, ValueError) as error:  # the latter from the loader without libyaml
            if self.short is not None:
                raise _NotARow from None
            from blockcalc.files.yaml_faults import syntax_fault  # imported only for errors

            raise syntax_fault(self.source, error, _breaks) from None

    def fail(self, key: str, event: Any, /, **fields: Any) -> InputError:
        mark, hint = event.start_mark, f"{key}.hint"
        told = say(hint) if known(hint) else None
        return self.source.fail(say(key, **fields), mark.line, mark.column, told)

    def node(self, event: Any, path: Path, depth: int) -> Any:
        kind = type(event).__name__
        if self.marks is not None:
            self.marks[path] = (event.start_mark.line, event.start_mark.column)
        self.count += 1
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.fail("file.nodes", event, limit=MAX_NODES)
        if kind == "AliasEvent":
            return self.alias(event)
        if event.tag not in (None, "!") or (event.tag == "!" and kind != "ScalarEvent"):
            raise self.fail("yaml.tag", event, tag=event.tag)
        before, anchor = self.count, event.anchor
        if anchor is not None:
            self.open.add(anchor)
        if kind == "ScalarEvent" and event.style == '"' and self.is_row(event):
            value: Any = self.row(event, path, depth)
        elif kind == "ScalarEvent":
            plain = event.implicit[0] and event.tag is None
            value = _scalar(event.value, self.real) if plain else event.value
            if type(value) in (int, float) and path[:1] == (LABELS,):
                value = event.value
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

    def is_row(self, event: Any) -> bool:
        """Tell whether a quoted text is a shortened row: one begins at its position."""
        return (event.start_mark.line, event.start_mark.column) in self.rows

    def row(self, event: Any, path: Path, depth: int) -> list[Any]:
        """Read a shortened row."""
        if depth >= MAX_DEPTH:
            raise _NotARow
        if self.marks is not None:
            self.source.rows[path] = event.start_mark.index
        words = (word.strip() for word in event.value.split(","))
        label = path[:1] == (LABELS,)
        found = [word for word in words if word] if label else _numbers(event.value, self.real)
        self.met += 1
        self.count += len(found)
        return found

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
        while type(event := next(self.events)).__name__ != "SequenceEndEvent":
            items.append(self.node(event, (*path, len(items)), depth))
        return items

    def mapping(self, path: Path, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        lines: dict[str, int] = {}
        merged: list[dict[str, Any]] = []
        while (kind := type(event := next(self.events)).__name__) != "MappingEndEvent":
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
