"""Operations that only mistakes in the softmax need."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from blockcalc.ops.movement import Movement
from blockcalc.ops.op import Array, Axes, Op, Ref, Shape
from blockcalc.program.bounds import NUMBERS
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Last(Movement):
    """Some axes moved last and joined, so that a reduction over them is one along the last axis."""

    moved: tuple[int, ...]
    word = "last"

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        axes, shape = refs[0].axes, refs[0].shape
        kept = [i for i in range(len(axes)) if i not in self.moved]
        long = math.prod(shape[i] for i in self.moved)
        return (*(axes[i] for i in kept), "all"), (*(shape[i] for i in kept), long)

    def forward(self, xs: Sequence[Array]) -> Array:
        kept = tuple(i for i in range(xs[0].ndim) if i not in self.moved)
        turned = xs[0].transpose(*kept, *self.moved)
        return np.asarray(turned.reshape(*(xs[0].shape[i] for i in kept), -1))


@dataclass(frozen=True)
class Sum16(Op):
    """A sum along the last axis, rounded to a 16-bit format after each addition, or at the end."""

    format: str
    each: bool

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return refs[0].axes[:-1], refs[0].shape[:-1]

    def forward(self, xs: Sequence[Array]) -> Array:
        if not self.each:
            return self._kept(xs[0].sum(axis=-1))
        total = np.zeros(xs[0].shape[:-1])
        for i in range(xs[0].shape[-1]):
            total = self._kept(total + self._kept(xs[0][..., i]))
        return total

    def _kept(self, x: Array) -> Array:
        return NUMBERS[self.format](x)

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        """Bound the error; if terms are uncertain, each rounding may go the other way."""
        roundings = 2 * xs[0].shape[-1] if self.each else 1
        lost = roundings * 2 * NUMBERS[self.format].unit * np.abs(xs[0]).sum(axis=-1)
        error = errors[0].sum(axis=-1)
        return np.asarray(np.where(error > 0, error + lost, 0.0))
