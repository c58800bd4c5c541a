"""Conventions of the backward pass: kinks, 0/0, masks, dropout, layouts, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import InputError, UsageError
from blockcalc.gradients.differences import differences
from blockcalc.gradients.run import gradient_of, norm_of, parameters, work_gradients
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.ops.derivative import derivative
from blockcalc.ops.evaluate import arrays
from blockcalc.reading.load import load
from tests.helpers import THREE, gradient_steps

pytestmark = pytest.mark.slow


def test_a_relu_at_exactly_0_takes_0_and_says_so() -> None:
    trace = work_gradients(load(THREE))
    pre = trace["ffn.pre"]
    assert (pre == 0).any()
    assert (trace["grad.ffn.pre"][pre == 0] == 0).all()
    notes = [n for p in gradient_steps(load(THREE), trace) for n in p.notes]
    assert "ReLU at exactly 0 (1 of 6) has the derivative 0 by convention." in notes


@pytest.mark.parametrize("chain", [False, True])
def test_an_even_row_without_eps_passes_no_gradient_on(chain: bool) -> None:
    data = {"x": [[1, 1, 1], [1, 2, 4]], "attn": {"out": [[1, 1, 1], [0, 0, 0]]}, "norm": {"eps": 0},
            "loss": {"with": [[1, 2, 3], [3, 1, 2]]}}  # fmt: skip
    spec = load(data)
    trace = work_gradients(spec, chain=chain)
    assert (trace["grad.x"][0] == 0).all()
    assert np.abs(trace["grad.x"][1]).max() > 0.1
    if not chain:
        notes = [n for p in gradient_steps(spec, trace) for n in p.notes]
        assert any("its gradient is set to 0 by convention" in n for n in notes)


@pytest.mark.parametrize("chain", [False, True])
def test_a_query_that_sees_nothing_passes_no_gradient_on(chain: bool) -> None:
    eye = {"eye": 3}
    data = {"x": [[1, 0, 2], [0, 1, 4]], "attn": {"w_q": eye, "w_k": eye, "w_v": eye, "mask": {"keep": [[0, 0], [1, 1]]}},
            "loss": {"with": [[1, 2, 3], [3, 1, 2]]}}  # fmt: skip
    trace = work_gradients(load(data), chain=chain)
    assert (trace["grad.attn.masked"][0] == 0).all()
    assert np.isfinite(trace["grad.x"]).all()


def test_dropout_gives_a_gradient_to_what_it_kept() -> None:
    data = {"x": [[1.0, 2.0, 4.0]], "attn": {"out": [[1, 2, 1]]}, "stop": "residual1",
            "dropout": {"p": 0.5, "training": True, "keep": {"attn.out": [[1, 0, 1]]}}, "loss": {"kind": "sum"}}  # fmt: skip
    trace = work_gradients(load(data))
    assert trace["grad.attn.out"].tolist() == [[2, 0, 2]]


def test_weights_stored_the_other_way_have_gradients_of_their_layout() -> None:
    spec = load(THREE)
    turned = {n: (a.T if ".w_" in n else a) for n, a in spec.arrays.items()}
    data: dict[str, Any] = {
        "x": turned["x"],
        "weight_layout": "out_in",
        "attn": {},
        "ffn": {"activation": "relu"},
    }
    for name, array in turned.items():
        part, _, key = name.partition(".")
        if part in ("attn", "ffn"):
            data[part][key] = array
    one, two = work_gradients(spec), work_gradients(load(data))
    for ref in parameters(one.program):
        np.testing.assert_allclose(
            gradient_of(two, ref.name), gradient_of(one, ref.name).T, atol=1e-14
        )


def test_a_repeated_block_sums_over_its_runs() -> None:
    spec = load(THREE)
    block = {"attn": {k[5:]: v for k, v in spec.arrays.items() if k.startswith("attn.")},
             "ffn": {k[4:]: v for k, v in spec.arrays.items() if k.startswith("ffn.")}}  # fmt: skip
    shared = work_gradients(load({"x": spec.arrays["x"], "blocks": [{**block, "repeat": 2}]}))
    apart = work_gradients(load({"x": spec.arrays["x"], "blocks": [block, block]}))
    for key in ("attn.w_q", "ffn.w_1"):
        both = gradient_of(apart, f"blocks.0.{key}") + gradient_of(apart, f"blocks.1.{key}")
        np.testing.assert_allclose(gradient_of(shared, f"blocks.0.{key}"), both, atol=1e-13)


def test_what_both_passes_hold_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load(THREE)
    blockcalc.run(spec)
    monkeypatch.setattr("blockcalc.nn.run.MOST_NUMBERS", 150)
    blockcalc.run(spec)
    with pytest.raises(InputError, match="the steps would hold"):
        work_gradients(spec)


def test_rounding_is_of_the_forward_pass_alone() -> None:
    spec = load(THREE, [("round.decimals", "3")])
    trace = work_gradients(spec)
    assert np.array_equal(trace["norm1"], trace["norm1"].round(3))
    assert not np.array_equal(trace["grad.norm1"], trace["grad.norm1"].round(3))
    with pytest.raises(UsageError, match="it cannot be combined with rounding"):
        differences(spec, None, trace)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes_stay_in_range(name: str) -> None:
    xs = np.array([-1e3, -705.0, -30.0, 30.0, 1e3])
    slopes = np.broadcast_to(arrays(derivative(ACTIVATIONS[name].op.body, 0), [xs]), xs.shape)
    assert np.isfinite(slopes).all()
    flat = {"tanh": 0, "sigmoid": 0}.get(name, 1)
    assert slopes[-1] == pytest.approx(flat, abs=1e-12)
    assert slopes[0] == pytest.approx(1 if name == "identity" else 0, abs=1e-12)


def test_a_norm_neither_overflows_nor_vanishes() -> None:
    assert norm_of(np.array([3e200, -4e200])) == pytest.approx(5e200, rel=1e-15)
    assert norm_of(np.array([3e-200, 4e-200])) == pytest.approx(5e-200, rel=1e-15)
    assert norm_of(np.array([3.0, 4.0])) == 5.0
    assert norm_of(np.array([[0.0], [0.0]])) == norm_of(np.array([])) == 0.0
