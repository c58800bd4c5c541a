"""The losses: each record gives its number, its gradient and its texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import UsageError
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.loss import choose_loss, loss_value
from blockcalc.gradients.run import work_gradients
from blockcalc.ops.evaluate import arrays
from blockcalc.ops.expr import call
from blockcalc.program.loss import KEYS, LOSSES, Loss, implied
from tests.named import LOSSES as LISTED

BLOCK = {
    "x": [[1.0, -2.0], [0.5, 3.0], [2.0, 0.25]],
    "attn": {"out": [[1, 1], [0.5, 2], [-1, 0.75]]},
    "stop": "residual1",
}
OTHER = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 0.5]])
# written apart from the program; the tree of any other is summed as it stands
PUBLISHED: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda y, m: (y.sum(), np.ones_like(y)),
    "mse": lambda y, m: (((y - m) ** 2).mean(), 2 * (y - m) / y.size),
    "dot": lambda y, m: ((y * m).sum(), m),
}  # fmt: skip


def true(loss: Loss, y: Any, m: Any) -> tuple[float, Any]:
    """Give a loss and its gradient by plain NumPy."""
    if loss.kind in PUBLISHED:
        return PUBLISHED[loss.kind](y, m)  # type: ignore[no-any-return]
    slots = [y - m] if loss.difference else [y, m]
    each, slope = (arrays(tree, slots) for tree in (loss.tree, loss.slope))
    share = y.size if loss.mean else 1
    return each.sum() / share, np.broadcast_to(slope, y.shape) / share


def _with(kind: str) -> blockcalc.Spec:
    key = LOSSES[kind].key
    own = {key: OTHER.tolist()} if key else {}
    return blockcalc.load({**BLOCK, "loss": {"kind": kind, **own}})


@pytest.mark.parametrize("kind", LOSSES)
def test_a_loss_and_its_gradient_are_those_of_plain_numpy(kind: str) -> None:
    trace = blockcalc.grad(_with(kind))
    y = trace["residual1"]
    loss, gradient = true(LOSSES[kind], y, OTHER)
    assert float(trace["loss"][0]) == pytest.approx(loss, rel=1e-15)
    np.testing.assert_allclose(trace["grad.residual1"], gradient, rtol=1e-15)
    assert loss_value(LOSSES[kind], y, OTHER if LOSSES[kind].key else None) == trace["loss"][0]


@pytest.mark.parametrize("kind", PUBLISHED)
def test_the_tree_of_a_loss_is_the_published_function(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = OTHER[::-1] * 1.5
    loss, gradient = true(LOSSES[kind], y, OTHER)
    monkeypatch.delitem(PUBLISHED, kind)
    own, slope = true(LOSSES[kind], y, OTHER)
    assert own == pytest.approx(loss, rel=1e-15)
    np.testing.assert_allclose(slope, gradient, rtol=1e-15)


def test_a_matrix_alone_says_which_loss_is_meant() -> None:
    assert [implied(key).kind for key in KEYS] == ["mse", "dot"]


def test_a_record_alone_makes_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOSSES, "mean", Loss("mean", lambda y: y, mean=True))
    trace = blockcalc.grad(BLOCK, "mean")
    assert trace["loss"][0] == pytest.approx(trace["residual1"].mean())
    np.testing.assert_allclose(trace["grad.x"], np.full((3, 2), 1 / 6))


def test_a_difference_of_exactly_0_is_no_note_about_relu(monkeypatch: pytest.MonkeyPatch) -> None:
    each = Loss("mse", lambda d: call("max", 0.0, d), "target", "Y", difference=True)
    monkeypatch.setitem(LOSSES, "mse", each)
    target = [[2.0, -1.0], [0.0, 0.0], [0.0, 0.0]]
    spec = blockcalc.load({**BLOCK, "loss": {"target": target}})
    trace = work_gradients(spec)
    assert trace["grad.residual1"].tolist() == [[0, 0], [1, 1], [1, 1]]
    assert "ReLU at exactly 0" not in str(list(explain_gradient(spec, trace)))


def test_an_unknown_loss_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=f"loss is one of {LISTED}; this is 'msee'") as error:
        choose_loss(blockcalc.load(BLOCK), "msee")
    assert error.value.faults[0].hint == "did you mean 'mse'?"
