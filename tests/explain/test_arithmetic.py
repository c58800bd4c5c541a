"""Printed lines are worked to 40 digits: what is true as printed, and what has no answer."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

import blockcalc
from blockcalc.explain.arithmetic import decimal_value, holds, precise_value
from blockcalc.ops.expr import Binary, Cell, Dots, Expr, Figure, Fold, Name, Num, call, word
from tests.helpers import every_line

E = "2.718281828459045235360287471352662497757"  # published to 40 digits
ONE, NOTHING = Figure("1"), Figure("0")


def test_a_sum_with_a_function_in_it_is_worked_to_its_digits() -> None:
    near = precise_value(Fold("+", (ONE, call("exp", ONE), call("exp", NOTHING))))
    assert near is not None
    value, off = near
    assert 0 < off < Fraction(1, 10**28)
    assert abs(value - Fraction(Decimal(E)) - 2) < off


def test_a_sum_with_a_function_in_it_holds_where_it_rounds_to_the_result() -> None:
    total = Fold("+", (ONE, call("exp", ONE)))
    assert holds(total, Figure("3.7183"))
    assert not holds(total, Figure("3.7182"))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(call("exp", Figure("1", 8)), id="overflow"),
        pytest.param(call("exp", ONE) / NOTHING, id="division by 0"),
        pytest.param(call("sqrt", Figure("-1")), id="root of a negative number"),
        pytest.param(call("mask", call("exp", ONE), NOTHING), id="minus infinity"),
    ],
)
def test_a_line_that_leaves_the_numbers_has_no_value_and_holds_for_none(line: Expr) -> None:
    assert precise_value(line) is None
    assert not holds(line, Figure("1"))


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (Binary("^", Figure("2"), Figure("0.5")), "1.414214"),
        (Binary("^", Binary("^", Figure("-3"), Figure("2")), Figure("0.5")), "3"),
        (Binary("^", Figure("4"), Figure("-1.5")), "0.125"),
        (Binary("^", Figure("1.1"), Figure("2.3")), "1.245097"),
    ],
)
def test_a_power_need_not_be_whole(line: Expr, result: str) -> None:
    assert holds(line, Figure(result))
    assert not holds(line, Figure("1.0"))


def test_a_broken_power_of_a_negative_number_has_no_value() -> None:
    assert precise_value(Binary("^", Figure("-2"), Figure("0.5"))) is None


def test_a_line_beyond_the_range_is_said_without_its_arithmetic() -> None:
    ffn = {"w_1": [[1]], "w_2": [[1]], "activation": "silu"}
    data = {"x": [[0]], "attn": {"out": [[0]]}, "norm": {"order": "pre"},
            "norm2": {"beta": [-1e8]}, "ffn": ffn}  # fmt: skip
    spec = blockcalc.load(data)
    assert blockcalc.run(spec)["ffn.act"] == 0
    silent = [line for line in every_line(spec) if line.middle is None]
    assert [line.left for line in silent] == [word("at", Name("A"), Name("1"), Name("1"))]
    assert silent[0].result == NOTHING


def test_what_is_no_arithmetic_has_no_value() -> None:
    with pytest.raises(TypeError, match="Dots"):
        precise_value(Binary("*", call("exp", ONE), Dots()))


def test_pi_has_as_many_digits_as_are_kept_of_it() -> None:
    half, none = Num(math.pi, "pi") / Num(2.0), dict[Cell, Decimal]().__getitem__
    near = decimal_value(half, none, 40)
    assert near is not None
    assert str(near).startswith("1.5707963267948966192313216916397514420")
    assert decimal_value(half, none, 60) is None


@pytest.mark.parametrize("x", ["-3", "-40", "-48", "-60", "-300", "2"])
def test_what_stands_beside_1_in_a_logarithm_keeps_its_digits(x: str) -> None:
    near = precise_value(call("ln", Binary("+", ONE, call("exp", Figure(x)))))
    assert near is not None
    with localcontext() as wide:
        wide.prec = 300
        true = Fraction((1 + Decimal(x).exp()).ln())
    assert abs(near[0] - true) < near[1] < true / 10**28
