"""Specs and traces as values: equal only to themselves, pickled and copied, and read-only."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.program.read_only import read_only
from tests.helpers import SAMPLES, TINY_SPEC

WITH_ANSWERS = blockcalc.load(
    {"x": [[1.0, 2.0]], "attn": {"out": [[0, 1]]}, "expect": {"residual1": [[1, 3]]}}
)


def test_specs_and_traces_are_equal_only_to_themselves() -> None:
    for make in (lambda: blockcalc.sample("tiny"), lambda: blockcalc.run(TINY_SPEC)):
        one, other = make(), make()
        assert one == one
        assert one != other
        assert len({one, other}) == 2


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_specs_and_traces_can_be_pickled_and_copied(path: Any) -> None:
    spec = blockcalc.load(path)
    for trace in (blockcalc.run(spec), blockcalc.grad(spec, "sum")):
        for other in (pickle.loads(pickle.dumps(trace)), copy.deepcopy(trace)):
            assert list(other) == list(trace)
            assert all(np.array_equal(other[name], trace[name]) for name in trace)
            assert not other.arrays["x"].flags.writeable
    again = blockcalc.run(pickle.loads(pickle.dumps(spec)))
    assert np.array_equal(again["out"], blockcalc.run(spec)["out"])


@pytest.mark.parametrize(
    "arrays",
    [WITH_ANSWERS.arrays, WITH_ANSWERS.expect, blockcalc.run(WITH_ANSWERS).arrays],
    ids=["spec", "expected values", "trace"],
)
def test_arrays_cannot_be_changed(arrays: Any) -> None:
    for name, array in arrays.items():
        with pytest.raises(TypeError):
            arrays[name] = 3
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_arrays_that_cannot_be_changed_may_lie_in_a_buffer_that_can() -> None:
    buffer = bytearray(16)
    arrays = read_only({"x": np.frombuffer(buffer, dtype=np.float64)})
    buffer[0] = 1
    assert arrays["x"].tolist() == [0, 0]
    numbers = np.zeros(2)

    class Owner:
        __array_interface__ = numbers.__array_interface__

    arrays = read_only({"x": np.asarray(Owner())})
    numbers[0] = 1
    assert arrays["x"].tolist() == [0, 0]
    wide = np.broadcast_to(np.float64(0), (10**7, 10**5))  # too large to copy
    assert read_only({"x": wide})["x"].shape == wide.shape
