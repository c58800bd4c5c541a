"""What every operation must hold, for every instance that any program here has."""

from __future__ import annotations

import numpy as np
import pytest

from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.notation.alphabets import Text
from blockcalc.ops.elementwise import SQUARE, Centered, Elementwise, Quotient
from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import Cell, Expr, Name, ratio
from blockcalc.ops.op import Op, Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.program import Equation
from tests.equations import EVERY


def _operands(eq: Equation, dtype: str = "float64") -> list[np.ndarray]:
    rng = np.random.RandomState(len(eq.out.name) + eq.out.shape[0])
    values = [rng.normal(0, 2, ref.shape).astype(dtype) for ref in eq.inputs]
    if eq.out.name.endswith((".std", ".rms")):
        values = [np.abs(v) for v in values]
    if isinstance(eq.op, Centered):
        values[1] = values[0].mean(axis=-1).astype(dtype)
    return values


def _magnitude(expr: Expr, xs: list[np.ndarray]) -> float:
    value = evaluate(expr, lambda e: abs(float(xs[e.operand][e.at])) if isinstance(e, Cell) else 1)
    return float(max(1.0, abs(value)) * sum(x.size for x in xs))


@pytest.mark.parametrize("eq", EVERY, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_a_cell_says_what_the_whole_computes(eq: Equation) -> None:
    xs = _operands(eq)
    whole = eq.op.forward(xs)
    eps = float(np.finfo(float).eps)
    for at in np.ndindex(whole.shape):
        tree = eq.op.cell(at, eq.inputs)

        def leaf(e: Expr) -> float:
            assert isinstance(e, Cell)
            return float(xs[e.operand][e.at])

        assert abs(evaluate(tree, leaf) - whole[at]) <= 4 * eps * _magnitude(tree, xs)


@pytest.mark.parametrize("eq", EVERY, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_the_declared_shape_is_the_real_one(eq: Equation) -> None:
    axes, shape = eq.op.result(eq.inputs)
    assert eq.op.forward(_operands(eq)).shape == shape == eq.out.shape
    assert len(axes) == len(shape) == len(eq.out.axes)


@pytest.mark.parametrize("eq", EVERY, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_float32_stays_float32(eq: Equation) -> None:
    assert eq.op.forward(_operands(eq, "float32")).dtype == np.float32


@pytest.mark.parametrize("eq", EVERY, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_magnitude_bounds_the_result_of_sums(eq: Equation) -> None:
    xs = _operands(eq)
    bound = eq.op.magnitude(xs)
    if bound is not None:
        assert bound.shape == eq.out.shape
        assert np.all(np.abs(eq.op.forward(xs)) <= bound * 4.000001)


def test_a_sample_variance_divides_by_one_less() -> None:
    x = Ref("x", "X", ("token", "d_model"), (1, 4), "data")
    op = Reduce("mean", SQUARE, less=1)
    value = op.forward([np.array([[1.0, 2.0, 3.0, 4.0]])])
    assert value.tolist() == [10]
    assert Text().render(op.formula([Name("D")])) == "Σ D² / (n - 1)"
    assert Text().render(op.cell((0,), (x,)).right) == "3"  # type: ignore[attr-defined]


def test_an_operation_must_answer_for_itself() -> None:
    for question in ("forward", "formula", "result"):
        with pytest.raises(TypeError):
            getattr(Op(), question)(())
    with pytest.raises(TypeError):
        Op().cell((), ())
    assert Op().magnitude(()) is None


@pytest.mark.parametrize(
    ("name", "x", "value"),
    [
        ("gelu", [1, -1, 3], [0.8413447461, -0.1586552539, 2.9959503059]),
        ("gelu_tanh", [1, -1, 3], [0.8411919906, -0.1588080094, 2.9963626079]),
        ("gelu_tanh", [2, -5, 0], [1.95459769, -2.2918e-07, 0]),
        ("relu", [2, -2, 0], [2, 0, 0]),
        ("identity", [2, -2, 0], [2, -2, 0]),
        ("silu", [2, -800, 0], [5.2847824679 / 3, 0, 0]),
    ],
)
def test_activations_have_their_published_values(
    name: str, x: list[float], value: list[float]
) -> None:
    out = ACTIVATIONS[name].op.forward([np.array(x, dtype=float)])
    np.testing.assert_allclose(out, value, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh"])
def test_gelu_keeps_its_digits_far_below_zero(name: str) -> None:
    mpmath = pytest.importorskip("mpmath", reason="mpmath is a development dependency")
    xs = np.linspace(-20, 8, 57)
    out = ACTIVATIONS[name].op.forward([xs])
    with mpmath.workdps(400):
        for x, got in zip(xs, out, strict=True):
            u = mpmath.mpf(float(x))
            inner = mpmath.sqrt(2 / mpmath.pi) * (u + mpmath.mpf(0.044715) * u**3)
            half = mpmath.ncdf(u) if name == "gelu" else (1 + mpmath.tanh(inner)) / 2
            want = float(u * half)
            assert abs(got - want) <= 2e-16 * (4 + 2 * x * x + abs(x) ** 3 / 4) * abs(want) + 1e-300


def test_equal_numbers_have_no_deviation_even_after_round_off() -> None:
    x = np.array([[0.1 + 0.2, 0.3], [40000.0, 40001.0], [0.7, 0.7]])
    refs = (
        Ref("x", "X", ("token", "d_model"), (3, 2), "data"),
        Ref("m", "m", ("token",), (3,), "computed"),
    )
    op = Centered.on(lambda a, m: a - m, *refs)
    out = op.forward([x, x.mean(axis=1)])
    assert out[0].tolist() == [0, 0]
    assert out[1].tolist() == [-0.5, 0.5]
    assert out[2].tolist() == [0, 0]


def test_a_quotient_of_nothing_is_nothing() -> None:
    a = Ref("a", "A", ("token", "key"), (2, 2), "computed")
    b = Ref("b", "B", ("token",), (2,), "computed")
    op = Quotient.on(ratio, a, b)
    out = op.forward([np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([0.0, 2.0])])
    assert out.tolist() == [[0, 0], [0.5, 1.5]]
    assert isinstance(op, Elementwise)
