"""What every operation answers, and the matrices without numbers that it works on."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from blockcalc.messages import say
from blockcalc.ops.expr import At, Expr

Array = NDArray[Any]
Axes = tuple[str, ...]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ref:
    """A matrix without its numbers.

    Attributes
    ----------
    name, symbol : str
        ``attn.q`` and ``Q``.
    axes, shape
        ``("token", "d_head")`` and ``(3, 2)``.
    role : str
        ``data``, ``weight``, ``mask`` or ``constant`` for an input, else ``computed``.
    part : str
        What it is to the layer that writes it, where others need to find it: ``query``, ``key``, ``value``,
        ``scores``, ``allowed``, ``weighted``, ``keep``, ``hidden``, ``out``, ``residual``; else empty.
    """

    name: str
    symbol: str
    axes: Axes
    shape: Shape
    role: str
    part: str = ""


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
