"""Reductions: of the last axis to a sum, a mean or the maximum, and of all axes to a scalar."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

import numpy as np

from blockcalc.messages import say
from blockcalc.ops.derivative import ONE, derivative, needed, times
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.errors import balls, summed
from blockcalc.ops.evaluate import arrays, evaluate
from blockcalc.ops.expr import (
    ITSELF,
    At,
    Cell,
    Expr,
    Fold,
    Name,
    Num,
    Over,
    Slot,
    entrywise,
    fill,
    operations,
)
from blockcalc.ops.movement import Along
from blockcalc.ops.op import Array, Axes, Gradient, Op, Ref, Shape, SumOp
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Reduce(Op):
    """A sum, a mean or the maximum along the last axis.

    Parameters
    ----------
    kind : str
        ``sum``, ``mean`` or ``max``.
    each : Expr, optional
        Applied to each entry first, such as a square.
    less : int
        A mean divides by n - ``less``.
    count : str
        The name of the number of terms in formulas.
    """

    kind: str
    each: Expr = ITSELF
    less: int = 0
    count: str = "n"

    @property
    def blocks(self) -> bool:  # type: ignore[override]
        """Tell whether the result may be minus infinity: the maximum of a fully masked row."""
        return self.kind == "max"

    @property
    def beyond(self) -> str:  # type: ignore[override]
        """A mean is kept between the smallest and the largest entry of its row."""
        plain = self.kind == "mean" and not self.less and self.each == ITSELF
        return "between" if plain else ""

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return refs[0].axes[:-1], refs[0].shape[:-1]

    def forward(self, xs: Sequence[Array]) -> Array:
        x = arrays(self.each, xs)
        if self.kind == "max":
            return np.asarray(x.max(axis=-1))
        if self.kind == "sum":
            return np.asarray(x.sum(axis=-1))
        mean = x.sum(axis=-1) / (x.shape[-1] - self.less)
        if self.less:
            return np.asarray(mean)
        # rounding may put a mean outside its terms: that of equal numbers is the number
        return np.asarray(np.clip(mean, x.min(axis=-1), x.max(axis=-1)))

    def formula(self, xs: Sequence[Expr]) -> Expr:
        body = fill(self.each, xs)
        if self.kind == "mean":
            n: Expr = Name(self.count)
            return Over("sum", body) / (n - self.less if self.less else n)
        return Over(self.kind, body)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        n = refs[0].shape[-1]
        terms = tuple(fill(self.each, [Cell(0, (*at, k))]) for k in range(n))
        if self.kind == "max":
            return Fold("max", terms)
        total = Fold("+", terms)
        return total / (n - self.less) if self.kind == "mean" else total

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.reduce")

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        """Broadcast the gradient of a sum or mean; a maximum is a constant, and has none."""
        if self.kind == "max":
            return None
        n = refs[0].shape[-1]
        lines: Gradient = [("along", Along(n, refs[0].axes[-1]), (g,))]
        slope = derivative(self.each, 0)
        body: Expr = Slot(0)
        if self.kind == "mean":
            body = body / (Num(n, self.count) - self.less if self.less else Num(n, self.count))
        more: tuple[Ref | None, ...] = (None,)
        if slope != ONE:
            body = times(body, fill(slope, [Slot(1)]))
            more = (None, refs[0])
        if body != Slot(0):
            lines.append(("", Elementwise(body), more))
        return lines

    def per_cell(self, refs: Sequence[Ref]) -> int:
        n = refs[0].shape[-1]
        return n - 1 + n * operations(self.each) + (self.kind == "mean")

    def keeps(self, refs: Sequence[Ref], wanted: Set[int]) -> set[int]:
        return needed(self.each, wanted)

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        return None if self.kind == "max" else self.forward([np.abs(xs[0])])

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        """Bound the error; a mean may also be computed as the product with 1/n."""
        ball, n = balls(self.each, xs, errors, unit), xs[0].shape[-1]
        if self.kind == "max":
            return np.asarray(ball.radius(unit).max(axis=-1))
        if self.kind == "sum":
            return summed(ball, n - 1, unit, lambda x: x.sum(axis=-1))
        return np.asarray(summed(ball, n + 1, unit, lambda x: x.sum(axis=-1)) / (n - self.less))


@dataclass(frozen=True)
class Whole(SumOp):
    """A scalar ``[1]``: a sum or a mean over all entries.

    Parameters
    ----------
    each : Expr, optional
        Applied to the entries of the operands first, with a slot for each operand.
    mean : bool
        Whether the sum is divided by the number of entries, N.
    """

    each: Expr = ITSELF
    mean: bool = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return ("loss",), (1,)

    def forward(self, xs: Sequence[Array]) -> Array:
        total = arrays(self.each, xs).sum().reshape(1)
        return np.asarray(total / xs[0].size if self.mean else total)

    def formula(self, xs: Sequence[Expr]) -> Expr:
        total = Over("sum", entrywise(fill(self.each, xs)))
        return total / Name("N") if self.mean else total

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        places = list(np.ndindex(*refs[0].shape))
        terms = (fill(self.each, [Cell(k, place) for k in range(len(refs))]) for place in places)
        total = Fold("+", tuple(terms))
        return total / len(places) if self.mean else total

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.whole")

    def per_cell(self, refs: Sequence[Ref]) -> int:
        n = math.prod(refs[0].shape)
        return n - 1 + n * operations(self.each) + self.mean

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        n = xs[0].size
        roundings = n - 1 + 2 * self.mean  # a mean may be the product with 1/N
        out = summed(balls(self.each, xs, errors, unit), roundings, unit, lambda x: x.sum())
        return np.reshape(out / n if self.mean else out, (1,))


@dataclass(frozen=True)
class Everywhere(Op):
    """A matrix of one constant: the gradient of a sum or a mean with respect to its terms."""

    value: Expr = ONE

    worked = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return refs[0].axes, refs[0].shape

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.full_like(xs[0], evaluate(self.value, lambda leaf: leaf))

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return self.value

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        return self.value

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        unused = np.zeros(1)  # the constant has no operand
        ball = balls(self.value, [unused], [unused], unit)
        return np.full(xs[0].shape, float(np.max(ball.radius(unit))))
