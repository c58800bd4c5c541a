"""The interface of operations, and references to matrices without values."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.messages import say
from blockcalc.ops.expr import At, Expr
from blockcalc.records import dataclass

Array = NDArray[Any]
Axes = tuple[str, ...]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ref:
    """A matrix without its values.

    Attributes
    ----------
    name, symbol : str
        ``attn.q`` and ``Q``.
    axes, shape
        ``("token", "d_head")`` and ``(3, 2)``.
    role : str
        ``data``, ``weight``, ``mask`` or ``constant`` for an input, else ``computed``.
    part : str
        Its role in the layer that writes or reads it, if others need to find it: ``query``,
        ``key``, ``value``, ``scores``, ``scaled``, ``allowed``, ``weights``, ``weighted``,
        ``keep``, ``hidden``, ``out``, ``residual``; of a given matrix ``matrix``, ``bias``,
        ``gamma``, ``beta``, or the key of a mask; else empty.
    """

    name: str
    symbol: str
    axes: Axes
    shape: Shape
    role: str
    part: str = ""


Gradient = list[tuple[str, "Op", tuple["Ref | None", ...]]]
"""The equations of a gradient, in order: the name of the part, the operation, its operands.

The last equation is the gradient, those before are intermediate results. An operand None stands
for the result of the equation before.
"""


class Op:
    """The interface of every operation. Operands come as one sequence, ``a, b = xs``."""

    blocks = False  # whether its result may contain minus infinity: a mask
    worked = True  # whether its cells have arithmetic: moved or drawn entries have none
    beyond = ""  # what ``forward`` does with whole rows beyond the trees of their cells

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        """Give the axes and the shape of the result."""
        raise TypeError(type(self).__name__)

    def forward(self, xs: Sequence[Array]) -> Array:
        """Compute the value."""
        raise TypeError(type(self).__name__)

    def formula(self, xs: Sequence[Expr]) -> Expr:
        """Write the operation on names."""
        raise TypeError(type(self).__name__)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        """Write the entry ``at`` of the result in terms of cells of the operands."""
        raise TypeError(type(self).__name__)

    def rule(self, refs: Sequence[Ref]) -> str:
        """Describe the rule for the shape of the result."""
        return say("rule.same")

    def vjp(self, refs: Sequence[Ref], i: int, g: Ref) -> Gradient | None:
        """Write the gradient of operand ``i``, given the gradient ``g`` of the result.

        Returns
        -------
        Gradient or None
            Its equations; none (an empty list) if it is ``g`` itself, None if it is 0 everywhere.
        """
        raise TypeError(type(self).__name__)

    def sums_over(self, refs: Sequence[Ref]) -> tuple[str, ...]:
        """Name the axes (tokens, batch) over which a gradient is summed."""
        return ()

    def per_cell(self, refs: Sequence[Ref]) -> int:
        """Count the operations of one cell of the result; one multiply-add is two."""
        return 0

    def flops(self, refs: Sequence[Ref]) -> int:
        """Count the operations of the whole result, from shapes alone.

        Guards against round-off and against division by 0 are not counted.
        """
        return math.prod(self.result(refs)[1]) * self.per_cell(refs)

    def keeps(self, refs: Sequence[Ref], wanted: Set[int]) -> set[int]:
        """Find the operands that a backward pass needs for the gradients of the ``wanted`` ones."""
        return set()

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        """Give the sum of absolute terms of each cell, which bounds its round-off.

        None if the operation neither adds nor subtracts.
        """
        return None

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        """Bound how far the result may lie from the true one, whatever the order of its sums.

        Parameters
        ----------
        xs : sequence of ndarray
            The operands as used, in double precision.
        errors : sequence of ndarray
            How far each cell of an operand may lie from its true value, 0 where it is exact.
        unit : float
            The unit roundoff, such as 2^-24, with which each operation inside is rounded once; 0
            for none.

        Returns
        -------
        ndarray
            In the shape of the result; infinite where there is no bound.
        """
        raise TypeError(type(self).__name__)


class SumOp(Op):
    """Base of operations whose cells are sums of products of entries of the operands."""

    def magnitude(self, xs: Sequence[Array]) -> Array | None:
        return self.forward([np.abs(x) for x in xs])
