"""Trees: what they give, and how many operations they take."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blockcalc.explain.arithmetic import precise_value
from blockcalc.ops.derivative import RULES
from blockcalc.ops.errors import ROUNDINGS, SPREADS
from blockcalc.ops.evaluate import FUNCTIONS as VALUES
from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import (
    FUNCTIONS,
    Binary,
    Cell,
    Dots,
    Figure,
    Fold,
    Num,
    Over,
    call,
    operations,
    walk,
)


def test_corners_of_expressions() -> None:
    one = Figure("1")
    assert evaluate(1 - Num(3.0), lambda e: 0.0) == -2
    assert evaluate(1 / Num(4.0), lambda e: 0.0) == 0.25
    assert evaluate(Binary("/", Num(1.0), Num(0.0)), lambda e: 0.0) == np.inf
    assert [type(e) for e in walk(Over("sum", one))] == [Over, Figure]
    assert evaluate(Fold("max", (Num(1.0), Num(2.0))), lambda e: 0.0) == 2


def test_counts_of_a_fold() -> None:
    cells = tuple(Cell(0, (i,)) for i in range(4))
    assert operations(Fold("+", cells)) == 3
    assert operations(Dots()) == 0
    assert operations(Num(1.0) + Num(2.0)) == 0


def test_every_function_has_a_value_and_a_bound_and_those_of_layers_a_derivative() -> None:
    assert set(FUNCTIONS) == set(VALUES)
    only_in_gradients = {"over", "step", "allowed"}
    assert set(RULES) == set(FUNCTIONS) - only_in_gradients
    assert set(ROUNDINGS) - set(FUNCTIONS) == {*"+-*/", "2^"}
    assert set(FUNCTIONS) <= set(ROUNDINGS)
    assert set(FUNCTIONS) <= set(SPREADS)


def test_an_unknown_function_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="no function 'log'; there are exp, ln"):
        call("log", 2.0)


@pytest.mark.parametrize(("function", "value"), [("ln", np.log(3)), ("abs", 3.0)])
def test_ln_and_abs_in_printed_lines(function: str, value: float) -> None:
    near = precise_value(call(function, Figure("3")))
    assert near is not None
    assert abs(float(near[0]) - value) < 1e-15


@pytest.mark.parametrize(
    ("terms", "total"),
    [
        ((1.5e308, 1.5e308, -1.5e308), 1.5e308),
        ((1.5e308, 1.5e308), math.inf),
        ((-1.5e308, -1.5e308), -math.inf),
        ((math.inf, -math.inf), math.nan),
    ],
)
def test_a_sum_out_of_range(terms: tuple[float, ...], total: float) -> None:
    own = evaluate(Fold("+", tuple(map(Num, terms))), lambda e: math.nan)
    assert own == total or (math.isnan(own) and math.isnan(total))
