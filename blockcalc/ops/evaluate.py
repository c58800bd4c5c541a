"""Evaluate expression trees: in floating point, on numbers or arrays, and in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.ops.expr import Binary, Call, Expr, Fold, Num, Slot, Value, one_plus_exp, walk


def _erfc(x: Value) -> Value:
    if not isinstance(x, np.ndarray):
        return math.erfc(x)
    flat = [math.erfc(v) for v in x.ravel().tolist()]
    return np.array(flat, dtype=x.dtype).reshape(x.shape)


def _ratio(a: Value, b: Value) -> Value:
    """Divide, with 0/0 = 0: the convention for undefined rows."""
    undefined = np.logical_and(np.equal(a, 0), np.equal(b, 0))
    return np.where(undefined, 0 * a, a / np.where(undefined, 1 + 0 * b, b))


def _over(a: Value, b: Value) -> Value:
    """Divide, with 0 where the divisor is 0: the gradient of an undefined row."""
    by_zero = np.equal(b, 0)
    return np.where(by_zero, 0 * b, a / np.where(by_zero, 1 + 0 * b, b))


def _chosen(where: Value, like: Value) -> Value:
    """Convert true and false to 1 and 0 in the dtype of ``like``."""
    return where.astype(like.dtype) if isinstance(like, np.ndarray) else float(where)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "exp": np.exp,
    "ln": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "tanh": np.tanh,
    "cos": np.cos,
    "sin": np.sin,
    "erfc": _erfc,
    "max": np.maximum,
    "ratio": _ratio,
    "over": _over,
    "mask": lambda x, allowed: np.where(np.equal(allowed, 0), -np.inf, x),
    "step": lambda x: _chosen(np.greater(x, 0), x),
    "allowed": lambda keep: _chosen(np.not_equal(keep, 0), keep),
}

_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": np.power,
}


def _logistic(numerator: Expr, power: Expr, leaf: Callable[[Expr], Value]) -> Value:
    """Evaluate a / (1 + e^b) to full precision, even where e^b overflows.

    The relative error of e^b is the absolute error of b, so the rounding error of b is carried
    along; float32 is evaluated in float64.
    """
    wide = _wide(leaf)
    a, (b, rest) = _evaluate(numerator, wide), _pair(power, wide)
    e = np.exp(b)
    if isinstance(rest, np.ndarray):
        e = e + e * rest
    out = a / (1.0 + e)
    if np.max(b, initial=0.0) > LARGE:
        half = np.exp(-b / 2) * (1.0 - rest / 2)
        out = np.where(b > LARGE, a * half * half, out)
    return _stored(out, numerator / power, leaf)


def _wide(leaf: Callable[[Expr], Value]) -> Callable[[Expr], Value]:
    """Give the arrays at the leaves as float64."""

    def wide(e: Expr) -> Value:
        value = leaf(e)
        return value.astype(np.float64) if isinstance(value, np.ndarray) else value

    return wide


def _stored(out: Value, tree: Expr, leaf: Callable[[Expr], Value]) -> Value:
    """Store a result in the dtype of the first array of its tree."""
    found = (leaf(e) for e in walk(tree) if isinstance(e, Slot))
    first = next((v for v in found if isinstance(v, np.ndarray)), out)
    return _plain(np.asarray(out).astype(np.asarray(first).dtype, copy=False))


SMALLER = 2.0**-64  # times every term: then no sum of them overflows on the way
LARGE = 700.0  # beyond, an exponential is close to overflow
Pair = tuple[Value, Value]  # a number and its rounding error


def _pair(e: Expr, leaf: Callable[[Expr], Value]) -> Pair:
    """Evaluate an exponent with its rounding error (Dekker, 1971); division and roots without."""
    match e:
        case Binary("*", left, right):
            return _times(_pair(left, leaf), _pair(right, leaf))
        case Binary("+", left, right):
            (a, low_a), (b, low_b) = _pair(left, leaf), _pair(right, leaf)
            total = a + b
            added = total - a
            return total, (a - (total - added)) + (b - added) + low_a + low_b
        case Binary("^", base, Num(3.0)):
            x = _pair(base, leaf)
            return _times(_times(x, x), x)
        case _:
            return _evaluate(e, leaf), 0.0


def _times(left: Pair, right: Pair) -> Pair:
    (a, low_a), (b, low_b) = left, right
    value = a * b
    if isinstance(a, float) and a in (1.0, -1.0):
        return value, a * low_b
    (high_a, rest_a), (high_b, rest_b) = _halves(a), _halves(b)
    rest = ((high_a * high_b - value) + high_a * rest_b + rest_a * high_b) + rest_a * rest_b
    rest = rest + a * low_b + b * low_a
    return value, rest if np.isfinite(np.max(rest)) else np.where(np.isfinite(rest), rest, 0.0)


def _halves(x: Value) -> tuple[Value, Value]:
    """Split a number into a sum of two with half as many bits each."""
    shifted = 134217729.0 * x  # 2^27 + 1
    high = shifted - (shifted - x)
    return high, x - high


def _total(values: Sequence[float]) -> float:
    """Add floats as exactly as they can be, also if their sum on the way is out of range."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.fsum(x * SMALLER for x in values) / SMALLER
    except ValueError:  # infinities of both signs
        return math.nan


def _plain(value: Value) -> Value:
    """Keep arrays; convert a scalar to a Python float, which never upcasts a float32 array."""
    return value if isinstance(value, np.ndarray) and value.ndim else float(value)


def evaluate(expr: Expr, leaf: Callable[[Expr], Value]) -> Value:
    """Evaluate a tree in floating point.

    Parameters
    ----------
    expr : Expr
    leaf : callable
        Gives the value of a leaf that is not a constant: a cell, a slot or a figure.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> evaluate((Slot(0) + 1) / Num(2.0), lambda leaf: 5.0)
    3.0
    """
    with np.errstate(all="ignore"):
        return _plain(_evaluate(expr, leaf))


def _evaluate(expr: Expr, leaf: Callable[[Expr], Value]) -> Value:
    match expr:
        case Num(value=value):
            return value
        case Binary("/", left, right) if (power := one_plus_exp(right)) is not None:
            return _logistic(left, power, leaf)
        case Call("ln", (arg,)) if (power := one_plus_exp(arg)) is not None:
            # ln(1 + e^b), stable where e^b overflows or vanishes next to 1
            return _plain(np.logaddexp(0.0, _evaluate(power, leaf)))
        case Binary(op=op, left=left, right=right):
            a, b = _evaluate(left, leaf), _evaluate(right, leaf)
            if op == "/" and isinstance(b, float) and b == 0:
                return float(np.float64(a) / np.float64(b)) if isinstance(a, float) else a / b
            return _plain(_BINARY[op](a, b))
        case Call(function=function, args=args):
            return _plain(FUNCTIONS[function](*(_evaluate(a, leaf) for a in args)))
        case Fold(op=op, terms=terms):
            values = [_evaluate(term, leaf) for term in terms]
            return _total(values) if op == "+" else max(values)
        case _:
            return leaf(expr)


def arrays(body: Expr, operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Evaluate the body of an elementwise operation on whole arrays."""

    def slot(e: Expr) -> Value:
        assert isinstance(e, Slot)
        return operands[e.index]

    return np.asarray(evaluate(body, slot))


# exact fractions ---------------------------------------------------------------------

Leaf = Callable[[Expr], Fraction | None]


def exact_value(expr: Expr, leaf: Leaf) -> Fraction | None:
    """Evaluate a tree in exact fractions; None if the result is not a fraction.

    A constant counts as the decimal number that is written.

    Parameters
    ----------
    expr : Expr
    leaf : callable
        Gives the value of a leaf that is not a constant, or None if it has none.

    Examples
    --------
    >>> from blockcalc.ops.expr import Name
    >>> exact_value(Name("x") * -3, lambda leaf: Fraction(1, 2))
    Fraction(-3, 2)
    """
    match expr:
        case Num(value=value):
            return fraction(value) if math.isfinite(value) else None
        case Fold(op=op, terms=terms):
            return _exact_fold(op, [exact_value(t, leaf) for t in terms])
        case Binary(op=op, left=left, right=right):
            return _exact_binary(op, exact_value(left, leaf), exact_value(right, leaf))
        case Call(function=function, args=args):
            return _exact_call(function, [exact_value(a, leaf) for a in args])
        case _:
            return leaf(expr)


def fraction(x: float) -> Fraction:
    """Convert a float to the fraction of its shortest decimal text: 1/10 for 0.1.

    Examples
    --------
    >>> fraction(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(x))


def _exact_fold(op: str, values: Sequence[Fraction | None]) -> Fraction | None:
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return None
    return sum(known, Fraction(0)) if op == "+" else max(known)


def _exact_binary(op: str, a: Fraction | None, b: Fraction | None) -> Fraction | None:
    if (op == "*" and 0 in (a, b)) or (op == "/" and a == 0 and b != 0):
        return Fraction(0)
    if a is None or b is None:
        return None
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b if b else None
        case _:
            return _exact_power(a, b)


MOST_POWER = 8  # a fraction to a larger power has too many digits
MOST_POWER_OF_2 = 64


def _exact_power(a: Fraction, b: Fraction) -> Fraction | None:
    """Raise to a whole or a half power."""
    if abs(b) > (MOST_POWER_OF_2 if a == 2 else MOST_POWER) or (a == 0 and b < 0):
        return None
    if b.denominator == 1:
        return a ** int(b)
    root = _exact_root(a) if b.denominator == 2 else None
    return None if root is None else root**b.numerator


def _exact_call(function: str, args: Sequence[Fraction | None]) -> Fraction | None:
    first = args[0]
    if first is None:
        return None
    match function:
        case "max":
            return None if args[1] is None else max(first, args[1])
        case "mask":
            return first if args[1] else None
        case "ratio" | "over" if args[1]:
            return first / args[1]
        case "over" if args[1] == 0:
            return Fraction(0)
        case "step":
            return Fraction(int(first > 0))
        case "allowed":
            return Fraction(int(first != 0))
        case "sqrt":
            return _exact_root(first)
        case "abs":
            return abs(first)
        case "exp" | "erfc" | "cos" if first == 0:
            return Fraction(1)
        case "tanh" | "sin" if first == 0:
            return Fraction(0)
        case "ln" if first == 1:
            return Fraction(0)
        case _:
            return None


def _exact_root(x: Fraction) -> Fraction | None:
    if x < 0:
        return None
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    return root if root * root == x else None
