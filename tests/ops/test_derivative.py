"""Derivatives of trees against differences, and their conventions where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from blockcalc.ops.derivative import derivative
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import Expr, Slot, call, exp

X = Slot(0)


def value(tree: Expr, x: float) -> float:
    return float(evaluate(tree, lambda leaf: x))


@pytest.mark.parametrize(
    "tree",
    [call("ln", X), call("abs", X), X**0.5, X**1.5, X**-0.5, X * call("tanh", call("ln", 1.0 + exp(X)))],
    ids=["ln", "abs", "root", "power", "inverse root", "mish"],
)  # fmt: skip
def test_a_derivative_is_the_limit_of_differences(tree: Expr) -> None:
    for x in (0.3, 1.0, 2.5):
        h = 1e-6
        slope = (value(tree, x + h) - value(tree, x - h)) / (2 * h)
        assert value(derivative(tree, 0), x) == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize(
    ("x", "slope"), [(800.0, 1.0), (-800.0, 0.0), (-40.0, 4.248354255291589e-18)]
)
def test_the_derivative_of_softplus_stays_in_range(x: float, slope: float) -> None:
    softplus = call("ln", 1.0 + exp(X))
    assert value(derivative(softplus, 0), x) == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize(
    ("x", "y"), [(1000.0, 1000.0), (-1000.0, 0.0), (-40.0, 4.248354255291589e-18), (0.0, np.log(2))]
)
def test_softplus_stays_in_range(x: float, y: float) -> None:
    softplus = call("ln", 1.0 + exp(X))
    assert value(softplus, x) == pytest.approx(y, rel=1e-14)
    op = Elementwise(softplus)
    for dtype in (np.float64, np.float32):
        (out,) = op.forward([np.array([x], dtype)])
        assert out.dtype == dtype
        assert out == pytest.approx(y, rel=1e-6)
    (bound,) = op.bound([np.array([x])], [np.array([1e-3])], 2.0**-24)
    assert bound >= 9e-4 * value(derivative(softplus, 0), x)


@pytest.mark.parametrize("tree", [call("abs", X), X**0.5, (X**2.0) ** 0.5])
def test_where_there_is_no_derivative_it_is_0(tree: Expr) -> None:
    assert value(derivative(tree, 0), 0.0) == 0


def test_the_derivative_of_a_distance_is_its_sign() -> None:
    assert value(derivative(call("abs", X), 0), -3.0) == -1
