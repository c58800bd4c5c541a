"""The activations as records: an elementwise function written as a tree, and other names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Expr, Num, Slot, call, exp, sqrt
from blockcalc.records import dataclass


@dataclass(frozen=True, eq=False)
class Activation:
    """An activation of the FFN.

    Attributes
    ----------
    op : Elementwise
        The function.
    aliases : tuple of str
        Other names for it in files and in configurations of models.
    gated : str
        The name of an FFN that is gated by it, or empty.
    """

    op: Elementwise
    aliases: tuple[str, ...] = ()
    gated: str = ""


def _activation(
    label: str,
    function: Callable[[Expr], Expr],
    *aliases: str,
    gated: str = "",
    way: Callable[[Expr], Expr] | None = None,
) -> Activation:
    ways = () if way is None else (way(Slot(0)),)
    return Activation(Elementwise(function(Slot(0)), label, ways=ways), aliases, gated)


_ROOT_2 = sqrt(2.0)
_TANH_INNER = 2.0 * sqrt(Num(2.0) / Num(float(np.pi), "pi"))

ACTIVATIONS: dict[str, Activation] = {
    "relu": _activation("ReLU", lambda x: call("max", 0.0, x), gated="reglu"),
    # erfc is accurate far below zero, where 1 + erf, the form of most libraries, cancels
    "gelu": _activation(
        "GELU",
        lambda x: 0.5 * x * call("erfc", -x / _ROOT_2),
        "gelu_erf",
        gated="geglu",
        way=lambda x: 0.5 * x * (2.0 - call("erfc", x / _ROOT_2)),
    ),
    # x / (1 + e^(-2u)) equals x (1 + tanh u) / 2, the form of most libraries, without cancellation
    "gelu_tanh": _activation(
        "GELU_tanh",
        lambda x: x / (1.0 + exp(-(_TANH_INNER * (x + 0.044715 * x**3.0)))),
        "gelu_new",
        "gelu_pytorch_tanh",
        way=lambda x: 0.5 * x * (1.0 + call("tanh", 0.5 * _TANH_INNER * (x + 0.044715 * x**3.0))),
    ),
    "quick_gelu": _activation("QuickGELU", lambda x: x / (1.0 + exp(-(1.702 * x)))),
    "silu": _activation("SiLU", lambda x: x / (1.0 + exp(-x)), "swish", gated="swiglu"),
    "tanh": _activation("tanh", lambda x: call("tanh", x)),
    "sigmoid": _activation("sigmoid", lambda x: 1.0 / (1.0 + exp(-x)), gated="glu"),
    "identity": _activation("id", lambda x: x, "linear", "none"),
}
ALIASES = {alias: name for name, act in ACTIVATIONS.items() for alias in act.aliases}
GATED = {act.gated: name for name, act in ACTIVATIONS.items() if act.gated}
