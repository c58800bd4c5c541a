"""A block in each form that a reader may switch to: its orders, and with other masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile

import numpy as np

from blockcalc.explain.data import Rerun
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Closing, Given, Piece
from blockcalc.explain.picture.heat import Explained
from blockcalc.explain.steps import explain
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.attention import ADDED, KEEPERS
from blockcalc.nn.block import build
from blockcalc.nn.orders import ORDERS
from blockcalc.nn.settings import SoftmaxSettings
from blockcalc.nn.spec import EPS, AttentionSpec, FfnSpec, Spec, Work
from blockcalc.ops.op import Array
from blockcalc.program.program import Program
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass

PLAIN = SoftmaxSettings("plain")
MASKS = ("given", "causal", "none")
FACTOR = 0.5  # any scale: its place in the trees is found by its symbol


@dataclass(frozen=True, eq=False)
class Variant:
    """A form of a block.

    Attributes
    ----------
    order, mask : str
        A key of ``ORDERS``; ``given`` for the masks of the file, ``causal``, or ``none``.
    shifted : bool
        Whether it takes the place of one whose plain exponentials would overflow.
    spec : Spec
    trace : Trace
    pieces : tuple of Piece
    others : mapping
        The same form with another setting, as programs: ``eps`` and ``eps0`` with an eps and
        without, ``scale`` with a factor, and the name of each activation.
    """

    order: str
    mask: str
    shifted: bool
    spec: Spec
    trace: Trace
    pieces: tuple[Piece, ...]
    others: dict[str, Program]

    @property
    def watched(self) -> list[str]:
        """Name the scores of plain softmaxes, which must not be too large."""
        sections = self.trace.program.sections
        return [s.inputs[0].name for s in sections if s.settings == PLAIN]


@dataclass(frozen=True, eq=False)
class Live:
    """What a live page is made from; the first form is that of the file."""

    spec: Spec
    depth: Depth
    variants: tuple[Variant, ...]

    @property
    def backward(self) -> bool:
        """Tell whether the page has a backward pass."""
        return self.variants[0].trace.program.forward is not None


def live(run: Rerun) -> Live:
    """Work a block in every order, with the masks of the file, a causal one and none.

    Steps cannot be chosen, as each is computed from those before.
    """
    own = replace(run.depth, patterns=(), pictures=False)
    if own.row is None and own.cell is None and own.detail == Detail.normal:
        own = replace(own, cell=(1, 1))  # the page works every other cell itself
    return Live(run.spec, own, tuple(_variants(replace(run, depth=own))))


def _variants(run: Rerun) -> Iterator[Variant]:
    spec = run.spec
    seen: set[tuple[str, frozenset[str]]] = set()
    for order in sorted(ORDERS, key=lambda order: order != spec.order):
        for mask in MASKS:
            changed = _with_mask(spec.with_order(order), mask)
            key = order, frozenset(changed.arrays)
            if key in seen or not _runs(changed):
                continue
            seen.add(key)
            same = (order, mask) == (spec.order, "given")
            plain = _variant(order, mask, False, changed, run.trace if same else None, run)
            yield plain
            if plain.watched:
                yield _variant(order, mask, True, changed.with_softmax("shifted"), None, run)


def _variant(
    order: str, mask: str, shifted: bool, spec: Spec, trace: Trace | None, run: Rerun
) -> Variant:
    done = trace or run.again(spec)
    pieces = tuple(_pieces(spec, done, run.depth, run.explained))
    return Variant(order, mask, shifted, spec, done, pieces, _others(spec, done.program))


def _pieces(spec: Spec, trace: Trace, depth: Depth, explained: Explained) -> Iterator[Piece]:
    """Give the pieces of a run; of a backward pass with every step of the forward pass."""
    if trace.program.forward is None:
        yield from explained(spec, trace, depth)
        return
    short = Detail.normal if depth.detail == Detail.cells else depth.detail
    head, *backward = explained(spec, trace, replace(depth, detail=short))
    yield head
    forward = iter(explain(spec, replace(trace, program=trace.program.start()), depth))
    next(forward)
    yield from takewhile(lambda piece: not isinstance(piece, Closing), forward)
    last = max(i for i, piece in enumerate(backward) if isinstance(piece, Given))
    yield from backward[last + 1 :]


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


# other settings -------------------------------------------------------------------------------


def _others(spec: Spec, program: Program) -> dict[str, Program]:
    """Build a form with other settings; the gradients of a backward pass would differ too."""
    if program.forward is not None:
        return {}
    softmax = next((s.settings.form for s in program.sections if s.kind == "softmax"), None)
    own = spec.with_softmax(softmax) if softmax else spec
    found = {"eps": build(own.with_eps(EPS)), "eps0": build(own.with_eps(0.0))}
    found["scale"] = build(_with_work(own, _scaled))
    for name in ACTIVATIONS:
        found[name] = build(_with_work(own, _activated(name)))
    return found


def _scaled(work: Work) -> Work:
    return replace(work, scale=FACTOR) if isinstance(work, AttentionSpec) else work


def _activated(name: str) -> Callable[[Work], Work]:
    return lambda work: replace(work, activation=name) if isinstance(work, FfnSpec) else work


def _with_work(spec: Spec, change: Callable[[Work], Work]) -> Spec:
    return replace(spec, blocks=tuple(block.with_work(change) for block in spec.blocks))
