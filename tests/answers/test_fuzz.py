"""Whatever stands in a file of answers, it is read or refused in words."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockcalc import sample
from blockcalc.answers.names import match
from blockcalc.answers.read import read_answers
from blockcalc.errors import InputError
from blockcalc.nn.block import build
from tests.answers.llama_text import tensor_text

pytestmark = pytest.mark.slow

PROGRAM = build(sample("tiny"))
PIECES = [
    "attn.q", "scores", "norm1.mean", "x", "points", ":", " ", "\n", "  - ", "- ", "[", "]", "{", "}", ",", ", ",
    "0.17", "-3", "1/3", "1e3", "1.5e-3", ".nan", "-.inf", "nan", "?", "null", "~", "'", '"', "#", "&a ", "*a",
    "value", "transpose", "true", "file", "a.npz", "1e999", "1e-999", "0,5", "9" * 400, "1/0", "[[1, 2]]", "\t", "é",
    "format", "blockcalc", "steps", "expect", "hidden_states.1", "blocks.0.hook_resid_pre", "\x00", "<<",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
LLAMA = tensor_text("l_out-0", np.arange(16.0).reshape(2, 8), "ADD") + tensor_text(
    "kq-0", np.ones((2, 3, 7))
)


def _tried(raw: bytes, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"answers{ending}"
        path.write_bytes(raw)
        try:
            found = read_answers(path)
        except InputError as error:
            found = None
            refused = error.faults
    if found is None:
        assert all(fault.message for fault in refused)
        return
    for answer in found.given:
        assert answer.values.shape == answer.judged.shape == answer.half.shape
        assert answer.values.dtype == answer.half.dtype == np.float64
        assert answer.judged.dtype == bool
        assert (answer.half >= 0).all()
    assert all(line.why for line in found.unreadable)
    for layer in (None, 1):
        matched = match(found, PROGRAM, layer=layer)
        assert set(matched.steps) <= set(PROGRAM.refs())


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from([".yaml", ".json", ".csv", ".txt", ".log", ""]))
def test_texts(text: str, ending: str) -> None:
    _tried(text.encode("utf-8", "replace"), ending)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, len(LLAMA)),
    st.integers(0, 60),
    st.sampled_from(["", "[", "]", "...", "1.0", ",", "\n", "{", "= {", "-inf", "nan", "9" * 5000]),
)
def test_dumps_of_llama_cpp(at: int, n: int, put: str) -> None:
    _tried((LLAMA[:at] + put + LLAMA[at + n :]).encode(), ".txt")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_archives(data: st.DataObject) -> None:
    target = io.BytesIO()
    np.savez(target, q=np.ones((2, 2)), s=np.array(["a"]), n=np.arange(2))
    raw = bytearray(target.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    _tried(bytes(raw), ".npz")


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=80), st.sampled_from([".npz", ".npy", ".csv", ".yaml", ".txt", ".pt", ""])
)
def test_bytes(raw: bytes, ending: str) -> None:
    _tried(raw, ending)


@pytest.mark.parametrize(
    "name", ["a b", "blocks.999999.hook_resid_pre", "h." + "9" * 50, "layers..norm1", "-0", "…"]
)
def test_odd_names(name: str) -> None:
    _tried(f'"{name}": [1]\n'.encode(), ".yaml")
