"""Judge a number that was typed for one cell, as ``check`` does."""

from __future__ import annotations

import numpy as np

from blockcalc.answers.answer import Answer
from blockcalc.answers.numbers import Cells, Typed, word_value
from blockcalc.check.judge import judge
from blockcalc.files.source import Source
from blockcalc.files.yaml_text import plain_scalar
from blockcalc.ops.expr import At
from blockcalc.program.trace import Trace
from blockcalc.reading.checker import Checker

MINUS = "−–"  # as they are typed or pasted in place of the hyphen


def number_of(text: str) -> tuple[float, float] | None:
    """Read a number with half a unit of its last digit; None if it is none.

    Examples
    --------
    >>> number_of("0.50"), number_of("1/3"), number_of("-inf"), number_of("1/")
    ((0.5, 0.005), (0.3333333333333333, 0.0), (-inf, 0.0), None)
    """
    for sign in MINUS:
        text = text.replace(sign, "-")
    value = plain_scalar(text)
    cells = Cells(Checker(Source("", "")))
    cells.add(Typed(text) if type(value) is float and word_value(text) is None else value, ())
    if cells.checker.faults or not cells.judged[0]:
        return None
    return cells.values[0], cells.half[0]


def is_right(trace: Trace, step: str, at: At, number: tuple[float, float]) -> bool | None:
    """Tell whether a number is right for one cell of a step: to half a unit of its last digit.

    None if nothing can be said, because no bound on the right number is known.
    """
    shape = trace.arrays[step].shape
    values, judged, half = np.full(shape, np.nan), np.zeros(shape, dtype=bool), np.zeros(shape)
    values[at], judged[at], half[at] = number[0], True, number[1]
    found = judge(trace, {step: Answer(step, values, judged, half)}).steps.get(step)
    if found is None or not found.answer.judged[at]:
        return None
    return not found.wrong[at]
