"""JSON text to plain data, by the strict reader of the standard library."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from blockcalc.files.source import KEY, Marks, Path, Source, short
from blockcalc.limits import MAX_DEPTH, MAX_VALUES
from blockcalc.messages import say


def is_json(text: str) -> bool:
    """Tell whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_json(source: Source) -> Any:
    """Read a text; a key given twice, NaN and too deep a nesting are refused with their place."""
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

    if not source.text or source.text.isspace():
        raise source.fail(say("file.empty"), 0, 0)
    source.find_lost = _lost
    source.find_marks = lambda own, marks: _Walker(own.text, marks, rows=own.rows).document()
    try:
        data = json.loads(source.text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        message = say("json.syntax", problem=error.msg.lower().removesuffix(" at"))
        hint = _hint(source.text, error.pos)
        raise source.fail(message, error.lineno - 1, error.colno - 1, hint) from None
    except RecursionError:
        raise source.fail(say("file.deep", limit=MAX_DEPTH), 0, 0) from None
    except ValueError:
        raise source.fail(say("number.long"), 0, 0) from None
    deepest, values = _extent(data, source.text)
    if values > MAX_VALUES:
        raise source.fail(say("file.values", limit=MAX_VALUES), 0, 0)
    if deepest > MAX_DEPTH:
        raise source.fail(say("file.deep", limit=MAX_DEPTH), 0, 0)
    if doubtful:
        _Walker(source.text, {}, source).document()
    return data


def _lost(source: Source) -> None:
    """Refuse a number that float64 can only hold as 0: YAML keeps the text of such, JSON does not."""
    text = source.text
    small = any(e in text and re.search(f"{e}-[0-9]{{3}}", text) for e in "eE")
    if not small and "0" * 200 not in text:
        return
    for part in re.finditer(r'"(?:[^"\\]|\\.)*"|[-0-9.eE+]{6,}', text):
        word = part[0]
        if word[0] != '"' and word.lower().partition("e")[0].strip("-0.") and float(word) == 0:
            line = text.count("\n", 0, part.start())
            column = part.start() - (text.rfind("\n", 0, part.start()) + 1)
            raise source.fail(
                say("number.small", text=short(word)), line, column, say("hint.too_large")
            )


def _hint(text: str, at: int) -> str | None:
    """Say what is meant by what stands where the reading of JSON ended."""
    if re.fullmatch(r"[0-9]/[0-9]", text[max(at - 1, 0) : at + 2]):
        return say("json.hint.fraction")
    closes = text[at : at + 1] in ("]", "}") and text[:at].rstrip().endswith(",")
    return say("json.hint.comma") if closes else None


def _extent(data: Any, text: str) -> tuple[int, int]:
    """Count how deep lists and mappings lie, up to one more than may be, and the values in them.

    A list that begins with a number is taken for a row of numbers, as long as the text has no more
    brackets than were found so; else every entry is looked at.
    """
    deepest, found, values = _levels(data, lambda inside: isinstance(inside[0], (list, dict)))
    if deepest <= MAX_DEPTH and _brackets(text, found) != found:
        deepest, _, values = _levels(data, lambda inside: True)
    return deepest, values


def _brackets(text: str, known: int) -> int:
    """Count the brackets that open, up to one more than known: by jumps, since they are rare."""
    found = 0
    for bracket in "[{":
        at = text.find(bracket)
        while at >= 0 and found <= known:
            found += 1
            at = text.find(bracket, at + 1)
    return found


def _levels(data: Any, look: Callable[[list[Any]], bool]) -> tuple[int, int, int]:
    """Count levels, containers and values, looking into the lists that are to be looked into."""
    deepest = found = values = 0
    level = [data]
    while level and deepest <= MAX_DEPTH:
        below = [v for v in level if isinstance(v, (list, dict))]
        level = []
        for v in below:
            inside = list(v.values()) if isinstance(v, dict) else v
            values += len(inside)
            if inside and (isinstance(v, dict) or look(inside)):
                level += inside
        deepest += bool(below)
        found += len(below)
    return deepest, found, values


_TOKEN = re.compile(r'[ \t\n\r]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+)')


_ROW = re.compile(r"[-+0-9.eE, \t\n\r]*\]")


class _Walker:
    """Walks a text that the JSON reader has found well formed, and notes places.

    With a source it is looking for what that reader refused: a key given twice, NaN.
    """

    def __init__(
        self,
        text: str,
        marks: Marks,
        source: Source | None = None,
        rows: dict[Path, int] | None = None,
    ) -> None:
        self.text, self.marks, self.source = text, marks, source
        self.rows = {} if rows is None else rows
        self.known = (0, 0, 0)  # a place, its line, and where that line begins

    def document(self) -> None:
        self.value((), 0)

    def token(self, at: int) -> tuple[str, int, int]:
        found = _TOKEN.match(self.text, at)
        assert found is not None
        return found[1], found.start(1), found.end()

    def spot(self, at: int) -> tuple[int, int]:
        before, line, start = self.known if at >= self.known[0] else (0, 0, 0)
        more = self.text.count("\n", before, at)
        if more:
            line, start = line + more, self.text.rfind("\n", before, at) + 1
        self.known = (at, line, start)
        return line, at - start

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
                first = seen[key] + 1
                message = say("key.twice", key=key, line=first)
                raise self.source.fail(message, *self.spot(start))
            seen[key] = self.spot(start)[0]
            self.marks[KEY, *path, key] = self.spot(start)
            at = self.value((*path, key), self.token(end)[2])

    def items(self, path: Path, at: int) -> int:
        row = _ROW.match(self.text, at)
        if row:
            self.rows[path] = at - 1
            return row.end()
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
