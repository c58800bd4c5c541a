"""Mistakes in residuals and orders: their numbers, and that they are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.mistakes.orders import MISTAKES
from blockcalc.ops.op import Array
from tests.mistakes.by_hand import SMALL, assert_found, made, places, same, small
from tests.mistakes.wrong_answers import one_quick

NAMES = [m.name for m in MISTAKES]
PRE = ("residual_from_normed", "order_post_for_pre", "final_norm_missing", "final_norm_twice")


@pytest.mark.parametrize("name", one_quick(NAMES))
def test_it_is_found_in_a_small_block(name: str) -> None:
    order = "pre" if name in PRE else "post"
    assert_found(name, 1, ("5",), **{**SMALL, "order": order, "final": True})


# by hand --------------------------------------------------------------------------------------


class Hand:
    """A small block in plain NumPy; ``h`` holds its matrices by name."""

    def __init__(self, h: dict[str, Array]) -> None:
        self.h = h

    def norm(self, x: Array, name: str) -> Array:
        d = x - x.mean(axis=-1, keepdims=True)
        n = d / np.sqrt((d**2).mean(axis=-1, keepdims=True) + 1e-3)
        return np.asarray(n * self.h[f"{name}.gamma"] + self.h[f"{name}.beta"])

    def line(self, x: Array, key: str) -> Array:
        layer, _, letter = key.partition(".")
        return np.asarray(x @ self.h[f"{layer}.w_{letter}"] + self.h[f"{layer}.b_{letter}"])

    def attn(self, x: Array) -> Array:
        q, k, v = (self.line(x, f"attn.{letter}") for letter in "qkv")
        e = np.exp(q @ k.T / 2.0)
        return self.line(e / e.sum(axis=-1, keepdims=True) @ v, "attn.o")

    def ffn(self, x: Array) -> Array:
        return self.line(np.maximum(self.line(x, "ffn.1"), 0.0), "ffn.2")

    def post(self, x: Array, names: Any = ("norm1", "norm2")) -> Array:
        x = self.norm(x + self.attn(x), names[0])
        return self.norm(x + self.ffn(x), names[1])

    def pre(self, x: Array, names: Any = ("norm1", "norm2")) -> Array:
        x = x + self.attn(self.norm(x, names[0]))
        return x + self.ffn(self.norm(x, names[1]))


def test_the_hand_is_right() -> None:
    _, h = small()
    same(h["norm2"], Hand(h).post(h["x"]))
    _, h = small(order="pre")
    same(h["residual2"], Hand(h).pre(h["x"]))


def test_residuals() -> None:
    block, h = small()
    x, y, w = h["x"], h["attn.out"], Hand(h)
    cases: tuple[tuple[str, dict[str, Any], Array], ...] = (
        ("residual_missing", {}, y),
        ("residual_twice", {"matrix": "x"}, 2 * x + y),
        ("residual_twice", {"matrix": "attn.out"}, x + 2 * y),
    )
    for name, words, right in cases:
        values = made(block, name, **words)
        same(values["residual1"], right)
        same(values["norm1"], w.norm(right, "norm1"))
    same(made(block, "residual_from_block_input")["residual2"], x + h["ffn.out"])
    assert len(places(block, "residual_from_block_input")) == 1
    assert not places(block, "residual_from_normed")


def test_the_normed_rows_in_the_residual() -> None:
    block, h = small(order="pre")
    same(made(block, "residual_from_normed")["residual1"], h["norm1"] + h["attn.out"])
    values = made(block, "residual_from_normed", 1)
    same(values["residual2"], h["norm2"] + h["ffn.out"])
    assert not places(block, "residual_after_norm")


@pytest.mark.parametrize("beta", [True, False])
def test_the_residual_after_the_norm(beta: bool) -> None:
    block, h = small(beta=beta)
    h.setdefault("norm1.beta", np.zeros(4))
    after = h["x"] + Hand(h).norm(h["attn.out"], "norm1")
    values = made(block, "residual_after_norm", form="residual")
    same(values["residual1"], after)
    same(values["ffn.pre"], Hand(h).line(after, "ffn.1"))
    values = made(block, "residual_after_norm", form="norm")
    same(values["norm1"], after)
    same(values["ffn.pre"], Hand(h).line(after, "ffn.1"))


def test_orders() -> None:
    block, h = small()
    values = made(block, "order_pre_for_post")
    same(values["residual2"], Hand(h).pre(h["x"]))
    assert not places(block, "order_post_for_pre")
    block, h = small(order="pre")
    same(made(block, "order_post_for_pre")["norm2"], Hand(h).post(h["x"]))


def test_the_other_order_with_its_backward_pass() -> None:
    block, _ = small(backward=True)
    other, _ = small(backward=True, order="pre")
    values = made(block, "order_pre_for_post")
    same(values["residual2"], other.trace["residual2"])
    same(values["grad.attn.w_q"], other.trace["grad.attn.w_q"])


def test_exchanged_and_shared_norms() -> None:
    block, h = small()
    same(made(block, "norms_exchanged")["norm2"], Hand(h).post(h["x"], ("norm2", "norm1")))
    for one in ("norm1", "norm2"):
        same(made(block, "norm_shared", norm=one)["norm2"], Hand(h).post(h["x"], (one, one)))


def test_norms_of_a_stack_are_exchanged_in_one_block() -> None:
    block, h = small(stack=True)
    values = made(block, "norms_exchanged", 1)
    same(values["blocks.0.norm1"], h["blocks.0.norm1"])
    assert not np.allclose(values["blocks.1.norm1"], h["blocks.1.norm1"])


def test_norms_that_are_the_same_are_not_exchanged() -> None:
    block, _ = small(gamma=False, beta=False)
    assert not places(block, "norms_exchanged")
    assert not places(block, "norm_shared")


def test_the_final_norm() -> None:
    block, h = small(order="pre", final=True)
    w = Hand(h)
    end = w.pre(h["x"])
    same(made(block, "final_norm_missing")["final_norm"], end)
    once = w.norm(end, "final_norm")
    for form in ("first", "second"):
        same(made(block, "final_norm_twice", parts=form)["final_norm"], w.norm(once, "final_norm"))
    same(made(block, "final_norm_twice", parts="second")["final_norm.mean"], once.mean(axis=-1))
    same(made(block, "final_norm_twice", parts="first")["final_norm.mean"], end.mean(axis=-1))


def test_a_block_without_a_final_norm() -> None:
    block, _ = small(order="pre")
    assert not places(block, "final_norm_missing")
    assert not places(block, "final_norm_twice")
