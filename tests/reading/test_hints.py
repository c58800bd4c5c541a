"""Hints name what fits the place: files that are nearly there, sizes, words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import blockcalc
from blockcalc import BlockcalcError
from blockcalc.files.tensors import ENDINGS
from tests.helpers import refused, yaml_file

WEIGHTS = {"w_q": {"eye": 2}, "w_k": {"eye": 2}, "w_v": {"eye": 2}}


def said(data: Any) -> str:
    return refused(lambda: blockcalc.load(data))


@pytest.mark.parametrize(
    ("asked", "there", "offered"),
    [
        ("W.npz", "w.npz", "w.npz"),
        ("w.npy", "w.npz", "w.npz"),
        ("wieghts.csv", "weights.csv", "weights.csv"),
        ("w.txt", "../w.txt", "../w.txt"),
        ("other.npz", "weights.csv", None),
    ],
)
def test_a_file_that_is_nearly_there_is_named(
    asked: str, there: str, offered: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / there).write_bytes(b"1,2\n")
    (folder / "a.yaml").write_text(f"x: {{file: {asked}, key: a}}\nattn: {{out: [[1, 2]]}}\n")
    with pytest.raises(BlockcalcError) as error:
        blockcalc.load(folder / "a.yaml")
    hint = error.value.faults[0].hint
    assert hint == (None if offered is None else f"did you mean '{offered}'?")


def test_an_input_file_that_is_nearly_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "block.yaml").write_text("x: [[1]]\n")
    with pytest.raises(BlockcalcError) as error:
        blockcalc.load(tmp_path / "block.yml")
    assert error.value.faults[0].hint == "did you mean 'block.yaml'?"


def test_padding_shows_a_list_of_words() -> None:
    data = {"x": [[1, 0], [0, 1]], "stop": "attn", "attn": {**WEIGHTS, "padding": "keep"}}
    assert "such as [keep, pad]; this is 'keep'" in said(data)
    assert blockcalc.load({**data, "attn": {**WEIGHTS, "padding": ["keep", "pad"]}})


@pytest.mark.parametrize("form", ["ones", "zeros", "random"])
def test_sizes_show_as_many_as_the_place_has(form: str) -> None:
    data: dict[str, Any] = {
        "x": [[1, 2, 4]],
        "norm": "pre",
        "stop": "norm1",
        "norm1": {"gamma": {form: [1, 3]}},
    }
    assert "a list of one size is expected, such as [4]" in said(data)
    assert blockcalc.load({**data, "norm1": {"gamma": {form: [3]}}})
    wide = {"x": [[1, 2]], "stop": "attn", "attn": {**WEIGHTS, "w_q": {form: [2]}}}
    assert "such as [4, 8]" in said(wide)


def test_numbers_beyond_a_limit_name_it() -> None:
    assert "sizes are whole numbers from 1 to 999999" in said(
        {"x": {"zeros": [10**6, 2]}, "attn": {"out": [[1, 2]]}}
    )
    shape = [2**19, 2**9]
    assert f"{2**27} numbers in all" in said(
        {"x": {"zeros": shape}, "attn": {"out": {"zeros": shape}}}
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x: [[1, 0], [0， 1]]\n", "U+FF0C"),
        ("x: [[1, 0, 1], [0 1 1]]\n", "with commas"),
        ("x: [[–1, 0]]\n", "U+2013"),
        ("x: [[−1, 0]]\n", "U+2212"),
        ("x: [[1, 0]]\nattn: {W_Q: [[1]]}\n", "did you mean 'w_q'?"),
        ("title: Exercise: three\n", "in quotes"),
        ("x: [[1, 0]\nattn: {}\n", "a bracket [ is not closed"),
        ("x: {value: [[1, 0]]\nattn: {}\n", "a brace { is not closed"),
        ("x: [[1, 0]]\n attn: {}\n", "the same column"),
    ],
)
def test_hints_for_what_people_type(body: str, said: str, tmp_path: Path) -> None:
    assert said in refused(lambda: blockcalc.load(yaml_file(tmp_path, body)))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_of_any_kind_in_place_of_a_matrix(ending: str) -> None:
    said = refused(lambda: blockcalc.load({"x": f"foo{ending}", "attn": {"out": [[1]]}}))
    assert f"write {{file: foo{ending}}}" in said
