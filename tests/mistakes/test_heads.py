"""Mistakes in heads: each is what it says, and is found at its step and by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.messages import say
from blockcalc.mistakes.alternative import Block, Mistake
from blockcalc.mistakes.attention import heads
from tests.mistakes.made import block_of, close, made, one
from tests.mistakes.rates import found_rate
from tests.mistakes.wrong_answers import one_quick

RNG = np.random.RandomState(4)
X = RNG.randint(-9, 10, size=(3, 4)) / 10
WQ, WK, WV, WO = (RNG.randint(-9, 10, size=(4, 4)) / 10 for _ in range(4))


def block(**attn: Any) -> Block:
    """Give a block of two heads of two columns."""
    weights = {"w_q": WQ.tolist(), "w_k": WK.tolist(), "w_v": WV.tolist(), "w_o": WO.tolist()}
    return block_of({"x": X.tolist(), "attn": {"n_heads": 2, **weights, **attn}})


def attended(q: Any, k: Any, v: Any) -> Any:
    """Give z of each head, ``[n, T, e]``."""
    found = []
    for a, b, c in zip(q, k, v, strict=True):
        e = np.exp(a @ b.T / np.sqrt(a.shape[1]))
        found.append(e / e.sum(axis=1, keepdims=True) @ c)
    return np.array(found)


def test_by_stride() -> None:
    q, k, v = (np.array([(X @ w)[:, 0::2], (X @ w)[:, 1::2]]) for w in (WQ, WK, WV))
    own = block()
    assert close(one(own, "heads_by_stride", "q_heads", at="split"), q)
    z = attended(q, k, v)
    plain = np.concatenate([z[0], z[1]], axis=1)
    assert close(one(own, "heads_by_stride", "concat", at="split"), plain)
    dealt = np.empty_like(plain)
    dealt[:, 0::2], dealt[:, 1::2] = z
    assert close(one(own, "heads_by_stride", "concat", at="both"), dealt)
    right = own.trace["z"]
    dealt[:, 0::2], dealt[:, 1::2] = right
    assert close(one(own, "heads_by_stride", "concat", at="join"), dealt)
    assert not made(block(n_heads=4), "heads_by_stride", "q_heads")  # a head of one column


def test_joined_untransposed() -> None:
    own = block()
    flat = [float(n) for head in own.trace["z"] for row in head for n in row]
    found = one(own, "heads_joined_untransposed", "concat")
    assert close(found, [flat[0:4], flat[4:8], flat[8:12]])
    assert not made(block(n_heads=1), "heads_joined_untransposed", "concat")


def test_view() -> None:
    q, k, v = (np.reshape(list((X @ w).flat), (2, 3, 2)) for w in (WQ, WK, WV))
    own = block()
    assert close(one(own, "heads_view", "q_heads", at="split"), q)
    z = attended(q, k, v)
    assert close(one(own, "heads_view", "concat", at="split"), np.hstack(list(z)))
    assert close(one(own, "heads_view", "concat", at="both"), np.reshape(list(z.flat), (3, 4)))


def fused(layout: str, n_heads: int = 2) -> tuple[Block, Any]:
    w = RNG.randint(-9, 10, size=(4, 12)) / 10
    attn = {"w_qkv": w.tolist(), "n_heads": n_heads, "qkv_layout": layout}
    return block_of({"x": X.tolist(), "attn": attn}), X @ w


def test_fused_order() -> None:
    own, y = fused("blocks")
    order = "K, Q, V"
    assert close(one(own, "fused_order", "attn.q", order=order), y[:, 4:8])
    assert close(one(own, "fused_order", "attn.k", order=order), y[:, 0:4])
    assert close(one(own, "fused_order", "attn.v", order=order), y[:, 8:])
    per_head = say("form.fused.per_head")
    assert close(one(own, "fused_order", "attn.q", order=per_head), y[:, [0, 1, 6, 7]])
    assert close(one(own, "fused_order", "attn.v", order=per_head), y[:, [4, 5, 10, 11]])
    turn = say("form.fused.turn")
    assert close(one(own, "fused_order", "attn.k", order=turn), y[:, 1::3])
    own, y = fused("per_head")
    blocks = say("form.fused.blocks")
    assert close(one(own, "fused_order", "attn.k", order=blocks), y[:, 4:8])
    assert close(one(own, "fused_order", "attn.q", order="V, K, Q"), y[:, [4, 5, 10, 11]])
    assert not made(fused("blocks", 1)[0], "fused_order", "attn.q", order=per_head)


def test_fused_order_of_few_key_heads() -> None:
    w = RNG.randint(-9, 10, size=(4, 8)) / 10
    attn = {"w_qkv": w.tolist(), "n_heads": 2, "n_kv_heads": 1}
    own, y = block_of({"x": X.tolist(), "attn": attn}), X @ w
    order = "V, K, Q"
    assert close(one(own, "fused_order", "attn.q", order=order), y[:, 4:])
    assert close(one(own, "fused_order", "attn.v", order=order), y[:, :2])
    assert not made(own, "fused_order", "attn.q", order=say("form.fused.turn"))


def test_kv_groups() -> None:
    own = block(n_heads=4, n_kv_heads=2, w_k=WK[:, :2].tolist(), w_v=WV[:, :2].tolist())
    k = X @ WK[:, :2]
    right = np.array([k[:, [i % 2]] for i in range(4)])
    assert close(one(own, "kv_groups_interleaved", "k_repeat"), right)
    single = block(n_kv_heads=1, w_k=WK[:, :2].tolist(), w_v=WV[:, :2].tolist())
    assert not made(single, "kv_groups_interleaved", "k_repeat")


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("stop", ["attn.qkv", "attn.q", "attn.q_heads", "attn.z", "attn.concat"])
def test_a_block_that_stops_early(rows: int, stop: str) -> None:
    w = RNG.randint(-9, 10, size=(4, 12)) / 10
    attn = {"w_qkv": w.tolist(), "n_heads": 2}
    own = block_of({"x": X[:rows].tolist(), "stop": stop, "attn": attn})
    for mistake in heads.MISTAKES:
        for change in mistake.alternatives(own):
            assert change.equations
    view = rows > 1 and stop not in ("attn.qkv", "attn.q")
    assert bool(made(own, "heads_view", stop)) == view


def test_a_given_attention_has_no_heads() -> None:
    own = block_of({"x": [[1, 2]], "attn": {"out": [[0, 1]]}})
    assert not any(list(m.alternatives(own)) for m in heads.MISTAKES)


def fixed(mistake: Mistake) -> dict[str, Any]:
    return {"fused": True} if mistake.name == "fused_order" else {}


@pytest.mark.parametrize("mistake", one_quick(heads.MISTAKES), ids=lambda m: m.name)
def test_it_is_found(mistake: Mistake) -> None:
    shown, told, missed = found_rate(mistake, seed=1, blocks=2, forms=("4",), **fixed(mistake))
    assert shown
    assert told == shown, missed
