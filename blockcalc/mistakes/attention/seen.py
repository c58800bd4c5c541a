"""Other masks in place of those of an attention, and what becomes of a row that sees no key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from blockcalc.mistakes.alternative import Alternative, instead
from blockcalc.mistakes.attention.scores import Attention, Mask
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Expr, Slot, call
from blockcalc.ops.op import Array
from blockcalc.program.program import Equation


def using(a: Attention, arrays: Mapping[str, Array], **words: Any) -> Iterator[Alternative]:
    """Use other masks; yield nothing if they mask the same scores.

    A row that sees no key then is 0, as the convention is, nan, or uniform.
    """
    values = {**a.block.trace.arrays, **arrays}
    for eq in (a.step("allowed"), a.step("masked")):
        if eq is not None:
            with np.errstate(all="ignore"):
                values[eq.out.name] = eq.op.forward([values[ref.name] for ref in eq.inputs])
    last = f"{a.name}.masked"
    if not np.array_equal(values[last], a.block.trace.arrays[last], equal_nan=True):
        yield Alternative(arrays=arrays, words=words)
        if np.isneginf(values[last]).all(axis=-1).any():
            for eq in blind_rows(a):
                yield Alternative((eq,), arrays, {**words, "at": "blind"})


def blind_rows(a: Attention) -> Iterator[Equation]:
    """Give the weights of rows that see no key by other conventions than 0: nan, and uniform."""
    eq = a.step("weights")
    if eq is None or len(eq.inputs) != 2:
        return
    n = eq.out.shape[-1]

    def uniform(power: Expr, total: Expr) -> Expr:
        none = 1.0 - call("allowed", total)
        return (power + none) / (total + n * none)

    for body in (lambda power, total: power / total, uniform):
        yield instead(eq, Elementwise.on(body, *eq.inputs, axes=eq.out.axes))


def with_nan(change: Alternative, scores: Array) -> Iterator[Alternative]:
    """Yield other weights, and the same where 0/0 is nan; they are the last equation."""
    yield change
    *before, last = change.equations
    if np.isneginf(scores).any() and isinstance(last.op, Elementwise):
        op = Elementwise(Slot(0) / Slot(1), None, last.op.placements)
        yield replace(change, equations=(*before, instead(last, op)), words={"at": "nan"})


def listed_masks(found: Sequence[Mask]) -> str:
    """List masks in a sentence."""
    return " and ".join(mask.label for mask in found)
