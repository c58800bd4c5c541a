"""Elementwise operations: shape, value, formula and one cell of each.

Layers are built from primitive operations; a softmax as a single operation could not show its row
sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

import numpy as np

from blockcalc.messages import say
from blockcalc.ops.derivative import ONE, ZERO, derivative, needed, times
from blockcalc.ops.errors import DOUBLE, balls, upward
from blockcalc.ops.evaluate import arrays
from blockcalc.ops.expr import (
    At,
    Binary,
    Call,
    Cell,
    Expr,
    Num,
    Slot,
    call,
    entrywise,
    fill,
    operations,
    walk,
    word,
)
from blockcalc.ops.movement import Total
from blockcalc.ops.op import Array, Axes, Gradient, Op, Ref, Shape
from blockcalc.records import dataclass

Placement = tuple[int, ...]


@dataclass(frozen=True)
class Elementwise(Op):
    """A function applied elementwise, with broadcasting.

    Parameters
    ----------
    body : Expr
        The function, with slots for its operands. It gives both the arithmetic of a cell
        and the value on arrays.
    label : str, optional
        A name for the function in formulas: ``ReLU(U)``.
    placements : tuple of tuple of int
        For each operand, the positions of its axes in the result.
    rowwise : bool
        Whether the round-off of the first operand is that of its whole row, as in a norm.
    ways : tuple of Expr
        Other trees of the same function, as libraries compute it, with other rounding.
    """

    body: Expr
    label: str | None = None
    placements: tuple[Placement, ...] | None = None
    rowwise: bool = False
    ways: tuple[Expr, ...] = ()

    @classmethod
    def on(
        cls,
        function: Callable[..., Expr],
        *refs: Ref,
        rowwise: bool = False,
        axes: Axes | None = None,
    ) -> Elementwise:
        """Build the operation for operands that are broadcast to the axes of the result.

        ``axes`` are those of the result; without them, those of the largest operand.
        """
        largest = max(refs, key=lambda r: len(r.shape)).axes
        body = function(*(Slot(i) for i in range(len(refs))))
        return cls(body, None, tuple(_place(ref, axes or largest) for ref in refs), rowwise)

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        if self.placements is None:
            return refs[0].axes, refs[0].shape
        found: dict[int, tuple[str, int]] = {}
        for ref, placement in sorted(
            zip(refs, self.placements, strict=True), key=lambda p: -len(p[1])
        ):
            for axis, name, n in zip(placement, ref.axes, ref.shape, strict=True):
                found.setdefault(axis, (name, n))
        pairs = [found[axis] for axis in sorted(found)]
        return tuple(name for name, _ in pairs), tuple(n for _, n in pairs)

    def aligned(self, xs: Sequence[Array]) -> list[Array]:
        """Reshape operands to the rank of the result, with axes of length 1 for broadcasting."""
        if self.placements is None:
            return list(xs)
        rank = 1 + max(axis for placement in self.placements for axis in placement)
        out = []
        for x, placement in zip(xs, self.placements, strict=True):
            shape = [1] * rank
            for axis, size in zip(placement, x.shape, strict=True):
                shape[axis] = size
            out.append(x.reshape(shape))
        return out

    def forward(self, xs: Sequence[Array]) -> Array:
        return arrays(self.body, self.aligned(xs))

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return word(self.label, *xs) if self.label else entrywise(fill(self.body, xs))

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        if self.placements is None:
            return fill(self.body, [Cell(i, at) for i in range(len(refs))])
        cells = [Cell(i, tuple(at[a] for a in p)) for i, p in enumerate(self.placements)]
        return fill(self.body, cells)

    def rule(self, refs: Sequence[Ref]) -> str:
        wide = any(ref.shape != refs[0].shape for ref in refs)
        return say("rule.wide" if wide else "rule.same")

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        slope = derivative(self.body, i)
        if slope == ZERO:
            return None
        if self.label and not isinstance(slope, Num) and slope != call("step", Slot(0)):
            ways = tuple(derivative(way, i) for way in self.ways)
            steep = Elementwise(slope, f"{self.label}'", ways=ways)
            return [("slope", steep, (refs[0],)), ("", Elementwise(Slot(0) * Slot(1)), (g, None))]
        used = sorted({e.index for e in walk(slope) if isinstance(e, Slot)})
        inside = fill(slope, {k: Slot(n + 1) for n, k in enumerate(used)})
        body = Slot(0) if slope == ONE else times(Slot(0), inside)
        kept = self.placements[i] if self.placements else tuple(range(len(g.axes)))
        left = tuple(axis for axis in range(len(g.axes)) if axis not in kept)
        lines: Gradient = []
        if body != Slot(0):
            places = [tuple(range(len(g.axes)))]
            places += [self.placements[k] if self.placements else places[0] for k in used]
            op = Elementwise(body, None, tuple(places))
            lines.append(("each" if left else "", op, (g, *(refs[k] for k in used))))
        if left:
            lines.append(("", Total(left), (None if lines else g,)))
        return lines

    def per_cell(self, refs: Sequence[Ref]) -> int:
        return operations(self.body)

    def keeps(self, refs: Sequence[Ref], wanted: Set[int]) -> set[int]:
        return needed(self.body, wanted)

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        sizes = [np.abs(x) for x in self.aligned(xs)]
        if self.rowwise:
            sizes[0] = np.broadcast_to(sizes[0].max(axis=-1, keepdims=True), sizes[0].shape)
            return arrays(self.body, sizes)
        body = _all_plus(self.body)
        return None if body is None else arrays(body, sizes)

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        xs, errors = self.aligned(xs), self.aligned(errors)
        trees = (self.body, *self.ways)
        bounds = [balls(tree, xs, errors, unit).radius(unit) for tree in trees]
        return np.asarray(np.max(bounds, axis=0))


def _all_plus(body: Expr) -> Expr | None:
    """Replace every minus by plus; None if the body has neither, or calls a function."""
    found = False

    def positive(e: Expr) -> Expr:
        nonlocal found
        if not any(isinstance(inner, Slot) for inner in walk(e)) or isinstance(e, Slot):
            return e
        match e:
            case Binary(op="+" | "-", left=left, right=right):
                found = True
                return Binary("+", positive(left), positive(right))
            case Binary(op="*" | "/", left=left, right=right):
                return Binary(e.op, positive(left), positive(right))
            case Call(function="over" | "ratio", args=args):
                return Call(e.function, tuple(positive(arg) for arg in args))
        raise _Function

    try:
        written = positive(body)
    except _Function:
        return None
    return written if found else None


class _Function(Exception):
    """A body calls a function, so its round-off is not that of a sum."""


def _place(ref: Ref, axes: Axes) -> Placement:
    """Find the positions of an operand's axes in the result: by name, or all if it has as many."""
    if len(ref.axes) == len(axes):
        return tuple(range(len(axes)))
    return tuple(axes.index(axis) for axis in ref.axes)


@dataclass(frozen=True)
class Centered(Elementwise):
    """Deviations from the mean of the row.

    A row whose entries are all equal, up to round-off of four units in the last place, has
    deviations that are exactly 0, as on paper. If the entries are known to be exact, ``exact``
    gives their deviations without this rule.
    """

    beyond = "equal_rows"

    def forward(self, xs: Sequence[Array]) -> Array:
        out = self.exact(xs)
        return np.where(self.alike(xs, out), np.zeros_like(out), out)

    def exact(self, xs: Sequence[Array]) -> Array:
        """Compute the deviations of entries without round-off."""
        return super().forward(xs)

    def alike(self, xs: Sequence[Array], out: Array) -> Array:
        """Tell which rows are constant up to round-off, ``[..., 1]``."""
        ulps = 4 * np.finfo(out.dtype).eps * np.abs(xs[0]).max(axis=-1, keepdims=True)
        return np.asarray(np.abs(out).max(axis=-1, keepdims=True) <= ulps)

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        # half, because noise is judged at eight units, and rows count as constant up to four
        top = np.abs(xs[0]).max(axis=-1, keepdims=True) / 2
        return np.broadcast_to(top, xs[0].shape)

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        """Bound the error, also where a row that is constant up to round-off gets 0."""
        out, exact = np.abs(self.exact(xs)), super().bound(xs, errors, unit)
        least = 8 * max(unit, DOUBLE) * np.abs(xs[0]).max(axis=-1, keepdims=True)
        alike = (out - exact).max(axis=-1, keepdims=True) <= upward(least)
        return exact + np.where(alike & (unit > 0), out, 0.0)


@dataclass(frozen=True)
class Quotient(Elementwise):
    """Division in which 0/0 is 0: the last step of a norm and of a softmax."""

    divisor = 1  # which operand

    def undefined(self, xs: Sequence[Array]) -> Array:
        """Tell where the divisor is 0, in the shape of the divisor."""
        return np.asarray(xs[self.divisor] == 0)


@dataclass(frozen=True)
class Slope(Quotient):
    """The last step of the gradient of a norm: 0 where the divisor of the norm is 0."""

    divisor = -1


SQUARE = Slot(0) ** 2.0


@dataclass(frozen=True)
class Masked(Elementwise):
    """Scores where the mask allows them, minus infinity elsewhere."""

    blocks = True


@dataclass(frozen=True)
class Shifted(Masked):
    """Scores minus their row maximum; a row with only minus infinity is unchanged."""

    beyond = "masked_rows"

    def forward(self, xs: Sequence[Array]) -> Array:
        x, top = self.aligned(xs)
        masked = np.isneginf(top)
        return np.where(masked, x, x - np.where(masked, np.zeros_like(top), top))

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        """Pass no gradient to the subtracted maximum, because it does not change the softmax."""
        return super().vjp(refs, i, g) if i == 0 else None

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        x, top = xs
        return super().bound([x, np.where(np.isneginf(top), 0.0, top)], errors, unit)
