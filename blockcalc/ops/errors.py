"""Bounds on the error of the result of a tree: running error analysis.

Each node has its value and two rigorous bounds: on its rounding error, and on the error propagated
from its operands. N. J. Higham, "Accuracy and Stability of Numerical Algorithms" (2nd
ed., 2002), chapter 3: each operation gives its true result times 1 + δ with |δ| <= u, a sum of n
terms in any order is off by at most γ_(n-1) times the sum of their absolute values (``gamma``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from blockcalc.ops.evaluate import evaluate, fraction
from blockcalc.ops.expr import SELECTIONS, Binary, Call, Expr, Num, Slot, Value, exp, one_plus_exp
from blockcalc.ops.op import Array

DOUBLE = 2.0**-53  # the unit roundoff of double precision, in which the values here are computed
UP, TINY = 1.0 + 2.0**-30, 2.0**-1070  # more than the rounding errors in computing a bound itself

ROUNDINGS: dict[str, float] = {
    "+": 1, "-": 1, "*": 1, "/": 2, "ratio": 2, "over": 2, "sqrt": 1,
    "exp": 8, "tanh": 8, "cos": 8, "sin": 8, "erfc": 10, "ln": 8,
    "2^": 8, "max": 0, "abs": 0, **dict.fromkeys(SELECTIONS, 0),
}  # fmt: skip
"""How many units each operation may be off by, relative to its result.

IEEE 754 rounds the basic operations and square roots correctly: one unit; two for a quotient, as
many programs multiply by the reciprocal. A function within n ULP is off by up to 2n units. "Errors
in Math Functions" in the manual of the GNU C Library has for x86_64 exp, log, sin and cos within 1
ULP, tanh 2, erfc 3 in single and 5 in double precision; CUDA's programming guide has exp, sin, cos
and tanh within 2 and erfc within 4; NumPy's vectorized functions stay within the 4 ULP of Intel's
SVML, its float32 exp within 2.52 (release notes of 1.17 and 1.22). A power is a product of that
many factors, or a function within 1 ULP.
"""


def range_of(unit: float) -> tuple[float, float]:
    """Give the smallest normal and the largest number of the narrowest format with this unit.

    Examples
    --------
    >>> range_of(2.0**-11)
    (6.103515625e-05, 65504.0)
    """
    if unit <= DOUBLE:
        return 2.0**-1022, float(np.finfo(np.float64).max)
    return (2.0**-14, 65504.0) if unit == 2.0**-11 else (2.0**-126, 2.0**127 * (2 - 2 * unit))


class Ball(NamedTuple):
    """A value with two error bounds.

    Attributes
    ----------
    value
        As computed here, in double precision.
    rounding
        Bounds the rounding error: the computed result against the exact one for the same operands.
    moved
        Bounds the exact result for these operands against the exact one for the true operands.
    """

    value: Value
    rounding: Value
    moved: Value

    def radius(self, unit: float) -> Array:
        """Give the sum of both bounds; without a unit, no rounding."""
        total = self.moved + self.rounding if unit else self.moved
        return upward(np.asarray(total, dtype=np.float64))


def upward(bound: Array) -> Array:
    """Finish a bound: add the rounding errors of computing it; nan becomes infinite."""
    return np.asarray(nan_as_inf(bound * UP + TINY * (bound > 0)))


def nan_as_inf(bound: Value) -> Value:
    """Replace nan by infinity: where a bound cannot be computed, there is none."""
    return np.where(np.isnan(bound), np.inf, bound)


def gamma(n: int, unit: float) -> float:
    """Bound the relative error of n roundings in a row, γ_n = n u / (1 - n u), or infinity."""
    return n * unit / (1 - n * unit) if n * unit < 1 else math.inf


def balls(body: Expr, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Ball:
    """Evaluate a tree on whole arrays, with the bounds of every cell; see ``Op.bound``."""
    leaves = [
        Ball(np.asarray(x, np.float64), 0.0, np.asarray(e) if np.any(e) else 0.0)
        for x, e in zip(xs, errors, strict=True)
    ]
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    with np.errstate(all="ignore"):
        found = _Work(leaves, max(unit, DOUBLE)).ball(body)
    return Ball(*(np.broadcast_to(part, shape) for part in found))


def summed(ball: Ball, roundings: int, unit: float, total: Callable[[Array], Array]) -> Array:
    """Bound the error of a sum of terms in any order, with at most ``roundings`` in a row.

    ``ball`` has the terms, ``unit`` is the unit roundoff (0 for none), and ``total`` sums arrays.
    """
    with np.errstate(all="ignore"):
        out = total(np.asarray(ball.moved))
        if unit:
            size = total(np.abs(ball.value) + 2 * np.asarray(ball.rounding))
            least = _least(unit) if roundings else 0.0
            added = _times(gamma(roundings, unit), size) + np.where(size > 0, least, 0.0)
            out = out + total(np.asarray(ball.rounding)) + added
        return upward(out)


def products(
    xs: Sequence[Array],
    errors: Sequence[Array],
    unit: float,
    terms: int,
    total: Callable[[Sequence[Array]], Array],
) -> Array:
    """Bound the error of a sum of ``terms`` products a b, plus a third operand c if there is one.

    ``total`` computes it from operands, here from |a|, γ |b| + e_b, γ |c| + e_c and e_a, |b| + e_b.
    """
    with np.errstate(all="ignore"):
        g = gamma(terms, unit)
        (a, b, *c), (ea, eb, *ec) = [np.abs(np.asarray(x, np.float64)) for x in xs], errors
        third = (_times(g, x) + e for x, e in zip(c, ec, strict=True))
        out = total([a, _times(g, b) + eb, *third])
        if unit:
            out = np.where(out > 0, out + terms * _least(unit), out)
        if np.any(ea):
            out = out + total([ea, b + eb, *map(np.zeros_like, c)])
        return upward(out)


def _least(unit: float) -> float:
    """Give half the smallest subnormal number, or the smallest number of double precision."""
    return max(unit * range_of(unit)[0], 2.0**-1074)


def _times(a: Value, b: Value) -> Value:
    """Multiply, with 0 times infinity as 0."""
    return np.where(np.equal(a, 0) | np.equal(b, 0), 0.0, a * b)


class _Work:
    """Evaluates trees with their error bounds, for one unit roundoff."""

    def __init__(self, leaves: Sequence[Ball], unit: float) -> None:
        self.leaves, self.unit = leaves, unit
        self.smallest, self.largest = range_of(unit)

    def ball(self, e: Expr) -> Ball:
        match e:
            case Slot(index=index):
                return self.leaves[index]
            case Num():
                return Ball(e.value, self._constant(e), 0.0)
            case Binary("/", left, right) if (power := one_plus_exp(right)) is not None:
                return self._logistic(self.ball(left), self.ball(power))
            case Binary("+" | "-"):
                return self._sum(e)
            case Binary("^", Num(2.0) as base, power) if not isinstance(power, Num):
                return self._apply("2^", Binary("^", base, Slot(0)), [self.ball(power)])
            case Binary(op=op, left=left, right=right):
                parts = [self.ball(left), self.ball(right)]
                return self._apply(op, Binary(op, Slot(0), Slot(1)), parts)
            case Call(function=function, args=args):
                node = Call(function, tuple(Slot(i) for i in range(len(args))))
                return self._apply(function, node, [self.ball(arg) for arg in args])
        raise TypeError(type(e).__name__)

    def _constant(self, e: Num) -> float:
        """Round a constant, unless its digits fit: 0.5 does, 0.1 and π do not."""
        fits = (math.frexp(e.value)[0] / self.unit).is_integer() and e.symbol != "pi"
        exact = fits and e.value.as_integer_ratio() == fraction(e.value).as_integer_ratio()
        return 0.0 if exact else self.unit * abs(e.value)

    def _apply(self, op: str, node: Expr, parts: Sequence[Ball]) -> Ball:
        """Evaluate one operation; ``node`` is its tree with slots as operands."""
        v = [part.value for part in parts]
        slack = [part.rounding for part in parts]
        value = _value(node, v)
        k = ROUNDINGS[op] if op != "^" else max(2.0, v[1] - 1)
        rounding = SPREADS[op](v, slack, slack)
        if k:  # an operand that may have overflowed may give nan, even times 0
            lost = sum(np.isinf(radius) for radius in slack) > 0
            rounding = np.where(lost, np.inf, self._rounded(value, rounding, k, _ends(v)))
        moves = [part.moved for part in parts]
        moved = SPREADS[op](v, slack, moves) if any(np.any(move) for move in moves) else 0.0
        return Ball(value, nan_as_inf(rounding), nan_as_inf(moved))

    def _rounded(self, value: Value, spread: Value, k: float, ends: Value) -> Value:
        """Add the rounding of an operation to the error that its operands pass on.

        ``ends`` tells where an operand is 0 or infinite: a result of 0 is exact there, and
        underflow elsewhere. Subnormal results have an absolute error; an overflow has no bound.
        """
        share = k * self.unit
        if share >= 1:
            return np.full_like(np.asarray(value, float), np.inf)
        size = np.abs(value) + spread
        out = (spread + share * np.maximum(size, self.smallest) + _least(self.unit)) / (1 - share)
        out = np.where(size > self.largest, np.inf, out)
        exact = np.equal(spread, 0) & ends & (np.equal(value, 0) | np.isinf(value))
        return np.where(exact, 0.0, out)

    def _sum(self, e: Expr) -> Ball:
        """Bound a sum of terms, in any order if there are more than two."""
        parts: list[Ball] = []
        value = _value(self._chain(e, parts), [part.value for part in parts])
        spread = sum(part.rounding for part in parts)
        if len(parts) == 2:
            size = np.abs(value) + spread
            out = (spread + self.unit * size) / (1 - self.unit)
        else:
            size = sum(np.abs(part.value) + 2 * part.rounding for part in parts)
            out = spread + gamma(len(parts) - 1, self.unit) * size
        fixed = np.isinf(value) & np.isfinite(spread) & (sum(np.isinf(p.value) for p in parts) > 0)
        rounding = np.where(fixed, 0.0, np.where(size > self.largest, np.inf, out))
        moved = np.where(fixed, 0.0, sum(part.moved for part in parts))
        return Ball(value, nan_as_inf(rounding), nan_as_inf(moved) if np.any(moved) else 0.0)

    def _chain(self, e: Expr, parts: list[Ball]) -> Expr:
        """Flatten nested sums: collect the terms, and return the tree with slots for them."""
        if isinstance(e, Binary) and e.op in "+-":
            return Binary(e.op, self._chain(e.left, parts), self._chain(e.right, parts))
        parts.append(self.ball(e))
        return Slot(len(parts) - 1)

    def _logistic(self, a: Ball, b: Ball) -> Ball:
        """Bound a / (1 + e^b), in which e^b may overflow or have an error as large as itself.

        1 / (1 + e^b) equals (1 - tanh(b/2)) / 2, whose slope is used; it is 0 if e^b overflows.
        """
        node = Slot(0) / (1.0 + exp(Slot(1)))
        value, share = _value(node, [a.value, b.value]), _value(node, [1.0, b.value])

        def spread(d: Value) -> Value:
            return _tanh([b.value / 2], [b.rounding / 2], [d / 2]) / 2

        k = ROUNDINGS["exp"] + ROUNDINGS["+"] + 1  # of the reciprocal; the product has its own
        rounding = self._rounded(share, spread(b.rounding), k, np.isinf(b.value))
        lost = b.value + b.rounding > math.log(self.largest / 2)
        most = np.minimum(1.0, share * np.exp(b.rounding) + _least(self.unit))
        rounding = np.where(lost, np.maximum(rounding, most), rounding)
        rounding = np.where(np.isinf(b.rounding), np.inf, rounding)
        moved = spread(b.moved) if np.any(b.moved) else 0.0
        product = self._apply("*", Slot(0) * Slot(1), [a, Ball(share, rounding, moved)])
        return product._replace(value=value)


def _value(node: Expr, values: Sequence[Value]) -> Value:
    """Evaluate a node on the values of its slots."""
    return evaluate(node, lambda leaf: values[leaf.index] if isinstance(leaf, Slot) else None)


def _ends(values: Sequence[Value]) -> Value:
    """Tell where an operand is 0 or infinite."""
    return sum(np.equal(value, 0) | np.isinf(value) for value in values) > 0


# the change of a function ------------------------------------------------------------------------
#
# v are values, s bounds the error of each, d bounds a further change: each function here bounds
# |f(c + m) - f(c)| over all |c - v| <= s and |m| <= d.

Spread = Callable[[list[Value], list[Value], list[Value]], Value]


def _nearest(v: Value, s: Value, d: Value) -> Value:
    """Bound the distance of an operand from 0 from below, rounding included."""
    return np.maximum(np.abs(v) * (1 - 2.0**-50) - (s + d) * (1 + 2.0**-50), 0.0)


def _product(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    a, b, (da, db) = np.abs(v[0]) + s[0], np.abs(v[1]) + s[1], d
    return _times(a, db) + _times(b, da) + _times(da, db)


def _quotient(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    top, (da, db) = np.abs(v[0]) + s[0], d
    low = _nearest(v[1], s[1], db)
    out = (da + _times(top, db) / _nearest(v[1], s[1], 0.0)) / low
    still = np.equal(da, 0) & np.equal(db, 0) & (np.equal(top, 0) | np.not_equal(v[1], 0))
    return np.where(still, 0.0, np.where(low > 0, out, np.inf))


def _over(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    by_zero = np.equal(v[1], 0) & np.equal(s[1], 0) & np.equal(d[1], 0)
    return np.where(by_zero, 0.0, _quotient(v, s, d))


def _power(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    """Bound a whole power by the binomial theorem, another one by its largest slope."""
    top, n = np.abs(v[0]) + s[0], int(v[1])
    if n < 0 or n != v[1]:
        ends = (_nearest(v[0], s[0], d[0]), top + d[0])
        slope = abs(v[1]) * np.maximum(*(end ** (v[1] - 1) for end in ends))
        return np.where(np.equal(d[0], 0), 0.0, slope * d[0])
    return sum(math.comb(n, k) * _times(top ** (n - k), d[0] ** k) for k in range(1, n + 1))


def _exp(v: list[Value], s: list[Value], d: list[Value], log: float = 1.0) -> Value:  # of the base
    return _times(np.exp(log * (v[0] + s[0] + d[0])), -np.expm1(-log * d[0]))


def _sqrt(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    least = np.sqrt(_nearest(v[0], s[0], d[0])) + np.sqrt(_nearest(v[0], s[0], 0.0))
    return np.where(np.equal(d[0], 0), 0.0, np.minimum(np.sqrt(d[0]), d[0] / least))


def _tanh(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    slope = 1.0 / np.cosh(np.minimum(_nearest(v[0], s[0], d[0]), 350.0)) ** 2
    return np.minimum(_times(slope, d[0]), 2.0)


def _erfc(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    slope = 2 / math.sqrt(math.pi) * np.exp(-(np.minimum(_nearest(v[0], s[0], d[0]), 26.0) ** 2))
    return np.minimum(_times(slope, d[0]), 2.0)


def _step(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    either = np.equal(_nearest(v[0], s[0], d[0]), 0) & np.not_equal(s[0] + d[0], 0)
    return np.where(either, 1.0, 0.0)


def _mask(v: list[Value], s: list[Value], d: list[Value]) -> Value:
    """Give 0 where a cell is masked, and no bound where the mask itself is uncertain."""
    moved = np.where(np.equal(v[1], 0), 0.0, d[0])
    return np.where(_step(v[1:], s[1:], d[1:]) > 0, np.inf, moved)


SPREADS: dict[str, Spread] = {
    "*": _product, "/": _quotient, "ratio": _quotient, "over": _over, "^": _power,
    "ln": lambda v, s, d: np.where(np.equal(d[0], 0), 0.0, d[0] / _nearest(v[0], s[0], d[0])),
    "abs": lambda v, s, d: d[0], "exp": _exp, "2^": partial(_exp, log=math.log(2)),
    "sqrt": _sqrt, "tanh": _tanh, "erfc": _erfc,
    **dict.fromkeys(("cos", "sin"), lambda v, s, d: np.minimum(d[0], 2.0)),
    "max": lambda v, s, d: np.maximum(*d), "step": _step, "allowed": _step, "mask": _mask,
}  # fmt: skip
