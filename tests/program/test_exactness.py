"""Exactness: results that equal their fractions, and rows with small exact deviations."""

from __future__ import annotations

import numpy as np
import pytest

import blockcalc
from blockcalc.nn.dropout import Draw
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Num, Slot, call
from blockcalc.ops.op import Array, Op
from blockcalc.program.builder import Builder
from blockcalc.program.exactness import DEEPEST, Exactness
from blockcalc.program.trace import steps


def exactness(*ops: Op, x: float = 0.5) -> Exactness:
    """Chain operations, each on the result of the one before; drawn ones on nothing."""
    b = Builder({"x": (1, 1)})
    ref = b.given("x", "X", ("token", "d_model"), role="data")
    for i, op in enumerate(ops):
        ref = b.add(f"s{i}", "S", op, *(() if isinstance(op, Draw) else (ref,)))
    program = b.program()
    values: dict[str, Array] = {"x": np.array([[x]])}
    values |= {step.equation.out.name: step.value for step in steps(program, values)}
    return Exactness({eq.out.name: eq for eq in program.equations}, values)


HALF, THIRD = Elementwise(Slot(0) * Num(0.5)), Elementwise(Slot(0) / Num(3.0))


def test_exact_operands_make_exact_results_and_round_off_does_not() -> None:
    known = exactness(HALF, THIRD, HALF)
    assert [known(name, (0, 0)) for name in ("x", "s0", "s1", "s2")] == [True, True, False, False]
    assert exactness(Elementwise(call("exp", Slot(0))), x=0.0)("s0", (0, 0))
    assert not exactness(Elementwise(call("exp", Slot(0))), x=1.0)("s0", (0, 0))


def test_drawn_numbers_are_exact() -> None:
    draw = Draw(0.5, 0, 0, ("token", "d_model"), (1, 1))
    known = exactness(THIRD, draw, HALF)
    assert not known("s0", (0, 0))
    assert known("s1", (0, 0))
    assert known("s2", (0, 0))


def test_what_lies_too_deep_counts_as_rounded() -> None:
    same = Elementwise(Slot(0) * Num(1.0))
    last = (0, 0)
    assert exactness(*[same] * (DEEPEST + 1))(f"s{DEEPEST}", last)
    assert not exactness(*[same] * (DEEPEST + 2))(f"s{DEEPEST + 1}", last)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_small_deviations_of_exact_numbers_are_kept(order: str) -> None:
    ulp = 2.0**-51
    data = {"x": [[1, 1 + ulp]], "attn": {"out": [[0, 0]]}, "norm": {"order": order, "eps": 0}}
    if order == "pre":
        data |= {"attn": {part: {"eye": 2} for part in ("w_q", "w_k", "w_v")}, "stop": "norm1"}
    trace = blockcalc.run(data)
    assert trace["norm1.centered"].tolist() == [[-ulp / 2, ulp / 2]]
    assert trace["norm1"].tolist() == [[-1, 1]]


def test_deviations_that_round_off_alone_makes_are_not() -> None:
    # 0.1 + 0.2 is not 0.3 + 0 in floating point, and is on paper
    data = {"x": [[0.1, 0.3]], "attn": {"out": [[0.2, 0]]}, "norm": {"eps": 0}}
    trace = blockcalc.run(data)
    assert np.ptp(trace["residual1"]) > 0
    assert trace["norm1.centered"].tolist() == [[0, 0]]
