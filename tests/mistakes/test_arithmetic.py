"""Each mistake of arithmetic gives its numbers, and is found if a step is wrong by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from blockcalc.mistakes.arithmetic import FORMATS, MISTAKES, Inexact
from blockcalc.mistakes.table import MISTAKES as EVERY
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import ITSELF
from blockcalc.ops.op import Array
from blockcalc.program.rounding import Rounding
from tests.mistakes.by_hand import SMALL, made, places, same, small
from tests.mistakes.rates import found_rate
from tests.mistakes.wrong_answers import one_quick

NAMES = [m.name for m in MISTAKES]


def assert_told(name: str, blocks: int, forms: tuple[str, ...], **fixed: Any) -> None:
    """Check that a mistake is found if a step is wrong; steps may all follow from those before."""
    shown, told, missed = found_rate(EVERY[name], seed=1, blocks=blocks, forms=forms, **fixed)
    wrong = [miss for miss in missed if miss[3]]
    assert told >= blocks / 4
    if (
        name == "copied_step"
    ):  # a special mistake that gives the same numbers, such as no residual, goes first
        wrong = [miss for miss in wrong if not miss[4]]
    assert len(wrong) <= 0.05 * shown, wrong[:3]


@pytest.mark.parametrize("name", one_quick(NAMES))
def test_it_is_found_in_a_small_block(name: str) -> None:
    several = name == "copied_step"
    assert_told(name, 4 if several else 1, ("5",) if several else ("5", "10"), **SMALL)


# by hand --------------------------------------------------------------------------------------


def truncated(values: Array, dropped: int) -> Array:
    """Round to the nearest float32 whose last bits are 0, ties to even, on its bits."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    half, last = np.uint64((1 << (dropped - 1)) - 1), np.uint64(dropped)
    bits = (bits + half + ((bits >> last) & np.uint64(1))) >> last << last
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


HAND: dict[str, Callable[[Array], Array]] = {
    "float32": lambda v: v.astype(np.float32).astype(np.float64),
    "float16": lambda v: v.astype(np.float16).astype(np.float64),
    "bfloat16": lambda v: truncated(v, 16),
    "tf32": lambda v: truncated(v, 13),
}


@pytest.mark.parametrize("name", HAND)
def test_formats(name: str) -> None:
    values = np.random.RandomState(0).normal(size=2000) * 10.0 ** np.arange(-10, 10).repeat(100)
    values = np.append(values, [0.0, -0.0, 1.0, 2.0**-24, 2.0**-25, 65519.0, np.inf, -np.inf])
    if name != "float16":  # one rounding by float32 first, as the bits have it
        values = values.astype(np.float32).astype(np.float64)
    with np.errstate(over="ignore"):
        assert np.array_equal(FORMATS[name](values), HAND[name](values))
    assert FORMATS["float16"](np.array([65520.0]))[0] == np.inf
    assert np.isnan(FORMATS[name](np.array([np.nan]))[0])


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("inputs", [False, True])
def test_every_step_in_a_precision(name: str, inputs: bool) -> None:
    block, h = small()
    to = HAND[name]
    given: Callable[[Array], Array] = to if inputs else lambda v: v
    x, w, b = (given(h[k]) for k in ("x", "attn.w_q", "attn.b_q"))
    form = "steps and inputs" if inputs else "steps"
    values = made(block, f"arithmetic_{name}", form=form)
    same(values["attn.q"], to(x @ w + b))
    e, r = values["attn.weights.exp"], values["attn.weights.sum"]
    same(values["attn.weights"], to(e / to(e.sum(axis=-1))[:, None]))
    same(r, to(e.sum(axis=-1)))


def test_kernels_keep_their_parts() -> None:
    block, _ = small()
    values = made(block, "arithmetic_bfloat16", form="kernels")
    e = np.exp(values["attn.scaled"])
    same(values["attn.weights.exp"], e)
    same(values["attn.weights"], truncated(e / e.sum(axis=-1, keepdims=True), 16))


@pytest.mark.parametrize("name", ["tf32", "float16", "bfloat16"])
def test_products_in_a_precision(name: str) -> None:
    block, h = small()
    to = HAND[name]
    values = (
        made(block, f"arithmetic_{name}")
        if name == "tf32"
        else made(block, f"arithmetic_{name}", form="products")
    )
    product = to(h["x"]) @ to(h["attn.w_q"]) + h["attn.b_q"]
    same(values["attn.q"], product if name == "tf32" else to(product))
    total = values["residual1"]
    same(total, h["x"] + values["attn.out"])


@pytest.mark.parametrize(
    ("digits", "by"),
    [
        ("2", lambda v: np.sign(v) * np.floor(np.abs(v) * 100 + 0.5) / 100),
        ("4sf", lambda v: np.array([float(f"{n:.3e}") for n in v.ravel()]).reshape(v.shape)),
    ],
)
def test_rounding_each_step(digits: str, by: Any) -> None:
    block, h = small()
    values = made(block, "rounded_each_step", digits=digits)
    q, k, v = (by(h["x"] @ h[f"attn.w_{n}"] + h[f"attn.b_{n}"]) for n in "qkv")
    e = by(np.exp(by(by(q @ k.T) / 2)))
    p = by(e / by(e.sum(axis=-1))[:, None])
    z = by(p @ v)
    assert values["attn.weights"] == pytest.approx(p, abs=1e-12)
    assert values["attn.z"] == pytest.approx(z, abs=1e-12)


def test_a_rounded_row() -> None:
    block, h = small(tokens=5)
    p = np.round(h["attn.weights"], 3)
    assert not np.allclose(p.sum(axis=-1), 1, atol=1e-9)
    kept = made(block, "softmax_rounded_row", digits="3", form="kept")
    used = made(block, "softmax_rounded_row", digits="3", form="used")
    same(kept["attn.weights"], p)
    same(used["attn.weights"], h["attn.weights"])
    for values in (kept, used):
        same(values["attn.z"], p @ h["attn.v"])
    assert not places(small(tokens=1)[0], "softmax_rounded_row")


def test_a_copied_step() -> None:
    block, h = small()
    values = made(block, "copied_step", step="attn.k", source="attn.q")
    same(values["attn.k"], h["attn.q"])
    same(values["attn.scores"], h["attn.q"] @ h["attn.q"].T)
    assert not places(block, "copied_step", step="attn.q")
    assert EVERY["copied_step"].general


def test_a_step_is_copied_from_the_same_step_of_another_block() -> None:
    block, h = small(stack=True)
    values = made(block, "copied_step", step="blocks.1.attn.q", source="blocks.0.attn.q")
    same(values["blocks.1.attn.q"], h["blocks.0.attn.q"])


def test_a_run_that_rounds_is_not_rounded_finer() -> None:
    block, _ = small()
    digits = [p.words["digits"] for p in places(block, "rounded_each_step")]
    assert digits == ["1", "2", "3", "4", "5", "2sf", "3sf", "4sf", "5sf"]
    rounded = replace(block, trace=replace(block.trace, rounding=Rounding("decimals", 3)))
    digits = [p.words["digits"] for p in places(rounded, "rounded_each_step")]
    assert digits == ["1", "2", "2sf", "3sf", "4sf", "5sf"]


@pytest.mark.parametrize(
    ("kind", "digits", "numbers", "may"),
    [
        ("decimals", 2, [0.25, -13.07, 0.0, np.inf, np.nan], True),
        ("decimals", 2, [0.25, 0.251], False),
        ("significant", 2, [0.025, -1300.0, 0.0, np.inf], True),
        ("significant", 2, [1310.0], False),
    ],
)
def test_numbers_that_are_less_round_are_not_tried(
    kind: str, digits: int, numbers: list[float], may: bool
) -> None:
    op = Inexact(Elementwise(ITSELF), (), Rounding(kind, digits))
    own = np.array(numbers)
    assert op.may_give(own, np.zeros(own.shape)) is may
    assert op.may_give(own * (1 + 1e-7), 1e-6 * np.abs(own)) is may  # as stored in float32
    assert op.may_give(own, np.ones(own.shape) * 1000)
    assert replace(op, result_to=FORMATS["float32"]).may_give(own, np.zeros(own.shape))
