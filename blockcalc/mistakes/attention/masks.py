"""Mistakes in masks: which keys a query sees, what stands for minus infinity, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from blockcalc.mistakes.alternative import (
    Alternative,
    Block,
    Mistake,
    constant,
    copied,
    extra,
    instead,
)
from blockcalc.mistakes.attention.scores import Attention, Mask, each, masks
from blockcalc.mistakes.attention.seen import listed_masks, using
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Call, Expr, Slot, call, fill
from blockcalc.ops.op import Array, Ref
from blockcalc.program.program import Equation

# which keys are seen -----------------------------------------------------------------------------


@each
def mask_missing(a: Attention) -> Iterator[Alternative]:
    """Leave out one mask, all masks, or the use of the masked scores."""
    found = masks(a)
    for group in [[mask] for mask in found] + ([found] if len(found) > 1 else []):
        arrays = {m.name: (np.zeros_like if m.adds else np.ones_like)(m.array) for m in group}
        yield from using(a, arrays, mask=listed_masks(group))
    eq, values = a.step("masked"), a.block.trace.arrays
    if eq is None or np.array_equal(values[eq.out.name], values[eq.inputs[0].name]):
        return
    if used := a.later(eq.out.name, eq.inputs[0]):
        yield Alternative(used, words={"mask": listed_masks(found), "at": "later"})


@each
def mask_inverted(a: Attention) -> Iterator[Alternative]:
    """Invert a mask: visible keys are masked and masked keys visible; negate added masks."""
    for mask in masks(a):
        if not mask.allowed.all():
            yield from using(a, {mask.name: mask.of(~mask.allowed)}, mask=mask.label)
        elif mask.adds:
            yield from using(a, {mask.name: -mask.array}, mask=mask.label)
    eq = a.step("allowed")
    if eq is not None and not a.block.trace.arrays[eq.out.name].all():
        words = {"mask": f"{a.spec.name}.allowed"}
        invert = Elementwise(1.0 - call("allowed", Slot(0)))
        plain = extra(eq.out.name, eq.op, *eq.inputs)
        yield Alternative((plain, instead(eq, invert, plain.out)), words=words)
        other = extra(f"{eq.out.name}.inverted", invert, eq.out)
        yield Alternative((other, *a.later(eq.out.name, other.out)), words=words | {"at": "later"})


@each
def mask_transposed(a: Attention) -> Iterator[Alternative]:
    """Transpose a mask: the other triangle."""
    for mask in masks(a):
        if mask.square:
            yield from using(a, {mask.name: mask.array.swapaxes(-1, -2)}, mask=mask.label)


def band(allowed: Array) -> tuple[int, int] | None:
    """Give the first and last visible key relative to the query; None if rows differ in it.

    Examples
    --------
    >>> band(np.tri(4) - np.tri(4, k=-2))
    (-1, 0)
    """
    t = allowed.shape[-1]
    rows = (np.reshape(allowed, (-1, t, t)) != 0) if t else np.zeros((0, 0, 0), dtype=bool)
    offsets = np.arange(t) - np.arange(t)[:, None]
    seen = offsets[rows[0]] if len(rows) else offsets[:0]
    if not seen.size:
        return None
    low, high = int(seen.min()), int(seen.max())
    return (low, high) if (rows == ((offsets >= low) & (offsets <= high))).all() else None


def _banded(a: Attention) -> Iterator[tuple[list[Mask], int, int]]:
    """Yield the masks that are bands, alone and together, with their first and last key."""
    square = [m for m in masks(a) if m.square and not m.allowed.all()]
    groups = [[mask] for mask in square] + ([square] if len(square) > 1 else [])
    for group in groups:
        edges = band(reduce(np.logical_and, (m.allowed for m in group)))
        if edges is not None:
            yield group, *edges


def _band(
    a: Attention, group: Sequence[Mask], low: int, high: int, **words: Any
) -> Iterator[Alternative]:
    """Replace the band in each of these masks."""
    t = group[0].keys
    offsets = np.arange(t) - np.arange(t)[:, None]
    seen = (offsets >= low) & (offsets <= high)
    if low <= high:
        arrays = {mask.name: mask.of(seen) for mask in group}
        yield from using(a, arrays, mask=listed_masks(group), **words)


@each
def mask_off_by_one(a: Attention) -> Iterator[Alternative]:
    """Show each query one key more or fewer at the end, or leave out one key of the padding."""
    for group, low, high in _banded(a):
        if high < group[0].keys - 1 and -low != high:
            yield from _band(a, group, low, high - 1, by="-1")
            yield from _band(a, group, low, high + 1, by="+1")
    for mask in (m for m in masks(a) if m.key == "padding"):
        seen = mask.allowed
        after, before = seen.copy(), seen.copy()
        after[..., 1:], before[..., :-1] = seen[..., :-1], seen[..., 1:]
        fewer = [seen & after & before]
        for end, other in ((0, after), (-1, before)):  # rows without padding lose a key too
            rest = other.copy()
            rest[..., end] = False
            fewer.append(seen & rest)
        for by, other in (("+1", seen | after | before), *(("-1", other) for other in fewer)):
            yield from using(a, {mask.name: mask.of(other)}, mask=mask.label, by=by)


def _windows(a: Attention) -> Iterator[tuple[list[Mask], int, int]]:
    """Yield the bands with a limited number of earlier keys."""
    for group, low, high in _banded(a):
        if 1 - group[0].keys < low <= 0:
            yield group, low, high


def _window_by(more: int) -> Callable[[Block], Iterator[Alternative]]:
    """Widen a window by some keys."""

    @each
    def make(a: Attention) -> Iterator[Alternative]:
        for group, low, high in _windows(a):
            if low - more <= 0:
                ahead = high + more if high == -low and low else high
                yield from _band(a, group, low - more, ahead, width=1 - low)

    return make


@each
def window_both_sides(a: Attention) -> Iterator[Alternative]:
    """Extend a window as far ahead as back."""
    for group, low, high in _windows(a):
        if high == 0 and low < 0:
            yield from _band(a, group, low, -low)


@each
def window_missing(a: Attention) -> Iterator[Alternative]:
    """Leave out the window of a causal mask, but keep the mask causal."""
    for group, _, high in _windows(a):
        if high == 0:
            yield from _band(a, group, 1 - group[0].keys, high)


# the scores without masks ------------------------------------------------------------------------


def parts(eq: Equation) -> tuple[Expr, Expr | None]:
    """Split masked scores into their sum and the mask."""
    body = eq.op.body if isinstance(eq.op, Elementwise) else Slot(0)
    match body:
        case Call(function="mask", args=(total, keep)):
            return total, keep
    return body, None


def _blocking(a: Attention) -> list[tuple[Mask, Ref]]:
    """List the masks that add minus infinity, as inputs."""
    refs = {ref.name: ref for ref in a.block.program.inputs}
    return [(m, refs[m.name]) for m in masks(a) if m.adds and not m.allowed.all()]


def unmasked(
    a: Attention, zero: bool = False
) -> tuple[tuple[Equation, ...], dict[str, Array], Ref]:
    """Give the scores without masking, or with 0 for masked keys."""
    eq = a.step("masked")
    if eq is None:
        scaled = a.step("scaled") or a.scores
        return (), {}, scaled.out
    total, keep = parts(eq)
    arrays: dict[str, Array] = {}
    finite: dict[str, Ref] = {}
    for mask, ref in _blocking(a):
        finite[ref.name] = constant(f"{ref.name}.finite", mask.array, ref)
        arrays[finite[ref.name].name] = np.where(mask.allowed, mask.array, 0.0)
    inputs = tuple(finite.get(ref.name, ref) for ref in eq.inputs)
    body = total * call("allowed", keep) if zero and keep is not None else total
    op = Elementwise.on(lambda *slots: fill(body, slots), *inputs, axes=eq.out.axes)
    plain = extra(f"{a.name}.unmasked", op, *inputs)
    if not (zero and finite):
        return (plain,), arrays, plain.out
    seen, more = _seen(a)
    product = Elementwise.on(_product, plain.out, *seen, axes=eq.out.axes)
    cleared = extra(f"{a.name}.cleared", product, plain.out, *seen)
    return (plain, cleared), {**arrays, **more}, cleared.out


def _seen(a: Attention) -> tuple[list[Ref], dict[str, Array]]:
    """Give 1 for the keys that an added mask leaves visible, else 0."""
    found, arrays = [], {}
    for mask, ref in _blocking(a):
        own = constant(f"{ref.name}.seen", mask.array, ref)
        found.append(own)
        arrays[own.name] = mask.allowed.astype(np.float64)
    return found, arrays


def _product(x: Expr, *allowed: Expr) -> Expr:
    return reduce(mul, (call("allowed", m) for m in allowed), x)


@each
def mask_after_softmax(a: Attention) -> Iterator[Alternative]:
    """Take the softmax over all keys, then set the weights of masked keys to 0."""
    eq, weights = a.step("masked"), a.step("weights")
    if eq is None or weights is None or all(m.allowed.all() for m in masks(a)):
        return
    steps, arrays, scores = unmasked(a)
    plain = extra(f"{weights.out.name}.all", weights.op, *weights.inputs)
    seen, more = _seen(a)
    factors = [eq.inputs[-1], *seen] if parts(eq)[1] is not None else seen
    inputs = (plain.out, *factors)
    op = Elementwise.on(_product, *inputs, axes=weights.out.axes)
    thinned = (plain, instead(weights, op, *inputs))
    yield Alternative((*steps, copied(eq, scores), *thinned), {**arrays, **more})


@each
def mask_before_scale(a: Attention) -> Iterator[Alternative]:
    """Scale mask.add with the scores."""
    scaled = a.step("scaled")
    for mask in (m for m in masks(a) if m.adds and scaled is not None):
        finite = np.where(mask.allowed, mask.array, 0.0) * a.factor
        yield from using(a, {mask.name: np.where(mask.allowed, finite, -np.inf)})


MISTAKES = (
    Mistake("mask_missing", "attn.masked", mask_missing),
    Mistake("mask_inverted", "attn.masked", mask_inverted),
    Mistake("mask_transposed", "attn.masked", mask_transposed),
    Mistake("mask_after_softmax", "attn.weights", mask_after_softmax),
    Mistake("mask_off_by_one", "attn.masked", mask_off_by_one),
    Mistake("mask_before_scale", "attn.masked", mask_before_scale),
    Mistake("window_wider", "attn.masked", _window_by(1)),
    Mistake("window_narrower", "attn.masked", _window_by(-1)),
    Mistake("window_both_sides", "attn.masked", window_both_sides),
    Mistake("window_missing", "attn.masked", window_missing),
)
