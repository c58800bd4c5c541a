"""Mistakes with a number that is solved from what is given: eps, the scale of the scores, theta."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from blockcalc.mistakes.alternative import Alternative, Block, everywhere, extra, instead
from blockcalc.mistakes.attention.positions import turned_by, turnings
from blockcalc.mistakes.attention.scores import Attention, attentions, times
from blockcalc.mistakes.norms import with_eps
from blockcalc.ops.op import Array
from blockcalc.records import dataclass

DIGITS = 17  # of a float64
STEPS = 12  # of Gauss and Newton
HALVINGS = 5  # of a step
SLOPE = 1e-5  # by so much the logarithm of the number is moved for the slope
OTHERS = (
    0.5,
    0.8,
    1.25,
    2.0,
)  # times the number: where one of these fits too, the data do not tell it
NEARER = 0.5  # of what a step is off without the mistake: so much may be left with it
Numbers = Callable[[Alternative], Array | None]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Family:
    """A mistake with one positive number.

    Attributes
    ----------
    low, high : float
        The number lies between them.
    make : callable
        Gives what is worked instead for a number.
    starts : int
        How many numbers are tried first: more where a step goes up and down with it.
    """

    low: float
    high: float
    make: Callable[[float], Alternative]
    starts: int = 12


Families = Callable[[Block], Iterator[Family]]


# which numbers ----------------------------------------------------------------------------------


def eps(block: Block) -> Iterator[Family]:
    """Take another eps, in one norm or in all."""
    makes: list[Callable[[float], Alternative]] = list(with_eps(block))
    if len(makes) > 1:
        makes.append(partial(_at_each, tuple(makes)))
    yield from (Family(1e-12, 1e3, make) for make in makes)


def _at_each(makes: Sequence[Callable[[float], Alternative]], number: float) -> Alternative:
    return next(everywhere([make(number) for make in makes]), Alternative())


def scale(block: Block) -> Iterator[Family]:
    """Multiply the scores by another factor."""
    for a in attentions(block):
        for make in _scaled if a.step("scaled") is None else (_rescaled,):
            yield Family(1e-4, 1e4, partial(make, a))


def _words(a: Attention, factor: float) -> dict[str, str]:
    return {"factor": f"{factor:.7g}", "own": f"{a.factor:.4g}"}


def _rescaled(a: Attention, factor: float) -> Alternative:
    eq = a.step("scaled")
    assert eq is not None
    return Alternative((instead(eq, times(factor)),), words=_words(a, factor))


def _later(a: Attention, factor: float) -> Alternative:
    """Scale where the block does not, after the scores."""
    own = extra(f"{a.name}.scaled", times(factor), a.scores.out)
    return Alternative((own, *a.later(a.scores.out.name, own.out)), words=_words(a, factor))


def _at_once(a: Attention, factor: float) -> Alternative:
    """Scale where the block does not, within the scores."""
    plain = extra(f"{a.name}.unscaled", a.scores.op, *a.scores.inputs)
    scaled = instead(a.scores, times(factor), plain.out)
    return Alternative((plain, scaled), words=_words(a, factor))


_scaled = (_later, _at_once)


def theta(block: Block) -> Iterator[Family]:
    """Take another theta."""
    for turning in turnings(block):
        yield Family(1.5, 1e10, partial(turned_by, turning), 60)


FAMILIES: Mapping[str, Families] = {"eps_other": eps, "scale_other": scale, "rope_theta": theta}


# solving ----------------------------------------------------------------------------------------


def solve(
    family: Family,
    given: Array,
    own: Array,
    judged: Array,
    numbers: Numbers,
    fit: Callable[[Alternative], Found | None],
) -> Found | None:
    """Find the number that explains the answer: the shortest decimal, if no other one fits.

    Parameters
    ----------
    family : Family
    given : ndarray
        A person's numbers for a step, in its shape.
    own : ndarray
        Those that follow without the mistake.
    judged : ndarray of bool
        Which of them are given.
    numbers : callable
        Gives the step as it would be under an alternative, None where that has no part in it.
    fit : callable
        Gives what is found where an alternative explains every cell, else None.
    """
    near = _nearest(family, given, own, judged, numbers)
    if near is None:
        return None
    for digits in range(DIGITS):
        number = float(f"{near:.{digits}e}")
        found = fit(family.make(number))
        if found is not None:
            others = (fit(family.make(number * by)) for by in OTHERS)
            return None if any(other is not None for other in others) else found
    return None


@np.errstate(over="ignore", invalid="ignore")  # an answer may be as large as float64 allows
def _nearest(
    family: Family, given: Array, own: Array, judged: Array, numbers: Numbers
) -> float | None:
    """Find the number whose step is nearest to what is given, by least squares in its logarithm.

    None where it is not much nearer than the step without the mistake.
    """

    def gap(at: float) -> Array | None:
        made = numbers(family.make(float(np.exp(at))))
        if made is None or made.shape != given.shape:
            return None
        finite = np.isfinite(given) & np.isfinite(made)
        if (judged & ~finite & (given != made)).any():
            return None  # another number changes no mask
        return np.asarray(np.where(finite, given - made, 0.0)[judged])

    starts = np.linspace(np.log(family.low), np.log(family.high), family.starts)
    gaps = [(float(at), gap(float(at))) for at in starts]
    known = [(float(np.abs(left).sum()), at, left) for at, left in gaps if left is not None]
    if not known:
        return None
    size, at, left = min(known, key=lambda one: one[0])
    for _ in range(STEPS):
        ahead, back = gap(at + SLOPE), gap(at - SLOPE)
        if ahead is None or back is None:
            return None
        slope = (ahead - back) / (2 * SLOPE)
        square = float(slope @ slope)
        if not square:
            return None
        step = float(np.clip(slope @ left / square, -2, 2))
        for _ in range(HALVINGS):  # a step may lead too far
            then = gap(at - step)
            if then is not None and float(np.abs(then).sum()) < size:
                size, at, left = float(np.abs(then).sum()), at - step, then
                break
            step /= 2
        else:
            break
    apart = np.abs(given - own)[judged & np.isfinite(given) & np.isfinite(own)]
    near = size < NEARER * float(apart.sum()) and family.low < np.exp(at) < family.high
    return float(np.exp(at)) if near else None
