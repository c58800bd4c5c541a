"""Central differences at the kink of an activation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import blockcalc
from blockcalc.gradients.differences import differences
from blockcalc.gradients.run import work_gradients
from blockcalc.nn.activations import ACTIVATIONS, Activation
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Expr, Slot, call
from blockcalc.program.loss import LOSSES, Loss


@pytest.mark.parametrize(
    "leaky",
    [
        call("max", 0.0, Slot(0)) - 0.1 * call("max", 0.0, -Slot(0)),
        0.55 * Slot(0) + 0.45 * abs(Slot(0)),
    ],
    ids=["max", "abs"],
)
def test_a_kink_of_any_activation_is_held_to_its_side(
    leaky: Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ACTIVATIONS, "leaky", Activation(Elementwise(leaky, "Leaky")))
    spec = blockcalc.load(
        {
            "x": [[1, -1, 2], [0.5, 1, -1]],
            "attn": {"out": [[0, 0, 0], [0, 0, 0]]},
            "ffn": {"activation": "leaky", "w_1": [[1, 1], [1, 0], [0, 3]], "w_2": [[1, 2, 0], [0, 1, 1]]},
            "norm": "pre",
            "stop": "ffn.out",
        }
    )  # fmt: skip
    at_the_kink = replace(spec, arrays={**spec.arrays, "ffn.w_1": np.zeros((3, 2))})
    for own in (spec, at_the_kink):
        assert not any(d.wrong for d in differences(own, "sum", work_gradients(own, "sum")))


def test_a_kink_of_the_loss_is_held_to_its_side(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Loss("away", abs, key="target", symbol="Y", difference=True, mean=True)
    monkeypatch.setitem(LOSSES, "away", away)
    spec = blockcalc.sample("three_features")
    out = blockcalc.run(spec)["out"]
    for off in (0.0, 1e-12, 1e-9, 1e-3):
        target = out - off * np.sign(np.arange(out.size).reshape(out.shape) % 3 - 1.0)
        near = replace(spec, arrays={**spec.arrays, "loss.target": target})
        trace = work_gradients(near, "away")
        assert not any(d.wrong for d in differences(near, "away", trace))
