"""Mistakes in the softmax: each is what it says, and is found at its step and by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.messages import say
from blockcalc.mistakes.alternative import Block, Mistake
from blockcalc.mistakes.attention import softmaxes
from tests.mistakes.made import block_of, close, made, one
from tests.mistakes.rates import found_rate
from tests.mistakes.wrong_answers import one_quick

X = np.array([[1.0, 0.5], [-0.5, 1.0], [0.25, -1.0]])
ONE = [[1, 0], [0, 1]]
S = X @ X.T / np.sqrt(2)
E = np.exp(S)
R = E.sum(axis=1, keepdims=True)
M = S.max(axis=1, keepdims=True)
CAUSAL = np.tri(3, dtype=bool)
FORMS = ["plain", "shifted"]


def block(form: Any = "plain", **attn: Any) -> Block:
    """Give a block with one head whose queries and keys are x itself."""
    own = {"w_q": ONE, "w_k": ONE, "w_v": ONE, "softmax": form, **attn}
    return block_of({"x": X.tolist(), "attn": own})


def heads(form: str) -> tuple[Block, Any]:
    """Give a block of two heads of one column each, and its scores."""
    own = block(form, n_heads=2)
    return own, np.array([np.outer(x, x) for x in X.T])


@pytest.mark.parametrize("form", FORMS)
def test_over_columns(form: str) -> None:
    found = one(block(form), "softmax_columns", "attn.weights")
    assert close(found, E / E.sum(axis=0))
    total = one(block(form), "softmax_columns", "attn.weights.sum")
    assert close(
        total, (E.sum(axis=0) if form == "plain" else np.exp(S - S.max(axis=0)).sum(axis=0))
    )


@pytest.mark.parametrize("form", FORMS)
def test_over_heads_and_all(form: str) -> None:
    own, s = heads(form)
    e = np.exp(s)
    assert close(one(own, "softmax_heads", "attn.weights"), e / e.sum(axis=0))
    assert close(one(own, "softmax_all", "attn.weights", over="n_heads × T × T"), e / e.sum())
    each = np.array([h / h.sum() for h in e])
    assert close(one(own, "softmax_all", "attn.weights", over="T × T"), each)
    assert close(one(block(form), "softmax_all", "attn.weights"), E / E.sum())
    assert not made(block(form), "softmax_heads", "attn.weights")


@pytest.mark.parametrize("form", FORMS)
def test_the_sum_of_another_row(form: str) -> None:
    e = E if form == "plain" else np.exp(S - M)
    found = one(block(form), "softmax_sum_of_key", "attn.weights")
    assert close(found, [[e[i, j] / e[j].sum() for j in range(3)] for i in range(3)])


def test_without_exp() -> None:
    assert close(one(block(), "softmax_no_exp", "attn.weights"), S / S.sum(axis=1, keepdims=True))
    seen = np.where(CAUSAL, S, 0.0)
    found = one(block(causal=True), "softmax_no_exp", "attn.weights")
    assert close(found, seen / seen.sum(axis=1, keepdims=True))
    add = np.where(CAUSAL, 0.5, -np.inf)
    seen = np.where(CAUSAL, S + 0.5, 0.0)
    found = one(block(mask={"add": add.tolist()}), "softmax_no_exp", "attn.weights.exp")
    assert close(found, seen)


@pytest.mark.parametrize("form", FORMS)
def test_powers_of_two(form: str) -> None:
    found = one(block(form), "softmax_base2", "attn.weights")
    assert close(found, 2**S / (2**S).sum(axis=1, keepdims=True))


def test_powers_of_e_where_the_base_is_2() -> None:
    own = block({"base": 2})
    assert close(own.trace["attn.weights"], 2**S / (2**S).sum(axis=1, keepdims=True))
    found = one(own, "softmax_base2", "attn.weights")
    assert close(found, np.exp(S) / np.exp(S).sum(axis=1, keepdims=True))
    shifted = block({"base": 2, "form": "shifted"})
    found = one(shifted, "softmax_plus_one", "attn.weights", one="2^(−m)")
    assert close(found, 2**S / (1 + (2**S).sum(axis=1, keepdims=True)))
    taken = "2^(S_ij − m_j)"
    a, b = (one(x, "softmax_wrong_max", "attn.weights.exp", taken=taken) for x in (own, shifted))
    assert close(a, b)


def test_plus_one() -> None:
    own = block()
    assert close(one(own, "softmax_plus_one", "attn.weights.sum"), (R + 1)[:, 0])
    assert close(one(own, "softmax_plus_one", "attn.weights", at="later"), E / (R + 1))
    assert close(one(own, "softmax_plus_one", "attn.weights.sum", at="later"), R[:, 0])
    shifted = block("shifted")
    assert close(one(shifted, "softmax_plus_one", "attn.weights", one="e^(−m)"), E / (R + 1))
    found = one(shifted, "softmax_plus_one", "attn.weights", one="1")
    assert close(found, np.exp(S - M) / (1 + np.exp(S - M).sum(axis=1, keepdims=True)))


def test_not_normalized_and_twice() -> None:
    assert close(one(block(), "softmax_not_normalized", "attn.weights"), E)
    again = np.exp(E / R)
    found = one(block(), "softmax_twice", "attn.weights")
    assert close(found, again / again.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("form", FORMS)
def test_a_maximum_that_is_not_the_rows(form: str) -> None:
    own = block(form)
    e = np.exp(S - M[:, 0])  # without keepdims the maximum of row j is taken off column j
    found = one(own, "softmax_wrong_max", "attn.weights", taken="e^(S_ij − m_j)")
    assert close(found, e / e.sum(axis=1, keepdims=True))
    e = np.exp(S - S.max(axis=0))
    found = one(own, "softmax_wrong_max", "attn.weights", taken="e^(S_ij − max_i S_ij)")
    assert close(found, e / e.sum(axis=1, keepdims=True))
    e, r = np.exp(S - M), np.exp(S - M).sum(axis=1, keepdims=True)
    for taken, value in (("e^(S − m) / Σ e^S", e / R), ("e^S / Σ e^(S − m)", E / r)):
        assert close(one(own, "softmax_wrong_max", "attn.weights", taken=taken), value)


@pytest.mark.parametrize("form", FORMS)
def test_another_number_subtracted(form: str) -> None:
    own = block(form)
    number = "max_j S_ij" if form == "plain" else "0"
    value = np.exp(S - M) if form == "plain" else E
    assert close(one(own, "softmax_shifted", "attn.weights.exp", number=number), value)
    found = one(own, "softmax_shifted", "attn.weights.exp", number="max S")
    assert close(found, np.exp(S - S.max()))
    for weights in made(own, "softmax_shifted", "attn.weights"):
        assert close(weights, E / R)


def test_a_sum_in_16_bits() -> None:
    own, bits = block(), np.float16
    kept = E.sum(axis=1).astype(bits)
    found = one(own, "softmax_sum_16bit", "attn.weights.sum", format="float16", each="False")
    assert close(found, kept.astype(float))
    total = np.zeros(3, dtype=bits)
    for column in E.T:
        total = (total + column.astype(bits)).astype(bits)
    found = one(own, "softmax_sum_16bit", "attn.weights.sum", format="float16", each="True")
    assert close(found, total.astype(float))
    (brief,) = made(own, "softmax_sum_16bit", "attn.weights.sum", format="bfloat16", each="False")
    upper = (E.sum(axis=1).astype(np.float32).view(np.uint32) + 0x8000) & 0xFFFF0000
    assert close(brief, upper.astype(np.uint32).view(np.float32).astype(float))


@pytest.mark.parametrize("form", FORMS)
def test_the_sentences_name_their_words(form: str) -> None:
    for own in (block(form), heads(form)[0], block(form, causal=True)):
        for mistake in softmaxes.MISTAKES:
            for change in mistake.alternatives(own):
                assert say(f"mistake.{mistake.name}", **change.words)


def test_one_token() -> None:
    own = block_of({"x": [[1, 2]], "attn": {"w_q": ONE, "w_k": ONE, "w_v": ONE}})
    names = ("softmax_columns", "softmax_all", "softmax_sum_of_key", "softmax_wrong_max")
    assert not [name for name in names if made(own, name, "attn.weights")]


@pytest.mark.parametrize("mistake", one_quick(softmaxes.MISTAKES), ids=lambda m: m.name)
def test_it_is_found(mistake: Mistake) -> None:
    shown, told, missed = found_rate(mistake, seed=1, blocks=1, forms=("5",))
    assert shown >= 1
    assert told == shown, missed[:3]
