"""Losses, each one record: a scalar function of the result, where the backward pass starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from blockcalc.records import dataclass

if TYPE_CHECKING:  # the command line reads the names of the losses, but not their trees
    from blockcalc.ops.expr import Expr


@dataclass(frozen=True, eq=False)
class Loss:
    """A scalar function of the result: a sum or a mean over all entries.

    Attributes
    ----------
    kind : str
        Its name, also in the keys of its texts: ``loss.KIND``, and ``loss.KIND.x`` if it has a
        target.
    each : callable
        The summed term as a tree: a function of an entry of the result and, if there is a matrix,
        of its entry.
    key : str
        The key of its matrix under ``loss``: ``target`` (default: x), ``with``, or empty for none.
    symbol : str
        The symbol of its matrix in formulas.
    difference : bool
        Whether ``each`` takes the difference of result and matrix, which is then a separate step.
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
        """Name the matrix that the loss needs: ``loss.target``, ``loss.with``, or an empty text."""
        return f"loss.{self.key}" if self.key else ""

    @property
    def tree(self) -> Expr:
        """Give the summed term, with slots for its operands."""
        from blockcalc.ops.expr import Slot

        operands = 2 if self.key and not self.difference else 1
        return self.each(*(Slot(i) for i in range(operands)))

    @property
    def slope(self) -> Expr:
        """Differentiate the summed term with respect to the result."""
        from blockcalc.ops.derivative import derivative

        return derivative(self.tree, 0)

    @property
    def uniform(self) -> bool:
        """Tell whether the gradient is the same for every entry of the result."""
        from blockcalc.ops.expr import Num

        return isinstance(self.slope, Num)


LOSSES: dict[str, Loss] = {
    loss.kind: loss
    for loss in (
        Loss("sum", lambda y: y),
        Loss("mse", lambda d: d**2.0, key="target", symbol="Y", difference=True, mean=True),
        Loss("dot", lambda y, g: y * g, key="with", symbol="G"),
    )
}
DEFAULT = LOSSES["mse"]  # with x as the target, if the result has its shape
OTHERWISE = LOSSES["sum"]
_BACKWARD = ("grad", "loss", "new")  # names of steps after the forward pass begin with these
KEYS = tuple(dict.fromkeys(loss.key for loss in LOSSES.values() if loss.key))


def is_backward(name: str) -> bool:
    """Tell whether a step comes after the forward pass: ``grad.attn.q``, ``loss``, ``new.x``."""
    return name.split(".")[0] in _BACKWARD


def implied(key: str) -> Loss:
    """Give the loss implied if only its matrix is given: the first with that key."""
    return next(loss for loss in LOSSES.values() if loss.key == key)
