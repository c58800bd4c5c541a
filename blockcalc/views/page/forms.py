"""A block in each form that a reader may switch to: its orders, and with other masks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Piece
from blockcalc.explain.steps import explain
from blockcalc.nn.attention import ADDED, KEEPERS
from blockcalc.nn.block import build
from blockcalc.nn.orders import ORDERS
from blockcalc.nn.run import run
from blockcalc.nn.spec import AttentionSpec, Spec
from blockcalc.ops.op import Array
from blockcalc.program.trace import Trace

MASKS = ("given", "causal", "none")


@dataclass(frozen=True, eq=False)
class Variant:
    """A form of a block.

    ``mask`` is ``given`` for the masks of the file, ``causal``, or ``none``.
    """

    order: str
    mask: str
    spec: Spec
    trace: Trace
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class Live:
    """What a live page is made from; the first form is that of the file."""

    spec: Spec
    depth: Depth
    variants: tuple[Variant, ...]


def live(spec: Spec, trace: Trace, depth: Depth) -> Live:
    """Work a block in every order, with the masks of the file, a causal one and none.

    Parameters
    ----------
    spec : Spec
    trace : Trace
        Its run, which is the first form.
    depth : Depth
        How much is shown; steps cannot be chosen, as each is computed from those before.
    """
    own = replace(depth, patterns=(), pictures=False)
    return Live(spec, own, tuple(_variants(spec, trace, own)))


def _variants(spec: Spec, trace: Trace, depth: Depth) -> Iterator[Variant]:
    orders = sorted(ORDERS, key=lambda order: order != spec.order)
    seen: set[tuple[str, frozenset[str]]] = set()
    for order in orders:
        for mask in MASKS:
            changed = _with_mask(spec.with_order(order), mask)
            key = order, frozenset(changed.arrays)
            if key in seen or not _runs(changed):
                continue
            seen.add(key)
            same = (order, mask) == (spec.order, "given")
            done = trace if same else run(changed)
            pieces = tuple(explain(changed, done, depth))
            yield Variant(order, mask, changed, done, pieces)


def _runs(spec: Spec) -> bool:
    """Tell whether a form has the step at which the file stops."""
    if not spec.stop:
        return True
    program = build(replace(spec, stop=None))
    return spec.stop in program.refs() or spec.stop in program.aliases


def _with_mask(spec: Spec, mask: str) -> Spec:
    """Give a block with other masks: a causal one in place of all, or none."""
    if mask == "given":
        return spec
    tokens = spec.arrays["x"].shape[-2]
    arrays: dict[str, Array] = dict(spec.arrays)
    for block in spec.blocks:
        for work in (s.work for s in block.sublayers if isinstance(s.work, AttentionSpec)):
            prefix = f"{block.keys}{work.name}"
            if f"{prefix}.out" in arrays:
                continue
            for key in (*KEEPERS, ADDED):
                arrays.pop(f"{prefix}.{key}", None)
            if mask == "causal":
                arrays[f"{prefix}.causal"] = np.tril(np.ones((tokens, tokens)))
    return replace(spec, arrays=arrays)
