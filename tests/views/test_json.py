"""JSON: written in parts, a row on one line, with every number as it is."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockcalc.explain.data import plain
from blockcalc.views.formats.json import CHUNK, json_bytes, json_chunks

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=25)
@given(DATA)
def test_what_is_written_is_read_again(data: Any) -> None:
    assert json.loads(json_bytes(data)) == data


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (0, 2), (2, 0)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_array_is_what_its_lists_are(shape: tuple[int, ...], dtype: str) -> None:
    value = np.random.RandomState(0).normal(0, 1, shape).astype(dtype)
    read = json.loads(json_bytes({"value": value}))
    assert read == {"value": plain(value)}
    assert np.array_equal(np.array(read["value"]).astype(dtype).reshape(shape), value)


def test_minus_infinity_is_a_text_and_nothing_else_that_is_not_finite_is_written() -> None:
    assert json_bytes(np.array([[1.0, -np.inf]])) == b'[\n [1.0, "-inf"]\n]\n'
    assert plain({"a": [np.array([-np.inf])]}) == {"a": [["-inf"]]}
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            json_bytes({"a": wrong})


def test_a_large_matrix_comes_in_parts_and_needs_little_memory() -> None:
    data = {f"step{i}": np.random.RandomState(i).normal(0, 1, (64, 256)) for i in range(8)}
    tracemalloc.start()
    total = largest = 0
    for part in json_chunks(data):
        total += len(part)
        largest = max(largest, len(part))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total > 2_000_000
    assert largest < 2 * CHUNK
    assert peak < total / 4
