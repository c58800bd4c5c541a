"""Answers as Python objects: arrays of every kind, lists of them, and what is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.answers.read import answers_from, read_answers

ONES = np.ones((3, 2))


class Elsewhere:
    """An array that cannot be brought to NumPy, as one on another device."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("cannot convert a tensor on cuda:0\nmore")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (ONES * 1j, "no real numbers: the array is of complex128"),
        (np.array([["a", "b"]]), "no real numbers: the array is of str"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "no real numbers: the array is of datetime64"),
        (np.zeros(3, dtype=[("a", float)]), "no real numbers: the array is of void"),
        (np.zeros((0, 2)), "this array is empty: its shape is 0×2"),
        (Elsewhere(), "cannot be read as a NumPy array: cannot convert a tensor on cuda:0"),
        ([np.ones(2), np.ones(3)], "cannot be read as a NumPy array"),
        (np.array([[1, "b"]], dtype=object), "a number is expected; this is the text 'b'"),
        ("abc", "a number is expected; this is the text 'abc'"),
        (object(), "a number is expected; this is a value of type object"),
        (1j, "a number is expected; this is a value of type complex"),
        (b"1", "a number is expected; this is a value of type bytes"),
        ([], "this list is empty"),
    ],
)  # fmt: skip
def test_what_holds_no_numbers_is_said_once_and_stops_no_other(value: Any, said: str) -> None:
    found = answers_from({"attn.q": value, "attn.k": ONES})
    (lost,) = found.unreadable
    assert lost.name == "attn.q"
    assert said in lost.why
    assert "\n" not in lost.why
    assert [a.name for a in found.given] == ["attn.k"]


@pytest.mark.parametrize(
    ("value", "read_as"),
    [
        (np.ones((3, 2), dtype=bool), "text"),
        (np.ones((3, 2), dtype=np.int32), "text"),
        (np.array([[1, 2.5]] * 3, dtype=object), "text"),
        (np.ones((3, 2), dtype=np.longdouble), "float64"),
        ([np.ones(2, dtype=np.float32)] * 3, "float32"),
    ],
)
def test_numbers_are_read_in_their_format(value: Any, read_as: str) -> None:
    (answer,) = answers_from({"attn.q": value}).given
    assert answer.read_as == read_as
    assert answer.values.shape == (3, 2)


def test_what_is_masked_is_not_given() -> None:
    array = np.ma.MaskedArray(ONES, mask=[[False, True]] * 3)
    (answer,) = answers_from({"attn.q": array}).given
    assert answer.judged.tolist() == [[True, False]] * 3


def test_mappings_of_arrays_are_parts_of_names() -> None:
    data: dict[Any, Any] = {"attn": {"q": ONES, "k": ONES}, 3: ONES}
    found = answers_from(data)
    assert [a.name for a in found.given] == ["attn.q", "attn.k", "3"]


def test_each_of_a_list_of_hidden_states_has_its_number() -> None:
    found = answers_from({"hidden_states": (ONES, ONES), "attentions": [None, ONES]})
    assert [a.name for a in found.given] == ["hidden_states.0", "hidden_states.1", "attentions.1"]


def test_an_archive_without_answers(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path)
    with pytest.raises(blockcalc.InputError, match="there are no answers in it"):
        read_answers(path)


def test_a_mapping_without_answers() -> None:
    with pytest.raises(blockcalc.InputError, match="there are no answers in it"):
        blockcalc.judge(blockcalc.sample("tiny"), {})


def test_an_array_in_a_file_that_holds_no_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", q=ONES * 1j, k=np.zeros((0, 2)), v=np.array([["a"]]))
    whys = {one.name: one.why for one in read_answers(tmp_path / "a.npz").unreadable}
    assert "complex128" in whys["q"]
    assert "empty: its shape is 0×2" in whys["k"]
    assert "str" in whys["v"]
