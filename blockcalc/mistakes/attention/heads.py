"""Mistakes in heads and their layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import numpy as np

from blockcalc.messages import say
from blockcalc.mistakes.alternative import (
    Alternative,
    Block,
    Mistake,
    extra,
    instead,
    moving,
)
from blockcalc.nn.attention import fused_columns
from blockcalc.nn.settings import AttentionSettings
from blockcalc.ops.movement import Columns, Join, Movement, Repeat, Split
from blockcalc.ops.op import Array, Axes, Ref, Shape
from blockcalc.program.program import Equation, Section
from blockcalc.records import dataclass

Order = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class View(Movement):
    """The same numbers in the same order, in another shape."""

    axes: Axes
    shape: Shape
    word = "view"

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return self.axes, self.shape

    def forward(self, xs: Sequence[Array]) -> Array:
        return xs[0].reshape(self.shape)


@dataclass(frozen=True)
class Swapped(Movement):
    """``[n, T, e] -> [T, n, e]``: heads and tokens exchanged."""

    word = "swap"

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        (*lead, n, t, e), (*names, head, token, part) = refs[0].shape, refs[0].axes
        return (*names, token, head, part), (*lead, t, n, e)

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.ascontiguousarray(xs[0].swapaxes(-3, -2))


def attentions(block: Block) -> Iterator[Section]:
    """Yield every computed attention, complete or up to a ``stop``."""
    for section in block.program.sections:
        if section.kind == "attention" and not section.given:
            yield section


def _each(
    make: Callable[[Block, Section], Iterator[Alternative]],
) -> Callable[[Block], Iterator[Alternative]]:
    def every(block: Block) -> Iterator[Alternative]:
        for section in attentions(block):
            yield from make(block, section)

    return moving(every)


def _splits(block: Block, own: Section) -> list[Equation]:
    found = (block.equation(f"{own.name}.{part}_heads") for part in "qkv")
    return [eq for eq in found if eq is not None and isinstance(eq.op, Split)]


def _joins(block: Block, own: Section) -> list[Equation]:
    eq = block.equation(f"{own.name}.concat")
    return [eq] if eq is not None and isinstance(eq.op, Join) else []


def _places(split: Sequence[Equation], join: Sequence[Equation]) -> Iterator[Alternative]:
    """Make a mistake where heads are split, where they are joined, and in both."""
    for name, equations in (("split", split), ("join", join), ("both", [*split, *join])):
        if equations and (name != "both" or (split and join)):
            yield Alternative(tuple(equations), words={"at": name})


@_each
def heads_by_stride(block: Block, own: Section) -> Iterator[Alternative]:
    """Deal the columns to the heads in turn: ``[T, d_head, n]``."""
    split: list[Equation] = []
    for eq in _splits(block, own):
        n = eq.out.shape[-3]
        order = _in_turn(n, eq.out.shape[-1])
        moved = extra(f"{eq.out.name}.columns", Columns(order, "d_model"), *eq.inputs)
        split += [moved, instead(eq, eq.op, moved.out)]
    join: list[Equation] = []
    for eq in _joins(block, own):
        n = eq.inputs[0].shape[-3]
        back = tuple(map(int, np.argsort(_in_turn(n, eq.out.shape[-1] // n))))
        moved = extra(f"{eq.out.name}.joined", eq.op, *eq.inputs)
        join += [moved, instead(eq, Columns(back, eq.out.axes[-1]), moved.out)]
    yield from _places(split, join)


def _in_turn(n: int, e: int) -> tuple[int, ...]:
    """Order columns so that head h has columns h, h + n, h + 2n, and so on."""
    return tuple(h + j * n for h in range(n) for j in range(e))


def _viewed(eq: Equation) -> Equation:
    return instead(eq, View(eq.out.axes, eq.out.shape))


@_each
def heads_joined_untransposed(block: Block, own: Section) -> Iterator[Alternative]:
    """Concatenate the heads without the transpose."""
    for eq in _joins(block, own):
        yield Alternative((_viewed(eq),))


@_each
def heads_view(block: Block, own: Section) -> Iterator[Alternative]:
    """Read ``[T, n·d_head]`` as ``[n, T, d_head]`` without moving a number."""
    split = [_viewed(eq) for eq in _splits(block, own)]
    for found in _places(split, [_viewed(eq) for eq in _joins(block, own)]):
        if found.words["at"] != "join":
            yield found


@_each
def kv_groups_interleaved(block: Block, own: Section) -> Iterator[Alternative]:
    """Use key head h % g for query head h, instead of h // m."""
    equations: list[Equation] = []
    for part in "kv":
        eq = block.equation(f"{own.name}.{part}_repeat")
        if eq is not None and isinstance(eq.op, Repeat):
            (*_, g, _, e), (*_, h, _, _) = eq.inputs[0].shape, eq.out.shape
            name, order = eq.out.name, tuple(i % (g * e) for i in range(h * e))
            row = extra(f"{name}.joined", Join(), *eq.inputs)
            wide = extra(f"{name}.columns", Columns(order, "d_model"), row.out)
            split = Split(h, (eq.out.axes[-3], eq.out.axes[-1]))
            equations += [row, wide, instead(eq, split, wide.out)]
    if equations:
        yield Alternative(tuple(equations))


# fused projections -------------------------------------------------------------------------------


@_each
def fused_order(block: Block, own: Section) -> Iterator[Alternative]:
    """Read the columns of Q, K and V from a fused matrix in another order."""
    settings = own.settings
    equations = {part: block.equation(f"{own.name}.{part}") for part in "qkv"}
    worked = {
        part: eq for part, eq in equations.items() if eq is not None and isinstance(eq.op, Columns)
    }
    if settings.fused is None or not worked:
        return
    wide = next(iter(worked.values())).inputs[0].shape[-1]
    for order, columns in _orders(settings, wide):
        changed = [
            instead(eq, Columns(columns[part], eq.op.axis))
            for part, eq in worked.items()
            if isinstance(eq.op, Columns)
        ]
        yield Alternative(tuple(changed), words={"order": order})


def _orders(settings: AttentionSettings, wide: int) -> Iterator[tuple[str, Order]]:
    """Yield other orders of a fused matrix: other layout, exchanged parts, columns in turn."""
    h, g = settings.n_heads, settings.n_kv_heads
    e = wide // (h + 2 * g)
    for layout in ("blocks", "per_head"):
        yield say(f"form.fused.{layout}"), fused_columns(h, g, e, layout)
        # the columns of a matrix of the same size with its parts exchanged
        groups = 1 if layout == "blocks" else g
        widths = {"q": h * e // groups, "k": g * e // groups, "v": g * e // groups}
        for names in list(permutations("qkv"))[1:]:
            if layout == settings.fused:
                yield ", ".join(names).upper(), _exchanged(names, widths, groups)
    if h == g:
        yield (
            say("form.fused.turn"),
            {part: tuple(range(i, wide, 3)) for i, part in enumerate("qkv")},
        )


def _exchanged(names: Sequence[str], widths: dict[str, int], groups: int) -> Order:
    """Order columns by the order of the parts in every group."""
    found: dict[str, list[int]] = {name: [] for name in names}
    start = 0
    for _ in range(groups):
        for name in names:
            found[name] += range(start, start + widths[name])
            start += widths[name]
    return {name: tuple(own) for name, own in found.items()}


MISTAKES: tuple[Mistake, ...] = (
    Mistake("heads_by_stride", "attn.*", heads_by_stride),
    Mistake("heads_joined_untransposed", "attn.concat", heads_joined_untransposed),
    Mistake("heads_view", "attn.*", heads_view),
    Mistake("fused_order", "attn.[qkv]", fused_order),
    Mistake("kv_groups_interleaved", "attn.*_repeat", kv_groups_interleaved),
)
