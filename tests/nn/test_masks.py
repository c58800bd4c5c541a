"""Masks: of a head, of a batch, and rows that see nothing."""

from __future__ import annotations

import numpy as np
import pytest

import blockcalc
from blockcalc.reading.load import load
from tests.blocks import BLOCK, changed_block

pytestmark = pytest.mark.slow


def test_masks_by_head_where_there_is_one_head() -> None:
    keep = [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    one = blockcalc.run(changed_block(attn={**BLOCK["attn"], "mask": {"keep": keep}}))
    two = blockcalc.run(changed_block(attn={**BLOCK["attn"], "mask": {"keep": keep[0]}}))
    assert np.array_equal(one["out"], two["out"])
    add = [[[0, float("-inf"), 0]] * 3]
    assert blockcalc.run(changed_block(attn={**BLOCK["attn"], "mask": {"add": add}}))[
        "attn.weights"
    ].shape == (3, 3)


def test_masks_of_a_batch_in_a_block_that_repeats() -> None:
    keep = [[[[1, 0]] * 2], [[[1, 1]] * 2]]
    own = {**BLOCK["attn"], "mask": {"keep": keep}}
    x = [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]
    trace = blockcalc.run(load({"x": x, "blocks": [{"attn": own, "repeat": 2}]}))
    assert np.array_equal(trace["blocks.0.1.attn.weights"][0], [[1, 0], [1, 0]])
    assert trace["blocks.0.1.attn.weights"][1, 0, 1] > 0
