"""The backward pass as plain data: what each of its sections belongs to."""

from __future__ import annotations

from typing import Any

import pytest

import blockcalc
from blockcalc.explain.data import run_document
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.run import work_gradients

PART = {"x": [[1, 2, 4]], "attn": {"out": [[1, 1, 1]]}, "norm1": {"gamma": [1, 1, 1]}}


def sections(given: dict[str, Any], loss: str, rate: float | None = None) -> dict[str, str]:
    spec = blockcalc.load(given)
    document = run_document(spec, work_gradients(spec, loss, rate=rate), explained=explain_gradient)
    assert document.data is not None
    data = document.data()
    assert isinstance(data, dict)
    return {s["name"]: s["of"] for s in data["sections"] if "of" in s}


def test_sections_of_the_backward_pass_say_what_they_belong_to() -> None:
    assert sections(PART, "sum", 0.5) == {
        "loss": "sum", "grad.norm1": "layer_norm", "new": "descent",
    }  # fmt: skip


@pytest.mark.parametrize(("loss", "key"), [("mse", "target"), ("dot", "with")])
def test_the_loss_says_its_kind(loss: str, key: str) -> None:
    data = {**PART, "loss": {key: [[1, 2, 3]]}}
    assert sections(data, loss)["loss"] == loss
