"""Check the answers of one person: match, reorder and judge them, and find reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from blockcalc.answers.answer import Answer, Answers, Matched, Unreadable, fitted
from blockcalc.answers.names import match
from blockcalc.check.asked import file_points, found_step, points_asked
from blockcalc.check.frame import Frame, framed
from blockcalc.check.judge import (
    EQUIVALENT,
    FOLLOWS,
    NOT_GIVEN,
    RIGHT,
    ROUNDED,
    TRIVIAL,
    UNREADABLE,
    WRONG,
    Judged,
    Judgement,
    Tolerance,
    judge,
)
from blockcalc.check.reasons.diagnosis import Diagnosis
from blockcalc.check.reasons.fit import Reason
from blockcalc.check.where import loose, stays_within
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.catalogue import Catalogue, Tried
from blockcalc.mistakes.table import MISTAKES
from blockcalc.nn.spec import Spec
from blockcalc.ops.expr import Cell, walk
from blockcalc.ops.op import Array
from blockcalc.program.loss import is_backward
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass

JUDGED, UNREAD, UNKNOWN, OPEN, EMPTY = "judged", "unread", "unknown", "open", "empty"
UNTOLD = "untold"
MOST_FORMS = 3  # of a mistake that a bound is held against
MOST_LOOKED = 16  # wrong cells whose operands are looked at
CREDITED = (RIGHT, ROUNDED, FOLLOWS, EQUIVALENT)


@dataclass(frozen=True, repr=False)
class Checked:
    """What was found in the answers of one person.

    Attributes
    ----------
    answers : Answers
    matched : Matched
    judgement : Judgement
    reasons : tuple of Reason
        Those of steps that are wrong by themselves, in the order of the steps.
    frames : tuple of Frame
        Steps whose numbers are in another order.
    unreadable : tuple of Unreadable
    blind : mapping
        Steps that are right only within a bound that says little, each with how many mistakes stay
        within it, and of how many that change the step.
    next : str or None
        The step to write next, where some are missing between the first wrong one and what is right
        before it.
    points : mapping
        What each step counts, where FILE says so.
    """

    answers: Answers
    matched: Matched
    judgement: Judgement
    reasons: tuple[Reason, ...]
    frames: tuple[Frame, ...]
    unreadable: tuple[Unreadable, ...]
    next: str | None
    blind: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    points: Mapping[str, float] = field(default_factory=dict)

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
        """Tell whether nothing is wrong, all could be judged, and at least one name is a step."""
        if self.unreadable or self.judgement.untold or self.state not in (JUDGED, OPEN):
            return False
        return all(s.verdict in (RIGHT, ROUNDED, EQUIVALENT) for s in self.steps.values())

    def __repr__(self) -> str:
        found = [(r.step, r.names) for r in self.reasons]
        return f"Checked(ok={self.ok}, first_wrong={self.first_wrong!r}, reasons={found})"

    def verdict(self, step: str) -> str:
        """Give the verdict of a step, by its name, an alias or an end that only one has.

        Raises
        ------
        LookupFault
            No step matches, or several do.
        """
        name = found_step(self.judgement.trace.program, step)
        if name in self.steps:
            return self.steps[name].verdict
        lost = name in self.judgement.untold or any(one.step == name for one in self.unreadable)
        return UNREADABLE if lost else NOT_GIVEN

    @property
    def state(self) -> str:
        """Tell whether anything was judged, and if not, what the answers are.

        ``judged``; ``unread``: none could be read. ``unknown``: no name is a step. ``open``: all is
        left open. ``empty``: there are none. ``untold``: nothing can be said of any number.
        """
        if self.steps:
            return JUDGED
        if self.judgement.untold:
            return UNTOLD
        if self.unreadable:
            return UNREAD
        if self.matched.unmatched:
            return UNKNOWN
        return OPEN if self.matched.named else EMPTY

    def score(self, points: Mapping[str, float] | None = None) -> tuple[float, float]:
        """Give the points reached and those there are; what follows from an earlier mistake counts.

        ``points`` is what each step counts: by default what FILE says, else the answers, else one
        for each step that they name. A step that is not given counts, and reaches none.

        Raises
        ------
        UsageError
            ``points`` is no mapping of steps to numbers.
        """
        points = points_asked(points, self.judgement.trace.program) if points is not None else None
        points = points or self.points or self.matched.points
        points = points or dict.fromkeys(self.matched.named, 1.0)
        reached = sum(p for name, p in points.items() if self.verdict(name) in CREDITED)
        return float(reached), float(sum(points.values()))


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
        Of the same run; it can be shared by several answers.
    tolerance : Tolerance, optional
    renames : mapping, optional
        Names in the answers to names of steps.
    layer : int, optional
        The layer of the answers to compare the block with.
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
    known = wrong in {*(r.step for r in reasons), *(f.step for f in frames)}
    following = None if wrong is None or known else next_step(judgement, wrong)
    points = file_points(catalogue.block.spec, trace.program)
    found = Checked(
        answers, matched, judgement, reasons, tuple(frames), unreadable, following, points=points
    )
    return replace(found, blind=_blind(judgement, catalogue))


def _blind(judgement: Judgement, catalogue: Catalogue) -> dict[str, tuple[int, int]]:
    """Find the steps within a bound that most mistakes which change them would stay within too."""
    found: dict[str, tuple[int, int]] = {}
    for name, own in judgement.steps.items():
        if judgement.tolerance is not None or own.verdict != ROUNDED or not loose(own):
            continue
        hidden, moved = set[str](), set[str]()
        for tried in _few(t for t in catalogue.tried if judgement.carried.touches(t.change, name)):
            value = judgement.carried.under(tried.change, name, bounded=False)
            if value is not None and (kept := stays_within(own, value.numbers)) is not None:
                (hidden if kept else moved).add(tried.mistake.name)
        if len(hidden) > len(moved - hidden):
            found[name] = len(hidden), len(hidden | moved)
    return found


def _few(tried: Iterable[Tried]) -> Iterator[Tried]:
    """Choose some of the alternatives of each mistake, spread over the block."""
    forms: dict[str, list[Tried]] = {}
    for one in tried:
        forms.setdefault(one.mistake.name, []).append(one)
    for own in forms.values():
        n = min(len(own), MOST_FORMS)
        yield from (own[i * len(own) // n] for i in range(n))


def _ordered(
    trace: Trace, begun: Mapping[str, Answer], tolerance: Tolerance | None
) -> tuple[dict[str, Answer], list[Frame], list[Unreadable]]:
    """Reorder answers; those in the shape of their step only if fewer steps are wrong then.

    Rows that were exchanged by mistake, and used so in later steps, are not reordered.
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
    """Choose the reasons to report: none for right steps, and mistakes before other ways."""
    mistaken = {r.step for r in reasons if not _same_result(r)}
    ways = {r.step for r in reasons if _same_result(r)}
    return tuple(
        r
        for r in reasons
        if (steps[r.step].verdict == EQUIVALENT and (_same_result(r) or r.step not in ways))
        or (steps[r.step].verdict == WRONG and not (_same_result(r) and r.step in mistaken))
    )


def _same_result(reason: Reason) -> bool:
    return all(mistake.same_result for mistake in reason.mistakes)


def _framed(steps: dict[str, Judged], frames: Sequence[Frame]) -> dict[str, Judged]:
    """Mark a step whose numbers are right in another order as another way."""
    for frame in frames:
        own = steps[frame.step]
        if own.verdict in (RIGHT, ROUNDED):
            steps[frame.step] = replace(own, verdict=EQUIVALENT)
    return steps


def _trivial(judgement: Judgement, steps: dict[str, Judged]) -> dict[str, Judged]:
    """Mark a step as trivial if it follows from zeros or rows of one number: it gives no credit."""
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
    """Tell whether each row has one number only, or all are 0."""
    if numbers.ndim == 0 or numbers.size < 2:
        return False
    rows = numbers if numbers.ndim > 1 else numbers[None]
    return bool(rows.shape[-1] > 1 and np.all(rows == rows[..., :1])) or not np.any(numbers)


def next_step(judgement: Judgement, wrong: str) -> str | None:
    """Name the middle one of the missing steps before the first wrong step.

    Parts of a norm or softmax, and moved entries, are named only where there is nothing else: a
    person writes results.
    """
    carried = judgement.carried
    if carried.equation(wrong) is None:
        return None
    if _all_given(judgement, wrong):
        return None
    equations = [carried.program.equations[i] for i in carried.cone(wrong)]
    between = [eq for eq in equations if eq.out.name != wrong]
    results = [eq for eq in between if eq.out.name not in carried.inner]
    worked = [eq for eq in results if eq.op.worked]
    names = [eq.out.name for eq in worked or results or between]
    return names[len(names) // 2] if names else None


def _all_given(judgement: Judgement, wrong: str) -> bool:
    """Tell whether the wrong cells of a step that are looked at depend on given numbers only."""
    carried = judgement.carried
    eq = carried.program.equations[carried.index[wrong]]
    given = {name: pin.judged for name, pin in carried.pins.items()}
    cells = np.argwhere(judgement.steps[wrong].bad)[:MOST_LOOKED]
    used = (e for at in cells for e in walk(eq.op.cell(tuple(map(int, at)), eq.inputs)) if isinstance(e, Cell))  # fmt: skip
    refs = ((eq.inputs[e.operand].name, e.at) for e in used)
    return len(cells) > 0 and all(
        name not in carried.index or (name in given and bool(given[name][at])) for name, at in refs
    )


def wants_gradients(
    answers: Sequence[Answers],
    renames: Mapping[str, str] | None = None,
    points: Iterable[str] = (),
) -> bool:
    """Tell whether answers, or the points of FILE, name steps of the backward pass."""
    given = [name for one in answers for name in (*(a.name for a in one.given), *one.left_open)]
    return any(is_backward(n) for n in (*((renames or {}).get(n, n) for n in given), *points))


def catalogue(spec: Spec, trace: Trace) -> Catalogue:
    """Give the catalogue of mistakes for a block."""
    return Catalogue(Block(spec, trace), tuple(MISTAKES.values()))
