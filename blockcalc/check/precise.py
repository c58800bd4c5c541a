"""Right numbers with many digits, where the error of double precision is too wide to judge by."""

from __future__ import annotations

import math
from dataclasses import field
from decimal import Decimal

import numpy as np

from blockcalc.answers.answer import TEXT, Answer
from blockcalc.check.carried import Carried, Value
from blockcalc.explain.arithmetic import decimal_value
from blockcalc.ops.expr import At, Cell, walk
from blockcalc.ops.op import Op
from blockcalc.program.program import Equation
from blockcalc.records import dataclass

DIGITS = (60, 1400, 2800)  # a difference of products of float64 numbers needs up to 1300
SAME = 1e-16  # relative: with so little between two precisions the number is known
MOST_CELLS = 20_000  # looked at for all answers together
LOOSE = 1e-6  # a smaller relative error hides nothing
SEEN = 0.25  # of half a unit of the last digit: a smaller error hides little
UNIT = 1e-9  # of the largest number of a step: the unit of a number that is given exactly

Place = tuple[str, At]


class Unknown(Exception):
    """A number that cannot be computed with more digits."""


def sharpened(name: str, answer: Answer, work: Precise) -> Value:
    """Work given cells with more digits where their error is wide beside the digits written.

    A cell that cannot be worked so keeps its number and its error.

    Parameters
    ----------
    name : str
        The step.
    answer : Answer
    work : Precise
        The run that gives its numbers and their errors.
    """
    run, right = work.run, work.run.own[name]
    if answer.read_as != TEXT or run.rounding is not None or run.storage is not None:
        return right
    size = np.abs(right.numbers)
    unit = UNIT * size.max(initial=0.0, where=np.isfinite(size))
    with np.errstate(all="ignore"):
        wide = right.error > SEEN * np.where(answer.half > 0, answer.half, unit)
        wide &= answer.judged & ~(right.error <= LOOSE * size)
    if not wide.any() or work.leans_on_digits(name):
        return right
    numbers, error = right.numbers.copy(), right.error.copy()
    for at in (tuple(map(int, place)) for place in np.argwhere(wide)):
        if (known := work.number((name, at))) is not None:
            numbers[at], error[at] = known, SAME * abs(known)
    return Value(numbers, error)


@dataclass
class Precise:
    """The cells of a run that others are computed from, each worked once for each precision."""

    run: Carried
    known: dict[int, dict[Place, Decimal]] = field(default_factory=dict)
    left: int = field(default_factory=lambda: MOST_CELLS)

    def leans_on_digits(self, name: str) -> bool:
        """Tell whether a step is computed from answers that are written with few digits."""
        pins = self.run.pins
        before = (self.run.equation(own) for own in self.run.names(name)) if pins else ()
        used = {ref.name for eq in before if eq is not None for ref in eq.inputs}
        return any(ref in pins and (pins[ref].half[pins[ref].judged] > 0).any() for ref in used)

    def number(self, place: Place) -> float | None:
        """Give a cell; None if precisions disagree, or it depends on a number with few digits."""
        if self.left < 0:
            return None
        before: float | None = None
        try:
            for digits in DIGITS:
                own = float(self._worked(place, self.known.setdefault(digits, {}), digits))
                if before is not None and abs(own - before) <= SAME * abs(own):
                    return own
                before = own
        except (Unknown, OverflowError):
            pass
        return None

    def _worked(self, first: Place, known: dict[Place, Decimal], digits: int) -> Decimal:
        """Work a cell and all that it needs."""
        open_ = [first]
        while open_:
            place = open_[-1]
            if place in known:
                open_.pop()
                continue
            eq = self._equation(place, place == first)
            if eq is None:
                known[place] = self._given(place)
                continue
            self.left -= 1
            if self.left < 0:
                raise Unknown
            tree = eq.op.cell(place[1], eq.inputs)
            used = {e: (eq.inputs[e.operand].name, e.at) for e in walk(tree) if isinstance(e, Cell)}
            if missing := [p for p in used.values() if p not in known]:
                open_ += missing
                continue
            value = decimal_value(tree, lambda e, used=used: known[used[e]], digits)  # type: ignore[misc]
            if value is None:
                raise Unknown
            known[place] = value
        return known[first]

    def _equation(self, place: Place, whole: bool) -> Equation | None:
        """Give what a cell is computed by; None if it is given."""
        pin = None if whole else self.run.pins.get(place[0])
        if pin is not None and pin.judged[place[1]]:
            return None
        eq = self.run.equation(place[0])
        if eq is not None and type(eq.op).cell is Op.cell:
            raise Unknown  # drawn, not computed
        return eq

    def _given(self, place: Place) -> Decimal:
        """Give a number of the block, or one of the answers that is exact."""
        name, at = place
        pin = self.run.pins.get(name)
        given = pin is not None and bool(pin.judged[at])
        if pin is not None and given and pin.half[at]:
            raise Unknown
        number = float(pin.numbers[at] if pin is not None and given else self.run.inputs[name][at])
        if math.isnan(number):
            raise Unknown
        return Decimal(number)
