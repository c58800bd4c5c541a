"""Mistakes in padding, in batches whose entries have their own, against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.attention import added, padding
from blockcalc.program.bounds import NUMBERS
from tests.check.helpers import check_arrays, check_text, right
from tests.mistakes.made import block_of
from tests.mistakes.rates import measured
from tests.mistakes.wrong_answers import one_quick

ONE = [[1, 0], [0, 1]]
RNG = np.random.default_rng(5)
B, T = 3, 4
X = RNG.normal(size=(B, T, 2)).round(2)
K = [[1, 0.5], [-0.3, 1]]  # not the queries: the scores are not symmetric
S = X @ (X @ K).swapaxes(-1, -2) / np.sqrt(2)
KEPT = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]], dtype=bool)
KEYS = KEPT[:, None, :]
QUERIES = KEPT[:, :, None]
WORDS = np.where(KEPT, "keep", "pad").tolist()


def block(**attn: Any) -> Block:
    """Give a block with one head whose queries are x itself."""
    return block_of({"x": X.tolist(), "attn": {"w_q": ONE, "w_k": K, "w_v": ONE, **attn}})


PADDED = block(padding=WORDS)
CAUSAL = block(padding=WORDS, causal=True)
PLAIN = {"w_q": ONE, "w_k": K, "w_v": ONE}
TRIANGLE = np.tri(T, dtype=bool)


def softmax(s: Any, blind: float) -> Any:
    """Give the softmax of each row; a row that sees nothing is one number."""
    with np.errstate(all="ignore"):
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return np.where(np.isneginf(s).all(axis=-1, keepdims=True), blind, e / e.sum(-1, keepdims=True))  # fmt: skip


WRONG: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "forgotten": (np.ones_like(KEYS), "mask_missing", {"mask": ["attn.padding"]}),
    "inverted": (~KEYS, "mask_inverted", {"mask": ["attn.padding"]}),
    "one more": (KEYS | np.roll(KEYS, 1, -1), "mask_off_by_one", {"by": ["+1"]}),
    "one fewer": (np.arange(T) < KEPT.sum(-1)[:, None, None] - 1, "mask_off_by_one", {"by": ["-1"]}),
    "entry 1": (np.broadcast_to(KEYS[:1], KEYS.shape), "mask_padding_entries",
                {"which": ["the padding of batch entry 1 for every entry"]}),
    "reversed": (KEYS[::-1], "mask_padding_entries",
                 {"which": ["the padding of the batch entries in another order (3, 2, 1)"]}),
    "entry 2 forgotten": (np.where(np.arange(B)[:, None, None] == 1, True, KEYS),
                          "mask_padding_entry_missing", {"i": [2]}),
    "other end": (KEYS[..., ::-1], "mask_padding_flipped", {}),
    "queries": (np.broadcast_to(QUERIES, S.shape), "mask_padding_queries",
                {"which": ["of queries, not of keys"]}),
    "both": (QUERIES & KEYS, "mask_padding_queries", {"which": ["of queries and of keys"]}),
}  # fmt: skip


@pytest.mark.parametrize(
    "form",
    [pytest.param("float64", marks=pytest.mark.slow), "float32", pytest.param("bfloat16", marks=pytest.mark.slow)],
)  # fmt: skip
@pytest.mark.parametrize("blind", [np.nan, 0.0, 1 / T], ids=["nan", "0", "uniform"])
@pytest.mark.parametrize("name", WRONG)
def test_padding_by_entry(name: str, blind: float, form: str) -> None:
    allowed, mistake, words = WRONG[name]
    masked = np.where(allowed, S, -np.inf)
    weights = softmax(masked, blind)
    steps = right(PADDED)
    before = {k: steps[k] for k in ("attn.q", "attn.k", "attn.scores", "attn.scaled")}
    for given in ({**before, "attn.masked": masked}, {"attn.weights": weights}):
        kept = {k: _stored(v, form) for k, v in given.items()}
        found = check_arrays(PADDED, kept, form)
        first = list(given)[-1]
        assert found.first_wrong == first
        told = {n: r.words for r in found.reasons for n in r.names if r.step == first}
        assert mistake in told, (first, told)
        assert words.items() <= dict(told[mistake]).items()


def _stored(values: Any, form: str) -> Any:
    return NUMBERS[form](np.asarray(values, dtype=np.float64))


@pytest.mark.parametrize("name", [n for n in WRONG if n != "queries"])
def test_padding_by_entry_beside_a_causal_mask(name: str) -> None:
    allowed, mistake, _ = WRONG[name]
    masked = np.where(allowed & TRIANGLE, S, -np.inf)
    found = check_arrays(CAUSAL, {"attn.scaled": S, "attn.masked": masked})
    assert found.first_wrong == "attn.masked"
    assert mistake in {n for r in found.reasons for n in r.names}


def test_padding_that_counts_or_comes_after_the_softmax() -> None:
    for masked, name in ((np.where(KEYS, S, 0.0), "mask_padding_counts"),):
        found = check_arrays(PADDED, {"attn.masked": masked})
        assert name in {n for r in found.reasons for n in r.names}
    late = softmax(S, 0.0) * KEYS
    found = check_arrays(PADDED, {"attn.weights": late})
    assert "mask_after_softmax" in {n for r in found.reasons for n in r.names}


def test_padding_by_entry_in_written_numbers() -> None:
    masked = np.where(WRONG["entry 1"][0], S, -np.inf)
    rows = np.round(softmax(masked, 0.0), 3).tolist()
    found = check_text(PADDED, f"attn.weights: {rows}")
    assert "mask_padding_entries" in {n for r in found.reasons for n in r.names}


def test_padding_by_entry_that_a_block_does_not_have() -> None:
    few = block_of({"x": X[:2].tolist(), "attn": PLAIN})
    masked = np.where(KEYS[:2], S[:2], -np.inf)
    found = check_arrays(few, {"attn.weights": softmax(masked, 0.0)})
    (reason,) = found.reasons
    assert reason.names == ("mask_padding_added",)
    assert reason.words["which"] == ["the keys of the last tokens (1, 2)"]


def test_only_few_ways_of_padding_a_batch_are_tried() -> None:
    own = block()
    words = [a.words["which"] for a in added.mask_padding_added(own)]
    assert len(own.trace["attn.scores"]) == B
    assert added.MOST_WAYS >= T**B
    many = block_of({"x": X.repeat(2, 0).tolist(), "attn": PLAIN})
    fewer = [a.words["which"] for a in added.mask_padding_added(many)]
    assert len(fewer) < len(words)
    assert not any("," in which for which in fewer)


def test_what_cannot_be_made() -> None:
    plain = block()
    for mistake in padding.MISTAKES:
        assert not list(mistake.alternatives(plain)), mistake.name
    one = block_of({"x": X[0].tolist(), "attn": {**PLAIN, "padding": WORDS[0]}})
    assert not list(padding.mask_padding_entries(one))
    assert not list(padding.mask_padding_entry_missing(one))
    assert list(padding.mask_padding_flipped(one))
    assert list(padding.mask_padding_queries(one))
    first = block(padding=[["keep"] * T, WORDS[1], ["keep"] * T])
    assert not list(padding.mask_padding_entry_missing(first))
    words = {a.words["which"] for a in padding.mask_padding_entries(first)}
    assert "the padding of batch entry 1 for every entry" not in words
    assert len(list(padding.mask_padding_entries(_batch(5)))) > 3


def _batch(n: int) -> Block:
    x = RNG.normal(size=(n, T, 2)).round(2).tolist()
    words = [["keep"] * (1 + i % T) + ["pad"] * (T - 1 - i % T) for i in range(n)]
    return block_of({"x": x, "attn": {"w_q": ONE, "w_k": K, "w_v": ONE, "padding": words}})


@pytest.mark.parametrize("mistake", one_quick(padding.MISTAKES))
def test_it_is_told_in_random_blocks(mistake: Any) -> None:
    rate = measured(mistake, 3, 2, ("3", "float32"))
    assert rate.shown
    assert rate.told == rate.shown, rate.missed
