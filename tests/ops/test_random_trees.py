"""The bound on random trees: one rounding after every operation, and operands with errors."""

from __future__ import annotations

import numpy as np
import pytest

from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Binary, Expr, Num, Slot, call, exp, power_of_2, sqrt, walk
from blockcalc.ops.op import Array, Ref
from blockcalc.program.bounds import NUMBERS
from tests.ops.exact import DIGITS, cell, mpmath
from tests.ops.simulate import dtype_of, kept, stepwise

pytestmark = pytest.mark.slow

CELLS = 20
REFS = [Ref("x", "X", ("token",), (CELLS,), "data")] * 2
CONSTANTS = (0.1, 2.0, -1.0, 3.0, 0.044715, 0.5)


def _tree(rng: np.random.RandomState, depth: int) -> Expr:
    def inner() -> Expr:
        return _tree(rng, depth - 1)

    kind = rng.randint(12) if depth else 0
    if kind < 2:
        slot = rng.random_sample() < 0.8
        return Slot(rng.randint(2)) if slot else Num(CONSTANTS[rng.randint(len(CONSTANTS))])
    if kind < 6:
        return Binary("+-**"[kind - 2], inner(), inner())
    if kind == 6:
        return inner() / inner()
    if kind == 7:
        return call(("exp", "tanh", "erfc", "cos", "sin")[rng.randint(5)], inner())
    if kind == 8:
        return call("over", inner(), inner())
    if kind == 9:
        return inner() ** float(rng.randint(2, 4))
    if kind == 10:
        return call("max", 0.0, inner()) if rng.randint(2) else sqrt(inner() ** 2.0)
    if kind == 11 and rng.randint(2):
        return power_of_2(inner() * Slot(rng.randint(2)))
    return inner() / (1.0 + exp(inner()))


def _operands(rng: np.random.RandomState) -> Array:
    x = rng.choice([-1, 1], CELLS) * 10.0 ** rng.uniform(-2, 1, CELLS)
    return np.where(rng.random_sample(CELLS) < 0.05, 0.0, x)


@pytest.mark.parametrize("trees", [pytest.param(5000, marks=pytest.mark.slow), 200])
@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_no_cell_of_a_random_tree_lies_outside(name: str, trees: int) -> None:
    rng = np.random.RandomState(12)
    dtype, unit, told = dtype_of(name), NUMBERS[name].unit, 0
    for _ in range(trees):
        body = _tree(rng, rng.randint(1, 5))
        if not {Slot(0), Slot(1)} <= set(walk(body)):
            continue
        xs = [kept(_operands(rng), dtype) for _ in REFS]
        errors = [np.abs(x) * 10.0 ** rng.uniform(-6, 0, CELLS) * rng.randint(2) for x in xs]
        true = [x + (1 - 1e-5) * rng.choice([-1, 0.3, 1], CELLS) * e for x, e in zip(xs, errors, strict=True)]  # fmt: skip
        op = Elementwise(body)
        bound = op.bound(xs, errors, unit)
        with np.errstate(all="ignore"):
            given = stepwise(body, xs, dtype)
        for i in np.argwhere(np.isfinite(bound))[:, 0]:
            with mpmath.workdps(DIGITS):
                right = cell(op, (i,), REFS, true)
                away = abs(mpmath.mpf(float(given[i])) - right)
                assert away <= bound[i] * (1 + 1e-9) + 2.0**-1074, (body, i)
            told += 1
    assert told > trees
