"""The orders of a block: how sublayers, their norms and their residuals are composed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from blockcalc.records import dataclass

if TYPE_CHECKING:  # the command line reads the names of the orders without importing NumPy
    from blockcalc.ops.op import Ref


@dataclass(frozen=True, eq=False)
class Sublayer:
    """A sublayer bound to its weights.

    Attributes
    ----------
    work : callable
        Attention or an FFN, ``[T, d_model] -> [T, d_model]``.
    norms : sequence of callable
        As many as the order assigns to each sublayer, in the order of use.
    add : callable
        Writes the residual: takes the stream and the outputs to add (one or more).
    """

    work: Callable[[Ref], Ref]
    norms: Sequence[Callable[[Ref], Ref]]
    add: Callable[..., Ref]


Compose = Callable[["Ref", Sequence[Sublayer]], "Ref"]


def post_norm(x: Ref, sublayers: Sequence[Sublayer]) -> Ref:
    """``x = norm(x + work(x))`` for each sublayer: Vaswani et al. (2017), section 3.1."""
    for s in sublayers:
        (norm,) = s.norms
        x = norm(s.add(x, s.work(x)))
    return x


def pre_norm(x: Ref, sublayers: Sequence[Sublayer]) -> Ref:
    """``x = x + work(norm(x))`` for each sublayer: GPT-2 (2019) and most models since."""
    for s in sublayers:
        (norm,) = s.norms
        x = s.add(x, s.work(norm(x)))
    return x


@dataclass(frozen=True, eq=False)
class Order:
    """An order of a block.

    Attributes
    ----------
    compose : callable
        Composes the sublayers.
    norms : int
        The number of norms of each sublayer.
    normalized : bool
        Whether the result of a block is normalized; if not, models add a final norm.
    """

    compose: Compose
    norms: int = 1
    normalized: bool = True


ORDERS: dict[str, Order] = {
    "post": Order(post_norm),
    "pre": Order(pre_norm, normalized=False),
}


def compared(order: str) -> tuple[str, str]:
    """Give the two orders in which a file is compared with itself: the first of all, and its own.

    If its own is the first, the other is the second of all.

    Examples
    --------
    >>> compared("post"), compared("pre")
    (('post', 'pre'), ('post', 'pre'))
    """
    first, second, *_ = ORDERS
    return first, second if order == first else order


SUBLAYERS = ("attn", "ffn")  # the keys of a block's sublayers, in the order of use
NORM_KEYS = tuple(
    f"norm{i}" for i in range(1, len(SUBLAYERS) * max(o.norms for o in ORDERS.values()) + 1)
)
