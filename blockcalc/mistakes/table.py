"""The catalogue: every mistake by its name."""

from __future__ import annotations

from blockcalc.mistakes import arithmetic, backward, layers, losses, orders
from blockcalc.mistakes.alternative import Mistake
from blockcalc.mistakes.attention import (
    added,
    finite,
    heads,
    masks,
    padding,
    positions,
    scores,
    softmaxes,
)
from blockcalc.mistakes.norms import divisors, gains, statistics

FAMILIES = (
    scores,
    masks,
    finite,
    padding,
    added,
    softmaxes,
    positions,
    heads,
    layers,
    orders,
    divisors,
    statistics,
    gains,
    losses,
    backward,
    arithmetic,
)
MISTAKES: dict[str, Mistake] = {m.name: m for family in FAMILIES for m in family.MISTAKES}
