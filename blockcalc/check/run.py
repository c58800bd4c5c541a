"""Check the answers of one person: read, matched, put in order, judged, and explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from blockcalc.answers.answer import Answer, Answers, Unreadable, fitted
from blockcalc.answers.names import Matched, match
from blockcalc.check.frame import Frame, framed
from blockcalc.check.judge import (
    EQUIVALENT,
    FOLLOWS,
    NOT_GIVEN,
    RIGHT,
    ROUNDED,
    TRIVIAL,
    WRONG,
    Judged,
    Judgement,
    Tolerance,
    judge,
)
from blockcalc.check.reasons import Catalogue, Diagnosis, Reason
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.table import MISTAKES
from blockcalc.nn.spec import Spec
from blockcalc.ops.op import Array
from blockcalc.program.trace import Trace

CREDITED = (RIGHT, ROUNDED, FOLLOWS, EQUIVALENT)


@dataclass(frozen=True)
class Checked:
    """What was found in the answers of one person.

    Attributes
    ----------
    answers : Answers
    matched : Matched
    judgement : Judgement
    reasons : tuple of Reason
        Of each step that is wrong by itself, in the order of the steps; none where nothing fits.
    frames : tuple of Frame
        Steps whose numbers came in another order.
    unreadable : tuple of Unreadable
    next : str or None
        The step to write next, where some are missing between the first wrong one and what is right before it.
    """

    answers: Answers
    matched: Matched
    judgement: Judgement
    reasons: tuple[Reason, ...]
    frames: tuple[Frame, ...]
    unreadable: tuple[Unreadable, ...]
    next: str | None

    @property
    def steps(self) -> Mapping[str, Judged]:
        """The steps that were judged."""
        return self.judgement.steps

    @property
    def first_wrong(self) -> str | None:
        """The first step that is wrong by itself."""
        return self.judgement.first_wrong

    @property
    def wrong(self) -> list[Judged]:
        """The steps that are wrong by themselves."""
        return [s for s in self.steps.values() if s.verdict == WRONG]

    @property
    def ok(self) -> bool:
        """Tell whether nothing is wrong, all could be read, and something is a step of this block."""
        if self.unreadable or (self.answers.given and not self.matched.steps):
            return False
        return all(s.verdict in (RIGHT, ROUNDED, EQUIVALENT) for s in self.steps.values())

    def verdict(self, step: str) -> str:
        """Give the verdict of any step of the program."""
        return self.steps[step].verdict if step in self.steps else NOT_GIVEN

    def score(self) -> tuple[float, float]:
        """Give the points reached and those there are: one a step, or what the answers say; what follows counts."""
        points = self.matched.points or {}
        given = {name: points.get(name, 0.0 if points else 1.0) for name in self.steps}
        reached = sum(p for name, p in given.items() if self.steps[name].verdict in CREDITED)
        lost = 0.0 if points else float(len(self.unreadable))
        return reached, sum(given.values()) + lost


def check(
    trace: Trace,
    answers: Answers,
    catalogue: Catalogue,
    tolerance: Tolerance | None = None,
    renames: Mapping[str, str] | None = None,
    layer: int | None = None,
) -> Checked:
    """Judge answers against a run.

    Parameters
    ----------
    trace : Trace
        The right numbers, with the backward pass where gradients are given.
    answers : Answers
    catalogue : Catalogue
        Of the same run; it may serve many answers.
    tolerance : Tolerance, optional
    renames : mapping, optional
        Their names to ours.
    layer : int, optional
        Which layer of the answers the block is.
    """
    matched = match(answers, trace.program, renames, layer)
    begun = {k: a for k, a in matched.steps.items() if a.judged.any() or a.total is not None}
    given, frames, lost = _ordered(trace, begun, tolerance)
    diagnosis = Diagnosis(judge(trace, given, tolerance), catalogue)
    steps = _framed(dict(diagnosis.judgement.steps), frames)
    judgement = replace(diagnosis.judgement, steps=_trivial(diagnosis.judgement, steps))
    unreadable = (*matched.unreadable, *lost)
    wrong = judgement.first_wrong
    reasons = _told(diagnosis.reasons, judgement.steps)
    known = any(r.step == wrong for r in reasons)
    following = None if wrong is None or known else _next(judgement, wrong)
    return Checked(answers, matched, judgement, reasons, tuple(frames), unreadable, following)


def _ordered(
    trace: Trace, begun: Mapping[str, Answer], tolerance: Tolerance | None
) -> tuple[dict[str, Answer], list[Frame], list[Unreadable]]:
    """Put answers in order; numbers that have the shape of their step only where fewer steps are wrong for it.

    Rows that a person has exchanged by mistake, and goes on with, are no other order.
    """
    given, frames, lost = framed(trace, begun)
    kept = []
    for frame in frames:
        put = given[frame.step].values
        as_given = fitted(begun[frame.step], put.shape)
        if as_given.values.shape == put.shape and not np.array_equal(as_given.values, put):
            other = {**given, frame.step: as_given}
            if _wrong(judge(trace, other, tolerance)) <= _wrong(judge(trace, given, tolerance)):
                given = other
                continue
        kept.append(frame)
    return given, kept, lost


def _wrong(judgement: Judgement) -> int:
    return sum(s.verdict == WRONG for s in judgement.steps.values())


def _told(reasons: Sequence[Reason], steps: Mapping[str, Judged]) -> tuple[Reason, ...]:
    """Choose the reasons to report: none of a right step, and of a wrong one mistakes before other ways."""
    mistaken = {r.step for r in reasons if not _same_result(r)}
    return tuple(
        r
        for r in reasons
        if steps[r.step].verdict == EQUIVALENT
        or (steps[r.step].verdict == WRONG and not (_same_result(r) and r.step in mistaken))
    )


def _same_result(reason: Reason) -> bool:
    return all(mistake.same_result for mistake in reason.mistakes)


def _framed(steps: dict[str, Judged], frames: Sequence[Frame]) -> dict[str, Judged]:
    """Call a step whose numbers are right in another order another way to the same result."""
    for frame in frames:
        own = steps[frame.step]
        if own.verdict in (RIGHT, ROUNDED):
            steps[frame.step] = replace(own, verdict=EQUIVALENT)
    return steps


def _trivial(judgement: Judgement, steps: dict[str, Judged]) -> dict[str, Judged]:
    """Give no credit for a step that follows from numbers of which anything follows: zeros, rows of one number."""
    program = judgement.trace.program
    for name, own in steps.items():
        if own.verdict != FOLLOWS:
            continue
        i = judgement.carried.index.get(name)
        section = program.section_of(i) if i is not None else None
        eq = judgement.carried.equation(name)
        refs = section.inputs if section and section.short else eq.inputs if eq else ()
        for ref in refs:
            mine = judgement.carried.carried[ref.name].numbers
            right = np.asarray(judgement.trace.arrays[ref.name], dtype=np.float64)
            if _says_nothing(mine) and not _says_nothing(right):
                steps[name] = replace(own, verdict=TRIVIAL)
    return steps


def _says_nothing(numbers: Array) -> bool:
    """Tell whether all rows are of one number each, or all is masked."""
    if numbers.ndim == 0 or numbers.size < 2:
        return False
    rows = numbers if numbers.ndim > 1 else numbers[None]
    return bool(rows.shape[-1] > 1 and np.all(rows == rows[..., :1])) or not np.any(numbers)


def _next(judgement: Judgement, wrong: str) -> str | None:
    """Name the middle one of the steps that lie between the first wrong step and what is given before it."""
    carried = judgement.carried
    if carried.equation(wrong) is None:
        return None
    between = [carried.program.equations[i].out.name for i in carried.cone(wrong)]
    missing = [name for name in between if name != wrong and name not in judgement.steps]
    plain = [name for name in missing if name not in carried.inner] or missing
    return plain[len(plain) // 2] if plain else None


def wants_gradients(answers: Sequence[Answers], renames: Mapping[str, str] | None = None) -> bool:
    """Tell whether answers name steps of the backward pass."""
    names = [(renames or {}).get(a.name, a.name) for one in answers for a in one.given]
    return any(n.split(".")[0] in ("grad", "loss", "new") for n in names)


def catalogue(spec: Spec, trace: Trace) -> Catalogue:
    """Make every mistake that is known in a block."""
    return Catalogue(Block(spec, trace), tuple(MISTAKES.values()))
