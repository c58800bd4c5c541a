"""Work trees in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from blockcalc.ops.expr import Binary, Call, Expr, Fold, Num

Leaf = Callable[[Expr], Fraction | None]


def exact_value(expr: Expr, leaf: Leaf) -> Fraction | None:
    """Work a tree in exact fractions; None where no fraction is the answer.

    A constant counts as the decimal number that it is written as.

    Parameters
    ----------
    expr : Expr
    leaf : callable
        Gives the value of a leaf that is no constant, or None where it has none.

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
    """Give the decimal number that a float is written as: 1/10 for 0.1.

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
            return a ** int(b) if b.denominator == 1 and abs(b) <= 8 and (a or b >= 0) else None


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
        case "exp" | "erfc" | "cos" if first == 0:
            return Fraction(1)
        case "tanh" | "sin" if first == 0:
            return Fraction(0)
        case _:
            return None


def _exact_root(x: Fraction) -> Fraction | None:
    if x < 0:
        return None
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    return root if root * root == x else None
