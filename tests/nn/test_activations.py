"""Activations against 60 digits, far into their tails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blockcalc.nn.activations import ACTIVATIONS, Activation
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Cell, Expr, Slot, call, exp, substitute
from tests.ops import exact

mp: Any = pytest.importorskip("mpmath", reason="mpmath is a development tool").mp
mp.dps = 60
# written apart from the program; the tree of any other is worked in 60 digits as it stands
PUBLISHED: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: max(x, mp.mpf(0)),
    "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2,
    "gelu_tanh": lambda x: x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))),
    "quick_gelu": lambda x: x / (1 + mp.exp(-mp.mpf(1.702) * x)),
    "silu": lambda x: x / (1 + mp.exp(-x)),
    "tanh": mp.tanh,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "identity": lambda x: x,
}  # fmt: skip


def true(name: str, x: Any) -> Any:
    """Give an activation in 60 digits."""
    if name in PUBLISHED:
        return PUBLISHED[name](x)

    def cell(e: Expr) -> Expr:
        return Cell(0, ()) if isinstance(e, Slot) else e

    return exact.value(substitute(ACTIVATIONS[name].op.body, cell), lambda cell: x)


def points() -> np.ndarray:
    rng = np.random.RandomState(0)
    small = 10.0 ** rng.uniform(-310, 0, 60)
    return np.concatenate([np.linspace(-39, 30, 500), rng.uniform(-30, 30, 300), rng.normal(0, 1, 100), small, -small])  # fmt: skip


def ulps(got: float, want: Any, dtype: str) -> float:
    unit = np.spacing(np.abs(np.asarray(float(want), dtype)))
    return abs(float((mp.mpf(float(got)) - want) / mp.mpf(float(unit))))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_keeps_its_digits_in_the_tails(name: str, dtype: str) -> None:
    xs = points().astype(dtype)
    got = ACTIVATIONS[name].op.forward([xs])
    assert got.dtype == dtype
    for x, y in zip(xs.tolist(), got.tolist(), strict=True):
        want = true(name, mp.mpf(x))
        bound = 4 + 2 * x * x if name.startswith("gelu") else 4
        assert ulps(y, want, dtype) <= bound, (name, x, y)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_far_below_zero_nothing_is_lost_before_the_smallest_number(name: str) -> None:
    (y,) = ACTIVATIONS[name].op.forward([np.array([-21.15])])
    want = float(true(name, mp.mpf(-21.15)))
    assert (y == 0) == (want == 0)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "quick_gelu", "silu", "sigmoid", "tanh"])
def test_at_the_ends_of_the_range(name: str) -> None:
    with np.errstate(all="ignore"):
        low, high = ACTIVATIONS[name].op.forward([np.array([-1e300, 1e300])])
    assert low == (-1 if name == "tanh" else 0)
    assert high == (1 if name in ("sigmoid", "tanh") else 1e300)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_tree_of_an_activation_is_the_published_function(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    xs = [mp.mpf(x) for x in (-3.5, -1, 0, 0.25, 1, 7)]
    want = [true(name, x) for x in xs]
    monkeypatch.delitem(PUBLISHED, name)
    assert all(abs(true(name, x) - y) < 1e-15 for x, y in zip(xs, want, strict=True))


def test_an_activation_of_its_own_is_held_to_its_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Slot(0) * call("tanh", call("ln", 1.0 + exp(Slot(0))))
    monkeypatch.setitem(ACTIVATIONS, "mish", Activation(Elementwise(body)))
    for dtype in ("float64", "float32"):
        test_an_activation_keeps_its_digits_in_the_tails("mish", dtype)
    with np.errstate(all="ignore"):
        low, high = ACTIVATIONS["mish"].op.forward([np.array([-1e300, 1e300])])
    assert (low, high) == (0, 1e300)
    naive = Slot(0) * call("tanh", call("ln", exp(Slot(0)) + 1.0))
    monkeypatch.setitem(ACTIVATIONS, "mish", Activation(Elementwise(naive)))
    with pytest.raises(AssertionError):
        test_an_activation_keeps_its_digits_in_the_tails("mish", "float64")
