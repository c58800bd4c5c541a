"""Each mistake in a norm is what it says, and is found at its step and by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.norms import divisors, gains, statistics
from blockcalc.mistakes.table import MISTAKES as EVERY
from blockcalc.nn.norms import norm
from blockcalc.nn.spec import NormSpec
from blockcalc.ops.op import Array
from blockcalc.program.builder import Builder
from blockcalc.program.trace import Trace, steps
from tests.mistakes.by_hand import SMALL, assert_found, made, places, same, small
from tests.mistakes.wrong_answers import one_quick

MISTAKES = (*divisors.MISTAKES, *statistics.MISTAKES, *gains.MISTAKES)
NAMES = [m.name for m in MISTAKES if m.name != "qk_norm_missing"]
SHOWING: dict[str, dict[str, Any]] = {"eps_missing": {"eps": 1e-3}, "eps_outside": {"eps": 1e-3}}


@pytest.mark.parametrize("name", one_quick(NAMES))
def test_it_is_found_in_a_small_block(name: str) -> None:
    kind = "rms" if name.startswith("norm_layer_for_rms") else "layer"
    # with few digits one convention often gives the numbers of two
    form = "float64" if EVERY[name].compound else "5"
    assert_found(name, 1, (form,), **{**SMALL, "kind": kind, "stack": False})


# by hand --------------------------------------------------------------------------------------


def layer(x: Array, eps: float = 1e-3, axis: Any = -1, less: int = 0) -> Array:
    """LayerNorm without gamma and beta."""
    d = x - x.mean(axis=axis, keepdims=True)
    n = np.prod([x.shape[a] for a in np.atleast_1d(axis)])
    return np.asarray(d / np.sqrt((d**2).sum(axis=axis, keepdims=True) / (n - less) + eps))


def rms(x: Array, eps: float = 1e-3) -> Array:
    """RMSNorm without gamma."""
    return np.asarray(x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps))


def parts(**fixed: Any) -> tuple[Block, Array, Array, Array]:
    block, known = small(**fixed)
    beta = known.get("norm1.beta", np.zeros(4))
    return block, known["residual1"], known["norm1.gamma"], beta


@pytest.mark.parametrize(
    ("name", "words", "rows"),
    [
        ("eps_other", {"eps": "1e-05"}, lambda x: layer(x, 1e-5)),
        ("eps_missing", {}, lambda x: layer(x, 0.0)),
        ("eps_outside", {}, lambda x: (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-3)),
        ("eps_outside_other", {"eps": "1e-05"}, lambda x: (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5)),
        ("norm_rms_for_layer_eps", {"eps": "1e-06"}, lambda x: rms(x, 1e-6)),
        ("norm_squares_summed", {}, lambda x: 0.5 * layer(x, 1e-3 / 4)),
        ("variance_not_rooted", {}, lambda x: (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-3)),
        ("variance_sample", {}, lambda x: layer(x, less=1)),
        ("norm_over_tokens", {"axes": "token"}, lambda x: layer(x, axis=0)),
        ("norm_over_tokens", {"axes": "token, d_model"}, lambda x: layer(x, axis=(0, 1))),
        ("norm_mean_kept", {"form": "both"}, rms),
        ("norm_mean_kept", {"form": "numerator"}, lambda x: x / np.sqrt(x.var(-1, keepdims=True) + 1e-3)),
        ("norm_rms_for_layer", {"form": "result"}, rms),
        ("norm_rms_for_layer", {"form": "parts"}, rms),
        ("std_inverted", {}, layer),
    ],
)  # fmt: skip
def test_other_rows(name: str, words: dict[str, Any], rows: Any) -> None:
    block, x, gamma, beta = parts()
    same(made(block, name, **words)["norm1"], rows(x) * gamma + beta)


def test_over_tokens_where_the_means_fit_in_their_place() -> None:
    block, x, gamma, beta = parts(tokens=4)
    values = made(block, "norm_over_tokens", axes="token")
    same(values["norm1.mean"], x.mean(axis=0))
    same(values["norm1.std"], np.sqrt(x.var(axis=0) + 1e-3))
    same(values["norm1"], layer(x, axis=0) * gamma + beta)


def test_over_tokens_of_an_rms_norm() -> None:
    block, x, gamma, _ = parts(kind="rms", beta=False)
    whole = x / np.sqrt((x**2).mean() + 1e-3)
    columns = x / np.sqrt((x**2).mean(axis=0) + 1e-3)
    same(made(block, "norm_over_tokens", axes="token, d_model")["norm1"], whole * gamma)
    same(made(block, "norm_over_tokens", axes="token")["norm1"], columns * gamma)


def test_parts_of_the_other_kind() -> None:
    block, x, gamma, _ = parts(kind="rms", beta=False)
    values = made(block, "norm_layer_for_rms", form="parts")
    same(values["norm1.rms"], np.sqrt(x.var(axis=-1) + 1e-3))
    same(values["norm1"], layer(x) * gamma)
    same(made(block, "norm_layer_for_rms", form="result")["norm1"], layer(x) * gamma)
    block, x, _, _ = parts()
    same(made(block, "norm_rms_for_layer", form="parts")["norm1.var"], (x**2).mean(axis=-1))


def test_another_kind_with_another_eps() -> None:
    block, x, gamma, _ = parts(kind="rms", beta=False)
    same(made(block, "norm_layer_for_rms_eps", eps="1e-05")["norm1"], layer(x, 1e-5) * gamma)
    same(made(block, "norm_squares_summed")["norm1"], 0.5 * rms(x, 1e-3 / 4) * gamma)


def test_a_sum_of_squares_is_no_mistake_where_the_mean_is_one() -> None:
    assert not places(small(variance="sample", d_model=2, d_head=2)[0], "norm_squares_summed")


def test_the_reciprocal_is_kept() -> None:
    block, x, _, _ = parts()
    values = made(block, "std_inverted")
    same(values["norm1.std"], 1 / np.sqrt(x.var(axis=-1) + 1e-3))
    assert EVERY["std_inverted"].same_result


@pytest.mark.parametrize("offset", [False, True])
def test_gamma_and_beta(offset: bool) -> None:
    block, x, gamma, beta = parts(unit_offset=offset)
    n, one = layer(x), 1.0 if offset else 0.0
    same(made(block, "gamma_missing")["norm1"], n + beta)
    same(made(block, "beta_missing")["norm1"], n * (gamma + one))
    same(made(block, "gamma_plus_one")["norm1"], n * (gamma + 1 - one) + beta)
    same(made(block, "gamma_plus_one_twice")["norm1"], n * (gamma + 2) + beta)


def test_a_norm_of_queries_is_left_out() -> None:
    x = np.array([[1.0, 2.0, 4.0], [3.0, 0.0, 0.0]])
    b = Builder({"x": x.shape})
    ref = b.given("x", "X", ("token", "d_head"), role="data")
    with b.section("attn", "attention", ref):
        norm(b, ref, NormSpec("attn.q_norm"), "q")
    program = b.program()
    arrays = {"x": x} | {s.equation.out.name: s.value for s in steps(program, {"x": x})}
    block = Block(small()[0].spec, Trace(program, arrays))
    same(made(block, "qk_norm_missing")["attn.q_norm"], x)


def test_no_block_has_a_norm_of_queries() -> None:
    assert not places(small()[0], "qk_norm_missing")


def test_what_changes_nothing_is_left_out() -> None:
    block, _ = small(gamma=False, beta=False, tokens=1)
    assert not places(block, "gamma_missing")
    assert not places(block, "beta_missing")
    assert not places(block, "norm_over_tokens")
