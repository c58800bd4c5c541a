"""Mistakes in the scale and in the product Q Kᵀ: their numbers, and that they are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.messages import say
from blockcalc.mistakes.alternative import Block, Mistake, no_place
from blockcalc.mistakes.attention import scores
from tests.mistakes.made import block_of, close, made, one
from tests.mistakes.rates import found_rate
from tests.mistakes.wrong_answers import one_quick

RNG = np.random.RandomState(2)
X = RNG.randint(-9, 10, size=(3, 4)) / 10
WQ, WK, WV = (RNG.randint(-9, 10, size=(4, 3)) / 10 for _ in range(3))
WO = RNG.randint(-9, 10, size=(3, 4)) / 10
Q, K = X @ WQ, X @ WK
S = Q @ K.T
WEIGHTS = {"w_q": WQ.tolist(), "w_k": WK.tolist(), "w_v": WV.tolist(), "w_o": WO.tolist()}


def block(**attn: Any) -> Block:
    """Give a block of one head of three columns, with d_model 4 and as many tokens as columns."""
    return block_of({"x": X.tolist(), "attn": {**WEIGHTS, **attn}})


def softmax(s: Any) -> Any:
    """Give the softmax of each row."""
    e = np.exp(s)
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("name", "divisor"),
    [
        ("scale_missing", 1),
        ("scale_not_rooted", 3),
        ("scale_d_model", 2),
        ("scale_twice", 3),
        ("scale_inverted", 1 / np.sqrt(3)),
        ("scale_head_dim_derived", 2),
    ],
)
def test_the_scale(name: str, divisor: float) -> None:
    assert close(one(block(), name, "attn.scaled"), S / divisor)


def test_a_scale_that_is_forgotten_later() -> None:
    own = block()
    assert close(one(own, "scale_missing", "attn.scaled", at="later"), S / np.sqrt(3))
    assert close(one(own, "scale_missing", "attn.weights", at="later"), softmax(S))


def test_another_scale_of_the_block() -> None:
    own = block(scale=0.25)
    assert close(one(own, "scale_missing", "attn.scaled"), S)
    assert close(one(own, "scale_twice", "attn.scaled"), S / 16)
    assert close(one(own, "scale_inverted", "attn.scaled"), S * 4)
    assert close(one(own, "scale_default", "attn.scaled"), S / np.sqrt(3))
    plain = block(scale="none")
    assert close(one(plain, "scale_default", "attn.weights", at="later"), softmax(S / np.sqrt(3)))
    assert close(made(plain, "scale_default", "attn.scores")[1], S / np.sqrt(3))


def test_no_scale_to_mistake() -> None:
    for name in ("scale_missing", "scale_twice", "scale_inverted", "scale_on_q", "scale_on_k"):
        assert not made(block(scale="none"), name, "attn.scores")
    square = block_of(
        {"x": [[1, 2], [0, 1]], "attn": {w: [[1, 2], [3, 5]] for w in ("w_q", "w_k", "w_v")}}
    )
    assert not made(square, "scale_head_dim_derived", "attn.scores")
    assert not made(square, "scale_d_model", "attn.scores")


def test_the_scale_elsewhere() -> None:
    own, root = block(), np.sqrt(3)
    assert close(one(own, "scale_on_q", "attn.q", at="attn.q"), Q / root)
    assert close(one(own, "scale_on_q", "attn.scores", at="attn.scores"), S / root)
    assert close(one(own, "scale_on_k", "attn.k"), K / root)
    assert close(one(own, "scale_root_on_both", "attn.q"), Q / np.sqrt(root))
    assert close(one(own, "scale_root_on_both", "attn.k"), K / np.sqrt(root))
    for name in ("scale_on_q", "scale_on_k", "scale_root_on_both"):
        for last in made(own, name, "attn.scaled"):
            assert close(last, S / root)


def test_what_is_multiplied() -> None:
    own = block()
    assert close(one(own, "scores_k_not_transposed", "attn.scores"), Q @ K)
    assert close(one(own, "qk_exchanged", "attn.scores", at="scores"), K @ Q.T)
    assert close(one(own, "qk_exchanged", "attn.q", at="projections"), K)
    assert close(one(own, "qk_exchanged", "attn.k", at="projections"), Q)
    assert not made(block(w_k=WQ.tolist()), "qk_exchanged", "attn.scores")  # S is symmetric
    longer = block_of({"x": [[1, 2, 0, 1]], "attn": WEIGHTS})
    assert not made(longer, "scores_k_not_transposed", "attn.scores")


def test_from_the_unnormed() -> None:
    pre = block_of({"norm": "pre", "x": X.tolist(), "attn": WEIGHTS, "norm1": {}})
    found = [one(pre, "attention_from_unnormed", f"attn.{part}") for part in "qkv"]
    assert all(close(a, b) for a, b in zip(found, (Q, K, X @ WV), strict=True))
    assert not made(block(), "attention_from_unnormed", "attn.q")


@pytest.mark.parametrize("mistake", scores.MISTAKES, ids=lambda m: m.name)
def test_its_sentence_names_its_words(mistake: Mistake) -> None:
    for own in (block(), block(scale=0.25), block(scale="none")):
        for change in mistake.alternatives(own):
            assert say(f"mistake.{mistake.name}", **change.words)


PLACED = [m for m in scores.MISTAKES if m.alternatives is not no_place]


@pytest.mark.parametrize("mistake", one_quick(PLACED), ids=lambda m: m.name)
def test_it_is_found(mistake: Mistake) -> None:
    shown, told, missed = found_rate(mistake, seed=1, blocks=1, forms=("5",))
    assert shown >= 1
    assert told == shown, missed[:3]
