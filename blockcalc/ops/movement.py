"""Operations that move entries (heads, columns, broadcasting), and their gradients."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from blockcalc.messages import say
from blockcalc.messages.words import axis_word, say_count
from blockcalc.ops.errors import balls, summed
from blockcalc.ops.expr import ITSELF, At, Cell, Expr, Fold, Name, Num, Over, word
from blockcalc.ops.op import Array, Axes, Gradient, Op, Ref, Shape, SumOp
from blockcalc.records import dataclass


class Movement(Op):
    """Base of operations that only move entries.

    The source of each entry is found by moving an array of positions.
    """

    word = ""
    worked = False

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return word(self.word, *xs)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        shape = refs[0].shape
        return Cell(0, tuple(int(i) for i in np.unravel_index(_origins(self, shape)[at], shape)))

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        return self.forward(errors)


@lru_cache(maxsize=64)
def _origins(op: Movement, shape: Shape) -> Array:
    return op.forward([np.arange(int(np.prod(shape))).reshape(shape)])


class _Sum(SumOp, ABC):
    """Base of sums of entries of one operand."""

    @abstractmethod
    def terms(self, shape: Shape) -> int:
        """Give the number of terms of each sum, for an operand of this shape."""

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return Over("sum", xs[0])

    def per_cell(self, refs: Sequence[Ref]) -> int:
        return self.terms(refs[0].shape) - 1

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        ball, roundings = balls(ITSELF, xs, errors, unit), self.terms(xs[0].shape) - 1
        return summed(ball, roundings, unit, lambda x: self.forward([x]))


@dataclass(frozen=True)
class Split(Movement):
    """``[T, n·e] -> [n, T, e]``: head h has columns h·e to (h + 1)·e - 1, counted from 0."""

    n: int
    axes: tuple[str, str] = ("head", "d_head")
    word = "split"

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        (*lead, t, width), (*names, token, _) = refs[0].shape, refs[0].axes
        head, part = self.axes
        return (*names, head, token, part), (*lead, self.n, t, width // self.n)

    def forward(self, xs: Sequence[Array]) -> Array:
        (x,) = xs
        parts = x.reshape(*x.shape[:-1], self.n, x.shape[-1] // self.n)
        return np.ascontiguousarray(parts.swapaxes(-3, -2))

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        return [("", Join(refs[0].axes[-1]), (g,))]

    def rule(self, refs: Sequence[Ref]) -> str:
        wide = refs[0].shape[-1]
        return say("rule.split", wide=wide, heads=say_count("heads", self.n), narrow=wide // self.n)


@dataclass(frozen=True)
class Join(Movement):
    """``[n, T, e] -> [T, n·e]``: concatenate the heads."""

    axis: str = "d_model"
    word = "join"

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        (*lead, n, t, e), (*names, _, token, _) = refs[0].shape, refs[0].axes
        return (*names, token, self.axis), (*lead, t, n * e)

    def forward(self, xs: Sequence[Array]) -> Array:
        swapped = xs[0].swapaxes(-3, -2)
        return swapped.reshape(*swapped.shape[:-2], -1)

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        *_, head, _, part = refs[0].axes
        return [("", Split(refs[0].shape[-3], (head, part)), (g,))]

    def rule(self, refs: Sequence[Ref]) -> str:
        n, narrow = refs[0].shape[-3], refs[0].shape[-1]
        return say("rule.join", heads=say_count("heads", n), narrow=narrow, wide=n * narrow)


@dataclass(frozen=True)
class Repeat(Movement):
    """``[g, T, e] -> [g·times, T, e]``: repeat each key head for ``times`` query heads in turn."""

    times: int
    word = "repeat"

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        *lead, g, t, e = refs[0].shape
        *names, _, token, part = refs[0].axes
        return (*names, "head", token, part), (*lead, g * self.times, t, e)

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.repeat(xs[0], self.times, axis=-3)

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        return [("", Gather(self.times, refs[0].axes[-3]), (g,))]

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.repeat", times=self.times)


@dataclass(frozen=True)
class Gather(_Sum):
    """``[g·times, T, e] -> [g, T, e]``: the sum over the query heads that share a key head."""

    times: int
    axis: str

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        *lead, h, t, e = refs[0].shape
        *names, _, token, part = refs[0].axes
        return (*names, self.axis, token, part), (*lead, h // self.times, t, e)

    def forward(self, xs: Sequence[Array]) -> Array:
        *lead, h, t, e = xs[0].shape
        groups = xs[0].reshape(*lead, h // self.times, self.times, t, e)
        return np.asarray(groups.sum(axis=-3))

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        *lead, g, t, e = at
        heads = range(g * self.times, (g + 1) * self.times)
        return Fold("+", tuple(Cell(0, (*lead, h, t, e)) for h in heads))

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.gather", times=self.times)

    def sums_over(self, refs: Sequence[Ref]) -> tuple[str, ...]:
        return ("head",)

    def terms(self, shape: Shape) -> int:
        return self.times


@dataclass(frozen=True)
class Columns(Movement):
    """``[..., k] -> [..., m]``: some columns of a matrix, in the order of ``indices``."""

    indices: tuple[int, ...]
    axis: str = "d_head"
    word = "columns"

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return (*refs[0].axes[:-1], self.axis), (*refs[0].shape[:-1], len(self.indices))

    def forward(self, xs: Sequence[Array]) -> Array:
        return xs[0][..., list(self.indices)]

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        return [("", Placed(self.indices, refs[0].shape[-1], refs[0].axes[-1]), (g,))]

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.columns", n=len(self.indices), of=refs[0].shape[-1])

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return word(self.word, *xs, *_runs(self.indices))


@dataclass(frozen=True)
class Placed(Op):
    """``[..., m] -> [..., width]``: scatter columns to ``indices``; the other columns are 0."""

    indices: tuple[int, ...]
    width: int
    axis: str
    worked = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return (*refs[0].axes[:-1], self.axis), (*refs[0].shape[:-1], self.width)

    def forward(self, xs: Sequence[Array]) -> Array:
        out = np.zeros((*xs[0].shape[:-1], self.width), dtype=xs[0].dtype)
        out[..., list(self.indices)] = xs[0]
        return out

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return word("place", *xs, *_runs(self.indices))

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        *lead, j = at
        return Cell(0, (*lead, self.indices.index(j))) if j in self.indices else Num(0.0)

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.placed", n=len(self.indices), of=self.width)

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        return self.forward(errors)


@dataclass(frozen=True)
class Total(_Sum):
    """The sum over some axes, given by position; the others are kept.

    The gradient of an operand that was broadcast over axes is the sum over those axes.
    """

    over: tuple[int, ...]

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        kept = [k for k in range(len(refs[0].axes)) if k not in self.over]
        return tuple(refs[0].axes[k] for k in kept), tuple(refs[0].shape[k] for k in kept)

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.asarray(xs[0].sum(axis=self.over))

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        shape = refs[0].shape
        kept = [k for k in range(len(shape)) if k not in self.over]
        ranges = [range(n) if k in self.over else (at[kept.index(k)],) for k, n in enumerate(shape)]
        return Fold("+", tuple(Cell(0, place) for place in product(*ranges)))

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.total", axes=", ".join(axis_word(refs[0].axes[k]) for k in self.over))

    def sums_over(self, refs: Sequence[Ref]) -> tuple[str, ...]:
        return tuple(axis_word(refs[0].axes[k]) for k in self.over)

    def terms(self, shape: Shape) -> int:
        return math.prod(shape[k] for k in self.over)


@dataclass(frozen=True)
class Along(Movement):
    """Broadcast each entry along a new last axis of length n: ``[..., T] -> [..., T, n]``."""

    n: int
    axis: str
    word = "along"

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return (*refs[0].axes, self.axis), (*refs[0].shape, self.n)

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.repeat(xs[0][..., None], self.n, axis=-1)

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.along", n=self.n)


def _runs(indices: Sequence[int]) -> list[Name]:
    """Write column numbers, counted from 1, as ranges: 1..4."""
    runs: list[list[int]] = []
    for i in indices:
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return [Name(f"{a + 1}..{b + 1}" if b > a else f"{a + 1}") for a, b in runs]
