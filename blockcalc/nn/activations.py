"""The activations, each one an elementwise function written as a tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Expr, Num, Slot, call, exp, sqrt


def _activation(label: str, function: Callable[[Expr], Expr]) -> Elementwise:
    return Elementwise(function(Slot(0)), label)


_ROOT_2 = sqrt(2.0)
_TANH_INNER = 2.0 * sqrt(Num(2.0) / Num(float(np.pi), "pi"))

ACTIVATIONS: dict[str, Elementwise] = {
    "relu": _activation("ReLU", lambda x: call("max", 0.0, x)),
    # erfc is accurate far below zero, where 1 + erf cancels
    "gelu": _activation("GELU", lambda x: 0.5 * x * call("erfc", -x / _ROOT_2)),
    # x / (1 + e^(-2u)) equals x (1 + tanh u) / 2 without cancellation
    "gelu_tanh": _activation(
        "GELU_tanh", lambda x: x / (1.0 + exp(-(_TANH_INNER * (x + 0.044715 * x**3.0))))
    ),
    "quick_gelu": _activation("QuickGELU", lambda x: x / (1.0 + exp(-(1.702 * x)))),
    "silu": _activation("SiLU", lambda x: x / (1.0 + exp(-x))),
    "tanh": _activation("tanh", lambda x: call("tanh", x)),
    "sigmoid": _activation("sigmoid", lambda x: 1.0 / (1.0 + exp(-x))),
    "identity": _activation("id", lambda x: x),
}

# other words for some of them, in a file or in the configuration of a model
ALIASES = {"swish": "silu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
           "gelu_erf": "gelu", "linear": "identity", "none": "identity"}  # fmt: skip
# what papers call a gated FFN, and the activation of its gate
GATED = {"swiglu": "silu", "geglu": "gelu", "reglu": "relu", "glu": "sigmoid"}
