"""Trees worked in 50 digits: what bounds are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from blockcalc.ops.expr import At, Binary, Call, Cell, Expr, Fold, Num
from blockcalc.ops.op import Array, Op, Ref

mpmath: Any = pytest.importorskip("mpmath", reason="mpmath is a development dependency")
DIGITS = 50


def _quotient(a: Any, b: Any) -> Any:
    return a / b if b else mpmath.mpf(0)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "ln": mpmath.log,
    "abs": abs,
    "sqrt": mpmath.sqrt,
    "tanh": mpmath.tanh,
    "cos": mpmath.cos,
    "sin": mpmath.sin,
    "erfc": mpmath.erfc,
    "max": max,
    "ratio": _quotient,
    "over": _quotient,
    "mask": lambda x, allowed: x if allowed else mpmath.mpf("-inf"),
    "step": lambda x: mpmath.mpf(int(x > 0)),
    "allowed": lambda keep: mpmath.mpf(int(keep != 0)),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a if mpmath.isinf(a) else a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
}


def value(tree: Expr, leaf: Callable[[Cell], Any]) -> Any:
    """Work a tree; a constant counts as the decimal number that it is written as, pi as itself."""
    match tree:
        case Call("ln", (Binary("+", Num(1.0), Call() as e),)):
            return mpmath.log1p(value(e, leaf))
        case Num(symbol="pi"):
            return +mpmath.pi
        case Num():
            return mpmath.mpf(repr(tree.value))
        case Cell():
            return leaf(tree)
        case Binary():
            return BINARY[tree.op](value(tree.left, leaf), value(tree.right, leaf))
        case Call():
            return FUNCTIONS[tree.function](*(value(arg, leaf) for arg in tree.args))
        case Fold():
            terms = [value(term, leaf) for term in tree.terms]
            return mpmath.fsum(terms) if tree.op == "+" else max(terms)
    raise TypeError(type(tree).__name__)


def cell(op: Op, at: At, refs: Sequence[Ref], xs: Sequence[Array]) -> Any:
    """Work one cell of a result from its operands."""
    return value(op.cell(at, refs), lambda c: mpmath.mpf(float(xs[c.operand][c.at])))


def distance(op: Op, at: At, refs: Sequence[Ref], xs: Sequence[Array], given: float) -> float:
    """Tell how far a number lies from the true one."""
    with mpmath.workdps(DIGITS):
        true = cell(op, at, refs, xs)
        if mpmath.isinf(true) or np.isinf(given):
            return 0.0 if true == given else np.inf
        return float(abs(mpmath.mpf(given) - true))
