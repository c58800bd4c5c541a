"""Judge each step twice: against its true value, and against what follows from earlier answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from blockcalc.answers.answer import TEXT, Answer
from blockcalc.check.carried import Carried, Pin, Value, largest
from blockcalc.check.precise import Precise, sharpened
from blockcalc.ops.op import Array
from blockcalc.program.bounds import NUMBERS, Format
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass

RIGHT, ROUNDED, WRONG, FOLLOWS = "right", "rounded", "wrong", "follows"
EQUIVALENT, TRIVIAL, NOT_GIVEN, UNREADABLE = "equivalent", "trivial", "not_given", "unreadable"
# the relative error allowed to numbers that were computed in float64
EXACT = 8 * NUMBERS["float64"].unit
NEAR = 0.05  # relative; without a bound a number so near may be right in a dump


@dataclass(frozen=True)
class Tolerance:
    """How far an answer may lie from the right number, if the user chooses it.

    Attributes
    ----------
    absolute, relative : float
        A number is right within ``absolute + relative * |right|``.
    """

    absolute: float = 0.0
    relative: float = 0.0


@dataclass(frozen=True)
class Total:
    """The sum over all cells of a step, as given and as it should be.

    Attributes
    ----------
    given, true, own : float
        The printed sum; that of the right numbers; that of the numbers that follow from
        earlier answers.
    wrong, own_wrong : bool
        Whether it differs from either by more than the tolerance.
    """

    given: float
    true: float
    own: float
    wrong: bool
    own_wrong: bool

    @property
    def bad(self) -> bool:
        """Tell whether it is neither right nor follows from earlier answers."""
        return self.wrong and self.own_wrong


@dataclass(frozen=True)
class Judged:
    """A step and what was found in it.

    Attributes
    ----------
    step : str
        Its recorded name.
    answer : Answer
        In the shape of the step.
    true, own : Value
        The right numbers, and those that follow from earlier answers, each with the error that
        a right answer may have.
    wrong, own_wrong : ndarray of bool
        Which given cells differ from either by more.
    verdict : str
    total : Total, optional
        The sum over all cells, where the answer has one.
    untold : int
        How many more cells are given that nothing can be said of, as no bound on the right number
        is known.
    """

    step: str
    answer: Answer
    true: Value
    own: Value
    wrong: Array
    own_wrong: Array
    verdict: str
    total: Total | None = None
    untold: int = 0

    @property
    def bad(self) -> Array:
        """Tell which cells are neither right nor follow from earlier answers."""
        return np.asarray(self.wrong & self.own_wrong)

    @property
    def lost(self) -> Array:
        """Tell which cells are nan or infinity, and are not where all is right."""
        finite = np.isfinite(self.answer.values)
        return np.asarray(self.answer.judged & ~finite & np.isfinite(self.true.numbers))


@dataclass(frozen=True)
class Judgement:
    """All steps that were judged, in the order of the program.

    ``plain`` is computed without the answers, ``carried`` from them. ``untold`` are the steps with
    numbers that nothing can be said of: how many, and of how many.
    """

    trace: Trace
    plain: Carried
    carried: Carried
    steps: Mapping[str, Judged]
    tolerance: Tolerance | None = None
    infinite: str | None = field(default=None)
    untold: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def first_wrong(self) -> str | None:
        """Name the first step that is wrong by itself."""
        return next((s.step for s in self.steps.values() if s.verdict == WRONG), None)


def judge(
    trace: Trace, answers: Mapping[str, Answer], tolerance: Tolerance | None = None
) -> Judgement:
    """Judge answers, each in the shape of its step, against a run.

    Parameters
    ----------
    trace : Trace
        The right numbers.
    answers : mapping
        By recorded name of a step or an input.
    tolerance : Tolerance, optional
        Instead of the digits written, or the bound of the storage format.
    """
    storage = storage_of(answers)
    names = [ref.name for ref in trace.program.inputs]
    inputs = {name: np.asarray(trace.arrays[name], dtype=np.float64) for name in names}
    pins = {name: pinned(a, tolerance) for name, a in answers.items()}
    carried = Carried(trace.program, inputs, pins, storage, trace.rounding)
    plain = Carried(trace.program, inputs, {}, rounding=trace.rounding)
    worlds = Precise(plain), Precise(carried)
    found: dict[str, Judged] = {}
    untold: dict[str, tuple[int, int]] = {}
    order = [*names, *(eq.out.name for eq in trace.program.equations)]
    for name in (n for n in order if n in answers):
        own = _judged(name, answers[name], worlds, tolerance)
        if own.answer.judged.any() or own.total is not None or not own.untold:
            found[name] = own
        if own.untold:
            untold[name] = own.untold, own.untold + int(own.answer.judged.sum())
    infinite = next((name for name, own in found.items() if own.lost.any()), None)
    judgement = Judgement(trace, plain, carried, found, tolerance, infinite, untold)
    return replace(judgement, steps=followed(judgement))


def storage_of(answers: Mapping[str, Answer]) -> Format | None:
    """Find the coarsest storage format of the answers; None if all are written numbers."""
    formats = (NUMBERS[a.read_as] for a in answers.values() if a.read_as != TEXT)
    return max(formats, key=lambda n: n.unit, default=None)


def pinned(answer: Answer, tolerance: Tolerance | None = None) -> Pin:
    """Pin a step to an answer: stored numbers are exact, written ones to half a unit."""
    numbers = np.where(answer.judged, answer.values, 0.0)
    half = answer.half
    if tolerance is not None:
        half = np.maximum(half, np.where(np.isfinite(numbers), _chosen(tolerance, numbers), 0.0))
    return Pin(numbers, answer.judged, half)


def _chosen(tolerance: Tolerance, right: Array) -> Array:
    return np.asarray(tolerance.absolute + tolerance.relative * np.abs(right))


def allowed(
    answer: Answer,
    right: Value,
    carried: Carried,
    tolerance: Tolerance | None,
    cast: bool = False,
) -> Array:
    """Tell how far each cell of an answer may lie from a right number.

    Parameters
    ----------
    answer : Answer
    right : Value
        The number and its own error.
    carried : Carried
        The steps that the number was computed in.
    tolerance : Tolerance, optional
    cast : bool
        Whether the number was computed in double precision and only then stored as the answer is.
    """
    with np.errstate(all="ignore"):
        size = np.abs(right.numbers)
        if tolerance is not None:
            return np.where(
                np.isfinite(size), _chosen(tolerance, right.numbers) + EXACT * size, 0.0
            )
        if answer.read_as == TEXT:
            return np.where(
                np.isfinite(size), answer.half * (1 + 1e-9) + right.error + EXACT * size, 0.0
            )
        if cast:
            stored = 2 * right.error + NUMBERS[answer.read_as].rounding(size)
        else:
            stored = carried.stored(right).error
        return np.where(np.isfinite(size), stored + answer.half, 0.0)


def differs(answer: Answer, right: Value, room: Array) -> Array:
    """Tell which given cells differ by more than the tolerance; so does a written infinity."""
    with np.errstate(all="ignore"):
        apart = np.abs(answer.values - right.numbers)
        none = np.isnan(answer.values) & np.isnan(right.numbers)
        same = (answer.values == right.numbers) | none
        within = (apart <= room) & (np.isfinite(apart) | (answer.read_as != TEXT))
        return np.asarray(answer.judged & ~same & ~within)


def without_digits(answer: Answer) -> Answer:
    """Drop the rounding of printed cells: the sum was taken before it."""
    return replace(answer, half=np.zeros(answer.values.shape))


def misses(answer: Answer, right: Value, room: Array) -> bool:
    """Tell whether the printed sum differs from that of some numbers by more than it may.

    Parameters
    ----------
    answer : Answer
    right : Value
        The numbers that are added up.
    room : ndarray
        How far each of them may be off, without the rounding of printed cells.
    """
    if answer.total is None:
        return False
    given, half = answer.total
    with np.errstate(all="ignore"):
        sum_ = right.numbers.sum()
        if not (np.isfinite(given) and np.isfinite(sum_)):
            return not (given == sum_ or (np.isnan(given) and np.isnan(sum_)))
        adding = right.numbers.size * NUMBERS["float32"].unit * np.abs(right.numbers).sum()
        return not abs(given - sum_) <= half * (1 + 1e-9) + room.sum() + adding


def _judged(
    name: str, answer: Answer, worlds: tuple[Precise, Precise], tolerance: Tolerance | None
) -> Judged:
    true, own = (sharpened(name, answer, world) for world in worlds)
    carried = worlds[1].run
    rooms = _rooms(answer, true, own, carried, tolerance)
    told = _told(name, answer, (true, own), rooms, worlds, tolerance is not None)
    untold = int((answer.judged & ~told).sum())
    answer = replace(answer, judged=answer.judged & told)
    wrong, own_wrong = (differs(answer, v, r) for v, r in zip((true, own), rooms, strict=True))
    total, bare = None, _rooms(without_digits(answer), true, own, carried, tolerance)
    if answer.total is not None and not any(np.isfinite(room).all() for room in bare):
        answer, untold = replace(answer, total=None), untold + 1
    if answer.total is not None:
        missed = [misses(answer, v, r) for v, r in zip((true, own), bare, strict=True)]
        with np.errstate(all="ignore"):
            sums = [float(v.numbers.sum()) for v in (true, own)]
        total = Total(answer.total[0], sums[0], sums[1], missed[0], missed[1])
    exact = ~differs(answer, true, EXACT * np.abs(true.numbers))
    verdict = RIGHT if exact.all() else ROUNDED
    if (wrong & own_wrong).any() or (total and total.bad):
        verdict = WRONG
    elif wrong.any() or (total and total.wrong):
        verdict = FOLLOWS
    kept = [Value(v.numbers, room) for v, room in zip((true, own), rooms, strict=True)]
    return Judged(name, answer, kept[0], kept[1], wrong, own_wrong, verdict, total, untold)


def _told(
    name: str,
    answer: Answer,
    values: Sequence[Value],
    rooms: Sequence[Array],
    worlds: Sequence[Precise],
    chosen: bool,
) -> Array:
    """Tell which cells can be judged: right by a bound that says something, or wrong by all.

    A bound as large as the step itself says nothing of written numbers. What is near the numbers
    that follow from earlier answers is taken as judged: to its digits, or in a dump roughly.
    """
    within, vague = np.zeros((2, *answer.values.shape), dtype=bool)
    written = answer.read_as == TEXT
    for value, room in zip(values, rooms, strict=True):
        wide = ~np.isfinite(room)
        if written and not chosen:
            bare = value.error > np.maximum(largest(value.numbers), answer.half)
            wide |= bare & np.isfinite(value.numbers)
        within |= ~wide & ~differs(answer, value, room)
        vague |= wide
    own = values[1]
    with np.errstate(all="ignore"):
        near = NEAR * np.maximum(np.abs(own.numbers), np.abs(answer.values))
        digits = answer.half + EXACT * np.abs(own.numbers)
    if not written or worlds[1].run.leans(name):
        within |= ~differs(answer, own, digits if written else near)
    return np.asarray(within | ~vague | ~np.isfinite(answer.values))


def _rooms(
    answer: Answer, true: Value, own: Value, carried: Carried, tolerance: Tolerance | None
) -> tuple[Array, Array]:
    """Tell how far each cell may lie from the true number, and from the one carried forward."""
    to_true = allowed(answer, true, carried, tolerance, True)
    to_own = allowed(answer, own, carried, tolerance)
    if answer.read_as != TEXT and tolerance is None:
        # the bound of one step: bounds of a whole block are too wide
        to_true = np.maximum(to_true, to_own)
    return to_true, to_own


def followed(judgement: Judgement) -> dict[str, Judged]:
    """Mark a step that only carries rounding forward as rounded: nothing before it is wrong."""
    found: dict[str, Judged] = {}
    tainted: set[str] = {name for name, s in judgement.steps.items() if s.verdict == WRONG}
    for eq in judgement.trace.program.equations:
        if any(ref.name in tainted for ref in eq.inputs):
            own = judgement.steps.get(eq.out.name)
            whole = (
                own is not None
                and own.verdict in (RIGHT, ROUNDED)
                and bool(own.answer.judged.all())
            )
            if not whole:
                tainted.add(eq.out.name)
    for name, own in judgement.steps.items():
        if own.verdict == FOLLOWS and name not in tainted:
            own = replace(own, verdict=ROUNDED)
        found[name] = own
    return found
