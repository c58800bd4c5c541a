"""The losses, each one record: the number that a backward pass starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from blockcalc.ops.derivative import derivative
from blockcalc.ops.expr import Expr, Num, Slot


@dataclass(frozen=True)
class Loss:
    """One number made of the result: a sum or a mean over all entries.

    Attributes
    ----------
    kind : str
        Its word, which also finds its texts: ``loss.KIND``, and ``loss.KIND.x`` where it has a target.
    each : callable
        What is summed, as a tree: of an entry of the result, and of that of its matrix where it has one.
    key : str
        The key of its matrix beside ``loss.kind``: ``target`` (x where it is left out), ``with``, or empty.
    symbol : str
        How formulas write its matrix.
    difference : bool
        Whether ``each`` takes the difference of the two, which is then a step of its own.
    mean : bool
        Whether the sum is divided by the number of entries, N.
    """

    kind: str
    each: Callable[..., Expr]
    key: str = ""
    symbol: str = ""
    difference: bool = False
    mean: bool = False

    @property
    def matrix(self) -> str:
        """Name its matrix, ``loss.target`` or ``loss.with``; empty if it has none."""
        return f"loss.{self.key}" if self.key else ""

    @property
    def tree(self) -> Expr:
        """Give what is summed, with slots for its operands."""
        operands = 2 if self.key and not self.difference else 1
        return self.each(*(Slot(i) for i in range(operands)))

    @property
    def slope(self) -> Expr:
        """Differentiate what is summed by the result: where the backward pass starts."""
        return derivative(self.tree, 0)

    @property
    def uniform(self) -> bool:
        """Tell whether the gradient is the same for every entry of the result."""
        return isinstance(self.slope, Num)


LOSSES: dict[str, Loss] = {
    loss.kind: loss
    for loss in (
        Loss("sum", lambda y: y),
        Loss("mse", lambda d: d**2.0, key="target", symbol="Y", difference=True, mean=True),
        Loss("dot", lambda y, g: y * g, key="with", symbol="G"),
    )
}
DEFAULT = LOSSES["mse"]  # asks for x again, where the result has its shape
OTHERWISE = LOSSES["sum"]
KEYS = tuple(dict.fromkeys(loss.key for loss in LOSSES.values() if loss.key))


def implied(key: str) -> Loss:
    """Give the loss that is meant where only its matrix is given: the first with that key."""
    return next(loss for loss in LOSSES.values() if loss.key == key)
