"""The derivative of an expression tree, as an expression tree.

Where a function is not differentiable the usual convention applies: ReLU and |x| have derivative 0
at 0, and so have a quotient with divisor 0 and a root of 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set

from blockcalc.ops.expr import Binary, Call, Expr, Num, Slot, call, exp, one_plus_exp, sqrt, walk

ZERO, ONE = Num(0.0), Num(1.0)


def derivative(body: Expr, slot: int) -> Expr:
    """Differentiate the body of an elementwise operation with respect to one operand.

    Examples
    --------
    >>> derivative(Slot(0) * Slot(1), 0)
    Slot(index=1)
    >>> derivative(Slot(0) + 3.0, 0)
    Num(value=1.0, symbol=None)
    """
    match body:
        case Slot(index=index):
            return ONE if index == slot else ZERO
        case Num():
            return ZERO
        case Binary(op=op, left=left, right=right):
            return _binary(op, left, right, slot)
        case Call(function="ln", args=(u,)) if (v := one_plus_exp(u)) is not None:
            # e^v / (1 + e^v) would overflow
            return times(ONE / (1.0 + exp(negative(v))), derivative(v, slot))
        case Call(function=function, args=args):
            inner = [derivative(arg, slot) for arg in args]
            if all(d == ZERO for d in inner):
                return ZERO
            return RULES[function](args, inner)
    raise TypeError(type(body).__name__)


def needed(body: Expr, slots: Set[int]) -> set[int]:
    """Find the operands that occur in the derivatives for ``slots``: a backward pass keeps them."""
    found = (derivative(body, slot) for slot in slots)
    return {e.index for d in found for e in walk(d) if isinstance(e, Slot)}


def _binary(op: str, a: Expr, b: Expr, which: int) -> Expr:
    da, db = derivative(a, which), derivative(b, which)
    match op:
        case "+":
            return plus(da, db)
        case "-":
            return plus(da, ZERO if db == ZERO else negative(db))
        case "*":
            return plus(times(da, b), times(a, db))
        case "/" if (v := one_plus_exp(b)) is not None:
            # write it with 1 - 1 / (1 + e^v), which stays in range where e^v overflows
            dv = derivative(v, which)
            slope = times(over(a, b), 1.0 - ONE / b)
            return plus(over(da, b), ZERO if dv == ZERO else negative(times(slope, dv)))
        case "/":
            second = over(times(a, db), b**2.0)
            return plus(over(da, b), ZERO if second == ZERO else negative(second))
        case _ if isinstance(a, Num):  # a power of a constant, such as 2^x
            return times(times(Binary("^", a, b), call("ln", a)), db)
        case _:
            assert isinstance(b, Num)
            if 0 < b.value < 1:
                return call("over", times(Num(b.value), da), a ** (1 - b.value))
            rest = a if b.value == 2 else a ** (b.value - 1)
            return times(times(Num(b.value), rest), da)


def negative(a: Expr) -> Expr:
    """Negate; a double negation cancels."""
    match a:
        case Num(value=value, symbol=None):
            return Num(-value)
        case Binary(op="*", left=Num(value=-1.0), right=right):
            return right
    return Num(-1.0) * a


def _sign(a: Expr) -> tuple[bool, Expr]:
    """Split off a minus sign: whether there is one, and the rest."""
    if a == Num(-1.0):
        return True, ONE
    match a:
        case Binary(op="*", left=Num(value=-1.0), right=right):
            return True, right
        case Binary(op="/", left=Binary(op="*", left=Num(value=-1.0), right=right), right=b):
            return True, right / b
        case Num(value=value, symbol=None) if value < 0:
            return True, Num(-value)
    return False, a


def plus(a: Expr, b: Expr) -> Expr:
    """Add; terms that are 0 are left out."""
    if a == ZERO:
        return b
    minus, rest = _sign(b)
    return a if b == ZERO else a - rest if minus else a + b


def times(a: Expr, b: Expr) -> Expr:
    """Multiply; factors 0, 1 and minus signs are simplified."""
    if ZERO in (a, b):
        return ZERO
    (minus, a), (other, b) = _sign(a), _sign(b)
    product = _times(a, b)
    return negative(product) if minus != other else product


def _times(a: Expr, b: Expr) -> Expr:
    if a == ONE:
        return b
    if b == ONE:
        return a
    match b:
        case Binary(op="/", left=left, right=right) if left == ONE:
            return a / right
        case Call(function="over", args=(left, right)) if left == ONE:
            return call("over", a, right)
    return a * b


def over(a: Expr, b: Expr) -> Expr:
    """Divide; a numerator 0 and minus signs are simplified."""
    minus, a = _sign(a)
    quotient = ZERO if a == ZERO else a / b
    return negative(quotient) if minus and quotient != ZERO else quotient


def _ratio(args: tuple[Expr, ...], d: list[Expr]) -> Expr:
    """Differentiate a quotient with 0/0 = 0; its derivative is 0 where the divisor is 0."""
    a, b = args
    by_divisor = times(call("over", call("over", a, b), b), d[1])
    by_dividend = ZERO if d[0] == ZERO else call("over", d[0], b)
    return plus(by_dividend, ZERO if by_divisor == ZERO else negative(by_divisor))


Rule = Callable[[tuple[Expr, ...], list[Expr]], Expr]
RULES: dict[str, Rule] = {
    "exp": lambda u, d: times(exp(u[0]), d[0]),
    "ln": lambda u, d: over(d[0], u[0]),
    "abs": lambda u, d: times(call("over", u[0], call("abs", u[0])), d[0]),
    "sqrt": lambda u, d: call("over", d[0], 2.0 * sqrt(u[0])),
    "tanh": lambda u, d: times(1.0 - call("tanh", u[0]) ** 2.0, d[0]),
    "cos": lambda u, d: times(negative(call("sin", u[0])), d[0]),
    "sin": lambda u, d: times(call("cos", u[0]), d[0]),
    "erfc": lambda u, d: times(
        negative(2.0 / sqrt(Num(math.pi, "pi")) * exp(negative(_sign(u[0])[1] ** 2.0))), d[0]
    ),
    # the only maximum used is max(0, x)
    "max": lambda u, d: times(call("step", u[1]), d[1]),
    "ratio": _ratio,
    "mask": lambda u, d: times(call("allowed", u[1]), d[0]),
}
