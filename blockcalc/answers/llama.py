"""The text of llama.cpp's evaluation callback: for each tensor a line, then some of its numbers.

The grammar is that of ``examples/eval-callback/eval-callback.cpp`` and ``common/debug.cpp`` of
llama.cpp, in all their versions: ``ggml_debug: NAME = (f32) OP(…) = {ne0, ne1, ne2, ne3}``, nested
brackets with up to three numbers at each end of an axis and ``...`` between them, the first axis
innermost, and ``sum = …`` after each part of the outermost axis.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from blockcalc.answers.answer import Answer, Answers, Array, Unreadable
from blockcalc.answers.numbers import half_unit
from blockcalc.errors import Fault, InputError, Place
from blockcalc.limits import MOST_NUMBERS
from blockcalc.messages import say

_HEAD = re.compile(
    r"(?:[^=(]*?\b(?:ggml_debug|common_debug_cb_eval|\w*debug\w*|\w*cb_eval\w*)(?:<\w+>)?:)?\s*"
    r"(?P<name>\S[^=]*?) = \((?P<type>\w+)\)\s+(?P<op>\w+)\(.*\) = "
    r"\{(?P<ne>\d{1,12}(?:, \d{1,12}){3})\}\s*"
)
_BODY = re.compile(r"[\s\[\],.0-9+\-eEinfaN]*")
_SUM = re.compile(
    r"\s*sum\s*=\s*(?P<sum>[-+]?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|nan|inf))\s*"
)
_TOKEN = re.compile(r"\[|\]|\.\.\.|[^\s,\[\]]+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|nan|inf)")
_LONGEST = 4000  # characters of a line that names a tensor
_VIEW = re.compile(r" \((?:view|reshaped|permuted|transposed|cont|copy of .*)\)")
_GAP = "..."
_SEVERAL = re.compile(r"norm(?:_w)?(?:-\d+)?")  # build_norm has one name for every norm of a layer


class _Cut(Exception):
    """The numbers of a tensor do not fit its sizes."""


def is_llama(text: str) -> bool:
    """Tell whether a text has a line that names a tensor."""
    return any(_head(line) for line in text.splitlines()[:20_000])


def _head(line: str) -> re.Match[str] | None:
    if ") = {" not in line or len(line) > _LONGEST:
        return None
    return _HEAD.fullmatch(line)


def read_llama(text: str, name: str) -> Answers:
    """Read every printed tensor, the first time that it is printed; norms that share a name, each.

    Views of other tensors, named ``(view)`` or ``(reshaped)``, are left out.

    Raises
    ------
    InputError
        The text has no tensor.
    """
    given: list[Answer] = []
    lost: list[Unreadable] = []
    seen: dict[tuple[str, str], int] = {}
    left, again = MOST_NUMBERS, 0
    for head, number, body, line in _parts(text):
        own, op = head["name"].strip(), head["op"]
        if _VIEW.search(own):
            continue
        nth = seen.get((own, op), 0)
        if nth and (again or not _SEVERAL.fullmatch(own)):
            again += 1  # from here on it is another evaluation
            continue
        seen[own, op] = nth + 1
        place = Place(name, number, 1, line)
        shape = tuple(int(n) for n in reversed(head["ne"].split(", ")))
        left -= math.prod(shape)
        try:
            if left < 0:
                raise _Cut(say("answers.llama.large", most=MOST_NUMBERS))
            if found := _tensor(shape, body):
                values, judged, half, total = found
                own_answer = Answer(own, values, judged, half, place=place, total=total)
                given.append(replace(own_answer, op=op, nth=nth))
        except _Cut as error:
            lost.append(Unreadable(own, str(error), place))
    if not seen:
        raise InputError(Fault(say("answers.llama.none"), Place(name)))
    remarks = (say("answers.llama.again", n=again),) if again else ()
    return Answers(name, tuple(given), tuple(lost), remarks=remarks, dump=True)


def _parts(text: str) -> Iterator[tuple[re.Match[str], int, list[str], str]]:
    """Give each line that names a tensor, with its number and the lines below it."""
    head, at, body, first = None, 0, list[str](), ""
    for number, line in enumerate(text.splitlines(), 1):
        found = _head(line)
        if found:
            if head:
                yield head, at, body, first
            head, at, body, first = found, number, [], line
        elif head and (_BODY.fullmatch(line) or _SUM.fullmatch(line)):
            body.append(line)
    if head:
        yield head, at, body, first


def _tensor(
    shape: tuple[int, ...], body: Sequence[str]
) -> tuple[Array, Array, Array, tuple[float, float] | None] | None:
    """Read the numbers of a tensor; None if none are printed, as for a quantized one."""
    total, tokens = None, list[str]()
    for line in body:
        if found := _SUM.fullmatch(line):
            total = found["sum"]
        else:
            tokens += _TOKEN.findall(line)
    if not tokens:
        return None
    values, judged = np.zeros(shape), np.zeros(shape, dtype=bool)
    halves: set[float] = set()
    _place(_nested(tokens), shape, (), values, judged, halves)
    kept = tuple(n for i, n in enumerate(shape) if any(m > 1 for m in shape[: i + 1])) or (1,)
    half = np.broadcast_to(np.float64(max(halves, default=0.0)), kept)
    values, judged = values.reshape(kept), judged.reshape(kept)
    return values, judged, half, _total(total, values, judged)


def _nested(tokens: Sequence[str]) -> list[Any]:
    """Parse nested brackets."""
    whole: list[Any] = []
    levels = [whole]
    for token in tokens:
        if token == "[":
            if len(levels) > 4:
                raise _Cut(say("answers.llama.cut"))
            levels[-1].append([])
            levels.append(levels[-1][-1])
        elif token == "]":
            if len(levels) == 1:
                raise _Cut(say("answers.llama.cut"))
            levels.pop()
        else:
            levels[-1].append(token)
    if len(levels) > 1:
        raise _Cut(say("answers.llama.cut"))
    return whole


def _place(
    items: Any,
    shape: tuple[int, ...],
    at: tuple[int, ...],
    values: Array,
    judged: Array,
    halves: set[float],
) -> None:
    """Place the printed parts of each axis: before ``...`` at the start, after it at the end."""
    if not shape:
        if not isinstance(items, str) or not _NUMBER.fullmatch(items):
            raise _Cut(say("answers.llama.cut"))
        values[at], judged[at] = float(items), True
        halves.add(half_unit(items) if items[-1].isdigit() else 0.0)
        return
    if not isinstance(items, list):
        raise _Cut(say("answers.llama.cut"))
    gap = items.index(_GAP) if _GAP in items else len(items)
    first, last = items[:gap], items[gap + 1 :]
    shown = len(first) + len(last)
    if _GAP in last or shown > shape[0] or (gap == len(items) and shown < shape[0]):
        raise _Cut(say("answers.llama.cut"))
    indices = [*range(len(first)), *range(shape[0] - len(last), shape[0])]
    for i, item in zip(indices, [*first, *last], strict=True):
        _place(item, shape[1:], (*at, i), values, judged, halves)


def _total(text: str | None, values: Array, judged: Array) -> tuple[float, float] | None:
    """Give the printed sum; old versions add only the printed numbers, and theirs is ignored."""
    if text is None:
        return None
    total = float(text)
    if not judged.all():
        shown = values[judged & np.isfinite(values)]
        within = 1e-4 * shown.size + 1e-6 * float(np.abs(shown).sum())
        if not abs(total - float(shown.sum())) > within:
            return None
    return total, half_unit(text) if math.isfinite(total) else 0.0
