"""The loss: of a file, of an option, one that cannot be, and one step that lowers it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import InputError, UsageError
from blockcalc.gradients.loss import loss_after
from blockcalc.gradients.run import gradient_of, work_gradients
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.reading.load import load
from blockcalc.views.errors import report
from tests.helpers import THREE
from tests.named import LOSSES

pytestmark = pytest.mark.slow


def test_one_step_of_descent_lowers_the_loss() -> None:
    spec = load(THREE)
    trace = work_gradients(spec, rate=0.1)
    want = spec.arrays["attn.w_v"] - 0.1 * trace["grad.attn.w_v"]
    np.testing.assert_array_equal(trace["new.attn.w_v"], want)
    assert loss_after(spec, None, trace) < trace["loss"][0]
    after = work_gradients(load(THREE, []).with_order("post"))
    assert after["loss"] == trace["loss"]


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ({"kind": "huber"}, f"kind is one of {LOSSES}"),
        ({"kind": "sum", "target": [[1]]}, "loss.target is not used by loss.kind sum"),
        ({"kind": "mse", "with": [[1]]}, "loss.with is not used by loss.kind mse"),
        ({}, "loss.kind"),
        ({"target": [[1, 2]]}, "loss.target is 1×2, and the result norm2 is 2×3"),
        ({"targets": 1}, "did you mean 'target'?"),
        (3, "a mapping with keys"),
    ],
)
def test_a_loss_that_cannot_be(loss: Any, said: str) -> None:
    spec = load(THREE)
    data = {"x": spec.arrays["x"], "attn": {k[5:]: v for k, v in spec.arrays.items() if k[:4] == "attn"},
            "ffn": {k[4:]: v for k, v in spec.arrays.items() if k[:3] == "ffn"}, "loss": loss}  # fmt: skip
    with pytest.raises(InputError) as caught:
        load(data)
    assert said in report(caught.value)


def test_the_loss_of_a_file() -> None:
    assert load(THREE, [("loss.target", "[[1, 2, 3], [4, 5, 6]]")]).loss == "mse"
    assert load(THREE, [("loss.with", "[[1, 2, 3], [4, 5, 6]]")]).loss == "dot"
    spec = load(THREE, [("loss.kind", "sum")])
    assert work_gradients(spec)["loss"][0] == pytest.approx(blockcalc.run(spec)["out"].sum())
    assert Text().symbol("grad:gamma^(1)") == "dγ⁽¹⁾"
    assert Latex().symbol("grad:W_Q") == r"\mathrm{d}W_{Q}"


@pytest.mark.parametrize("stop", ["max", "shifted", "exp", "sum"])
def test_a_stop_inside_a_shifted_softmax_is_refused(stop: str) -> None:
    spec = load(THREE, [("attn.softmax", "shifted"), ("stop", f"attn.weights.{stop}")])
    with pytest.raises(UsageError, match="inside a softmax"):
        work_gradients(spec, "sum")
    plain = load(THREE, [("attn.softmax", "plain"), ("stop", "attn.weights.exp")])
    assert gradient_of(work_gradients(plain, "sum"), "attn.w_q").any()
