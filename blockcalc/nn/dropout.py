"""Dropout in training: the pattern of kept entries, drawn or given, and the factor 1 / (1 - p)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blockcalc.messages import say
from blockcalc.nn.settings import DropoutSettings
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Expr, Num, word
from blockcalc.ops.op import Array, Axes, Op, Ref, Shape
from blockcalc.program.builder import Builder
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Draw(Op):
    """A random pattern of ones and zeros: 1 (keep) with probability 1 - p.

    The numbers come from NumPy's ``RandomState(seed).random_sample()``, whose stream is fixed;
    the first ``skip`` numbers were used by earlier steps. An entry is kept if the drawn number
    is at least p.
    """

    p: float
    seed: int
    skip: int
    axes: Axes
    shape: Shape
    worked = False

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return self.axes, self.shape

    def forward(self, xs: Sequence[Array]) -> Array:
        count = int(np.prod(self.shape))
        drawn = np.random.RandomState(self.seed).random_sample(self.skip + count)
        return (drawn[self.skip :].reshape(self.shape) >= self.p).astype(np.float64)

    def rule(self, refs: Sequence[Ref]) -> str:
        return say("rule.draw")

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return word("Bernoulli", 1.0 - Num(self.p, "p"))

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        return np.zeros(self.shape)


def dropout(b: Builder, place: str, x: Ref, p: float) -> Ref:
    """Multiply kept entries of x by 1 / (1 - p) and set the others to 0; the shape of x is kept.

    Srivastava et al., "Dropout" (2014), in the inverted form, which changes nothing in evaluation.
    If p is 0, no step is written. The pattern is a given matrix ``<place>_keep`` or is drawn; all
    steps draw in order from one stream.

    Parameters
    ----------
    b : Builder
    place : str
        The step to which dropout is applied, such as ``attn.weights``.
    x : Ref
    p : float
        The probability that an entry is dropped, 0 <= p < 1.
    """
    if not p:
        return x
    name, out = f"{place}_keep", f"{place}_dropped"
    settings = DropoutSettings(b.steps + place, p, None if b.has(name) else b.seed)
    with b.section(out, "dropout", x, settings=settings):
        if b.has(name):
            keep = b.given(name, f"M_{x.symbol}", x.axes, "mask", "keep")
        else:
            assert b.seed is not None
            op = Draw(p, b.seed, b.drawn, x.axes, x.shape)
            keep = b.add(name, f"M_{x.symbol}", op, part="keep")
            b.drawn += int(np.prod(x.shape))
        scaled = Elementwise.on(lambda a, m: a * m / (1.0 - Num(p, "p")), x, keep)
        return b.add(out, f"{x.symbol}_drop", scaled, x, keep)
