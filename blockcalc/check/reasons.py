"""Try the catalogue of mistakes on a wrong step: which of them explain every wrong cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT, Answer
from blockcalc.check.carried import Carried, Value
from blockcalc.check.judge import (
    EXACT,
    FOLLOWS,
    ROUNDED,
    WRONG,
    Judged,
    Judgement,
    allowed,
    differs,
    equivalents,
    followed,
    misses,
    without_digits,
)
from blockcalc.check.slips import slips
from blockcalc.mistakes.alternative import Alternative, Block, Mistake, no_place
from blockcalc.ops.expr import At
from blockcalc.ops.op import Array

MOST_REASONS = 3
MOST_PAIRS = 1000
MOST_LOOKED = 8  # wrong steps on which every mistake is tried
FEW_CELLS = 4000  # a pair that works more cells counts for several
INFORMATIVE = 2.0  # how many times its room a number has to be off, for a mistake to be told by it
NEAR = 10  # how many times the room of the right numbers a mistake's own room may be


@dataclass(frozen=True)
class Reason:
    """A mistake that explains every wrong cell of a step.

    Attributes
    ----------
    step : str
    mistakes : tuple of Mistake
        One, or the two that explain it together.
    change : Alternative
        What was worked instead.
    words : mapping
        What its sentence names; a list where several forms explain the step, such as two values of eps.
    cells : int
        How many wrong cells it explains.
    strict : bool
        Whether it gives the very digits written, and not only what the rounding of earlier numbers leaves open.
    off : float
        By what part of its room a cell is off, on average: below 1.
    at : tuple of int, optional
        The cell, where it is a slip in one.
    """

    step: str
    mistakes: tuple[Mistake, ...]
    change: Alternative
    words: Mapping[str, Any]
    cells: int
    strict: bool
    off: float
    at: At | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(m.name for m in self.mistakes)


@dataclass(frozen=True)
class Tried:
    """An alternative at one place, or at every place where its mistake can be made."""

    mistake: Mistake
    change: Alternative


@dataclass
class Catalogue:
    """What each mistake makes of a block; worked out once for all answers."""

    block: Block
    mistakes: Sequence[Mistake]
    own: dict[str, list[Tried]] = field(default_factory=dict)

    @cached_property
    def tried(self) -> list[Tried]:
        """List every alternative of every mistake."""
        found = []
        for mistake in self.mistakes:
            places = list(mistake.alternatives(self.block))
            found += [Tried(mistake, change) for change in places]
            found += [Tried(mistake, every) for every in _everywhere(places)]
        return found


def _everywhere(places: Sequence[Alternative]) -> Iterator[Alternative]:
    """Make each form of a mistake, such as another eps, at every place where it can be made."""
    forms: dict[str, list[Alternative]] = {}
    for place in places:
        forms.setdefault(repr(sorted(place.words.items())), []).append(place)
    for form in forms.values():
        every: Alternative | None = form[0]
        for place in form[1:]:
            every = every.with_(place) if every else None
        if every is not None and len(form) > 1:
            yield every


@dataclass
class Diagnosis:
    """The judgement with reasons: what is wrong by itself, why, and what follows from it.

    Parameters
    ----------
    judgement : Judgement
    catalogue : Catalogue
    """

    judgement: Judgement
    catalogue: Catalogue
    reasons: list[Reason] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left, self.looked = MOST_PAIRS, 0  # for all steps together
        # the mistakes found so far, for one who writes fewer digits than they keep
        self.made = Alternative()
        steps = dict(self.judgement.steps)
        for name, own in self.judgement.steps.items():
            found: list[Reason] = []
            if own.verdict == WRONG:
                found = self.of(own)
            elif self.doubtful(own):
                found = [r for r in self.of(own, strict=True) if not r.mistakes[0].general]
                steps[name] = replace(own, verdict=WRONG) if found else own
            self.reasons += found
            if found:
                self.made = self.made.with_(found[0].change) or self.made
        self.judgement = replace(self.judgement, steps=steps)
        same = [r for r in self.reasons if all(m.same_result for m in r.mistakes)]
        mistaken = {r.step for r in self.reasons if not any(m.same_result for m in r.mistakes)}
        steps = followed(self.judgement)
        ways = {r.step: r.change for r in reversed(same) if r.step not in mistaken}
        equivalents(self.judgement, steps, ways)
        self.judgement = replace(self.judgement, steps=steps)

    # which mistakes fit -----------------------------------------------------------------------

    def worlds(self, own: Judged, change: Alternative) -> tuple[Value | None, Value | None]:
        """Work a step as if a mistake had been made, in two ways: from the numbers written, and from those kept unrounded.

        None where the mistake has no part in it, or gives numbers that are far from those given.
        """
        carried = self.near(own, self.judgement.carried, change)
        if own.answer.read_as != TEXT or not self.judgement.plain.touches(change, own.step):
            return carried, None
        both = self.made if self.made.holds(change) else self.made.with_(change)
        return carried, None if both is None else self.near(own, self.judgement.plain, both)

    def near(self, own: Judged, world: Carried, change: Alternative) -> Value | None:
        """Work a step under a mistake, and bound its error where its numbers are near those given."""
        rough = world.under(change, own.step, bounded=False)
        if rough is None or rough.numbers.shape != own.own.numbers.shape:
            return None
        stored = world.stored(Value(rough.numbers, np.zeros(rough.numbers.shape)))
        room = NEAR * (own.own.error + own.answer.half + stored.error)
        room += EXACT * np.abs(rough.numbers)
        if differs(own.answer, rough, room).any():
            return None
        return world.under(change, own.step)

    def doubtful(self, own: Judged) -> bool:
        """Tell whether only the rounding of earlier numbers makes room for an answer, and no one rounds to it."""
        if (
            own.answer.read_as != TEXT
            or own.verdict not in (ROUNDED, FOLLOWS)
            or not (own.wrong.any() or (own.total and own.total.wrong))
        ):
            return False
        made = self.judgement.plain.under(self.made, own.step)
        return not any(
            self.digits(own, v) for v in (self.judgement.carried.own[own.step], made) if v
        )

    def digits(self, own: Judged, value: Value) -> bool:
        """Tell whether numbers give the digits that are written."""
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
        """Tell how far the cells of an answer may lie from what a mistake gives."""
        judgement = self.judgement
        return allowed(answer, value, judgement.carried, judgement.tolerance, cast)

    def of(self, own: Judged, strict: bool = False) -> list[Reason]:
        """Find the reasons of a step, the simplest first; none where nothing fits.

        One that was found at an earlier step and explains this one too is the reason: one mistake, not two. After many
        wrong steps only such are tried, and slips.

        Parameters
        ----------
        own : Judged
        strict : bool
            Whether the digits that are written must come out.
        """
        found = []
        known = {r.names for r in self.reasons}
        whole = self.looked < MOST_LOOKED
        self.looked += 1
        for tried in self.catalogue.tried:
            if not whole and (tried.mistake.name,) not in known:
                continue
            values = self.worlds(own, tried.change)
            if reason := self.fit(own, (tried.mistake,), tried.change, values, strict):
                found.append(reason)
        again = chosen([r for r in found if r.names in known] or found)
        return again or ([] if strict else self.slips(own) or self.pairs(own))

    def slips(self, own: Judged) -> list[Reason]:
        """Find the slip of each wrong cell, where there are few."""
        return [
            Reason(
                own.step, (Mistake(name, own.step, no_place),), Alternative(), {}, 1, False, 0.0, at
            )
            for at, names in slips(own, self.judgement.carried)
            for name in names[:MOST_REASONS]
        ]

    def pairs(self, own: Judged) -> list[Reason]:
        """Try two mistakes together, where no single one fits: of those that reach the step, a bounded number."""
        if own.bad.sum() < 2:
            return []  # two mistakes explain one number too easily
        carried = self.judgement.carried
        names = carried.names(own.step)
        cells = sum(carried.own[name].numbers.size for name in names)
        cost = 1 + cells // FEW_CELLS
        moving = [
            t
            for t in self.catalogue.tried
            if not t.mistake.general
            and any(eq.out.name in names for eq in t.change.equations)
            and self.moves(own, t.change)
        ]
        found: list[Reason] = []
        for a, b in combinations(moving, 2):
            if self.left < cost or len(found) >= MOST_REASONS:
                break
            both = None if a.mistake.name == b.mistake.name else a.change.with_(b.change)
            if both is not None:
                self.left -= cost
                reason = self.fit(own, (a.mistake, b.mistake), both, self.worlds(own, both), False)
                found += [reason] if reason else []
        return chosen(found)

    def moves(self, own: Judged, change: Alternative) -> bool:
        """Tell whether a mistake changes what follows from the numbers given."""
        value = self.judgement.carried.under(change, own.step, bounded=False)
        return value is not None and (
            value.numbers.shape != own.own.numbers.shape
            or not np.array_equal(value.numbers, own.own.numbers, equal_nan=True)
        )

    def fit(
        self,
        own: Judged,
        mistakes: tuple[Mistake, ...],
        change: Alternative,
        values: Sequence[Value | None],
        strict: bool,
    ) -> Reason | None:
        """Give the reason, if every given cell is what the mistake makes of it."""
        carried, unrounded = values
        cells = own.bad if own.bad.any() else own.wrong
        exact = any(self.digits(own, v) for v in (carried, unrounded) if v)
        value = carried or unrounded
        # numbers that were kept unrounded give the digits written, or they are not those of this mistake
        kept = carried is None and own.answer.read_as == TEXT
        if value is None or ((strict or kept) and not exact):
            return None
        room = self.room(own.answer, value, carried is None)
        if not exact and (
            self.off(own, value, carried is None) or not np.isfinite(room[cells]).all()
        ):
            return None
        if self.contradicted(own, change) or (not exact and self.says_little(own, room, cells)):
            return None
        with np.errstate(all="ignore"):
            parts = np.abs(own.answer.values - value.numbers)[cells] / room[cells]
        off = float(np.nan_to_num(parts).mean()) if parts.size else 0.0
        return Reason(own.step, mistakes, change, change.words, int(cells.sum()), exact, off)

    def says_little(self, own: Judged, room: Array, cells: Array) -> bool:
        """Tell whether a mistake has as much room as written numbers are off by: it would fit others as well."""
        with np.errstate(all="ignore"):
            apart = np.abs(own.answer.values - own.own.numbers)[cells]
            return own.answer.read_as == TEXT and bool((apart < INFORMATIVE * room[cells]).all())

    def contradicted(self, own: Judged, change: Alternative) -> bool:
        """Tell whether a mistake also changes an earlier step that is given, and given otherwise."""
        index = self.judgement.carried.index
        last = index.get(own.step, 0)
        for name in (eq.out.name for eq in change.equations if index.get(eq.out.name, last) < last):
            given = self.judgement.steps.get(name)
            if given is None:
                continue
            worlds = [(self.judgement.carried, change, False)]
            both = self.made if self.made.holds(change) else self.made.with_(change)
            if both is not None:
                worlds.append((self.judgement.plain, both, True))
            values = [(world.under(by, name), cast) for world, by, cast in worlds]
            if all(v is not None and self.off(given, v, cast) for v, cast in values):
                return True
        return False


def chosen(fitting: Sequence[Reason]) -> list[Reason]:
    """Keep the most special reasons, one a mistake with all its forms, the closest first."""
    special = [r for r in fitting if not any(m.general for m in r.mistakes)] or list(fitting)
    strict = [r for r in special if r.strict] or special
    by_name: dict[tuple[str, ...], list[Reason]] = {}
    for reason in sorted(strict, key=lambda r: r.off):
        by_name.setdefault(reason.names, []).append(reason)
    found = []
    for all_forms in by_name.values():
        least = min(len(r.change.equations) for r in all_forms)  # no form where a simpler one does
        forms = [r for r in all_forms if len(r.change.equations) == least]
        words = {
            key: list(dict.fromkeys(r.words[key] for r in forms if key in r.words))
            for key in forms[0].words
        }
        found.append(replace(forms[0], words=words))
    return found[:MOST_REASONS]
