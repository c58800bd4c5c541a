"""Find the mistakes of the catalogue that explain every wrong cell of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import combinations

from blockcalc.check.judge import (
    FOLLOWS,
    WRONG,
    Judged,
    Judgement,
    followed,
)
from blockcalc.check.reasons.fit import Fit, Reason
from blockcalc.check.reasons.slips import (
    CHANCE,
    slips,
    values_of,
)
from blockcalc.check.reasons.ways import equivalents, right_after
from blockcalc.mistakes.alternative import Alternative, Mistake, no_place
from blockcalc.mistakes.catalogue import Catalogue, Tried, in_form
from blockcalc.mistakes.solved import solve
from blockcalc.ops.op import Array
from blockcalc.records import dataclass

MOST_REASONS = 3
MOST_PAIRS = 1000
MOST_LOOKED = 8  # wrong steps on which every mistake is tried
MOST_WORKED = 60_000  # steps worked under mistakes, after which none but the first is looked at so
FEW_CELLS = 4000  # a pair that computes more cells counts as several


@dataclass
class Diagnosis:
    """The judgement with reasons: what is wrong by itself and why, and what follows from it.

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
        self.solutions: list[Tried] = []
        self.fit = Fit(self.judgement)
        steps = dict(self.judgement.steps)
        for name, own in self.judgement.steps.items():
            found: list[Reason] = []
            if own.verdict == WRONG and self.fit.goes_on(own):
                steps[name] = replace(own, verdict=FOLLOWS)
            elif own.verdict == WRONG:
                found = self.of(own)
            elif self.fit.doubtful(own):
                found = [r for r in self.of(own, strict=True) if not r.mistakes[0].general]
                steps[name] = replace(own, verdict=WRONG) if found else own
            self.reasons += found
            if found:
                self.fit.make(found[0].change)
        self.judgement = replace(self.judgement, steps=steps)
        same = [r for r in self.reasons if all(m.same_result for m in r.mistakes)]
        mistaken = {r.step for r in self.reasons if not any(m.same_result for m in r.mistakes)}
        steps, program = followed(self.judgement), self.judgement.trace.program
        ways = {
            r.step: r.change
            for r in reversed(same)
            if r.step not in mistaken or right_after(steps, program, r.step)
        }
        equivalents(self.judgement, steps, ways)
        self.judgement = replace(self.judgement, steps=steps)

    def of(self, own: Judged, strict: bool = False) -> list[Reason]:
        """Find the reasons of a step, the simplest first; none if nothing fits.

        A reason of an earlier step that explains this one too is taken: one mistake, not two.
        After many wrong steps only these and slips are tried.

        Parameters
        ----------
        own : Judged
        strict : bool
            Whether the written digits must be matched exactly.
        """
        known = {name for r in self.reasons for name in r.names if len(r.names) == 1}
        tried = (*self.catalogue.tried, *self.solutions)
        groups = [[t for t in tried if t.mistake.name in known]]
        if whole := self.looked < MOST_LOOKED and (not self.looked or self.worked < MOST_WORKED):
            other = [t for t in tried if t.mistake.name not in known]
            kinds = (False,) if strict else (False, True)
            groups += [[t for t in other if t.mistake.general is general] for general in kinds]
        self.looked += 1
        for group in groups:  # the first in which one fits
            fits = (self.fit.reason(own, (t.mistake,), t.change, strict) for t in group)
            found = [reason for reason in fits if reason]
            if group is groups[0]:
                found = [r for r in found if self.had(r)] or found
            elif found:
                rivals = values_of(own, self.judgement.carried, [t.change for t in group])
                found = [
                    r for r in found if rivals * r.chance <= CHANCE or self.again(own, r, rivals)
                ]
            if found := chosen(self.fit.affirmed(own, found)):
                return found
        if strict:
            return []
        return (self.solved(own) if whole else []) or self.slips(own) or self.pairs(own)

    @property
    def worked(self) -> int:
        """Count the steps that were worked under mistakes."""
        return self.judgement.carried.worked + self.judgement.plain.worked

    def had(self, reason: Reason) -> bool:
        """Tell whether a reason was found before, in one of its forms."""
        same = (r for r in self.reasons if r.names == reason.names)
        return any(in_form(reason.words, r.words) for r in same)

    def again(self, own: Judged, reason: Reason, rivals: int) -> bool:
        """Tell whether a mistake that may fit a step by chance explains other wrong steps too."""
        chance = rivals * reason.chance
        for other in self.judgement.steps.values():
            if other.verdict != WRONG or other is own:
                continue
            also = self.fit.reason(other, reason.mistakes, reason.change)
            chance *= also.chance if also else 1.0
        return chance <= CHANCE

    def solved(self, own: Judged) -> list[Reason]:
        """Solve for the number in a mistake, such as eps, if several cells are wrong."""
        if own.bad.sum() < 2:
            return []

        def numbers(change: Alternative) -> Array | None:
            value = self.judgement.carried.under(change, own.step, bounded=False)
            return None if value is None else value.numbers

        found = []
        for mistake, family in self.catalogue.families:

            def fit(change: Alternative, m: Mistake = mistake) -> Reason | None:
                return self.fit.reason(own, (m,), change)

            reason = solve(
                family, own.answer.values, own.own.numbers, own.answer.judged, numbers, fit
            )
            found += [reason] if reason else []
        self.solutions += [Tried(r.mistakes[0], r.change) for r in found]
        return chosen(found)

    def slips(self, own: Judged) -> list[Reason]:
        """Find the slip of each wrong cell, if there are few."""
        return [
            Reason(own.step, (Mistake(n, own.step, no_place),), Alternative(), {}, 1, False, at=at)
            for at, names in slips(own, self.judgement.carried)
            for n in names[:MOST_REASONS]
        ]

    def pairs(self, own: Judged) -> list[Reason]:
        """Try pairs of mistakes that change the step, up to a limit, if no single one fits."""
        if own.bad.sum() < 2:
            return []  # a pair explains one number too easily
        carried = self.judgement.carried
        names = carried.names(own.step)
        cells = sum(carried.own[name].numbers.size for name in names)
        cost = 1 + cells // FEW_CELLS
        moving = [
            t
            for t in self.catalogue.tried
            if not t.mistake.general
            and any(eq.out.name in names for eq in t.change.equations)
            and self.fit.moves(own, t.change)
        ]
        found: list[Reason] = []
        stop = self.worked + MOST_WORKED // 2
        for a, b in combinations(moving, 2):
            if self.left < cost or self.worked > stop or len(found) >= MOST_REASONS:
                break
            both = None if a.mistake.name == b.mistake.name else a.change.with_(b.change)
            if both is not None:
                self.left -= cost
                reason = self.fit.reason(own, (a.mistake, b.mistake), both)
                found += [reason] if reason else []
        return chosen(found)


def chosen(fitting: Sequence[Reason]) -> list[Reason]:
    """Keep the most specific reasons, one per mistake with all its forms, the closest first."""
    special = [r for r in fitting if not any(m.general for m in r.mistakes)] or list(fitting)
    strict = [r for r in special if r.strict] or special
    by_name: dict[tuple[str, ...], list[Reason]] = {}
    for reason in sorted(strict, key=lambda r: r.off):
        by_name.setdefault(reason.names, []).append(reason)
    found = []
    for all_forms in by_name.values():
        least = min(len(r.change.equations) for r in all_forms)  # no form if a simpler one fits
        forms = [r for r in all_forms if len(r.change.equations) == least]
        words = {
            key: list(dict.fromkeys(r.words[key] for r in forms if key in r.words))
            for key in forms[0].words
        }
        found.append(replace(forms[0], words=words))
    return found[:MOST_REASONS]
