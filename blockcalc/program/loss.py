"""Losses: a scalar function of the result, and the operations that only losses need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blockcalc.messages import say
from blockcalc.ops.broadcast import ITSELF
from blockcalc.ops.evaluate import arrays
from blockcalc.ops.expr import At, Cell, Expr, Fold, Name, Num, Over, entrywise, fill, operations
from blockcalc.ops.op import Array, Axes, Op, Ref, Shape


@dataclass(frozen=True)
class Whole(Op):
    """A scalar: the sum or the mean over all entries of an elementwise function."""

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
    """A matrix of ones: the gradient of a sum with respect to its terms."""

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
class Loss:
    """The loss: a scalar function of the result.

    ``sum`` is the sum of all entries, ``dot`` the sum of the elementwise product with a matrix, ``mse`` the mean
    of the squared differences from a target.
    """

    kind: str

    @property
    def matrix(self) -> str:
        """Name the matrix that the loss needs: ``loss.with``, ``loss.target``, or none."""
        return {"dot": "loss.with", "mse": "loss.target"}.get(self.kind, "")
