"""Wrong values from Python: each gets an error of the package that names the value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc import UsageError
from blockcalc.errors import LookupFault
from tests.helpers import TINY, TINY_SPEC, refused
from tests.named import LOSSES, NORMS, ORDERS

SPEC: Any = TINY_SPEC
API: Any = blockcalc  # called with values of other types than it takes
TRACE = blockcalc.run(TINY_SPEC)


def said(call: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"activation": "foo"}, "activation is one of relu, gelu,"),
        ({"order": "foo"}, f"order is one of {ORDERS}; this is 'foo'"),
        ({"norm_kind": "foo"}, f"norm_kind is one of {NORMS}; this is 'foo'"),
        ({"heads": 0}, "heads is a whole number of at least 1; this is 0"),
        ({"heads": 2.0}, "this is 2.0"),
        ({"heads": True}, "this is True"),
        ({"d_model": 0}, "d_model is a whole number of at least 1"),
        ({"layers": -2}, "layers is a whole number of at least 1"),
        ({"d_ff": -5}, "d_ff is"),
        ({"d_model": 10**15 + 1}, "d_model is a whole number from 1 to 1000000000000000; this is 1000000000000001"),
        ({"tokens": 10**5000}, "tokens is a whole number from 1 to 1000000000000000; this is a number of very many digits"),
        ({"d_ff": -(10**5000)}, "this is a number of very many digits"),
        ({"kv_heads": -1}, "kv_heads is a whole number of at least 0"),
        ({"batch": 0}, "batch is"),
        ({"tokens": "5"}, "this is '5'"),
        ({"tokens": 5.5}, "this is 5.5"),
        ({"tokens": [5]}, "this is a value of type list"),
        ({"bias": "yes"}, "bias is True or False; this is 'yes'"),
        ({"rope": None}, "rope is True or False; this is None"),
        ({"preset": 3}, "preset is one of transformer-base, bert-base,"),
        ({"preset": [1]}, "this is a value of type list"),
        ({"preset": ""}, "this is ''"),
        ({"preset": "gpt3"}, "did you mean 'gpt2'?"),
        ({"preset": "gpt2", "heads": 0}, "heads is"),
        ({"d_modl": 3, "heads": 0}, "there is no size d_modl; the sizes are d_model, d_ff, heads,"),
        ({"preset": "gpt2", "d_modl": 3}, "did you mean 'd_model'?"),
    ],
)  # fmt: skip
def test_a_size_is_checked(sizes: dict[str, Any], text: str) -> None:
    assert text in said(lambda: blockcalc.cost(**sizes))


def test_a_size_may_be_a_whole_number_of_numpy() -> None:
    sized = blockcalc.cost(d_model=np.int64(8), heads=2, d_ff=8, qkv_bias=None)
    assert sized.parameters_of() == blockcalc.cost(d_model=8, heads=2, d_ff=8).parameters_of()


@pytest.mark.parametrize("source", [TINY_SPEC, TINY])
def test_an_unknown_order(source: Any) -> None:
    text = f"order is one of {ORDERS}; this is 'posst' (did you mean 'post'?)"
    assert said(lambda: API.load(source, order="posst")) == text
    assert "this is ''" in said(lambda: API.load(source, order=""))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: SPEC.with_order([1]), f"order is one of {ORDERS}; this is a value of type list"),
        (lambda: SPEC.with_softmax("foo"), "softmax is one of plain, shifted; this is 'foo'"),
        (lambda: SPEC.with_eps("a"), "eps is a finite number of at least 0; this is 'a'"),
        (lambda: SPEC.with_eps(-1), "this is -1"),
        (lambda: SPEC.with_eps(float("nan")), "this is nan"),
        (lambda: SPEC.with_eps(float("inf")), "this is inf"),
        (lambda: SPEC.with_eps(True), "this is True"),
        (lambda: SPEC.with_rounding(3), "a Rounding is expected, such as Rounding('decimals', 3); this is 3"),
        (lambda: API.load(TINY_SPEC, {"x": 1}), "a Spec has been read already"),
        (lambda: API.load(""), "the name of the file is empty"),
        (lambda: API.run(TRACE), "this is a Trace, the result of a run"),
        (lambda: API.compare(TINY, TRACE), "a Spec, a path or a dict is expected"),
        (lambda: API.sample([1]), "sample is one of tiny,"),
        (lambda: API.sample({}), "this is a value of type dict"),
        (lambda: API.sample(np.ones(2)), "this is a value of type ndarray"),
        (lambda: API.sample("tiny2"), "this is 'tiny2' (did you mean 'tiny'?)"),
        (lambda: API.grad(TINY_SPEC, 3), f"loss is one of {LOSSES}; this is 3"),
        (lambda: API.grad(TINY_SPEC, [1]), "this is a value of type list"),
        (lambda: API.grad(TINY_SPEC, ""), "this is ''"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(call: Callable[[], object], text: str) -> None:
    assert text in said(call)


@pytest.mark.parametrize("name", [3, None, [1], ("out",)])
def test_the_name_of_a_step_is_a_text(name: Any) -> None:
    with pytest.raises(LookupFault, match="the name of a step is a text"):
        TRACE[name]
    assert name not in TRACE


def test_an_eps_may_be_a_number_of_numpy() -> None:
    assert SPEC.with_eps(np.float32(0.5)).blocks[0].norms[0].eps == 0.5


def test_an_object_in_a_file_is_named_by_its_type() -> None:
    assert "this is a value of type object" in refused(lambda: API.load({"x": object()}))


def test_what_is_set_from_python_is_named_by_its_key() -> None:
    for value, name in (([[1, 0]], "ffn.w_2"), ("[[1, 0]]", "ffn.w_2=[[1, 0]]")):
        text = refused(lambda value=value: blockcalc.load(TINY, {"ffn.w_2": value}))
        assert text.startswith(f"{name}: ffn.w_2 has 1 row")


def test_a_path_may_be_of_bytes(tmp_path: Path) -> None:
    class Bytes:
        def __fspath__(self) -> bytes:
            return str(tmp_path / "a.yaml").encode()

    (tmp_path / "a.yaml").write_bytes(Path(TINY).read_bytes())
    assert blockcalc.load(Bytes()).order == "post"  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float16", "f9", "i4,,f4", {"names": ["a"]}, object(), 3])
def test_a_dtype_is_float64_or_float32(dtype: Any) -> None:
    assert "is not a supported dtype; use float64 or float32" in said(
        lambda: API.run(TINY_SPEC, dtype)
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tolerance": "1e-3"}, "tolerance is a finite number of at least 0; this is '1e-3'"),
        ({"tolerance": -1}, "this is -1"),
        ({"tolerance": float("nan")}, "this is nan"),
        ({"tolerance": 10**400}, "this is a number of very many digits"),
        ({"tolerance": True}, "this is True"),
        ({"tolerance": 1j}, "this is a value of type complex"),
        ({"layer": "0"}, "layer is a whole number of at least 0; this is '0'"),
        ({"layer": -1}, "this is -1"),
        ({"layer": 1.0}, "this is 1.0"),
        ({"dtype": ["float32"]}, "dtype is one of float64, float32, bfloat16, float16; this is a value of type list"),
        ({"names": "a"}, "names is a mapping of names in the answers to names of steps, both texts; this is 'a'"),
        ({"names": {"a": 1}}, "both texts; this is 1"),
        ({"names": {1: "attn.q"}}, "both texts; this is 1"),
    ],
)  # fmt: skip
def test_an_option_of_judge_is_checked(options: dict[str, Any], text: str) -> None:
    assert text in said(lambda: API.judge(TINY_SPEC, **options))


def test_options_of_judge_may_be_numbers_of_numpy() -> None:
    assert API.judge(TINY_SPEC, tolerance=np.float32(0.5), layer=np.int64(0)).ok


def test_chain_is_a_flag() -> None:
    assert said(lambda: API.grad(TINY_SPEC, chain=np.ones(2))) == (
        "chain is True or False; this is a value of type ndarray"
    )


FOUND: Any = blockcalc.judge(TINY_SPEC, {"attn.scores": [[1, 0, 1], [1, 1, 2], [2, 1, 2]], "q": 3})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (3, "the name of a step is a text; this is 3"),
        (None, "this is None"),
        (["attn.q"], "this is a value of type list"),
        (b"attn.q", "this is a value of type bytes"),
        ("nope", "there is no step 'nope'"),
        ("", "there is no step ''"),
        ("mean", "'mean' matches several steps"),
    ],
)
def test_the_verdict_of_what_is_no_step(name: Any, text: str) -> None:
    with pytest.raises(LookupFault) as caught:
        FOUND.verdict(name)
    assert text in str(caught.value)
    with pytest.raises(LookupFault) as caught:
        FOUND.score({name if name != ["attn.q"] else ("attn.q",): 1})


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("attn.scores", "wrong"),
        ("scores", "wrong"),
        ("attn.q", "unreadable"),
        ("q", "unreadable"),
        ("attn.k", "not_given"),
        ("x", "not_given"),
        ("out", "not_given"),
    ],
)
def test_the_verdict_of_any_name_of_a_step(name: str, verdict: str) -> None:
    assert FOUND.verdict(name) == verdict


@pytest.mark.parametrize(
    ("points", "text"),
    [
        (3, "points are a mapping of steps to numbers, {attn.q: 2}; this is 3"),
        ("attn.q", "this is 'attn.q'"),
        ([], "this is a value of type list"),
        ({"attn.q": "a"}, "points['attn.q'] is a finite number of at least 0; this is 'a'"),
        ({"attn.q": float("nan")}, "this is nan"),
        ({"attn.q": -1}, "this is -1"),
        ({"attn.q": True}, "this is True"),
        ({"attn.q": None}, "this is None"),
        ({"attn.q": 10**400}, "points['attn.q'] is a finite number"),
        ({"attn.q": 1e7}, "points are a number from 0 to 1,000,000; this is 10000000.0"),
        ({"attn.scores": 1, "scores": 2}, "scores is attn.scores, which has other points above"),
    ],
)
def test_points_of_other_types(points: Any, text: str) -> None:
    assert text in said(lambda: FOUND.score(points))


def test_points_by_any_name_of_a_step() -> None:
    assert FOUND.score({"scores": 2, "attn.scores": np.float32(2)}) == (0.0, 2.0)
    right = blockcalc.judge(TINY_SPEC, {"scores": TRACE["scores"]})
    assert right.score({"scores": 2, "k": 1}) == (2.0, 3.0)
    assert right.score() == right.score({}) == (1.0, 1.0)
