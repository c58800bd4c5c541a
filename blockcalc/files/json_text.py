"""JSON text to plain data, by the strict reader of the standard library."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.source import KEY, Marks, Path, Real, Source, short
from blockcalc.limits import MAX_DEPTH, MAX_VALUES
from blockcalc.messages import say

Pairs = Callable[[list[tuple[str, Any]]], dict[str, Any]]
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER = re.compile(_STRING.pattern + r"|[0-9]+", re.DOTALL)
_SMALL = re.compile(_STRING.pattern + r"|[-0-9.eE+]{6,}", re.DOTALL)
_BRACKET = re.compile(_STRING.pattern + r"|[\[\]{}]", re.DOTALL)


def is_json(text: str) -> bool:
    """Tell whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_json(source: Source, real: Real = None) -> Any:
    """Read a text; duplicate keys, NaN and too deep nesting are errors with their position.

    ``real`` receives the text of each number that is not an integer, for callers that need more
    than its value; NaN and Infinity are then numbers.
    """
    doubtful = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubtful
        found = dict(items)
        doubtful = doubtful or len(found) != len(items)
        return found

    def constant(word: str) -> float:
        nonlocal doubtful
        if real is not None:
            return float(word)
        doubtful = True
        return 0.0

    if not source.text or source.text.isspace():
        raise source.fail(say("file.empty"), 0, 0)
    source.json = True
    source.find_lost = _lost
    source.find_marks = lambda own, marks: _Walker(own.text, marks, rows=own.rows).document()
    data = parsed(source, pairs, constant, real)
    deepest, values = _extent(data, source.text)
    if values > MAX_VALUES:
        raise InputError(Fault(say("file.values", limit=MAX_VALUES), Place(source.name)))
    if deepest > MAX_DEPTH:
        raise _deep(source)
    if doubtful:
        _Walker(source.text, {}, source).document()
    return data


def parsed(
    source: Source,
    pairs: Pairs,
    constant: Callable[[str], Any] = float,
    real: Real = None,
) -> Any:
    """Parse a text with the hooks of the standard library, and translate its errors."""
    try:
        return json.loads(
            source.text, object_pairs_hook=pairs, parse_constant=constant, parse_float=real
        )
    except json.JSONDecodeError as error:
        raise _syntax(source, error) from None
    except RecursionError:
        raise _deep(source) from None
    except ValueError:  # more digits than Python converts to a number
        numbers = (n for n in _NUMBER.finditer(source.text) if n[0][0] != '"')
        longest = max(numbers, key=lambda n: len(n[0]))
        raise source.fail_at(say("number.long"), longest.start()) from None


def _deep(source: Source) -> InputError:
    """Make the error for the bracket that exceeds the nesting limit."""
    at = next(start for start, depth in _depths(source.text) if depth > MAX_DEPTH)
    return source.fail_at(say("file.deep", limit=MAX_DEPTH), at)


def _depths(text: str) -> Iterator[tuple[int, int]]:
    """Yield the index of each bracket, and the nesting depth after it."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        yield found.start(), depth


def _breaks(text: str) -> int | None:
    """Give the index at which a text stops being valid JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except (ValueError, RecursionError):
        return None
    return None


def _syntax(source: Source, error: json.JSONDecodeError) -> InputError:
    """Make the error for the index where the JSON parser stopped."""
    from blockcalc.files.misread import backslashes_kept, culprit  # imported only for errors

    text, at = source.text, error.pos
    sign = culprit(text, (0, at), _breaks, json=True)
    if sign is not None:
        hint = sign.advice() or _hint(text[:at] + sign.meant + text[at + 1 :], at)
        return source.fail_at(sign.message(), sign.at, hint)
    if error.msg.startswith("Invalid \\"):
        at = text.rfind("\\", 0, at + 1)
        key = "json.hexadecimal" if text[at + 1 : at + 2] == "u" else "json.escape"
        typed = next((t for t in _STRING.finditer(text) if t.end() > at), None)
        hint = backslashes_kept(typed[0], json=True) if typed else None
        problem = say(key, escape=text[at : at + 2])
    elif error.msg.startswith("Invalid control"):
        escape = json.dumps(text[at])[1:-1]
        name = say(f"escape.{escape[1]}") if len(escape) == 2 else f"U+{ord(text[at]):04X}"
        problem = say("json.control", sign=name)
        hint = say("json.control.hint", escape=escape)
    else:
        key = next((k for begin, k in _TOLD.items() if error.msg.startswith(begin)), "json.value")
        ends = key != "json.quote" and not text[at:].strip()
        problem = say("json.ends" if ends else key)
        hint = _hint(text, at)
    return source.fail_at(say("json.syntax", problem=problem), at, hint)


def _lost(source: Source) -> None:
    """Raise an error for a number that underflows to 0 in float64; JSON does not keep its text."""
    text = source.text
    small = any(e in text and re.search(f"{e}-[0-9]{{3}}", text) for e in "eE")
    if not small and "0" * 200 not in text:
        return
    for part in _SMALL.finditer(text):
        word = part[0]
        if word[0] != '"' and word.lower().partition("e")[0].strip("-0.") and float(word) == 0:
            message = say("number.small", text=short(word))
            raise source.fail_at(message, part.start(), say("hint.too_large"))


# how a message of the parser begins, and the text for it
_TOLD = {
    "Unterminated": "json.quote",
    "Expecting property": "json.key",
    "Illegal trailing": "json.key",
    "Expecting ':'": "json.colon",
    "Expecting ','": "json.comma",
    "Extra": "json.rest",
}

# text before and after the index where parsing stopped, and the hint for it
_MEANT = [
    (r"[0-9]", r"/[0-9]", "json.hint.fraction"),
    (r",\s*", r"[\]}]", "json.hint.comma"),
    (r"", r",\s*[\]}]", "json.hint.comma"),
    (r"[0-9],", r"[0-9]", "hint.decimal_comma"),
    (r"", r"'", "json.hint.single"),
    (r"", r"//|/\*|#", "json.hint.comment"),
    (r"", r"[-+]?\.[0-9]|\+[0-9]", "json.hint.number"),
    (r"[0-9]", r"\.", "json.hint.number"),
    (r"(?:^|[^0-9.])0", r"[0-9]", "json.hint.number"),
    (r"(?:^|[^0-9.])", r"[A-Za-z_]", "json.hint.word"),
]


def _hint(text: str, at: int) -> str | None:
    """Choose a hint from the text around the index where the JSON parser stopped."""
    before, after = text[max(at - 40, 0) : at], text[at : at + 40]
    for one, other, key in _MEANT:
        if re.search(f"(?:{one})$", before) and re.match(other, after):
            return say(key)
    return None


def _extent(data: Any, text: str) -> tuple[int, int]:
    """Count the nesting depth, up to one more than the limit, and the values.

    A list that begins with a number is assumed to be a row of numbers. If the text has more
    brackets than are found this way, every entry is checked.
    """
    deepest, found, values = _levels(data, lambda inside: isinstance(inside[0], (list, dict)))
    if deepest <= MAX_DEPTH and _brackets(text, found) != found:
        deepest, _, values = _levels(data, lambda inside: True)
    return deepest, values


def _brackets(text: str, known: int) -> int:
    """Count opening brackets, up to one more than ``known``, by ``str.find``: they are rare."""
    found = 0
    for bracket in "[{":
        at = text.find(bracket)
        while at >= 0 and found <= known:
            found += 1
            at = text.find(bracket, at + 1)
    return found


def _levels(data: Any, look: Callable[[list[Any]], bool]) -> tuple[int, int, int]:
    """Count levels, containers and values; ``look`` tells which lists to descend into."""
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
    """Walks a text that is well-formed JSON, and records positions.

    With a source it searches for what the reader rejected: a duplicate key or NaN.
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
        self.known = (0, 0, 0)  # an index, its line, and the index where that line begins

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
