"""Sum over broadcast axes, and broadcast back: each the gradient of the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from blockcalc.messages import say
from blockcalc.ops.expr import At, Cell, Expr, Fold, Over, Slot, word
from blockcalc.ops.op import Array, Axes, Op, Ref, Shape

ITSELF = Slot(0)


@dataclass(frozen=True)
class Total(Op):
    """The sum over some axes, given by position; the others are kept.

    The gradient of an operand that was broadcast over axes is the sum over those axes.
    """

    over: tuple[int, ...]

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        kept = [k for k in range(len(refs[0].axes)) if k not in self.over]
        return tuple(refs[0].axes[k] for k in kept), tuple(refs[0].shape[k] for k in kept)

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.asarray(xs[0].sum(axis=self.over))

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return Over("sum", xs[0])

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        shape = refs[0].shape
        kept = [k for k in range(len(shape)) if k not in self.over]
        ranges = [range(n) if k in self.over else (at[kept.index(k)],) for k, n in enumerate(shape)]
        return Fold("+", tuple(Cell(0, place) for place in product(*ranges)))

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.total", axes=", ".join(refs[0].axes[k] for k in self.over))

    def sums_over(self, refs: Sequence[Ref]) -> tuple[str, ...]:
        return tuple(refs[0].axes[k] for k in self.over)

    def per_cell(self, refs: Sequence[Ref]) -> int:
        return math.prod(refs[0].shape[k] for k in self.over) - 1

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        return self.forward([np.abs(xs[0])])


@dataclass(frozen=True)
class Along(Op):
    """Broadcast each entry along a new last axis of length n: ``[..., T] -> [..., T, n]``."""

    n: int
    axis: str
    worked = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return (*refs[0].axes, self.axis), (*refs[0].shape, self.n)

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.repeat(xs[0][..., None], self.n, axis=-1)

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return word("along", *xs)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        return Cell(0, at[:-1])

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.along", n=self.n)
