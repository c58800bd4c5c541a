"""Whether a mistake explains a step: each given cell is what it gives, and no step denies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT, Answer
from blockcalc.check.carried import Carried, Value, largest
from blockcalc.check.judge import (
    EXACT,
    FOLLOWS,
    ROUNDED,
    Judged,
    Judgement,
    allowed,
    differs,
    misses,
    without_digits,
)
from blockcalc.check.reasons.slips import coincidence, wrong_cells
from blockcalc.mistakes.alternative import Alternative, Mistake
from blockcalc.ops.expr import At
from blockcalc.ops.op import Array
from blockcalc.records import dataclass

NEAR = 10  # a mistake's own tolerance is at most so many times that of the right numbers
ROUND_OFF = 1e-12  # relative to the largest number
LEFT = 0.7  # of the difference of a dump that may be left with a mistake made
MUCH = 0.1  # of the difference of a number, where no bound on it is known
INFORMATIVE = 2.0  # a number must be off by so many times its tolerance to show a mistake


@dataclass(frozen=True, repr=False)
class Reason:
    """A mistake that explains every wrong cell of a step.

    Attributes
    ----------
    step : str
    mistakes : tuple of Mistake
        One, or the two that explain it together.
    change : Alternative
        What is computed instead.
    words : mapping
        The fields of its sentence; a list if several forms explain the step, such as two eps.
    cells : int
        How many wrong cells it explains.
    strict : bool
        Whether it gives the digits written, not only within the rounding of earlier answers.
    off : float
        The difference of a cell over its tolerance, on average: below 1.
    chance : float
        The probability that numbers wrong for no reason would be within that tolerance.
    at : tuple of int, optional
        The cell, if it is a slip in one.
    """

    step: str
    mistakes: tuple[Mistake, ...]
    change: Alternative
    words: Mapping[str, Any]
    cells: int
    strict: bool
    off: float = 0.0
    chance: float = 0.0
    at: At | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(m.name for m in self.mistakes)

    def __repr__(self) -> str:
        return f"Reason(step={self.step!r}, names={self.names}, words={dict(self.words)})"


@dataclass
class Fit:
    """Tries mistakes on the steps of a judgement.

    Parameters
    ----------
    judgement : Judgement
    made : Alternative
        The mistakes found so far, for answers written with fewer digits than were kept.
    """

    judgement: Judgement
    made: Alternative = field(default_factory=Alternative)

    def make(self, change: Alternative) -> None:
        """Add a mistake that was found."""
        both = change if change.holds(self.made) else self.made.with_(change)
        self.made = both or self.made

    def reason(
        self,
        own: Judged,
        mistakes: tuple[Mistake, ...],
        change: Alternative,
        strict: bool = False,
    ) -> Reason | None:
        """Give the reason, if every given cell is what the mistake gives."""
        carried, unrounded = self.worlds(own, change)
        cells = wrong_cells(own)
        exact = unrounded is not None or (carried is not None and self.digits(own, carried))
        value = carried or unrounded
        if value is None or (strict and not exact):
            return None
        room = self.room(own.answer, value, carried is None)
        if not exact and self.off(own, value, carried is None):
            return None
        if not exact and self.says_little(own, value, room, cells):
            return None
        if self.contradicted(own, change):
            return None
        with np.errstate(all="ignore"):
            parts = np.abs(own.answer.values - value.numbers)[cells] / room[cells]
        off = float(np.nan_to_num(parts, posinf=1e9).mean()) if parts.size else 0.0
        near = own.answer.half + self.judgement.plain.own[own.step].error if exact else room
        chance = coincidence(own, near, cells if unrounded is None else own.wrong)
        return Reason(
            own.step, mistakes, change, change.words, int(cells.sum()), exact, off, chance
        )

    def worlds(self, own: Judged, change: Alternative) -> tuple[Value | None, Value | None]:
        """Compute a step with a mistake made: from the written answers, and from unrounded ones.

        None if the mistake does not affect it, or gives numbers far from the answer.
        """
        world = self.judgement.carried
        carried = self.near(own, world, change)
        if own.answer.read_as != TEXT:
            return self.in_kernel(own, carried, change), None
        if not self.judgement.plain.touches(change, own.step):
            return carried, None
        if carried is None and not self.made.changes and not world.leans(own.step):
            return None, None  # both worlds are one
        both = self.made if self.made.holds(change) else self.made.with_(change)
        return carried, None if both is None else self.near(own, self.judgement.plain, both)

    def in_kernel(self, own: Judged, value: Value | None, change: Alternative) -> Value | None:
        """Compute a norm or softmax at once, if it is not what its stored inner steps give."""
        world = self.judgement.carried
        index = world.index.get(own.step)
        section = None if index is None else world.program.section_of(index)
        if section is None or section.out.name != own.step or not world.inner & world.pins.keys():
            return value
        if value is not None and not self.off(own, value, False):
            return value
        return self.near(own, self.fused, change) or value

    @cached_property
    def fused(self) -> Carried:
        """The answers without the inner steps of norms and softmaxes."""
        world = self.judgement.carried
        outer = {name: pin for name, pin in world.pins.items() if name not in world.inner}
        return replace(world, pins=outer)

    def near(self, own: Judged, world: Carried, change: Alternative) -> Value | None:
        """Compute a step with a mistake made, and bound its error if it is near the answer.

        Numbers that were kept unrounded must give the digits: their error is that of the right
        ones.
        """
        rough = world.under(change, own.step, bounded=False)
        if rough is None or rough.numbers.shape != own.own.numbers.shape:
            return None
        if world is self.judgement.plain:
            kept = Value(rough.numbers, world.own[own.step].error)
            return kept if self.digits(own, kept) else None
        unit = world.storage.unit if world.storage else EXACT
        room = own.own.error + own.answer.half + largest(own.own.error)
        if differs(own.answer, rough, NEAR * (room + unit * largest(rough.numbers))).any():
            return None
        return world.under(change, own.step)

    def doubtful(self, own: Judged) -> bool:
        """Tell whether an answer is within tolerance only by the rounding of earlier answers."""
        if (
            own.answer.read_as != TEXT
            or own.verdict not in (ROUNDED, FOLLOWS)
            or not (own.wrong.any() or (own.total and own.total.wrong))
        ):
            return False
        made = self.judgement.plain.under(self.made, own.step, bounded=False)
        return not any(
            self.digits(own, v) for v in (self.judgement.carried.own[own.step], made) if v
        )

    def digits(self, own: Judged, value: Value) -> bool:
        """Tell whether numbers round to the digits that are written."""
        exact = Value(value.numbers, self.judgement.plain.own[own.step].error)
        return not self.off(own, exact, True)

    def off(self, own: Judged, value: Value, cast: bool) -> bool:
        """Tell whether a given cell, or the sum of all, is not what a mistake gives."""
        if differs(own.answer, value, self.room(own.answer, value, cast)).any():
            return True
        if own.answer.total is None:
            return False
        return misses(own.answer, value, self.room(without_digits(own.answer), value, cast))

    def room(self, answer: Answer, value: Value, cast: bool) -> Array:
        """Give the tolerance of the cells of an answer against what a mistake gives."""
        judgement = self.judgement
        return allowed(answer, value, judgement.carried, judgement.tolerance, cast)

    def goes_on(self, own: Judged) -> bool:
        """Tell whether the mistakes found so far lead to a step through cells not given."""
        carried = self.judgement.carried
        value = self.near(own, carried, self.made) if carried.touches(self.made, own.step) else None
        return value is not None and not self.off(own, value, False)

    def moves(self, own: Judged, change: Alternative) -> bool:
        """Tell whether a mistake changes what follows from the answers by more than round-off."""
        value = self.judgement.carried.under(change, own.step, bounded=False)
        right, room = own.own.numbers, ROUND_OFF * largest(own.own.numbers)
        with np.errstate(all="ignore"):
            return value is not None and (
                value.numbers.shape != right.shape
                or not np.allclose(value.numbers, right, 0.0, room, equal_nan=True)
            )

    def says_little(self, own: Judged, value: Value, room: Array, cells: Array) -> bool:
        """Tell whether other mistakes would fit too, as the tolerance is as wide as the error.

        In a dump the numbers must be nearer than the right ones are, and where nothing bounds them
        much nearer.
        """
        with np.errstate(all="ignore"):
            apart = np.abs(own.answer.values - own.own.numbers)[cells]
            if own.answer.read_as == TEXT:
                unbounded = not np.isfinite(room[cells]).all()
                return unbounded or bool((apart < INFORMATIVE * room[cells]).all())
            left = np.abs(own.answer.values - value.numbers)[cells]
        told = np.isfinite(left) & np.isfinite(apart)
        bound = np.isfinite(room[cells])
        if not (bound | (left <= MUCH * apart) | ~told).all():
            return True
        return bool(left[told].sum() > LEFT * apart[told].sum())

    def contradicted(self, own: Judged, change: Alternative) -> bool:
        """Tell whether a mistake changes an earlier step whose answer does not show it.

        Cells that are wrong by themselves have another reason, and show nothing.
        """
        index = self.judgement.carried.index
        last = index.get(own.step, 0)
        for name in (eq.out.name for eq in change.equations if index.get(eq.out.name, last) < last):
            given = sound(self.judgement.steps.get(name))
            if given is None:
                continue
            worlds = [(self.judgement.carried, change, False)]
            both = self.made if self.made.holds(change) else self.made.with_(change)
            if both is not None:
                worlds.append((self.judgement.plain, both, True))
            if all(self.denied(given, *world) for world in worlds):
                return True
        return False

    def denied(self, given: Judged, world: Carried, change: Alternative, cast: bool) -> bool:
        """Tell whether an answer is not what a mistake gives; bound its error only if needed."""
        for bounded in (False, True):
            value = world.under(change, given.step, bounded)
            if value is None or not self.off(given, value, cast):
                return False
        return True

    def affirmed(self, own: Judged, fitting: Sequence[Reason]) -> list[Reason]:
        """Keep the reasons that later answers show too, where one is; else all.

        Looked at are the later steps that one of the mistakes changes.
        """
        index = self.judgement.carried.index
        changed = {eq.out.name for r in fitting for eq in r.change.equations}
        later = [
            given
            for name, given in self.judgement.steps.items()
            if name in changed and index.get(name, 0) > index.get(own.step, 0)
        ]
        if len(fitting) < 2 or not later:
            return list(fitting)
        return [r for r in fitting if all(self.shown(g, r.change) for g in later)] or list(fitting)

    def shown(self, given: Judged, change: Alternative) -> bool:
        """Tell whether an answer is what follows from earlier ones with a mistake made."""
        carried = self.judgement.carried
        value = carried.under(change, given.step) or carried.own[given.step]
        return not self.off(given, value, False)


def sound(given: Judged | None) -> Judged | None:
    """Keep the cells of an answer that are not wrong by themselves; all, if every one is."""
    if given is None or not given.bad.any():
        return given
    judged = given.answer.judged & ~given.bad
    if not judged.any():
        return given
    return replace(given, answer=replace(given.answer, judged=judged, total=None))
