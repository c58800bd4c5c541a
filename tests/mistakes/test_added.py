"""Masks that a block does not have are told where weights show them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.check.reasons.sentences import reasons_text
from blockcalc.mistakes.attention.added import MISTAKES
from tests.check.helpers import SMALL, check_arrays, made

PLAIN = made(SMALL)
CAUSAL = {"causal": True}
LAST = {"padding": ["keep", "keep", "pad"]}
FIRST = {"padding": ["pad", "keep", "keep"]}


def masked(data: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Work the block with a mask."""
    return dict(blockcalc.run({**data, "attn": {**data["attn"], **more}}))


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (CAUSAL, "a causal mask, which the block does not have"),
        (LAST, "the keys of the last tokens (1) masked"),
        (FIRST, "the keys of the first tokens (1) masked"),
    ],
)
@pytest.mark.parametrize("steps", [["attn.weights"], ["attn.scaled", "attn.weights"], ["attn.z"]])
def test_a_mask_is_told(mask: dict[str, Any], said: str, steps: list[str]) -> None:
    own = masked(SMALL, **mask)
    found = check_arrays(PLAIN, {step: own[step] for step in steps})
    assert found.first_wrong == steps[-1]
    assert said in reasons_text(found, steps[-1])


def test_masked_scores_are_told_too() -> None:
    found = check_arrays(PLAIN, {"attn.scaled": masked(SMALL, **CAUSAL)["attn.masked"]})
    assert [r.names for r in found.reasons] == [("mask_causal_added",)]


def test_a_causal_mask_beside_padding() -> None:
    block = made({**SMALL, "attn": {**SMALL["attn"], **LAST}})
    own = masked(SMALL, **CAUSAL, **LAST)
    found = check_arrays(block, {"attn.weights": own["attn.weights"]})
    assert "mask_causal_added" in {n for r in found.reasons for n in r.names}


def test_a_block_that_has_the_mask_cannot_be_given_it() -> None:
    causal, padding, _ = MISTAKES
    block = made({**SMALL, "attn": {**SMALL["attn"], **CAUSAL}})
    assert not list(causal.alternatives(block))
    one = made({"x": [[1.0, 2.0]], "attn": {f"w_{p}": np.eye(2).tolist() for p in "qkv"}})
    assert not list(padding.alternatives(one))


@pytest.mark.parametrize("cap", [50.0, 10.0])
@pytest.mark.parametrize("steps", [["attn.scaled"], ["attn.masked"], ["attn.weights"], ["attn.z"]])
def test_a_soft_cap_is_told(cap: float, steps: list[str]) -> None:
    wide = {**SMALL["attn"], "w_q": (5 * np.array(SMALL["attn"]["w_q"])).tolist(), **CAUSAL}
    block = made({**SMALL, "attn": wide})
    own = dict(blockcalc.run(block.spec))
    own["attn.scaled"] = cap * np.tanh(own["attn.scaled"] / cap)
    own["attn.masked"] = np.where(np.tri(3) == 1, own["attn.scaled"], -np.inf)
    e = np.exp(own["attn.masked"])
    own["attn.weights"] = e / e.sum(axis=-1, keepdims=True)
    own["attn.z"] = own["attn.weights"] @ own["attn.v"]
    found = check_arrays(block, {step: own[step] for step in steps})
    assert found.first_wrong == steps[-1]
    assert f"capped smoothly at ±{cap:g}" in reasons_text(found, steps[-1])


def test_a_soft_cap_at_the_end_of_a_block() -> None:
    block = made({**SMALL, "stop": "attn.scaled"})
    own = 10 * np.tanh(block.trace["attn.scaled"] / 10)
    found = check_arrays(block, {"attn.scaled": own})
    assert [r.names for r in found.reasons] == [("softcap_added",)]
