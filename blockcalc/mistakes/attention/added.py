"""What a block does not have: a causal mask, one over the first or last keys, a soft cap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from blockcalc.messages import say
from blockcalc.mistakes.alternative import Alternative, Mistake, constant, extra, instead
from blockcalc.mistakes.attention.scores import Attention, each, masks
from blockcalc.ops.elementwise import Elementwise, Masked
from blockcalc.ops.expr import Slot, call
from blockcalc.ops.op import Array, Ref

MOST_KEYS = 8  # so many at either end are tried as padding
CAPS = (50.0, 30.0, 20.0, 15.0, 10.0)  # as models have them
MOST_WAYS = 64  # of padding a batch, each entry with its own number of keys


def _hidden(
    a: Attention, allowed: Array, by_entry: bool = False, **words: str
) -> Iterator[Alternative]:
    """Set more scores to minus infinity: within the last step before the softmax, or after it."""
    eq = a.step("masked") or a.step("scaled") or a.scores
    axes = ("batch", "key") if by_entry else ("query", "key")[-allowed.ndim :]
    name = f"{a.name}.allowed"
    mask = replace(constant(name, allowed, eq.out), axes=axes)
    arrays = {mask.name: allowed}
    before = extra(f"{eq.out.name}.seen", eq.op, *eq.inputs)
    before = replace(before, out=replace(before.out, axes=eq.out.axes))
    yield Alternative(
        (before, instead(eq, masking(before.out, mask), before.out, mask)), arrays, words
    )
    if used := _after(a, eq.out, mask):
        yield replace(used, arrays=arrays, words=words | {"at": "later"})


def masking(scores: Ref, mask: Ref) -> Elementwise:
    """Give minus infinity for scores whose mask is 0."""
    return Masked.on(lambda s, m: call("mask", s, m), scores, mask, axes=scores.axes)


def _after(a: Attention, scores: Ref, mask: Ref) -> Alternative | None:
    """Go on with masked scores, while the scores are given without the mask."""
    own = extra(f"{a.name}.hidden", masking(scores, mask), scores, mask)
    used = a.later(scores.name, own.out)
    return Alternative((own, *used)) if used else None


def _seen(a: Attention) -> Array:
    """Tell which keys the block lets be seen."""
    eq = a.step("masked")
    scores = a.block.trace.arrays[eq.out.name if eq else a.scores.out.name]
    return np.asarray(~np.isneginf(scores))


@each
def mask_causal_added(a: Attention) -> Iterator[Alternative]:
    """Let no query see a later key, where the block lets some."""
    t, keys = a.scores.out.shape[-2:]
    allowed = np.tri(t, keys, keys - t)
    if (_seen(a) & (allowed == 0)).any():
        yield from _hidden(a, allowed)


@each
def mask_padding_added(a: Attention) -> Iterator[Alternative]:
    """Let no query see some keys at one end, where the block lets them be seen."""
    keys = a.scores.out.shape[-1]
    seen = np.any(_seen(a).reshape(-1, keys), axis=0, keepdims=True)[0]
    for n in range(1, min(MOST_KEYS, keys - 1) + 1):
        for end in ("last", "first"):
            allowed = np.ones(keys)
            allowed[slice(keys - n, None) if end == "last" else slice(n)] = 0
            if seen[allowed == 0].any() and seen[allowed != 0].any():
                yield from _hidden(a, allowed, which=say(f"form.keys.{end}", n=n))
    padded = any(mask.key == "padding" for mask in masks(a))
    if a.scores.out.axes[0] == "batch" and not padded:
        yield from _by_entry(a, a.scores.out.shape[0], keys)


def _by_entry(a: Attention, entries: int, keys: int) -> Iterator[Alternative]:
    """Hide another number of keys in each batch entry, where there are few ways."""
    if keys**entries > MOST_WAYS:
        return
    for counts in product(range(keys), repeat=entries):
        if len(set(counts)) == 1:
            continue
        for end in ("last", "first"):
            allowed = np.ones((entries, keys))
            for row, n in zip(allowed, counts, strict=True):
                row[slice(keys - n, None) if end == "last" else slice(n)] = 0
            which = say(f"form.keys.{end}", n=", ".join(map(str, counts)))
            yield from _hidden(a, allowed, True, which=which)


@each
def softcap_added(a: Attention) -> Iterator[Alternative]:
    """Cap the scores smoothly, before they are masked: in the last step before that, or after."""
    eq = a.step("scaled") or a.scores
    for cap in CAPS:
        op = Elementwise(cap * call("tanh", Slot(0) / cap))
        before = extra(f"{eq.out.name}.uncapped", eq.op, *eq.inputs)
        yield Alternative((before, instead(eq, op, before.out)), words={"cap": f"{cap:g}"})
        own = extra(f"{a.name}.capped", op, eq.out)
        if used := a.later(eq.out.name, own.out):
            yield Alternative((own, *used), words={"cap": f"{cap:g}", "at": "later"})


MISTAKES = (
    Mistake("mask_causal_added", "attn.masked", mask_causal_added),
    Mistake("mask_padding_added", "attn.masked", mask_padding_added),
    Mistake("softcap_added", "attn.scaled", softcap_added),
)
