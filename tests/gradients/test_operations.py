"""The operations of the backward pass: cells, shapes, formulas, and their own gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.notation.alphabets import Text
from blockcalc.ops.elementwise import Centered, Elementwise
from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import Call, Cell, Expr, Name, walk
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.program.backward import with_gradients
from blockcalc.program.loss import LOSSES
from blockcalc.program.program import Equation
from tests.equations import EVERY
from tests.helpers import sample_specs

pytestmark = pytest.mark.slow


def _backward_equations() -> list[Equation]:
    """Collect what the backward passes of all samples write, in both ways."""
    found: dict[Any, Equation] = {}
    for spec in sample_specs():
        program = blockcalc.run(spec).program
        for chain in (False, True):
            for kind in ("sum", "mse", "dot"):
                equations = with_gradients(program, LOSSES[kind], chain).equations
                for eq in equations[len(program.equations) :]:
                    found.setdefault((eq.op, tuple(r.shape for r in eq.inputs)), eq)
    return list(found.values())


BACKWARD = _backward_equations()


def _operands(eq: Equation) -> list[Array]:
    rng = np.random.RandomState(len(eq.inputs) + eq.out.shape[0])
    return [rng.uniform(0.3, 2, ref.shape) for ref in eq.inputs]


def _name(ref: Ref) -> Expr:
    return Name(ref.symbol)


def _work(tree: Expr, xs: list[Array]) -> float:
    return float(
        evaluate(tree, lambda e: float(xs[e.operand][e.at]) if isinstance(e, Cell) else 0.0)
    )


def _slopes(op: Op, refs: tuple[Ref, ...], xs: list[Array], i: int, weights: Array) -> Array:
    """Work what an operation says of a gradient."""
    axes, shape = op.result(refs)
    g = Ref("g", "g", axes, shape, "computed")
    lines = op.vjp(refs, i, g)
    if lines is None:
        return np.zeros_like(xs[i])
    values = {"g": weights, **{f"x{k}": x for k, x in enumerate(xs)}}
    names = {id(ref): f"x{k}" for k, ref in enumerate(refs)}
    last = weights
    for _, inner, operands in lines:
        own = [last if r is None else values["g" if r is g else names[id(r)]] for r in operands]
        last = inner.forward(own)
    return last.reshape(xs[i].shape)


CHECKED = [eq for eq in EVERY if eq.inputs]


def _plainly(op: Op, xs: list[Array]) -> Array:
    """Work an operation without what it does for rows that are even."""
    return Elementwise.forward(op, xs) if isinstance(op, Centered) else op.forward(xs)


def _chooses(op: Op) -> bool:
    return any(
        isinstance(e, Call) and e.function in ("step", "allowed", "mask") for e in _calls(op)
    )


def _calls(op: Op) -> list[Expr]:
    return list(walk(op.body)) if isinstance(op, Elementwise) else []


@pytest.mark.parametrize("eq", BACKWARD, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_backward_operations_are_operations_like_others(eq: Equation) -> None:
    xs = _operands(eq)
    whole = eq.op.forward(xs)
    axes, shape = eq.op.result(eq.inputs)
    assert whole.shape == shape == eq.out.shape
    assert len(axes) == len(shape)
    assert eq.op.forward([x.astype("float32") for x in xs]).dtype == np.float32
    for at in np.ndindex(whole.shape):
        size = max(1.0, abs(float(whole[at])))
        assert abs(_work(eq.op.cell(at, eq.inputs), xs) - whole[at]) <= 1e-11 * size
    assert eq.op.rule(eq.inputs)
    assert eq.op.flops(eq.inputs) >= 0
    assert Text().render(eq.op.formula([_name(ref) for ref in eq.inputs]))


@pytest.mark.parametrize("eq", CHECKED, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_every_gradient_agrees_with_central_differences(eq: Equation) -> None:
    xs = _operands(eq)
    refs = tuple(Ref(f"x{k}", r.symbol, r.axes, r.shape, r.role) for k, r in enumerate(eq.inputs))
    weights = np.random.RandomState(3).normal(0, 1, eq.out.shape)
    constant = {"Rotate": 1, "Shifted": 1}.get(type(eq.op).__name__, len(xs))
    for i in range(min(len(xs), constant)):
        if getattr(eq.op, "kind", "") == "max":
            continue  # it is only subtracted again
        exact = _slopes(eq.op, refs, xs, i, weights)
        near = np.zeros_like(xs[i])
        for at in np.ndindex(xs[i].shape):
            sides = []
            for sign in (1, -1):
                moved = [x.copy() for x in xs]
                moved[i][at] += sign * 1e-6
                sides.append(float((_plainly(eq.op, moved) * weights).sum()))
            near[at] = (sides[0] - sides[1]) / 2e-6
        if i > 0 and _chooses(eq.op) and not (exact.any() and near.any()):
            continue  # what chooses has no slope
        np.testing.assert_allclose(exact, near, rtol=2e-7, atol=2e-8 * max(1.0, np.abs(near).max()))
