"""Softmax in base 2: values, gradient, and what is shown of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc import run
from blockcalc.gradients.differences import differences
from blockcalc.gradients.run import gradient_of, work_gradients
from tests.helpers import cli

X = [[1, 0], [0, 1], [2, -1]]
TURN = [[0, 1], [1, 0]]
TARGET = [[1, 2], [0, 1], [3, 1]]


def block(softmax: Any, **more: Any) -> dict[str, Any]:
    """Give a block whose scores are whole numbers."""
    attn = {"w_q": [[1, 0], [0, 1]], "w_k": TURN, "w_v": TURN, "scale": "none", "softmax": softmax}
    return {"x": X, "attn": attn | more, "norm1": {"eps": 0}}


@pytest.mark.parametrize("form", ["plain", "shifted"])
@pytest.mark.parametrize("causal", [False, True])
def test_weights_are_powers_of_2_over_their_sum(form: str, causal: bool) -> None:
    trace = run(block({"base": 2, "form": form}, causal=causal))
    x = np.array(X, float)
    powers = 2.0 ** (x @ (x @ np.array(TURN)).T)
    powers = np.tril(powers) if causal else powers
    assert np.allclose(
        trace["attn.weights"], powers / powers.sum(axis=1, keepdims=True), atol=1e-15
    )


def test_base_e_is_the_usual_one() -> None:
    usual = run(block("plain"))["attn.weights"]
    assert np.array_equal(run(block({"base": "e"}))["attn.weights"], usual)
    assert np.array_equal(run(block({"form": "plain"}))["attn.weights"], usual)


@pytest.mark.parametrize("form", ["plain", "shifted"])
def test_the_gradient_agrees_with_differences(form: str) -> None:
    data = block({"base": 2, "form": form}) | {"loss": {"kind": "mse", "target": TARGET}}
    spec = blockcalc.load(data)
    trace = work_gradients(spec)
    assert not any(d.wrong or d.unjudged for d in differences(spec, None, trace))
    chained = work_gradients(spec, chain=True)
    assert np.allclose(gradient_of(trace, "x"), gradient_of(chained, "x"), atol=1e-14)


def test_a_row_that_is_masked_has_weights_0() -> None:
    trace = blockcalc.run(block({"base": 2}, padding=["pad", "pad", "pad"]))
    assert not trace["attn.weights"].any()


def test_it_is_written_as_powers_of_2() -> None:
    data = json.dumps(block({"base": 2})).encode()
    assert "E = 2^S" in cli("run", "-", "--steps", "weights.exp", stdin=data).stdout.decode()
    assert "softmax in base 2" in cli("run", "-", stdin=data).stdout.decode()
    assert "2^{" in cli("export", "-", "--latex", stdin=data).stdout.decode()
    assert "2^(" in cli("export", "-", "--typst", stdin=data).stdout.decode()
    assert '"base": 2' in cli("export", "-", "--json", stdin=data).stdout.decode()


@pytest.mark.parametrize(
    ("softmax", "told"),
    [
        ({"base": 3}, "the base of a softmax is e or 2"),
        ({"base": True}, "the base of a softmax is e or 2"),
        ({"bas": 2}, "bas"),
        ("base2", "plain, shifted"),
        ({"base": 2, "form": "even"}, "plain, shifted"),
    ],
)
def test_another_softmax_is_refused(softmax: Any, told: str) -> None:
    with pytest.raises(blockcalc.InputError, match=told):
        blockcalc.load(block(softmax))
