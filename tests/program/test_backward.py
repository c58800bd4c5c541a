"""Gradients: against PyTorch's and Hugging Face's, differences, and the chain rule."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import blockcalc
from blockcalc.ops.op import Array
from blockcalc.program.backward import with_gradients
from blockcalc.program.loss import LOSSES, Loss
from blockcalc.program.program import Program
from blockcalc.program.trace import steps
from tests.helpers import random_data, sample_specs
from tests.recorded import CASES, as_data, our_name

pytestmark = pytest.mark.slow

WITH_GRADIENTS = [path for path in CASES if "gl.x" in np.load(path).files]
KEYS = {"ffn.w1": "ffn.w_1", "ffn.w2": "ffn.w_2", "ffn.b1": "ffn.b_1", "ffn.b2": "ffn.b_2",
        "final.gamma": "final_norm.gamma", "final.beta": "final_norm.beta"}  # fmt: skip


def worked(
    spec: blockcalc.Spec, loss: Loss, given_with: dict[str, Any], chain: bool = False
) -> tuple[Program, dict[str, Array]]:
    """Work a block forward and backward."""
    trace = blockcalc.run(spec)
    program = with_gradients(trace.program, loss, chain)
    values = {**trace.arrays, **given_with}
    for step in steps(program, values):
        values[step.equation.out.name] = step.value
    return program, values


def our_parameter(theirs: str) -> str:
    found = re.fullmatch(r"(blocks\.[0-9]\.)?(.*)", theirs)
    assert found
    own = KEYS.get(found[2], found[2]).replace("ln1.", "norm1.").replace("ln2.", "norm2.")
    return (found[1] or "") + own


@pytest.mark.parametrize("chain", [False, True], ids=["closed", "chain"])
@pytest.mark.parametrize("kind", ["dot", "mse"])
@pytest.mark.parametrize("path", WITH_GRADIENTS, ids=lambda p: p.stem)
def test_every_gradient_of_the_frameworks(path: Any, kind: str, chain: bool) -> None:
    z = np.load(path)
    spec = blockcalc.load(as_data(path.stem, z))
    other = {"loss.with": z["G"]} if kind == "dot" else {"loss.target": z["target"]}
    program, values = worked(spec, LOSSES[kind], other, chain)
    start, total = ("gl.", "loss.lin") if kind == "dot" else ("gm.", "loss.mse")
    assert abs(values["loss"][0] - z[total]) <= 1e-9 * max(1.0, abs(z[total]))
    seen = 0
    for key in z.files:
        if not key.startswith(start) or (not chain and "softmax.exp" in key):
            continue
        theirs = key[len(start) :]
        if theirs.startswith("i."):
            name = program.find(our_name(path.stem, theirs[2:]))
        else:
            name = our_parameter(theirs)
        got, want = values[program.find(f"grad.{name}")], z[key]
        assert np.abs(got.reshape(want.shape) - want).max() <= 1e-9 * max(
            1.0, np.abs(want).max()
        ), key
        seen += 1
    assert seen >= 9


def _ends(spec: blockcalc.Spec) -> dict[str, Any]:
    """Give a matrix to weigh the result with, in which no row is even."""
    shape = blockcalc.run(spec)["out"].shape
    return {"loss.with": np.random.RandomState(1).normal(0, 1, shape)}


def _agree(spec: blockcalc.Spec) -> None:
    closed = worked(spec, LOSSES["dot"], _ends(spec))[1]
    chain = worked(spec, LOSSES["dot"], _ends(spec), chain=True)[1]
    for name in closed:
        if name.startswith("grad.") and name in chain:
            size = max(1.0, np.abs(chain[name]).max())
            assert np.abs(closed[name] - chain[name]).max() <= 1e-9 * size, name


@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title}-{s.order}")
def test_closed_forms_are_the_chain_rule(spec: blockcalc.Spec) -> None:
    _agree(spec)


@settings(max_examples=60)
@given(data=random_data())
def test_closed_forms_are_the_chain_rule_in_any_block(data: dict[str, Any]) -> None:
    _agree(blockcalc.load(data))
