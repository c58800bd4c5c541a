"""The proven bound of every operation: rounding and operand errors stay within it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.errors import gamma
from blockcalc.ops.evaluate import FUNCTIONS as FUNCTIONS_OF_TREES
from blockcalc.ops.expr import Name, Slot, call, exp, power_of_2, ratio, sqrt
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.bounds import NUMBERS
from tests.bench.bound import figures, middle
from tests.ops.exact import DIGITS, distance, mpmath
from tests.ops.exact import FUNCTIONS as EXACT
from tests.ops.exact import cell as exact
from tests.ops.programs import Case, cases
from tests.ops.simulate import dtype_of, kept, single, step_bound, stepwise

UNIT = 2.0**-53


def _exactly(xs: tuple[Array, ...]) -> list[Array]:
    return [np.zeros(x.shape) for x in xs]


def _forward(op: Op, xs: tuple[Array, ...]) -> Array:
    with np.errstate(all="ignore"):
        return op.forward(xs)


def _named(case: Case) -> str:
    return f"{type(case.op).__name__} {case.eq.out.name}"


@pytest.mark.slow
def test_no_step_in_double_precision_lies_outside() -> None:
    outside = []
    for case in cases():
        value = _forward(case.op, case.xs)
        bound = case.op.bound(case.xs, _exactly(case.xs), UNIT)
        assert bound.shape == value.shape
        assert bound.dtype == np.float64
        for at in np.ndindex(value.shape) if case.refs else ():
            if not distance(case.op, at, case.refs, case.xs, float(value[at])) <= bound[at]:
                outside.append((_named(case), at))
    assert outside == []


def test_a_step_without_operands_or_work_is_exact() -> None:
    for case in cases():
        if not case.op.worked:
            assert not case.op.bound(case.xs, _exactly(case.xs), 0.25).any()


def test_without_a_unit_and_errors_nothing_moves() -> None:
    for case in cases():
        assert not case.op.bound(case.xs, _exactly(case.xs), 0.0).any()


def _uncertain(case: Case, size: float, rng: np.random.RandomState) -> list[Array]:
    """Draw errors of operands; masks have none."""
    sure = [ref.role == "mask" or ref.part in ("allowed", "keep") for ref in case.refs]
    return [
        np.where(np.isfinite(x), size * (not fixed) * np.abs(x) * rng.uniform(0.1, 1, x.shape), 0.0)
        for x, fixed in zip(case.xs, sure, strict=True)
    ]


def _moved(
    case: Case, errors: Sequence[Array], rng: np.random.RandomState
) -> Iterator[tuple[Array, ...]]:
    """Draw operands that are as far off as they may be, or less."""
    for corner in (True, True, True, False, False):
        turns = [rng.uniform(-1, 1, e.shape) for e in errors]
        # a little less, for the sum is rounded
        turns = [(1 - 1e-6) * (np.sign(t) if corner else t) for t in turns]
        yield tuple(x + t * e for x, t, e in zip(case.xs, turns, errors, strict=True))


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 17])
@pytest.mark.slow
def test_uncertain_operands_move_no_result_further(every: int) -> None:
    rng = np.random.RandomState(5)
    outside, reached = [], 0.0
    for case in cases()[::every]:
        value = _forward(case.op, case.xs)
        own = case.op.bound(case.xs, _exactly(case.xs), UNIT)
        for size in (1e-9, 1e-4, 0.03, 0.4, 1.5):
            errors = _uncertain(case, size, rng)
            bound = case.op.bound(case.xs, errors, 0.0)
            assert np.all(case.op.bound(case.xs, errors, 2.0**-24) >= bound)
            for xs in _moved(case, errors, rng):
                other = _forward(case.op, xs)
                slack = own + case.op.bound(xs, _exactly(xs), UNIT)
                fine = np.isfinite(value) & np.isfinite(other)
                away = np.where(fine, np.abs(other - np.where(fine, value, 0)), 0)
                if not np.all(away <= bound + slack):
                    outside.append(_named(case))
                reached = max(reached, float(np.median(away / np.maximum(bound, 1e-300))))
    assert outside == []
    assert reached > 0.9  # and some results do go as far


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 17])
def test_rounding_and_uncertain_operands_together_stay_within(every: int) -> None:
    rng = np.random.RandomState(6)
    outside = []
    for case in cases()[::every]:
        xs = Case(case.eq, tuple(kept(x, np.float32) for x in case.xs))
        for size in (1e-7, 1e-3, 0.3) if case.refs else ():
            errors = _uncertain(xs, size, rng)
            bound = case.op.bound(xs.xs, errors, 2.0**-24)
            for true in _moved(xs, errors, rng):
                exactly = _forward(case.op, true)
                slack = case.op.bound(true, _exactly(true), UNIT)
                for worked in single(case.op, xs.xs):
                    fine = np.isfinite(worked) & np.isfinite(exactly)
                    away = np.abs(np.where(fine, worked, 0) - np.where(fine, exactly, 0))
                    if not np.all(away <= bound + slack):
                        outside.append(_named(case))
    assert outside == []


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_no_step_stored_in_a_format_lies_outside(name: str) -> None:
    kind, dtype = NUMBERS[name], dtype_of(name)
    outside = []
    for case in cases():
        xs = tuple(kept(x, dtype) for x in case.xs)
        value = _forward(case.op, xs)
        bound = step_bound(case.op, xs, value, kind) * (1 + 2.0**-20)
        for worked in single(case.op, xs) if case.refs else ():
            given = kept(worked, dtype)
            fine = np.isfinite(bound) & (given != value)
            if np.any(fine & ~(np.abs(given - np.where(fine, value, 0)) <= bound)):
                outside.append(_named(case))
    assert outside == []


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_one_rounding_after_every_operation_stays_within(name: str) -> None:
    dtype, unit = dtype_of(name), NUMBERS[name].unit
    outside, told = [], 0
    for case in cases():
        if type(case.op) is not Elementwise:
            continue
        xs = tuple(kept(x, dtype) for x in case.xs)
        value = _forward(case.op, xs)
        bound = case.op.bound(xs, _exactly(xs), unit) * (1 + 2.0**-20)
        told += int(np.isfinite(bound).sum())
        with np.errstate(all="ignore"):
            for body in (case.op.body, *case.op.ways):
                given = np.broadcast_to(stepwise(body, case.op.aligned(xs), dtype), value.shape)
                fine = np.isfinite(bound) & (given != value)
                if np.any(fine & ~(np.abs(given - np.where(fine, value, 0)) <= bound)):
                    outside.append(_named(case))
    assert outside == []
    assert told > 3000


def test_every_function_is_worked_exactly() -> None:
    assert set(FUNCTIONS_OF_TREES) == set(EXACT)


FUNCTIONS = {
    "exp": exp(Slot(0)),
    "power of 2": power_of_2(Slot(0)),
    "sqrt": sqrt(Slot(0)),
    "tanh": call("tanh", Slot(0)),
    "erfc": call("erfc", Slot(0)),
    "cos": call("cos", Slot(0)),
    "sin": call("sin", Slot(0)),
    "square": Slot(0) ** 2.0,
    "cube": Slot(0) ** 3.0,
    "max": call("max", Slot(0), Slot(1)),
    "step": call("step", Slot(0)),
    "product": Slot(0) * Slot(1),
    "quotient": Slot(0) / Slot(1),
    "ratio": ratio(Slot(0), Slot(1)),
    "over": call("over", Slot(0), Slot(1)),
    "logistic": Slot(0) / (1.0 + exp(Slot(1))),
    "softplus": call("ln", 1.0 + exp(Slot(0))),
    "mish": Slot(0) * call("tanh", call("ln", 1.0 + exp(Slot(0)))),
    "ln": call("ln", Slot(0)),
    "abs": abs(Slot(0)),
    "three terms": Slot(0) - Slot(1) + 0.1,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_moves_no_further_however_large_its_operands(name: str) -> None:
    rng = np.random.RandomState(8)
    op, n = Elementwise(FUNCTIONS[name]), 400
    refs = [Ref("x", "X", ("token",), (n,), "data")] * 2
    xs = [rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-3, 3, n) for _ in refs]
    xs = [np.where(rng.random_sample(n) < 0.05, 0.0, x) for x in xs]
    errors = [np.where(rng.random_sample(n) < 0.1, 0.0, 10.0 ** rng.uniform(-9, 3, n)) for _ in xs]
    if name in ("sqrt", "ln"):
        xs[0] = np.abs(xs[0])
    bound = op.bound(xs, errors, 0.0)
    both = op.bound(xs, errors, UNIT)
    value = _forward(op, tuple(xs))
    told = 0
    cells = np.argwhere(np.isfinite(bound) & np.isfinite(value))[:, 0]
    with mpmath.workdps(DIGITS):
        given = {i: exact(op, (i,), refs, xs) for i in cells}
    for turns in ((-1, -1), (-1, 1), (1, -1), (1, 1), (0.3, -0.6)):
        moved = [x + (1 - 1e-3) * t * e for x, t, e in zip(xs, turns, errors, strict=True)]
        for i in cells:
            if name in ("sqrt", "ln") and moved[0][i] < 0:
                continue
            with mpmath.workdps(DIGITS):
                ends = [given[i], exact(op, (i,), refs, moved)]
                # by the digits used, and below the smallest number
                lost = 1e-45 * abs(ends[0]) + 2.0**-1074
                assert abs(ends[1] - ends[0]) <= bound[i] + lost
                assert abs(ends[1] - mpmath.mpf(value[i])) <= both[i] + lost
                told += 1
    assert told > 300


def test_a_divisor_that_may_be_0_tells_nothing() -> None:
    a, b, e = np.ones(3), np.array([0.5, 0.5, 0.0]), np.array([0.4, 0.6, 0.0])
    bound = Elementwise(call("over", Slot(0), Slot(1))).bound([a, b], [np.zeros(3), e], 0.0)
    assert np.isfinite(bound).tolist() == [True, False, True]
    assert bound[2] == 0
    none = np.zeros(2)
    bound = Elementwise(ratio(Slot(0), Slot(1))).bound(
        [np.array([0.0, 1.0]), none], [none, none], UNIT
    )
    assert bound.tolist() == [0, np.inf]


def test_a_choice_is_open_where_its_operand_may_have_either_sign() -> None:
    x, e = np.array([0.2, -0.2, 0.0, 0.0]), np.array([0.1, 0.3, 0.0, 0.1])
    assert Elementwise(call("step", Slot(0))).bound([x], [e], 0.0).tolist() == pytest.approx(
        [0, 1, 0, 1]
    )
    mask = Elementwise(call("mask", Slot(0), Slot(1)))
    bound = mask.bound([x, np.array([1.0, 0, 0, 1])], [e, np.array([0.0, 0, 1, 0])], 0.0)
    assert bound.tolist() == pytest.approx([0.1, 0, np.inf, 0.1])


@pytest.mark.parametrize("name", ["sigmoid", "silu", "gelu_tanh", "quick_gelu"])
def test_an_exponential_out_of_range_leaves_a_bound(name: str) -> None:
    x = np.array([-200.0, -20.0, 20.0, 200.0])
    bound = ACTIVATIONS[name].op.bound([x], [np.full(4, 0.5)], 2.0**-24)
    assert np.all(bound < [1e-4, 1e-5, 0.51, 0.51])
    assert np.all(bound >= 0)


def test_a_sum_may_be_worked_in_any_order() -> None:
    a, b = np.full((1, 4), 3.0), np.array([[1.0, -1, 1, -1]])
    product = MatMul(transpose_b=True).bound([a, b], [0 * a, 0 * b], 2.0**-24)
    np.testing.assert_allclose(product, [[gamma(4, 2.0**-24) * 12]], rtol=1e-6)
    mean = Reduce("mean").bound([b], [0 * b], 2.0**-24)
    np.testing.assert_allclose(mean, [gamma(5, 2.0**-24)], rtol=1e-6)
    bias = MatMul(transpose_b=True).bound([a, b, np.ones(1)], [a, 0 * b, np.ones(1)], 0.0)
    np.testing.assert_allclose(bias, [[13]], rtol=1e-6)
    assert gamma(4, 0.25) == np.inf


def test_what_no_longer_fits_a_format_may_be_anything() -> None:
    double, x = Elementwise(Slot(0) * 2.0), np.array([30000.0, 40000.0, -np.inf])
    bound = step_bound(double, [x], 2 * x, NUMBERS["float16"])
    assert np.isfinite(bound).tolist() == [True, False, True]
    assert np.isinf(double.bound([x[:2]], [np.zeros(2)], 2.0**-11)).tolist() == [False, True]
    assert np.isinf(Elementwise(exp(Slot(0))).bound([x], [0 * x[:1]], 0.25)).all()
    for body in (call("cos", exp(Slot(0))), 0.0 * exp(Slot(0)), 1.0 / (1.0 + exp(exp(Slot(0))))):
        bound = Elementwise(body).bound([np.array([12.0, 1.0])], [np.zeros(2)], 2.0**-11)
        assert np.isinf(bound).tolist() == [True, False]


def test_an_operation_without_a_bound_says_so() -> None:
    with pytest.raises(TypeError):
        Op().bound([], [], 0.0)
    with pytest.raises(TypeError):
        Elementwise(Name("x")).bound([np.ones(1)], [np.zeros(1)], 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_random_blocks_stay_within(name: str) -> None:
    found = figures(name, 10_000_000)
    assert found.outside == 0
    assert found.open <= found.cells / 1000
    if name == "bfloat16":
        assert middle(found.typical) <= 5
        assert middle(found.nearest) <= 5


@pytest.mark.parametrize(
    "name", ["bfloat16", *(pytest.param(f, marks=pytest.mark.slow) for f in ("float32", "float16"))]
)
@pytest.mark.slow
def test_a_random_block_stays_within(name: str) -> None:
    found = figures(name, 1000)
    assert (found.outside, found.open) == (0, 0)
    assert 0.5 < found.worst <= 1.001


def test_the_bound_is_narrow_enough_to_tell_the_two_gelus_apart() -> None:
    dtype, kind = dtype_of("bfloat16"), NUMBERS["bfloat16"]
    x = kept(np.random.RandomState(2).normal(0, 1.5, (64, 1024)), dtype)
    gelu, other = ACTIVATIONS["gelu"].op, ACTIVATIONS["gelu_tanh"].op
    bound = step_bound(gelu, [x], gelu.forward([x]), kind)
    given = [kept(op.forward([x.astype(np.float32)]), dtype) for op in (gelu, other)]
    outside = [int(np.count_nonzero(np.abs(g - gelu.forward([x])) > bound)) for g in given]
    assert outside[0] == 0
    assert outside[1] > 1000


@pytest.mark.parametrize("exponent", [0.5, 1.5, -1.0, -0.5])
def test_other_powers_logarithms_and_sizes_move_no_further_than_told(exponent: float) -> None:
    rng = np.random.RandomState(3)
    x, e = rng.rand(500) * 4 + 0.1, rng.rand(500) * 0.09
    for body, f in (
        (Slot(0) ** exponent, lambda v: v**exponent),
        (call("ln", Slot(0)), np.log),
        (call("abs", Slot(0) - 1.0), lambda v: np.abs(v - 1.0)),
    ):
        bound = Elementwise(body).bound([x], [e], 0.0)
        for sign in (-1.0, 1.0):
            moved = np.abs(f(x + sign * e) - f(x))
            assert np.all(moved <= bound)
        assert np.median(bound / np.maximum(np.abs(f(x + e) - f(x)), np.abs(f(x - e) - f(x)))) < 3
