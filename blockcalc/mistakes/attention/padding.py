"""Mistakes in padding: that of another batch entry, at the other end, or of queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np

from blockcalc.messages import say
from blockcalc.mistakes.alternative import Alternative, Mistake, constant, extra, instead
from blockcalc.mistakes.attention.added import masking
from blockcalc.mistakes.attention.scores import Attention, Mask, each, masks
from blockcalc.mistakes.attention.seen import blind_rows, using

MOST_ORDERED = 4  # batch entries of which every order is tried


def _padding(a: Attention) -> Mask | None:
    """Give the padding of an attention, if it hides a key."""
    found = (mask for mask in masks(a) if mask.key == "padding")
    return next((mask for mask in found if not mask.allowed.all()), None)


def _orders(n: int) -> list[tuple[int, ...]]:
    """List other orders of batch entries: all of a few, else reversed and by one."""
    own = tuple(range(n))
    if n <= MOST_ORDERED:
        return [order for order in permutations(own) if order != own]
    return [own[::-1], (*own[1:], 0), (n - 1, *own[:-1])]


@each
def mask_padding_entries(a: Attention) -> Iterator[Alternative]:
    """Use the padding of one batch entry for all, or of the entries in another order."""
    mask = _padding(a)
    if mask is None or mask.array.ndim < 2:
        return
    n = len(mask.array)
    for i, row in enumerate(mask.array):
        if row.all():
            continue  # that would be no padding
        which = say("form.padding.one", i=i + 1)
        yield from using(a, {mask.name: np.broadcast_to(row, mask.array.shape)}, which=which)
    for order in _orders(n):
        which = say("form.padding.order", order=", ".join(str(i + 1) for i in order))
        yield from using(a, {mask.name: mask.array[list(order)]}, which=which)


@each
def mask_padding_entry_missing(a: Attention) -> Iterator[Alternative]:
    """Forget the padding of one batch entry."""
    mask = _padding(a)
    if mask is None or mask.array.ndim < 2:
        return
    if int((~mask.allowed).any(axis=-1).sum()) < 2:
        return  # that would be all of the padding
    for i in range(len(mask.array)):
        other = mask.array.copy()
        other[i] = 1.0
        yield from using(a, {mask.name: other}, i=i + 1)


@each
def mask_padding_flipped(a: Attention) -> Iterator[Alternative]:
    """Put the padding at the other end."""
    if mask := _padding(a):
        yield from using(a, {mask.name: mask.array[..., ::-1]})


@each
def mask_padding_queries(a: Attention) -> Iterator[Alternative]:
    """Hide all keys from padded queries: in place of hiding padded keys, or as well."""
    mask, eq = _padding(a), a.step("masked")
    if mask is None or eq is None or eq.out.shape[-1] != eq.out.shape[-2]:
        return
    own = constant(f"{a.name}.queries", mask.array, eq.out)
    own = replace(own, axes=("batch", "query")[-mask.array.ndim :])
    for also in (False, True):
        before = extra(f"{eq.out.name}.seen", eq.op, *eq.inputs)
        before = replace(before, out=replace(before.out, axes=eq.out.axes))
        changed = (before, instead(eq, masking(before.out, own), before.out, own))
        arrays = {own.name: mask.array}
        if not also:
            arrays[mask.name] = np.ones_like(mask.array)
        words = {"which": say(f"form.padding.{'both' if also else 'queries'}")}
        yield Alternative(changed, arrays, words)
        for blind in blind_rows(a):
            yield Alternative((*changed, blind), arrays, {**words, "at": "blind"})


MISTAKES = (
    Mistake("mask_padding_entries", "attn.masked", mask_padding_entries),
    Mistake("mask_padding_entry_missing", "attn.masked", mask_padding_entry_missing),
    Mistake("mask_padding_flipped", "attn.masked", mask_padding_flipped),
    Mistake("mask_padding_queries", "attn.masked", mask_padding_queries),
)
