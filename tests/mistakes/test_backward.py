"""Each mistake in the backward pass is what it says, and is found at its step and by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.mistakes.backward import MISTAKES
from tests.mistakes.by_hand import SMALL, assert_found, made, places, same, small
from tests.mistakes.wrong_answers import one_quick

NAMES = [m.name for m in MISTAKES]
NEEDED: dict[str, dict[str, Any]] = {
    "grad_relu_mask_missing": {"activation": "relu"},
    "grad_activation_missing": {"activation": "gelu"},
    "grad_rms_fixed": {"kind": "rms"},
    "grad_kv_not_summed": {"heads": 2, "kv": 1, "d_model": 8},
}


@pytest.mark.parametrize("name", one_quick(NAMES))
def test_it_is_found_in_a_small_block(name: str) -> None:
    fixed = {**SMALL, **NEEDED.get(name, {})}
    assert_found(name, 1, ("5",), backward=True, **fixed)


# by hand --------------------------------------------------------------------------------------


def test_activations() -> None:
    block, h = small(backward=True)
    same(made(block, "grad_relu_mask_missing")["grad.ffn.pre"], h["grad.ffn.act"])
    assert not places(block, "grad_activation_missing")
    block, h = small(backward=True, activation="gelu")
    same(made(block, "grad_activation_missing")["grad.ffn.pre"], h["grad.ffn.act"])
    assert not places(block, "grad_relu_mask_missing")


def test_norms() -> None:
    block, h = small(backward=True)
    g, n = h["grad.norm2.normalized"], h["norm2.normalized"]
    sigma = h["norm2.std"][:, None]
    mean, product = g.mean(-1, keepdims=True), (g * n).mean(-1, keepdims=True)
    same(h["grad.residual2"], (g - mean - n * product) / sigma)
    values = made(block, "grad_norm_mean_missing")
    same(values["grad.residual2"], (g - n * product) / sigma)
    same(values["grad.ffn.act"], values["grad.residual2"] @ h["ffn.w_2"].T)
    same(
        made(block, "grad_norm_mean_twice")["grad.residual2"], (g - 2 * mean - n * product) / sigma
    )
    same(made(block, "grad_norm_product_missing")["grad.residual2"], (g - mean) / sigma)
    assert not places(block, "grad_rms_fixed")


def test_rms() -> None:
    block, h = small(backward=True, kind="rms", beta=False)
    g, rho = h["grad.norm2.normalized"], h["norm2.rms"][:, None]
    same(made(block, "grad_rms_fixed")["grad.residual2"], g / rho)
    for name in ("grad_norm_mean_missing", "grad_norm_mean_twice", "grad_norm_product_missing"):
        assert not places(block, name)


@pytest.mark.parametrize("offset", [False, True])
def test_gamma(offset: bool) -> None:
    block, h = small(backward=True, unit_offset=offset)
    dy, gain = h["grad.norm2"], h["norm2.gamma"] + offset
    same(made(block, "grad_gamma_missing")["grad.norm2.normalized"], dy)
    same(made(block, "grad_gamma_twice")["grad.norm2.normalized"], dy * gain * gain)


def test_softmax() -> None:
    block, h = small(backward=True)
    p, g = h["attn.weights"], h["grad.attn.weights"]
    same(made(block, "grad_softmax_diagonal")["grad.attn.scaled"], g * p * (1 - p))


def test_scale() -> None:
    block, h = small(backward=True)
    ds = h["grad.attn.scores"]
    found = [made(block, "grad_scale_twice", at) for at in (0, 1)]
    same(found[0]["grad.attn.q"], ds @ h["attn.k"] / 2)
    same(found[0]["grad.attn.k"], h["grad.attn.k"])
    same(found[1]["grad.attn.k"], ds.T @ h["attn.q"] / 2)
    assert not places(small(backward=True, d_head=1, w_o=True)[0], "grad_scale_twice")


def test_sums_over_tokens() -> None:
    block, h = small(backward=True)
    a, g = h["ffn.act"], h["grad.residual2"]
    at = [
        next(i for i, p in enumerate(places(block, "grad_tokens_not_summed", token=t))
             if p.equations[-1].out.name == f"grad.ffn.{key}")
        for t, key in ((1, "w_2"), (3, "w_2"), (3, "b_2"))
    ]  # fmt: skip
    first = made(block, "grad_tokens_not_summed", at[0], token=1)
    same(first["grad.ffn.w_2"], np.outer(a[0], g[0]))
    same(
        made(block, "grad_tokens_not_summed", at[1], token=3)["grad.ffn.w_2"], np.outer(a[2], g[2])
    )
    same(made(block, "grad_tokens_not_summed", at[2], token=3)["grad.ffn.b_2"], g[2])
    means = [p.equations[-1].out.name for p in places(block, "grad_tokens_averaged")]
    values = made(block, "grad_tokens_averaged", means.index("grad.ffn.w_2"))
    same(values["grad.ffn.w_2"], a.T @ g / 3)
    weights = [ref.name for ref in block.program.inputs if ref.role == "weight"]
    assert sorted(means) == sorted(f"grad.{name}" for name in weights)
    assert not places(small(backward=True, tokens=1)[0], "grad_tokens_not_summed")


@pytest.mark.parametrize("order", ["post", "pre"])
def test_branches(order: str) -> None:
    block, h = small(backward=True, order=order)
    through = h["grad.residual1"]
    same(made(block, "grad_residual_missing", part="residual1")["grad.x"], h["grad.x"] - through)
    same(made(block, "grad_residual_missing", part="attn.out")["grad.x"], through)


def test_groups() -> None:
    block, h = small(backward=True, **NEEDED["grad_kv_not_summed"])
    each = h["grad.attn.k_repeat"]
    same(h["grad.attn.k_heads"], each.sum(axis=0, keepdims=True))
    found = [p.equations[-1].out.name for p in places(block, "grad_kv_not_summed", head=2)]
    values = made(block, "grad_kv_not_summed", found.index("grad.attn.k_heads"), head=2)
    same(values["grad.attn.k_heads"], each[1:])


def test_a_block_without_gradients() -> None:
    block, _ = small()
    for name in NAMES:
        assert not places(block, name)
