"""Each mistake in the loss is what it says, and is found at its step and by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.check.reasons.sentences import reasons_text
from blockcalc.gradients.run import work_gradients
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.losses import MISTAKES
from tests.check.helpers import check_arrays, verdicts
from tests.mistakes.by_hand import made, places, same

X = [[1.0, -2.0, 0.5], [0.25, 1.5, -1.0], [0.5, 0.0, 2.0], [-1.0, 1.0, 0.75]]
EYE = [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.25, 0.0, 1.0]]
TARGET = {"target": np.eye(4, 3).tolist()}
FACTORS: dict[str, tuple[Any, float, float]] = {
    "loss_mean_missing": (TARGET, 12.0, 12.0),
    "loss_mean_added": ({"kind": "sum"}, 1 / 12, 1 / 12),
    "loss_halved": (TARGET, 0.5, 0.5),
    "loss_halved_sum": (TARGET, 6.0, 6.0),
    "loss_sign": (TARGET, 1.0, -1.0),
}


def block(loss: Any) -> Block:
    data = {"x": X, "norm": {"order": "pre"}, "attn": {f"w_{p}": EYE for p in "qkv"}}
    spec = blockcalc.load({**data, "ffn": {"w_1": EYE, "w_2": EYE}, "loss": loss})
    return Block(spec, work_gradients(spec))


@pytest.mark.parametrize("name", FACTORS)
def test_its_numbers_and_its_reason(name: str) -> None:
    loss, of_loss, of_gradient = FACTORS[name]
    own = block(loss)
    right = own.trace.arrays
    gradient, value = right["grad.residual2"] * of_gradient, right["loss"] * of_loss
    *_, last = range(len(places(own, name)))
    same(made(own, name, last)["grad.residual2"], gradient)
    if of_loss != 1:
        same(made(own, name)["loss"], value)
    found = check_arrays(own, {"loss": value, "grad.residual2": gradient})
    assert {r.names for r in found.reasons} == {(name,)}
    wrong = {step for step, verdict in verdicts(found).items() if verdict == "wrong"}
    assert wrong == ({"loss"} if of_loss != 1 else set()) | {"grad.residual2"}


@pytest.mark.parametrize(("by", "factor"), [("token = 4", 3.0), ("d_model = 3", 4.0)])
def test_divided_by_one_axis_alone(by: str, factor: float) -> None:
    own = block(TARGET)
    right = own.trace.arrays["grad.residual2"]
    for name, half in (("loss_mean_partly", 1.0), ("loss_halved_partly", 0.5)):
        same(made(own, name, 1, by=by)["grad.residual2"], right * factor * half)
    found = check_arrays(own, {"grad.residual2": right * factor})
    assert by in reasons_text(found, "grad.residual2")


def test_the_difference_is_the_other_way_round() -> None:
    own = block(TARGET)
    values = made(own, "loss_sign")
    same(values["loss.difference"], -own.trace.arrays["loss.difference"])
    same(values["loss"], own.trace.arrays["loss"])


def test_only_where_it_changes_something() -> None:
    assert not places(block({"kind": "sum"}), "loss_mean_missing")
    assert not places(block({"kind": "sum"}), "loss_halved")
    assert not places(block(TARGET), "loss_mean_added")
    ones = {"with": np.ones((4, 3)).tolist()}
    assert all(p.equations[-1].out.name == "loss" for p in places(block(ones), "loss_mean_added"))
    assert not places(block(ones), "loss_sign")
    forward = Block(own := blockcalc.load({"x": X, "attn": {"w_q": EYE, "w_k": EYE, "w_v": EYE}}), blockcalc.run(own))  # fmt: skip
    assert not any(list(m.alternatives(forward)) for m in MISTAKES)


def test_a_second_place_of_a_mistake_is_wrong_and_not_right() -> None:
    own = block(TARGET)
    right = own.trace.arrays
    given = {name: right[name] * 12 for name in ("loss", "grad.residual2", "grad.ffn.w_2")}
    assert verdicts(check_arrays(own, given, "float32")) == {
        "loss": "wrong",
        "grad.residual2": "wrong",
        "grad.ffn.w_2": "follows",
    }
