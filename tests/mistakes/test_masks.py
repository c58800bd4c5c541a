"""Mistakes in masks: each is what it says, and is found at its step and by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.check.carried import Carried
from blockcalc.messages import say
from blockcalc.mistakes.alternative import Block, Mistake
from blockcalc.mistakes.attention import masks
from blockcalc.mistakes.catalogue import Catalogue
from tests.mistakes.made import block_of, close, made, one
from tests.mistakes.rates import found_rate
from tests.mistakes.wrong_answers import one_quick

X = np.array([[1.0, 0.5], [-0.5, 1.0], [0.25, -1.0], [1.5, 0.75]])
S = X @ X.T / np.sqrt(2)
T = len(X)
ONE = [[1, 0], [0, 1]]
OFFSETS = np.arange(T) - np.arange(T)[:, None]
CAUSAL = OFFSETS <= 0
PADDED = {"padding": ["keep", "keep", "keep", "pad"]}
KEPT = np.arange(T) < 3
MASKS: dict[str, dict[str, Any]] = {
    "causal": {"causal": True},
    "padding": PADDED,
    "both": {"causal": True, **PADDED},
    "added": {"mask": {"add": np.where(CAUSAL, 0.5 * OFFSETS, -np.inf).tolist()}},
    "window": {"mask": {"keep": (CAUSAL & (OFFSETS > -2)).astype(int).tolist()}},
}


def block(**attn: Any) -> Block:
    """Give a block with one head whose queries and keys are x itself."""
    return block_of({"x": X.tolist(), "attn": {"w_q": ONE, "w_k": ONE, "w_v": ONE, **attn}})


def seen(allowed: Any, scores: Any = S) -> Any:
    """Give scores with minus infinity where a key may not be seen."""
    return np.where(allowed, scores, -np.inf)


def softmax(s: Any) -> Any:
    """Give the softmax of each row."""
    e = np.exp(s)
    return e / e.sum(axis=-1, keepdims=True)


def test_missing() -> None:
    assert close(one(block(causal=True), "mask_missing", "attn.masked"), S)
    own = block(**MASKS["both"])
    assert close(one(own, "mask_missing", "attn.masked", mask="attn.causal"), seen(KEPT))
    assert close(one(own, "mask_missing", "attn.masked", mask="attn.padding"), seen(CAUSAL))
    both = made(own, "mask_missing", "attn.masked", mask="attn.causal and attn.padding")
    assert close(both[0], S)
    assert close(both[1], seen(CAUSAL & KEPT))  # it is forgotten later
    assert close(one(own, "mask_missing", "attn.weights", at="later"), softmax(S))
    added = block(mask={"add": (0.5 * OFFSETS).tolist()})
    assert close(one(added, "mask_missing", "attn.masked"), S)
    assert not made(block(), "mask_missing", "attn.scaled")


def test_a_mask_that_masks_nothing() -> None:
    own = block(mask={"keep": np.ones((T, T), dtype=int).tolist()})
    for mistake in masks.MISTAKES:
        assert not list(mistake.alternatives(own)), mistake.name


def test_inverted() -> None:
    assert close(one(block(causal=True), "mask_inverted", "attn.masked"), seen(~CAUSAL))
    assert close(one(block(**PADDED), "mask_inverted", "attn.masked"), seen(~KEPT))
    added = block(mask={"add": (0.5 * OFFSETS).tolist()})
    assert close(one(added, "mask_inverted", "attn.masked"), S - 0.5 * OFFSETS)
    both = block(**MASKS["both"])
    inverted = seen(~(CAUSAL & KEPT))
    found = made(both, "mask_inverted", "attn.masked", mask="attn.allowed")
    assert close(found[0], inverted)
    assert close(found[1], inverted)
    assert close(one(both, "mask_inverted", "attn.allowed", at="later"), CAUSAL & KEPT)
    assert close(one(block(**MASKS["added"]), "mask_inverted", "attn.masked"), seen(~CAUSAL))


def test_transposed() -> None:
    assert close(one(block(causal=True), "mask_transposed", "attn.masked"), seen(CAUSAL.T))
    assert not made(block(**PADDED), "mask_transposed", "attn.masked")


def test_after_the_softmax() -> None:
    found = one(block(causal=True), "mask_after_softmax", "attn.weights")
    assert close(found, softmax(S) * CAUSAL)
    found = one(block(**MASKS["both"]), "mask_after_softmax", "attn.weights")
    assert close(found, softmax(S) * CAUSAL * KEPT)
    found = one(block(**MASKS["added"]), "mask_after_softmax", "attn.weights")
    assert close(found, softmax(S + np.where(CAUSAL, 0.5 * OFFSETS, 0)) * CAUSAL)


def test_off_by_one() -> None:
    own = block(causal=True)
    assert close(one(own, "mask_off_by_one", "attn.masked", by="-1"), seen(OFFSETS < 0))
    assert close(one(own, "mask_off_by_one", "attn.masked", by="+1"), seen(OFFSETS <= 1))
    own = block(padding=["keep", "keep", "pad", "pad"])
    assert close(one(own, "mask_off_by_one", "attn.masked", by="-1"), seen(np.arange(T) < 1))
    assert close(one(own, "mask_off_by_one", "attn.masked", by="+1"), seen(KEPT))
    own = block(padding=["pad", "keep", "keep", "keep"])
    assert close(one(own, "mask_off_by_one", "attn.masked", by="-1"), seen(np.arange(T) > 1))


def test_a_number_for_minus_infinity() -> None:
    own = block(causal=True)
    found = one(own, "mask_finite", "attn.masked", number="-1e+09")
    assert close(found, np.where(CAUSAL, S, -1e9))
    found = one(own, "mask_finite", "attn.masked", number="S − 10000")
    assert close(found, np.where(CAUSAL, S, S - 1e4))
    assert close(one(own, "mask_finite", "attn.weights", number="-65504"), softmax(seen(CAUSAL)))
    blind = np.array([0, 1, 1, 1])[:, None] * np.ones((1, T), dtype=int)
    own = block(mask={"keep": blind.tolist()})  # the first query sees nothing
    assert close(own.trace["attn.weights"][0], np.zeros(T))
    finite = {"number": "-1e+09", "at": "shifted"}
    assert close(one(own, "mask_finite", "attn.masked", **finite)[0], np.full(T, -1e9))
    assert close(one(own, "mask_finite", "attn.weights", **finite)[0], np.full(T, 1 / T))
    own = block(mask={"keep": blind.tolist()}, softmax="shifted")
    uniform = one(own, "mask_finite", "attn.weights", number="-1e+09")
    assert close(uniform[0], np.full(T, 1 / T))
    added = block(**MASKS["added"])
    least = float(np.finfo(np.float32).min)
    found = one(added, "mask_finite", "attn.masked", number=f"{least:.7g}")
    assert close(found, np.where(CAUSAL, S + 0.5 * OFFSETS, least))
    found = one(added, "mask_finite", "attn.masked", number="S − 1e+09")
    assert close(found, np.where(CAUSAL, S + 0.5 * OFFSETS, S - 1e9))


def test_zeros_for_minus_infinity() -> None:
    own = block(**MASKS["both"])
    kept = CAUSAL & KEPT
    assert close(one(own, "mask_multiplied", "attn.masked"), S * kept)
    counts = seen(CAUSAL, S * KEPT)
    assert close(one(own, "mask_padding_counts", "attn.masked"), counts)
    assert close(one(block(**PADDED), "mask_padding_counts", "attn.masked"), S * KEPT)
    assert not made(block(causal=True), "mask_padding_counts", "attn.masked")


def test_before_the_scale() -> None:
    found = one(block(**MASKS["added"]), "mask_before_scale", "attn.masked")
    assert close(found, seen(CAUSAL, S + 0.5 * OFFSETS / np.sqrt(2)))


@pytest.mark.parametrize("causal", [False, True])
def test_a_window(causal: bool) -> None:
    own = block(**MASKS["window"], causal=causal)  # each query sees two keys
    at = {"mask": "attn.causal and attn.mask.keep"} if causal else {}
    wider = one(own, "window_wider", "attn.masked", **at)
    assert close(wider, seen(CAUSAL & (OFFSETS > -3)))
    assert close(one(own, "window_narrower", "attn.masked"), seen(OFFSETS == 0))
    both = one(own, "window_both_sides", "attn.masked", **at)
    assert close(both, seen(np.abs(OFFSETS) < 2))
    assert close(one(own, "window_missing", "attn.masked", **at), seen(CAUSAL))


def test_a_window_to_both_sides() -> None:
    own = block(mask={"keep": (np.abs(OFFSETS) < 2).astype(int).tolist()})
    assert close(one(own, "window_wider", "attn.masked"), seen(np.abs(OFFSETS) < 3))
    assert close(one(own, "window_narrower", "attn.masked"), seen(OFFSETS == 0))
    assert not made(own, "window_both_sides", "attn.masked")
    assert not made(block(causal=True), "window_wider", "attn.masked")


@pytest.mark.parametrize("kind", MASKS)
def test_the_sentences_name_their_words(kind: str) -> None:
    for mistake in masks.MISTAKES:
        for change in mistake.alternatives(block(**MASKS[kind])):
            assert say(f"mistake.{mistake.name}", **change.words)


def test_in_every_block_of_a_stack() -> None:
    weights = {"w_q": ONE, "w_k": ONE, "w_v": ONE}
    part = {"attn": {**weights, "causal": True}, "norm1": {}}
    own = block_of({"x": X.tolist(), "norm": "post", "blocks": [part, part]})
    plain = block_of({"x": X.tolist(), "norm": "post", "blocks": 2 * [{**part, "attn": weights}]})
    catalogue = Catalogue(own, [m for m in masks.MISTAKES if m.name == "mask_missing"])
    last = own.program.equations[-1].out.name
    carried = Carried(
        own.program, {r.name: own.trace.arrays[r.name] for r in own.program.inputs}, {}
    )
    results = [carried.under(tried.change, last, bounded=False) for tried in catalogue.tried]
    assert any(close(value.numbers, plain.trace[last]) for value in results if value)


@pytest.mark.parametrize("mistake", one_quick(masks.MISTAKES), ids=lambda m: m.name)
def test_it_is_found(mistake: Mistake) -> None:
    shown, told, missed = found_rate(mistake, seed=1, blocks=1, forms=("5",))
    assert shown >= 1
    assert told == shown, missed[:3]
