"""Published gradients, digit by digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.layers import linear
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.op import Ref
from blockcalc.program.backward import with_gradients
from blockcalc.program.builder import Builder
from blockcalc.program.loss import LOSSES
from blockcalc.program.trace import steps
from blockcalc.reading.load import load

pytestmark = pytest.mark.slow


def _plain_ffn() -> Any:
    shapes = {
        "x": (2, 4),
        "ffn.w_1": (4, 3),
        "ffn.b_1": (3,),
        "ffn.w_2": (3, 4),
        "ffn.b_2": (4,),
        "ffn.w_3": (4, 3),
    }
    b = Builder(shapes)
    h = b.given("x", "X", ("token", "d_model"), role="data")
    for k, (name, width) in enumerate((("1", "d_1"), ("2", "d_2")), 1):
        u = linear(b, f"ffn.z_{k}", f"Z_{k}", h, f"ffn.w_{name}", width)
        h = b.add(f"ffn.a_{k}", f"A_{k}", ACTIVATIONS["relu"].op, u)
    linear(b, "ffn.z_3", "Z_3", h, "ffn.w_3", "d_3")
    return b.program()


def test_a_published_hidden_layer_with_its_mask() -> None:
    """Tom Yeh, Backpropagation: two ReLU layers; his dZ2 lacks the mask, these are right."""
    x = np.array([[2, -1], [1, 1], [2, 1], [1, 2]]).T
    w1 = np.array([[1, 0, -1, 1], [0, 1, 1, 0], [1, -1, 0, 0]]).T
    w2 = np.array([[0, -1, 2], [-1, 1, 0], [0, 1, 1], [-1, 0, 0]]).T
    z3 = np.array([[0.003357661626502615, 0.24472847105479764], [0.49832116918674874, -0.3347590442251781],
                   [-0.5016788308132513, 0.09003057317038046]]).T  # fmt: skip
    w3 = np.array([[0, -1, -1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]]).T
    data = {
        "x": x, "attn": {"out": np.zeros_like(x)}, "norm": {"order": "pre"}, "stop": "ffn.out",
        "ffn": {"w_1": w1, "b_1": [1, 1, 0], "w_2": w2, "b_2": [1, 2, 1, 3]},
    }  # fmt: skip
    program = with_gradients(_plain_ffn(), LOSSES["dot"])
    values = {"x": x.astype(float), "ffn.w_1": w1.astype(float), "ffn.b_1": np.array([1.0, 1, 0]), "ffn.w_2": w2.astype(float),
              "ffn.b_2": np.array([1.0, 2, 1, 3]), "ffn.w_3": w3.astype(float), "loss.with": z3}  # fmt: skip
    for step in steps(program, values):
        values[step.equation.out.name] = step.value
    want = {
        "ffn.w_2": [[0, 0, 0], [-0.25144379, -0.74761606, -0.00335766], [-1.16477088, -2.48423966, -0.50503649],
                    [0.50288759, 1.49523212, 0.00671532]],
        "ffn.b_2": [0, -0.24808613, -0.65973439, 0.49617227],
        "ffn.w_1": [[0.23801315, -0.24808613, -0.25144379, -0.49281460], [-0.61736194, -0.90782052, -1.41621468, -1.30724689],
                    [-1.01007298, -0.50503649, -1.01007298, -0.50503649]],
        "ffn.b_1": [-0.24808613, -0.90782052, -0.50503649],
    }  # fmt: skip
    assert data
    for name, right in want.items():
        got = values[program.find(f"grad.{name}")]
        np.testing.assert_allclose(got, np.array(right).T, atol=5e-9)


def test_a_published_training_step() -> None:
    """djimrastephane, tiny-transformer-by-hand: logits of the last row; dW_out and the new loss."""
    x = [[1, 0], [0, 1]]
    data = {"x": x, "attn": {"w_q": [[1, 0], [1, 1]], "w_k": [[1, 1], [0, 1]], "w_v": {"eye": 2}, "causal": True},
            "stop": "attn.z"}  # fmt: skip
    z = blockcalc.run(load(data))["attn.z"][1]
    w = np.array([[0, 1, 0, 1, -1, 0], [0, 0, 1, -1, 0, -1.0]])
    logits = z @ w
    p = np.exp(logits) / np.exp(logits).sum()
    one = np.eye(6)[3]
    dw = np.outer(z, p - one)
    np.testing.assert_allclose(z, [0.6698, 0.3302], atol=5e-5)
    np.testing.assert_allclose(dw[0], [0.0960, 0.1875, 0.1335, -0.5350, 0.0491, 0.0690], atol=6e-5)
    # the same gradient from the product's own card
    a, b = (
        Ref("z", "Z", ("token", "d"), (1, 2), "computed"),
        Ref("w", "W", ("d", "v"), (2, 6), "weight"),
    )
    g = Ref("g", "g", ("token", "v"), (1, 6), "computed")
    lines = MatMul().vjp((a, b), 1, g)
    assert lines is not None
    np.testing.assert_allclose(lines[0][1].forward([z[None], (p - one)[None]]), dw, atol=1e-15)
    new = w - 2 * dw
    after = -np.log((np.exp(z @ new) / np.exp(z @ new).sum())[3])
    assert abs(-np.log(p[3]) - 1.60351606) < 1e-8
    assert abs(after - 0.84039043) < 1e-8
