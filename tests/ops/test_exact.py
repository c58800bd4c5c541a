"""Trees in exact fractions: they agree with floating point, and mark irrational results."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from blockcalc.ops.evaluate import evaluate, exact_value
from blockcalc.ops.expr import Call, Expr, Num, Slot, call, sqrt

NUMBERS = (-2.25, -1.0, 0.0, 0.25, 4.0)


def both(tree: Expr, *xs: float) -> tuple[Fraction | None, float]:
    """Work a tree in fractions and in floating point."""

    def at(leaf: Expr) -> float:
        assert isinstance(leaf, Slot)
        return xs[leaf.index]

    return exact_value(tree, lambda leaf: Fraction(at(leaf))), float(evaluate(tree, at))


@pytest.mark.parametrize(
    "tree",
    [
        call("over", Slot(0), Slot(1)),
        call("ratio", Slot(0), Slot(1)),
        call("max", Slot(0), Slot(1)),
        call("mask", Slot(0), Slot(1)),
        call("step", Slot(0)),
        call("allowed", Slot(0)),
        sqrt(Slot(0)),
        call("exp", Slot(0)),
        call("abs", Slot(0)),
        (Slot(0) ** 2.0) ** 0.5,
        Slot(0) ** 1.5,
        Slot(0) / Slot(1),
        Slot(0) ** 2.0 - Slot(1) * 3.0,
    ],
    ids=lambda tree: tree.function if isinstance(tree, Call) else tree.op,
)
def test_what_has_a_fraction_is_the_float(tree: Expr) -> None:
    for a, b in product(NUMBERS, NUMBERS):
        exact, value = both(tree, a, b)
        if exact is not None:
            assert float(exact) == value
        elif math.isfinite(value):  # 0/0 is 0 by convention, and powers of e are no fractions
            assert tree == call("ratio", Slot(0), Slot(1)) or (tree == call("exp", Slot(0)) and a)


@pytest.mark.parametrize(
    ("tree", "value"),
    [
        (call("over", Num(3.0), Num(0.0)), Fraction(0)),  # no gradient where nothing divides
        (call("over", Num(3.0), Num(4.0)), Fraction(3, 4)),
        (sqrt(Num(-1.0)), None),
        (sqrt(Num(2.25)), Fraction(3, 2)),
        (sqrt(Num(2.0)), None),
        (Num(2.25) ** 0.5, Fraction(3, 2)),
        (Num(4.0) ** -1.5, Fraction(1, 8)),
        (Num(2.0) ** 0.5, None),
        (Num(8.0) ** 0.3, None),
        (Num(0.0) ** -0.5, None),
        (call("ln", Num(1.0)), Fraction(0)),
        (call("ln", Num(2.0)), None),
        (call("abs", Num(-0.1)), Fraction(1, 10)),
    ],
)
def test_quotients_and_roots(tree: Expr, value: Fraction | None) -> None:
    assert exact_value(tree, lambda leaf: None) == value
