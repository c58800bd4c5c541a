"""The catalogue: every mistake by its name."""

from __future__ import annotations

from blockcalc.mistakes import arithmetic, backward, layers, norms, orders
from blockcalc.mistakes.alternative import Mistake
from blockcalc.mistakes.attention import added, heads, masks, padding, positions, scores, softmaxes

FAMILIES = (
    scores,
    masks,
    padding,
    added,
    softmaxes,
    positions,
    heads,
    layers,
    orders,
    norms,
    backward,
    arithmetic,
)
MISTAKES: dict[str, Mistake] = {m.name: m for family in FAMILIES for m in family.MISTAKES}
