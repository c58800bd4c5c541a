"""Dumps of programs with a convention of their own, some steps given, worked in plain NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from blockcalc.check.run import Checked
from blockcalc.mistakes.alternative import Block
from blockcalc.program.bounds import NUMBERS
from tests.check.helpers import check_arrays, made

RNG = np.random.default_rng(11)
T, C, H, D = 6, 8, 2, 4


def drawn(*shape: int) -> Any:
    return np.round(RNG.normal(size=shape) * 0.6, 3)


W = {f"w_{p}": drawn(C, C) for p in "qkvo"}
GAMMA, BETA, X = 1 + drawn(C), drawn(C), 2 * drawn(T, C)
BLOCK: Block = made(
    {
        "x": X.tolist(),
        "norm": {"order": "pre", "eps": 1e-5},
        "norm1": {"gamma": GAMMA.tolist(), "beta": BETA.tolist()},
        "attn": {"n_heads": H, "causal": True, **{k: w.tolist() for k, w in W.items()}},
        "stop": "residual1",
    }
)
CAUSAL = np.tri(T, dtype=bool)
FEW = ("norm1", "attn.q", "attn.k", "attn.v", "attn.weights", "attn.out", "residual1")
ALIBI = -np.abs(np.arange(T)[:, None] - np.arange(T)) / np.array([2.0, 4.0])[:, None, None]


def block(form: str, gamma: Any = GAMMA, weights: Any = None) -> dict[str, Any]:
    """Work the block; each step is stored, and the parts of the norm are not."""
    kept: dict[str, Any] = {}

    def keep(name: str, values: Any) -> Any:
        kept[name] = NUMBERS[form](np.asarray(values, dtype=np.float64))
        return kept[name]

    centered = X - X.mean(axis=-1, keepdims=True)
    normal = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5)
    keep("norm1.normalized", normal)
    normed = keep("norm1", normal * gamma + BETA)
    q, k, v = (keep(f"attn.{p}", normed @ W[f"w_{p}"]) for p in "qkv")
    qh, kh, vh = (m.reshape(T, H, D).swapaxes(0, 1) for m in (q, k, v))
    scaled = keep("attn.scaled", keep("attn.scores", qh @ kh.swapaxes(1, 2)) / np.sqrt(D))
    with np.errstate(all="ignore"):
        own = keep("attn.weights", (weights or plain)(scaled))
    z = keep("attn.z", own @ vh)
    out = keep("attn.out", keep("attn.concat", z.swapaxes(0, 1).reshape(T, C)) @ W["w_o"])
    keep("residual1", X + out)
    return kept


def powers(scores: Any, base: float = np.e) -> Any:
    return np.where(CAUSAL, base**scores, 0.0)


def plain(scores: Any) -> Any:
    e = powers(scores)
    return e / e.sum(axis=-1, keepdims=True)


def base2(scores: Any) -> Any:
    e = powers(scores, 2.0)
    return e / e.sum(axis=-1, keepdims=True)


def over_heads(scores: Any) -> Any:
    e = powers(scores)
    return e / e.sum(axis=0, keepdims=True)


def alibi(scores: Any) -> Any:
    return plain(scores + ALIBI)


def sink(scores: Any) -> Any:
    e = powers(scores)
    return e / (e.sum(axis=-1, keepdims=True) + np.exp(0.5))


def checked(form: str, steps: tuple[str, ...], **kind: Any) -> Checked:
    values: Mapping[str, Any] = block(form, **kind)
    return check_arrays(BLOCK, {name: values[name] for name in steps}, form)


FORMS = ("float64", "float32", "bfloat16", "float16")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("steps", [FEW, ("norm1.normalized", *FEW)])
def test_no_mistake(form: str, steps: tuple[str, ...]) -> None:
    found = checked(form, steps)
    assert found.ok, found
    assert not found.reasons


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", [(), ("norm1.normalized",)])
def test_a_norm_without_gamma(form: str, before: tuple[str, ...]) -> None:
    """It is worked at once: its stored inner steps are not its operands."""
    found = checked(form, (*before, *FEW), gamma=np.ones(C))
    assert found.first_wrong == "norm1"
    assert [r.names for r in found.reasons] == [("gamma_missing",)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("weights", "name"), [(base2, "softmax_base2"), (over_heads, "softmax_heads")]
)
def test_weights_far_behind_what_is_given(form: str, weights: Any, name: str) -> None:
    """No bound is known of some numbers; those that are given are all the nearer."""
    found = checked(form, FEW, weights=weights)
    assert found.first_wrong == "attn.weights"
    assert name in {n for r in found.reasons for n in r.names}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights", [alibi, sink])
def test_weights_that_no_mistake_gives(form: str, weights: Any) -> None:
    """Another way of computing is no reason, however wide its bound is."""
    found = checked(form, FEW, weights=weights)
    assert found.first_wrong == "attn.weights"
    assert not found.reasons
