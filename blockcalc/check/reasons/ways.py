"""Another way to the same result: a step that differs while what follows from it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from blockcalc.answers.answer import TEXT
from blockcalc.check.carried import largest
from blockcalc.check.judge import (
    EQUIVALENT,
    FOLLOWS,
    RIGHT,
    ROUNDED,
    WRONG,
    Judged,
    Judgement,
    differs,
)
from blockcalc.check.reasons.fit import Reason
from blockcalc.mistakes.alternative import Alternative
from blockcalc.program.bounds import NUMBERS
from blockcalc.program.program import Program

SAME = 1e-9  # relative: by more, a result is another one


def equivalents(
    judgement: Judgement, steps: dict[str, Judged], ways: Mapping[str, Alternative]
) -> None:
    """Mark steps as another way to the same result, if one is known and what follows is right.

    Parameters
    ----------
    judgement : Judgement
    steps : dict
        Changed in place.
    ways : mapping
        The wrong steps that are explained by another way, and by no mistake.
    """
    program = judgement.trace.program
    for name in [n for n in steps if n in ways]:
        after = program.after(name)
        if _comes_right(judgement, [s for n, s in steps.items() if n in after], ways[name]):
            steps[name] = replace(steps[name], verdict=EQUIVALENT)
    other = {n for n, s in steps.items() if s.verdict == EQUIVALENT}
    if not other:
        return
    before = {n: program.after(n) for n in steps if n in other or steps[n].verdict == WRONG}
    for name, own in steps.items():
        causes = {n for n, after in before.items() if name in after}
        if own.verdict == FOLLOWS and causes and causes <= other:
            steps[name] = replace(own, verdict=EQUIVALENT)


def right_after(steps: Mapping[str, Judged], program: Program, step: str) -> bool:
    """Tell whether all that is given after a step is right, and something is."""
    after = program.after(step)
    verdicts = {own.verdict for name, own in steps.items() if name in after}
    return bool(verdicts) and verdicts <= {RIGHT, ROUNDED}


def _comes_right(judgement: Judgement, after: Sequence[Judged], way: Alternative) -> bool:
    """Tell whether the last given step that depends on a step, before the next mistake, is right.

    It may be off by what a run that goes the other way may be, and by what the written
    numbers before it leave open. Without rounding the other way must lead to the same numbers, but
    for the digits written or kept: bounds are wide, and would hide a small difference.
    """
    before = list(takewhile(lambda own: own.verdict != WRONG, after))
    if not before:
        return False
    own = before[-1]
    value = replace(judgement.carried, pins={}).under(way, own.step)
    room = own.own.error + own.true.error
    if value is not None:
        right, read_as = own.true.numbers, own.answer.read_as
        kept = own.answer.half if read_as == TEXT else NUMBERS[read_as].rounding(np.abs(right))
        led = replace(own.answer, values=value.numbers)
        if differs(led, own.true, kept + SAME * largest(right)).any():
            return False
        room = room + judgement.carried.stored(value).error
    return not differs(own.answer, own.true, room).any()


def told(judgement: Judgement, reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Choose the reasons to report: none for right steps, and mistakes before other ways."""
    other = [leads_back(judgement, reason) for reason in reasons]
    mistaken = {r.step for r, back in zip(reasons, other, strict=True) if not back}
    ways = {r.step for r, back in zip(reasons, other, strict=True) if back}
    verdicts = {step: own.verdict for step, own in judgement.steps.items()}
    return tuple(
        r
        for r, back in zip(reasons, other, strict=True)
        if (verdicts[r.step] == EQUIVALENT and (back or r.step not in ways))
        or (verdicts[r.step] == WRONG and not (back and r.step in mistaken))
    )


def leads_back(judgement: Judgement, reason: Reason) -> bool:
    """Tell whether a reason is another way: made alone, it gives the result of the block."""
    if not all(mistake.same_result for mistake in reason.mistakes):
        return False
    program, plain = judgement.trace.program, judgement.plain
    last = program.equations[: program.forward][-1].out.name
    value = plain.under(reason.change, last, bounded=False)
    right = plain.own[last].numbers
    near = SAME * largest(right)
    return value is None or np.allclose(value.numbers, right, SAME, near, equal_nan=True)
