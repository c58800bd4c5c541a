"""What a file is refused for: shapes, layouts, dropout, stacks, and what contradicts itself."""

from __future__ import annotations

from typing import Any

import pytest

import blockcalc
from blockcalc.views.errors import report
from tests.blocks import ATTENTION, FUSED, SQUARE, TO_Z, WEIGHTS
from tests.helpers import refused_run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"x": [[SQUARE]], "attn": ATTENTION}, "nested deeper"),
        ({"x": [[[[1, 0], [0, 1]], 0], [0, 1]], "attn": ATTENTION}, "nested deeper"),
        ({"x": SQUARE, "attn": {"out": [[SQUARE]]}}, "nested deeper"),
        ({"x": SQUARE, "attn": ATTENTION, "tokens": [[["a", "b"], ["c", "d"]]]}, "a label is text"),
        ({"x": [SQUARE, SQUARE], "attn": ATTENTION, "tokens": [["a", "b"], ["c"]]}, "tokens.1: 1 labels for 2 rows"),
        ({"x": SQUARE, "attn": {"w_qkv": FUSED, "w_o": [[1, 0]] * 3}},
         "attn.w_o has 3 rows, but attn.w_qkv has 6 columns"),
        ({"x": SQUARE, "attn": {**ATTENTION, "w_qkv": FUSED}}, "w_q cannot be given with w_qkv"),
        ({"x": SQUARE, "attn": {"w_qkv": FUSED, "b_q": [1, 2]}}, "b_q cannot be given with w_qkv"),
        ({"x": SQUARE, "attn": {**ATTENTION, "b_qkv": [1]}}, "b_qkv needs w_qkv"),
        ({"x": SQUARE, "attn": {**ATTENTION, "qkv_layout": "blocks"}}, "qkv_layout needs w_qkv"),
        ({"x": SQUARE, "attn": {**ATTENTION, "b_o": [1, 2]}}, "attn.b_o is given but not used"),
        ({"x": SQUARE, "attn": ATTENTION, "norm": {"kind": "rms", "variance": "sample"}}, "a norm of kind rms has no variance"),
        ({"x": [[3], [2]], "attn": {"out": [[1], [1]]}, "norm": {"variance": "sample"}}, "n - 1 = 0"),
        ({"x": [[1e-200, 0]], "attn": {"out": [[0, 0]]}, "norm": {"kind": "rms", "eps": 0}},
         "too small for float64"),
        ({"x": SQUARE, "attn": ATTENTION, "expect": {"attn.weights.sum": 3}}, "this is a single number"),
        ({"x": SQUARE, "attn": ATTENTION, "expect": {"attn.q": {"valu": 1}}}, "unknown key 'valu'"),
        ({"x": SQUARE, "attn": ATTENTION, "points": {"attn.q": -1}}, "points are a number from 0 to 1,000,000"),
        ({"x": SQUARE, "attn": ATTENTION, "points": {"attn.q": float("nan")}}, "a finite number"),
        ({"x": SQUARE, "attn": ATTENTION, "points": {"attn.q": 1e7}}, "points are a number from 0 to 1,000,000"),
        ({"x": SQUARE, "attn": ATTENTION, "points": {"attn.qq": 1}}, "did you mean 'attn.q'"),
        ({"x": SQUARE, "attn": ATTENTION, "points": {}}, "points are a mapping of steps to numbers"),
        ({"x": SQUARE, "attn": ATTENTION, "dropout": {"p": 0.1, "at": ["attn.weights"], "keep": {"attn.out": SQUARE}}},
         "'attn.out' is not among the places under at"),
        ({"x": SQUARE, "blocks": [{"attn": {**ATTENTION, "padding": [1, 0]}}]}, "blocks.0.attn.padding"),
        ({"x": SQUARE, "attn": {**ATTENTION, "padding": [1, 0]}}, "keep marks a token to attend to (1)"),
        ({"x": SQUARE, "attn": {**ATTENTION, "mask": "causal"}}, "attn.causal: true"),
        ({"x": SQUARE, "attn": ATTENTION, "norm": "rms"}, "norm: {kind: rms}"),
        ({"x": SQUARE, "attn": ATTENTION, "ffn": {"activation": "swiglu", "w_1": SQUARE, "w_2": SQUARE}}, "silu with w_gate"),
        ({"x": SQUARE, "attn": {**ATTENTION, "n_heads": 2, "n_kv_heads": 1}}, "for 1 head in place of 2 is 1"),
        ({"x": [[10**5000]], "attn": {"out": [[1]]}}, "too many digits"),
        ({"x": SQUARE, "attn": ATTENTION, "title": 10**5000}, "a number of very many digits"),
        ({"x": SQUARE, "blocks": [{"attn": ATTENTION}] * 2, "stop": "attn.q"}, "'attn.q' matches several steps"),
    ],
)  # fmt: skip
def test_what_is_refused_now(data: Any, said: str) -> None:
    assert said in refused_run(data)


@pytest.mark.slow
def test_the_other_layout_is_named_once() -> None:
    w = {"w_q": [[1, 0, 0], [0, 1, 1]], "w_k": [[1, 1, 0], [0, 1, 0]], "w_v": [[1, 0], [1, 1], [0, 1]],
         "w_o": [[1, 0, 1], [0, 1, 1], [1, 1, 1]]}  # fmt: skip
    data = {"x": [[1, 0, 2]], "attn": {"w_q": [[1, 0, 0], [0, 1, 1]], "w_k": [[1, 1, 0], [0, 1, 0]],
            "w_v": [[1, 0, 0], [1, 1, 0]], "w_o": [[1, 0], [0, 1], [1, 1]]}}  # fmt: skip
    said = refused_run(data)
    assert said.count("attn.") == 2
    assert "with weight_layout: out_in all shapes would fit" in said
    assert blockcalc.load({**data, "weight_layout": "out_in"})
    assert len(refused_run({"x": [[1, 0, 2]], "attn": w}).splitlines()) > 2


@pytest.mark.slow
def test_a_dict_that_holds_itself_is_refused() -> None:
    data: dict[str, Any] = {"x": SQUARE}
    data["attn"] = data
    assert "more than 64 deep" in refused_run(data)


@pytest.mark.parametrize(
    ("attn", "said"),
    [
        ({**WEIGHTS, "n_heads": 3}, "attn.w_q has 2 columns, which 3 heads do not divide"),
        (
            {**WEIGHTS, "n_heads": 2, "n_kv_heads": 3},
            "n_heads = 2 is not a multiple of n_kv_heads = 3",
        ),
        (
            {**WEIGHTS, "n_heads": 2, "n_kv_heads": 1},
            "attn.w_k has 2 columns, but attn.w_q has 2 columns",
        ),
        ({"w_qkv": [[1, 2], [3, 4]]}, "which is not (n_heads + 2 n_kv_heads) = 3 times a d_head"),
        ({**WEIGHTS, "mask": {"keep": [[1, 0, 1]]}}, "attn.mask.keep is 1×3; expected 2×2"),
        ({**WEIGHTS, "mask": {"keep": [[1, 2], [0, 1]]}}, "keep takes true and false, or 1 and 0"),
        (
            {**WEIGHTS, "mask": {"add": [[float("inf"), 0], [0, 0]]}},
            "a finite number is expected; this is inf",
        ),
        ({**WEIGHTS, "mask": {}}, "a mask has keep, add, or both"),
        ({**WEIGHTS, "padding": ["keep"]}, "attn.padding is 1; expected 2"),
        ({**WEIGHTS, "padding": ["keep", "no"]}, "attn.padding is one of keep, pad"),
        ({**WEIGHTS, "causal": "yes"}, "true or false is expected"),
        ({**WEIGHTS, "n_heads": 0}, "a whole number of at least 1 is expected"),
        (
            {**WEIGHTS, "w_q": {"value": [[1, 0], [0, 1]], "transposed": True}},
            "did you mean 'transpose'?",
        ),
        (
            {**WEIGHTS, "w_q": {"value": [[1, 0], [0, 1]], "transpose": 1}},
            "true or false is expected",
        ),
    ],
)
def test_what_does_not_fit_is_refused(attn: dict[str, Any], said: str) -> None:
    with pytest.raises(blockcalc.BlockcalcError) as caught:
        blockcalc.load({**TO_Z, "attn": attn})
    assert said in report(caught.value)


def test_other_refusals() -> None:
    x = [[[1, 2]], [[3, 4]]]
    for data, said in (
        ({"x": x, "tokens": [["a"]], "attn": {"out": x}}, "1 lists of labels for a batch of 2"),
        (
            {
                "x": [[1, 2]],
                "attn": {"out": [[1, 2]]},
                "ffn": {"w_1": [[1], [1]], "w_up": [[1], [1]]},
            },
            "give one kind",
        ),
        ({"x": x, "tokens": [["a", "b"], ["a", "b"]], "attn": {"out": x}}, "2 labels for 1 rows"),
    ):
        with pytest.raises(blockcalc.BlockcalcError) as caught:
            blockcalc.load(data)
        assert said in report(caught.value)
