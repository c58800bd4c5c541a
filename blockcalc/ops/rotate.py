"""Rotate pairs of columns by angles: the operation of rotary positions."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import replace

import numpy as np

from blockcalc.messages import say
from blockcalc.ops.errors import products
from blockcalc.ops.expr import At, Cell, Expr, word
from blockcalc.ops.op import Array, Axes, Gradient, Op, Ref, Shape
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Rotate(Op):
    """Rotate pairs of columns by their angles: RoPE, Su et al., "RoFormer" (2021), equation 34.

    Operands are ``x [..., T, d]``, and ``cos`` and ``sin`` ``[T, dims / 2]``. ``half`` pairs column
    i with i + dims / 2, as Llama does; otherwise neighbours are paired. Columns from ``dims`` on
    are unchanged. ``back`` rotates by the negative angles, for the gradient.
    """

    dims: int
    half: bool
    back: bool = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return refs[0].axes, refs[0].shape

    def pair(self, column: int) -> tuple[int, int, int]:
        """Give the first and second column of the pair that contains a column, and its angle."""
        m = self.dims // 2
        if self.half:
            return column % m, column % m + m, column % m
        return column - column % 2, column - column % 2 + 1, column // 2

    def forward(self, xs: Sequence[Array]) -> Array:
        x, cos, sin = xs
        out = x.copy()
        for column in range(self.dims):
            first, second, angle = self.pair(column)
            c, s = cos[:, angle], -sin[:, angle] if self.back else sin[:, angle]
            if column == first:
                out[..., column] = x[..., first] * c - x[..., second] * s
            else:
                out[..., column] = x[..., second] * c + x[..., first] * s
        return out

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return word("rotate_back" if self.back else "rotate", *xs)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        *lead, t, column = at
        if column >= self.dims:
            return Cell(0, at)
        first, second, angle = self.pair(column)
        a, b = Cell(0, (*lead, t, first)), Cell(0, (*lead, t, second))
        cos, sin = Cell(1, (t, angle)), Cell(2, (t, angle))
        if (column == first) != self.back:
            return a * cos - b * sin if column == first else b * cos - a * sin
        return a * cos + b * sin if column == first else b * cos + a * sin

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        """Rotate the gradient back by the same angles, which are constants."""
        return [("", replace(self, back=not self.back), (g, *refs[1:]))] if i == 0 else None

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.rotate")

    def flops(self, refs: Sequence[Ref]) -> int:
        """Count two products and a sum for each rotated column."""
        return 3 * math.prod(refs[0].shape[:-1]) * self.dims

    def keeps(self, refs: Sequence[Ref], wanted: Set[int]) -> set[int]:
        """Keep only cosines and sines: the angles are constants."""
        return {1, 2}

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        x, cos, sin = (np.abs(v) for v in xs)
        return np.maximum(self.forward([x, cos, -sin]), self.forward([x, cos, sin]))

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        x, cos, sin = xs
        turns, moves = np.stack([cos, sin]), np.stack([errors[1], errors[2]])

        def total(terms: Sequence[Array]) -> Array:
            return np.asarray(self.magnitude([terms[0], *terms[1]]))

        out = products([x, turns], [errors[0], moves], unit, 2, total)
        out[..., self.dims :] = errors[0][..., self.dims :]
        return out
