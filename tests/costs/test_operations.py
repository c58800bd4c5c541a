"""Operations: those of a run that counts, those that a cell shows, and derivatives of bodies."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.costs.count import Cost
from blockcalc.costs.plan import (
    of_file,
)
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.block import build
from blockcalc.ops import evaluate as expr
from blockcalc.ops.derivative import derivative
from blockcalc.ops.elementwise import Centered, Elementwise
from blockcalc.ops.evaluate import arrays
from blockcalc.ops.expr import Binary, Call, Expr, Fold, Num, Slot, walk
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.op import Array
from blockcalc.ops.reduce import Reduce
from blockcalc.program.trace import steps
from tests.equations import EVERY
from tests.helpers import sample_specs

pytestmark = pytest.mark.slow

COUNTED = {np.add, np.subtract, np.multiply, np.divide, np.power, np.sqrt, np.exp, np.tanh, np.cos, np.sin,
           np.maximum, np.square}  # fmt: skip


class Counting(np.ndarray):
    """An array whose arithmetic is counted while it is done."""

    count = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(x) for x in inputs]
        out = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            Counting.count += 2 * out.size * plain[0].shape[-1]
        elif ufunc in COUNTED:
            Counting.count += out.size if method == "__call__" else plain[0].size - np.size(out)
        return np.asarray(out).view(Counting)


def _counted(op: Any, inputs: list[Array], monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the operations of one step while it is worked, its guards against round-off aside."""
    own = [x.view(Counting) for x in inputs]
    Counting.count = 0
    monkeypatch.setitem(expr.FUNCTIONS, "ratio", lambda a, b: a / b)

    def erfc(x: Any) -> Any:
        Counting.count += x.size
        return expr._erfc(np.asarray(x)).view(Counting)

    monkeypatch.setitem(expr.FUNCTIONS, "erfc", erfc)
    monkeypatch.setattr(expr, "_plain", lambda v: v)
    monkeypatch.setattr(
        expr,
        "_logistic",
        lambda a, b, leaf: expr._evaluate(a, leaf) / (1 + np.exp(expr._evaluate(b, leaf))),
    )
    with np.errstate(all="ignore"):
        if isinstance(op, Elementwise):
            expr._evaluate(op.body, lambda e: op.aligned(own)[e.index])  # type: ignore[attr-defined]
        elif isinstance(op, Reduce):
            each = expr._evaluate(op.each, lambda e: own[0])
            total = each.max(axis=-1) if op.kind == "max" else each.sum(axis=-1)
            if op.kind == "mean":
                total / (each.shape[-1] - op.less)
        else:
            op.forward(own)
    monkeypatch.undo()
    return Counting.count


def _signs(tree: Expr) -> int:
    """Count the operations of a cell as it is written."""
    n = 0
    for e in walk(tree):
        cells = any(type(inner).__name__ in ("Cell", "Slot") for inner in walk(e))
        if (isinstance(e, Binary) and cells) or (
            isinstance(e, Call) and cells and e.function != "mask"
        ):
            n += 1
        elif isinstance(e, Fold):
            n += len(e.terms) - 1
    return n


BODIES = {
    **{name: act.op.body for name, act in ACTIVATIONS.items()},
    **{f"{type(eq.op).__name__} {eq.out.name}": eq.op.body for eq in EVERY
       if isinstance(eq.op, Elementwise) and not isinstance(eq.op, Centered)},
}  # fmt: skip


@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title}-{s.order}")
def test_the_operations_of_a_run_are_those_predicted(
    spec: blockcalc.Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build(spec)
    predicted = {s.eq.out.name: s.flops for s in Cost(of_file(spec)).steps}
    total = 0
    for step in steps(program, spec.arrays):
        n = _counted(step.equation.op, list(step.inputs), monkeypatch)
        assert n == predicted[step.equation.out.name], step.equation.out.name
        total += n
    assert total == Cost(of_file(spec)).flops_of() > 0


@pytest.mark.parametrize("eq", EVERY, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_a_cell_takes_as_many_operations_as_it_shows(eq: Any) -> None:
    first = (0,) * len(eq.out.shape)
    cells = prod(eq.out.shape)
    shown = (
        sum(_signs(eq.op.cell(at, eq.inputs)) for at in np.ndindex(*eq.out.shape))
        if eq.op.worked
        else 0
    )
    extra = cells if isinstance(eq.op, MatMul) else 0  # the first product is added to nothing
    assert eq.op.flops(eq.inputs) == shown + extra, first
    assert eq.op.rule(eq.inputs)


@pytest.mark.parametrize("name", BODIES)
def test_derivatives_agree_with_differences(name: str) -> None:
    body = BODIES[name]
    count = 1 + max(e.index for e in walk(body) if isinstance(e, Slot))
    rng = np.random.RandomState(count)
    xs = [
        rng.uniform(0.5, 2, 7)
        * (1 if count > 1 or "std" in name or "rms" in name else rng.choice([-1, 1], 7))
        for _ in range(count)
    ]
    for slot in range(count):
        h = 1e-6
        up, down = ([x + sign * h * (i == slot) for i, x in enumerate(xs)] for sign in (1, -1))
        if (
            any(isinstance(e, Call) and e.function == "mask" for e in walk(body))
            and slot == count - 1
        ):
            assert derivative(body, slot) == Num(0.0) or count == 1
            continue
        near = (arrays(body, up) - arrays(body, down)) / (2 * h)
        exact = np.broadcast_to(arrays(derivative(body, slot), xs), near.shape)
        np.testing.assert_allclose(exact, near, rtol=1e-7, atol=1e-8)
