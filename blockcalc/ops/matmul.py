"""Matrix products: the forward product and its two gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

import numpy as np

from blockcalc.messages import say
from blockcalc.messages.words import axis_word
from blockcalc.ops.errors import products
from blockcalc.ops.expr import At, Binary, Cell, Expr, Fold, word
from blockcalc.ops.movement import Total
from blockcalc.ops.op import Array, Axes, Gradient, Ref, Shape, SumOp
from blockcalc.records import dataclass


@dataclass(frozen=True)
class MatMul(SumOp):
    """``a b``, or ``a bᵀ``, plus a bias if a third operand is given: ``[..., n, m]``.

    ``a`` is ``[..., n, k]`` and ``b`` ``[..., k, m]``, or ``[..., m, k]`` with ``transpose_b``.
    """

    transpose_b: bool = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        a, b = refs[:2]
        last = -2 if self.transpose_b else -1
        return (*a.axes[:-1], b.axes[last]), (*a.shape[:-1], b.shape[last])

    def forward(self, xs: Sequence[Array]) -> Array:
        product = xs[0] @ (xs[1].swapaxes(-1, -2) if self.transpose_b else xs[1])
        return np.asarray(product + xs[2] if len(xs) == 3 else product)

    def formula(self, xs: Sequence[Expr]) -> Expr:
        right = word("transpose", xs[1]) if self.transpose_b else xs[1]
        product = Binary("@", xs[0], right)
        return product + xs[2] if len(xs) == 3 else product

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        *lead, i, j = at
        a, b = refs[:2]
        outer = tuple(lead)[len(lead) - (len(b.shape) - 2) :]

        def right(k: int) -> Cell:
            return Cell(1, (*outer, j, k) if self.transpose_b else (*outer, k, j))

        terms: list[Expr] = [Cell(0, (*lead, i, k)) * right(k) for k in range(a.shape[-1])]
        if len(refs) == 3:
            terms.append(Cell(2, (j,)))
        return Fold("+", tuple(terms))

    def rule(self, refs: Sequence[Ref]) -> str:
        a, b = refs[:2]
        key = "rule.matmul.transposed" if self.transpose_b else "rule.matmul"
        text = say(key, a=a.name, b=b.name, inner=axis_word(a.axes[-1]))
        return text + say("rule.bias", name=refs[2].name) if len(refs) == 3 else text

    def per_cell(self, refs: Sequence[Ref]) -> int:
        return 2 * refs[0].shape[-1] + (len(refs) == 3)

    def keeps(self, refs: Sequence[Ref], wanted: Set[int]) -> set[int]:
        return {1 - i for i in wanted if i < 2}

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        """``da = g bᵀ``, ``db = aᵀ g``, and the sum of the rows of g for the bias."""
        a, b = refs[:2]
        if i == 2:
            return [("", Total(tuple(range(len(g.axes) - 1))), (g,))]
        if i == 0:
            return [("", MatMul(transpose_b=not self.transpose_b), (g, b))]
        pair = (g, a) if self.transpose_b else (a, g)
        return [("", Gram(len(g.axes) - len(b.axes)), pair)]

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        terms = xs[0].shape[-1] + (len(xs) == 3)
        return products(xs, errors, unit, terms, self.forward)


@dataclass(frozen=True)
class Gram(SumOp):
    """``aᵀ b``: contract over the rows, and over ``lead`` axes before them.

    The gradient of a weight has this form: ``dW = xᵀ dy``, a sum over all tokens.
    """

    lead: int = 0

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        a, b = refs
        left = slice(self.lead, -2)
        axes = (*a.axes[left], a.axes[-1], b.axes[-1])
        return axes, (*a.shape[left], a.shape[-1], b.shape[-1])

    def forward(self, xs: Sequence[Array]) -> Array:
        product = xs[0].swapaxes(-1, -2) @ xs[1]
        return np.asarray(product.sum(axis=tuple(range(self.lead))))

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return Binary("@", word("transpose", xs[0]), xs[1])

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        *kept, i, j = at
        shape = refs[0].shape
        rows = np.ndindex(*shape[: self.lead], shape[-2])
        places = [((*row[:-1], *kept), row[-1]) for row in rows]
        return Fold("+", tuple(Cell(0, (*p, k, i)) * Cell(1, (*p, k, j)) for p, k in places))

    def rule(self, refs: Sequence[Ref]) -> str:
        a, b = refs
        return say("rule.gram", a=a.name, b=b.name, inner=axis_word(a.axes[-2]))

    def sums_over(self, refs: Sequence[Ref]) -> tuple[str, ...]:
        return (*refs[0].axes[: self.lead], refs[0].axes[-2])

    def per_cell(self, refs: Sequence[Ref]) -> int:
        shape = refs[0].shape
        return 2 * math.prod(shape[: self.lead]) * shape[-2]

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        terms = math.prod(xs[0].shape[: self.lead]) * xs[0].shape[-2]
        return products(xs, errors, unit, terms, self.forward)
