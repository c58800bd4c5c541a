"""The primitive operations, one card each: shape, value, formula, one cell.

Layers are built of these; a softmax that were one operation could never show its row sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.derivative import ONE, ZERO, derivative, needed, times
from blockcalc.expr import (
    At,
    Binary,
    Call,
    Cell,
    Expr,
    Fold,
    Name,
    Num,
    Over,
    Slot,
    arrays,
    call,
    exp,
    fill,
    operations,
    sqrt,
    substitute,
    walk,
)
from blockcalc.titles import say

Array = NDArray[Any]
Axes = tuple[str, ...]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ref:
    """A matrix without its numbers: ``role`` is data, weight or computed."""

    name: str
    symbol: str
    axes: Axes
    shape: Shape
    role: str


def dims(shape: Sequence[int]) -> str:
    """Write a shape: 3×2."""
    return "×".join(map(str, shape)) or say("numbers.single")


Gradient = list[tuple[str, "Op", tuple["Ref | None", ...]]]


class Op:
    """What every operation answers. Operands come as one sequence, ``a, b = xs``."""

    blocks = False  # whether minus infinity may stand in its result: a mask
    worked = True  # whether its cells have arithmetic: numbers only moved or drawn have none

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        """Give the axes and the shape of the result."""
        raise TypeError(type(self).__name__)

    def forward(self, xs: Sequence[Array]) -> Array:
        """Compute the value."""
        raise TypeError(type(self).__name__)

    def formula(self, xs: Sequence[Expr]) -> Expr:
        """State the operation on names."""
        raise TypeError(type(self).__name__)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        """State the entry at ``at`` of the result, in cells of the operands."""
        raise TypeError(type(self).__name__)

    def rule(self, refs: Sequence[Ref]) -> str:
        """Say how the shape of the result comes about."""
        return say("rule.same")

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        """State the gradient of operand ``i`` where ``g`` is that of the result.

        None where it is 0 everywhere; no line where it is ``g`` itself. The last line gives it, those before are
        its parts; an operand of None is the line before.
        """
        raise TypeError(type(self).__name__)

    def sums_over(self, refs: Sequence[Ref]) -> tuple[str, ...]:
        """Name the axes, tokens and rows of a batch, that a gradient is summed over."""
        return ()

    def per_cell(self, refs: Sequence[Ref]) -> int:
        """Count the operations that one cell of the result takes; one multiply-add is two."""
        return 0

    def flops(self, refs: Sequence[Ref]) -> int:
        """Count the operations that the whole result takes, from shapes alone.

        What guards against round-off and against dividing by 0 is not counted.
        """
        return math.prod(self.result(refs)[1]) * self.per_cell(refs)

    def keeps(self, refs: Sequence[Ref], wanted: Set[int]) -> set[int]:
        """Tell which operands a backward pass needs again, for gradients of the ``wanted`` ones."""
        return set()

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        """Give the sum of absolute terms of each cell: what its round-off is measured by.

        None where the operation adds and subtracts nothing.
        """
        return None


Placement = tuple[int, ...]


@dataclass(frozen=True)
class Elementwise(Op):
    """One function of entries that stand at the same place.

    Parameters
    ----------
    body : Expr
        The function, with slots for its operands. It is the arithmetic of a cell, and
        on arrays the value.
    label : str, optional
        A name for the function in formulas: ``ReLU(U)``.
    placements : tuple of tuple of int
        For each operand, which axes of the result its own axes are.
    rowwise : bool
        Whether the first operand's round-off is that of its whole row, as in a norm.
    """

    body: Expr
    label: str | None = None
    placements: tuple[Placement, ...] | None = None
    rowwise: bool = False

    @classmethod
    def on(
        cls,
        function: Callable[..., Expr],
        *refs: Ref,
        rowwise: bool = False,
        axes: Axes | None = None,
    ) -> Elementwise:
        """Build the operation for operands that may lack some axes of the result.

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
        """Give each operand the rank of the result, with axes of length 1 where it has none."""
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
        return call(self.label, *xs) if self.label else entrywise(fill(self.body, xs))

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
            steep = Elementwise(slope, f"{self.label}'")
            return [("slope", steep, (refs[0],)), ("", Elementwise(Slot(0) * Slot(1)), (g, None))]
        used = sorted({e.index for e in walk(slope) if isinstance(e, Slot)})
        moved = {k: Slot(n + 1) for n, k in enumerate(used)}
        inside = substitute(slope, lambda e: moved[e.index] if isinstance(e, Slot) else e)
        body = Slot(0) if slope == ONE else times(Slot(0), inside)
        own = self.placements[i] if self.placements else tuple(range(len(g.axes)))
        left = tuple(axis for axis in range(len(g.axes)) if axis not in own)
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


def _all_plus(body: Expr) -> Expr | None:
    """Write a body that adds and subtracts with plus alone; None where it does neither, or calls a function."""
    found = False

    def plain(e: Expr) -> Expr:
        nonlocal found
        if not any(isinstance(inner, Slot) for inner in walk(e)) or isinstance(e, Slot):
            return e
        match e:
            case Binary(op="+" | "-", left=left, right=right):
                found = True
                return Binary("+", plain(left), plain(right))
            case Binary(op="*" | "/", left=left, right=right):
                return Binary(e.op, plain(left), plain(right))
            case Call(function="over" | "ratio", args=args):
                return Call(e.function, tuple(plain(arg) for arg in args))
        raise _Function

    try:
        written = plain(body)
    except _Function:
        return None
    return written if found else None


class _Function(Exception):
    """A body calls a function, so that its round-off is not that of a sum."""


def _place(ref: Ref, axes: Axes) -> Placement:
    """Match the axes of an operand with those of the result, by name or by count."""
    if len(ref.axes) == len(axes):
        return tuple(range(len(axes)))
    return tuple(axes.index(axis) for axis in ref.axes)


def entrywise(formula: Expr) -> Expr:
    """Write products of two matrices entry by entry as ⊙, not as a matrix product."""
    match formula:
        case Binary(op="*", left=left, right=right) if not _number(left) and not _number(right):
            return Binary(".", entrywise(left), entrywise(right))
        case Binary(op=op, left=left, right=right):
            return Binary(op, entrywise(left), entrywise(right))
        case Call(function="over" | "ratio", args=args):
            return Call(formula.function, tuple(entrywise(arg) for arg in args))
        case _:
            return formula


def _number(e: Expr) -> bool:
    return isinstance(e, Num)


@dataclass(frozen=True)
class Centered(Elementwise):
    """Deviations from the mean of the row.

    A row whose numbers are all equal, round-off of four units in the last place aside, has
    deviations that are exactly 0, as on paper.
    """

    def forward(self, xs: Sequence[Array]) -> Array:
        out = super().forward(xs)
        ulps = 4 * np.finfo(out.dtype).eps * np.abs(xs[0]).max(axis=-1, keepdims=True)
        equal = np.abs(out).max(axis=-1, keepdims=True) <= ulps
        return np.where(equal, np.zeros_like(out), out)

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        # half, for round-off is told at eight units: what a row may differ by and be equal
        top = np.abs(xs[0]).max(axis=-1, keepdims=True) / 2
        return np.broadcast_to(top, xs[0].shape)


@dataclass(frozen=True)
class Quotient(Elementwise):
    """Division in which 0/0 is 0: the last step of a norm and of a softmax."""

    divisor = 1  # which operand

    def undefined(self, xs: Sequence[Array]) -> Array:
        """Tell where the divisor is 0, in the shape of the divisor."""
        return np.asarray(xs[self.divisor] == 0)


@dataclass(frozen=True)
class Slope(Quotient):
    """The last step of a norm's gradient: 0 where the norm could not divide."""

    divisor = -1


ITSELF = Slot(0)
SQUARE = Slot(0) ** 2.0


@dataclass(frozen=True)
class Masked(Elementwise):
    """Scores where a query may look, minus infinity where it may not."""

    blocks = True


@dataclass(frozen=True)
class Shifted(Masked):
    """Scores less the largest of their row; a row of nothing but minus infinity stays so."""

    def forward(self, xs: Sequence[Array]) -> Array:
        x, top = self.aligned(xs)
        nothing = np.isneginf(top)
        return np.where(nothing, x, x - np.where(nothing, np.zeros_like(top), top))

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        """Give what is subtracted no gradient, for it changes no softmax."""
        return super().vjp(refs, i, g) if i == 0 else None


@dataclass(frozen=True)
class Reduce(Op):
    """A sum, a mean or the maximum along the last axis.

    Parameters
    ----------
    kind : str
        ``sum``, ``mean`` or ``max``.
    each : Expr, optional
        What is done to each number first, such as a square.
    less : int
        A mean divides by n - ``less``.
    count : str
        How formulas name the number of terms.
    """

    kind: str
    each: Expr = ITSELF
    less: int = 0
    count: str = "n"

    @property
    def blocks(self) -> bool:  # type: ignore[override]
        """Tell whether minus infinity may pass: as the largest of nothing but such."""
        return self.kind == "max"

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
        """Every entry of a row gets what its sum or mean has; the maximum is only subtracted again."""
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
            body = times(body, substitute(slope, lambda e: Slot(1) if isinstance(e, Slot) else e))
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


@dataclass(frozen=True)
class Total(Op):
    """The sum over some axes, given by their places; the others stay.

    A gradient of something that served along an axis is the sum over it.
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
class Whole(Op):
    """One number: the sum, or the mean, of what is made of all entries that stand at the same place."""

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

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        return self.forward([np.abs(x) for x in xs])


@dataclass(frozen=True)
class Ones(Op):
    """One in every place: the gradient of a sum by what it sums."""

    worked = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return refs[0].axes, refs[0].shape

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.ones_like(xs[0])

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return Num(1.0)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        return Num(1.0)


@dataclass(frozen=True)
class Along(Op):
    """The numbers of a vector, each as often as a row is long: ``[..., T] -> [..., T, n]``."""

    n: int
    axis: str
    worked = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return (*refs[0].axes, self.axis), (*refs[0].shape, self.n)

    def forward(self, xs: Sequence[Array]) -> Array:
        return np.repeat(xs[0][..., None], self.n, axis=-1)

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return call("along", *xs)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        return Cell(0, at[:-1])

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.along", n=self.n)


def _activation(label: str, function: Callable[[Expr], Expr]) -> Elementwise:
    return Elementwise(function(Slot(0)), label)


_ROOT_2 = sqrt(2.0)
_TANH_INNER = 2.0 * sqrt(Num(2.0) / Num(float(np.pi), "pi"))

ACTIVATIONS: dict[str, Elementwise] = {
    "relu": _activation("ReLU", lambda x: call("max", 0.0, x)),
    # erfc keeps its digits far below zero, where 1 + erf has none left
    "gelu": _activation("GELU", lambda x: 0.5 * x * call("erfc", -x / _ROOT_2)),
    # x / (1 + e^(-2u)) is x (1 + tanh u) / 2, with the digits kept
    "gelu_tanh": _activation(
        "GELU_tanh", lambda x: x / (1.0 + exp(-(_TANH_INNER * (x + 0.044715 * x**3.0))))
    ),
    "quick_gelu": _activation("QuickGELU", lambda x: x / (1.0 + exp(-(1.702 * x)))),
    "silu": _activation("SiLU", lambda x: x / (1.0 + exp(-x))),
    "tanh": _activation("tanh", lambda x: call("tanh", x)),
    "sigmoid": _activation("sigmoid", lambda x: 1.0 / (1.0 + exp(-x))),
    "identity": _activation("id", lambda x: x),
}
