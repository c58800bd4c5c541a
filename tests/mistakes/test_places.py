"""Every mistake can be worked in blocks of every kind, and gives its steps their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.messages import say
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.table import MISTAKES
from tests.mistakes.made import block_of
from tests.mistakes.wrong_answers import Rng, one_quick, random_data, values_under

CHOICES: dict[str, dict[str, Any]] = {
    "rotated": {"rope": True, "heads": 2, "d_head": 4, "dims": 2, "stack": False},
    "grouped": {"heads": 4, "kv": 2, "fused": True, "rope": True, "stack": False},
    "one head": {"heads": 1, "rope": True, "d_head": 2, "d_model": 2, "stack": False},
    "one token": {"tokens": 1, "rope": True, "stack": False, "mask": "causal"},
    "dropped": {"dropout": 0.5, "gated": False, "stack": False},
    "not dropped": {"dropout": 0.5, "training": False, "stack": False, "order": "pre"},
    "stacked": {"stack": True, "dropout": 0.5, "rope": True, "mask": "causal"},
}


STOPS = ["attn.weights.exp", "attn.q", "attn.scores", "attn.z", "norm1"]


def check(block: Block) -> None:
    """Work every alternative, and say its sentence."""
    shapes = {eq.out.name: eq.out.shape for eq in block.program.equations}
    for mistake in MISTAKES.values():
        for change in mistake.alternatives(block):
            values = values_under(block, change)
            assert {name: value.shape for name, value in values.items()} == shapes, mistake.name
            assert say(f"mistake.{mistake.name}", **change.words)


@pytest.mark.parametrize("kind", one_quick(CHOICES))
def test_a_block_of_this_kind(kind: str) -> None:
    check(block_of(random_data(Rng(8), **CHOICES[kind])))


@pytest.mark.slow
def test_a_batch() -> None:
    data = random_data(Rng(9), heads=2, kv=1, rope=True, mask="causal", stack=False, tokens=3)
    data["x"] = np.round(Rng(1).normal(size=(2, *np.shape(data["x"]))), 2).tolist()
    check(block_of(data))


@pytest.mark.slow
def test_a_repeated_block() -> None:
    data = random_data(Rng(9), heads=2, rope=True, gated=True, mask="none", stack=True, dropout=0)
    data["blocks"] = [{**data["blocks"][0], "repeat": 2}]
    check(block_of(data))


@pytest.mark.parametrize("stop", one_quick(STOPS))
def test_a_block_that_stops(stop: str) -> None:
    data = random_data(Rng(7), heads=2, rope=True, order="post", mask="causal", stack=False)
    check(block_of(data | {"stop": stop}))


def test_a_given_attention() -> None:
    check(block_of({"x": [[1, 2], [0, 1]], "attn": {"out": [[0, 1], [1, 3]]}, "norm1": {}}))
