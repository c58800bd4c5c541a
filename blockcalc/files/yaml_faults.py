"""Syntax errors of YAML: the messages of the parser in plain words, at the right position."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from blockcalc.errors import InputError
from blockcalc.files.misread import ESCAPE, Breaks, backslashes_kept, culprit
from blockcalc.files.source import Source
from blockcalc.limits import MAX_DEPTH
from blockcalc.messages import known, say

_REFUSED = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_BARE_ROWS = re.compile(r":\s+\[[^\[\]]*+\],?\s*\[")
_DOUBLE = re.compile(r'"(?:[^"\\\n]|\\.)*(?:"|$)', re.MULTILINE)
_HEXADECIMAL = {"x": 2, "u": 4, "U": 8}


class Failure(NamedTuple):
    """Where and why the YAML parser failed.

    Attributes
    ----------
    source : Source
        The text.
    at, since : int
        The index of the error, and the index where the unfinished part begins.
    problem, context : str
        The parser's messages for both.
    """

    source: Source
    at: int
    since: int
    problem: str
    context: str

    @property
    def sign(self) -> str:
        """The character at the error; empty at the end."""
        return self.source.text[self.at : self.at + 1]

    @property
    def before(self) -> str:
        """The line up to the error."""
        text = self.source.text
        return text[text.rfind("\n", 0, self.at) + 1 : self.at]

    def fault(self, key: str, at: int | None = None, **fields: Any) -> InputError:
        """Make the error; the hint is that of the key, or one guessed from the text."""
        hint = say(f"{key}.hint", **fields) if known(f"{key}.hint") else None
        return self.told(say(key, **fields), hint, at)

    def told(self, problem: str, hint: str | None, at: int | None = None) -> InputError:
        """Make the error for a problem given as text."""
        text = self.source.text
        first = text.rfind("\n", 0, max(text.rfind("\n", 0, self.at), 0)) + 1
        end = text.find("\n", self.at)
        if _BARE_ROWS.search(text[first : end if end >= 0 else None]):
            hint = say("yaml.brackets")
        message = say("yaml.syntax", problem=problem)
        return self.source.fail_at(message, self.at if at is None else at, hint)


def spot(error: Any, text: str) -> tuple[int, int]:
    """Give the index of an error and the index of its context.

    A quote that is never closed is reported where it opens.
    """
    there = getattr(error, "problem_mark", None)
    begun = getattr(error, "context_mark", None)
    at = min(there.index if there else 0, len(text))
    since = begun.index if begun else at
    quoted = "quoted" in str(getattr(error, "context", ""))
    return (since, since) if quoted and _UNCLOSED.search(str(error.problem)) else (at, since)


def syntax_fault(source: Source, error: Any, breaks: Breaks) -> InputError:
    """Translate an error of the YAML parser."""
    if getattr(error, "problem_mark", None) is None:
        found = _REFUSED.search(source.text)
        if found is None:
            return source.fail(say("yaml.syntax", problem=say("yaml.other")), 0, 0)
        code = f"U+{ord(found[0]):04X}"
        return source.fail_at(say("yaml.character", code=code), found.start())
    at, since = spot(error, source.text)
    failure = Failure(source, at, since, str(error.problem), str(error.context))
    if failure.sign == "\t" and _TAB.search(failure.problem):
        return _tab(failure)
    sign = culprit(source.text, (since, at), breaks, json=False)
    if sign is not None:
        return source.fail_at(sign.message(), sign.at, sign.advice())
    for pattern, tell in _KINDS:
        if pattern.search(f"{failure.context}: {failure.problem}"):
            return tell(failure)
    return failure.fault("yaml.other")


# one function for each kind of error ----------------------------------------------------------


def _tab(failure: Failure) -> InputError:
    """Report a tab in an indentation or after a dash."""
    before, source = failure.before, failure.source
    if not before.strip():
        return source.fail_at(say("yaml.tab"), failure.at, say("yaml.tab.hint"))
    message = say("yaml.tab.after", sign=before.strip()[-1])
    return source.fail_at(message, failure.at, say("yaml.tab.after.hint"))


def _deep(failure: Failure) -> InputError:
    return failure.source.fail_at(say("file.deep", limit=MAX_DEPTH), failure.at)


def _colon(failure: Failure) -> InputError:
    """Distinguish a colon within a text from a misplaced key."""
    if re.fullmatch(r"\s*[\w.]+", failure.before) and failure.at > len(failure.before):
        return failure.told(say("yaml.colon"), say("yaml.colon.line"))
    return failure.fault("yaml.colon")


def _opened(key: str) -> Callable[[Failure], InputError]:
    """Report the bracket that is still open."""

    def tell(failure: Failure) -> InputError:
        line, column = failure.source.spot(failure.since)
        return failure.fault(key, line=line + 1, column=column + 1)

    return tell


def _value(failure: Failure) -> InputError:
    """Report what is in the place of a value."""
    if failure.sign and failure.sign in "]}":
        return failure.fault("yaml.closes", sign=failure.sign)
    if failure.source.text[failure.at : failure.at + 3] in ("", "---", "..."):
        return failure.fault("yaml.ends")
    keys = {",": "comma", "-": "nested_dash", ":": "no_key", "?": "question"}
    return failure.fault(f"yaml.{keys.get(failure.sign, 'value')}")


def _end(failure: Failure) -> InputError:
    """Report what follows the end of a mapping, a list or the whole text."""
    if failure.source.text.startswith("%") and "document start" in failure.problem:
        return failure.fault("yaml.directive", 0)
    if failure.sign and failure.sign in "]}":
        return failure.fault("yaml.closes", sign=failure.sign)
    return failure.fault("yaml.rest" if failure.before.strip() else "yaml.line")


def _key_only(failure: Failure) -> InputError:
    return failure.fault("yaml.key_only", failure.since)


def _escape(failure: Failure) -> InputError:
    """Report an invalid escape, and suggest single quotes."""
    text = failure.source.text
    at = text.rfind("\\", 0, failure.at + 1)
    typed = _DOUBLE.match(text, failure.since)
    hint = backslashes_kept(typed[0], json=False) if typed else None
    escape = ESCAPE.match(text, at)
    assert escape is not None
    digits = _HEXADECIMAL.get(escape[1][0], 0)
    unfinished = "yaml.hexadecimal" if digits else "yaml.escape"
    key = "yaml.no_character" if len(escape[1]) > 1 else unfinished
    return failure.told(say(key, escape=escape[0], n=digits), hint, at)


def _by_first(key: str) -> Callable[[Failure], InputError]:
    """Report the character with which the invalid token begins."""
    return lambda failure: failure.fault(key, sign=failure.source.text[failure.since])


def _by_sign(key: str) -> Callable[[Failure], InputError]:
    """Report the character at the error."""
    return lambda failure: failure.fault(key, sign=failure.sign)


_TAB = re.compile(r"tab character|cannot start any token")
_UNCLOSED = re.compile(r"end of stream|document (?:indicator|separator)")
_KINDS: list[tuple[re.Pattern[str], Callable[[Failure], InputError]]] = [
    (re.compile(pattern), tell)
    for pattern, tell in (
        (r"nesting depth", _deep),
        (r"directive|incompatible|duplicate tag", _by_sign("yaml.directive")),
        (r"\b(?:a tag|tag handle)\b", _by_sign("yaml.bad_tag")),
        (r"an (?:anchor|alias)", _by_first("yaml.name")),
        (r"a block scalar", _by_first("yaml.block")),
        (r"escape|hexdecimal", _escape),
        (r"quoted scalar", _by_sign("yaml.quote")),
        (r"cannot start any token", _by_sign("yaml.start")),
        (r"mapping values", _colon),
        (r"sequence entries", _by_sign("yaml.dash")),
        (r"mapping keys", _by_sign("yaml.question")),
        (r"',' or '\]'", _opened("yaml.row")),
        (r"',' or '\}'", _opened("yaml.brace")),
        (r"node content", _value),
        (r"find expected ':'", _key_only),
        (r"unexpected ':'", _by_sign("yaml.inner_colon")),
        (r"expected key|'-' indicator|document start|block end", _end),
    )
]
