"""Texts to plain data: the short way for rows of numbers reads what the long way reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import blockcalc
from blockcalc.errors import BlockcalcError
from blockcalc.files.decode import read_text
from blockcalc.files.source import Source
from blockcalc.files.yaml_text import _Builder, _mark, _shortened, read_yaml
from blockcalc.reading.checker import Checker, plain_array
from blockcalc.views.errors import report
from tests.helpers import leaves

pytestmark = pytest.mark.slow

PIECES = [
    "[1, 2]", "[-.5, +3, 1e5]", "[007, 1.]", "[]", "[1,,2]", "[1, 2,]", "[1 2]", "[- 1]", "[1e400]", "[1e-400]",
    "[.]", "[-]", "[e]", "[1e5e]", "[[1], [2]]", "[[1, 2], 3]", "[1, [2]]", "[x, 1]", "[1_0, 2]", "[~, ?]", "[true]",
    "1", "-1.5", "word", "'[1, 2]'", '"[1, 2]"', '"a\n  [1, 2]\n  b"', "'a\n  [1]\n  b'", "|\n  [1, 2]\n", ">-\n  [3]\n  [4]\n",
    "&a [1, 2]", "*a", "# [1, 2]\n", "{value: [1, 2]}", "{a: [1], b: [2]}", "!t [1]", "[" + "9" * 400 + "]",
    "[" + "9" * 1500 + "]", "[1]: 2", "? [1]", "a\n  [1, 2]", "[1,\n  2]", "[[1, 2],\n   [3, 4]]", "&a [[1, 2], [3]]", "[1, 2] # [3]", "&a [1] # *a", "[1]#", "[1] #x", "[0x1, 0o7]", "[1:30]", "---\n[1]",
]  # fmt: skip
KEYS = ["x", "title", "notes", "b_q", "expect", "é", "[1]"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw lines of keys, dashes and values."""
    lines = []
    for _ in range(draw(st.integers(1, 5))):
        key, value = draw(st.sampled_from(KEYS)), draw(st.sampled_from(PIECES))
        form = draw(st.sampled_from(["{k}: {v}", "{k}:\n  - {v}\n  - {v}", "{k}:\n  {v}", "- {v}", "{k}: {v} {v}",
                                     "  {v}", "{k}: [{v}, {v}]", "{k}: {v} # [5]", "{v}"]))  # fmt: skip
        lines.append(form.format(k=key, v=value))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n", "\n..."]))


def told(read: Any, text: str) -> Any:
    """Give what a text reads as, or how it is refused."""
    try:
        return repr(read(Source("a.yaml", text)))
    except BlockcalcError as error:
        return report(error)


@settings(max_examples=1500)
@example(text="title: a\n  [1, 2]\nx: [3]\n")
@example(text="notes: |\n  [1, 2]\nx: [3]\n")
@example(text='title: "a\n  [1, 2]\n  b"\n')
@given(text=texts())
def test_the_short_way_reads_what_the_long_way_reads(text: str) -> None:
    long = told(lambda source: _Builder(source).document(), text)
    assert told(read_yaml, text) == long


def test_the_short_way_is_taken() -> None:
    text = "x: [[1, 2.5], [-3, 4e-1]]\nattn:\n  out:\n    - [1, 2]\n    - [3, 4]\n"
    short, rows = _shortened(text)
    assert short.count('"') == 8
    assert rows == {(0, 4), (0, 14), (3, 6), (4, 6)}
    builder = _Builder(Source("a.yaml", text), short, rows)
    assert builder.document()["attn"]["out"] == [[1, 2], [3, 4]]
    assert builder.met == 4


@settings(max_examples=300)
@given(
    value=st.recursive(
        st.integers() | st.floats() | st.booleans() | st.text(max_size=2) | st.none(),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=12,
    )
)
def test_numbers_at_once_are_numbers_one_by_one(value: Any) -> None:
    at_once = plain_array(value) if isinstance(value, list) else None
    checker = Checker(Source("<dict>", "", value))
    ranks = (1, 2, 3, 4)
    shape = checker.measure(value, (), ranks)
    flat: list[float] = []
    if shape is not None and not checker.faults:
        checker.collect(value, (), flat)
    fine = shape is not None and not checker.faults
    if at_once is not None and at_once.ndim <= 4:
        assert fine
        assert at_once.shape == shape
        assert at_once.ravel().tolist() == flat
    elif fine:
        kinds = {type(v) for v in leaves(value)}
        giants = any(abs(v) >= 2**53 for v in flat)
        assert giants or not kinds <= {int, float}


@pytest.mark.parametrize("depth", [63, 64, 65, 200, 100_000])
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_depth_is_bounded(depth: int, form: str) -> None:
    text = '{"x": ' + "[" * (depth - 1) + "1" + "]" * (depth - 1) + "}"
    if depth <= 64:
        assert read_text(text, f"a.{form}").data
    else:
        with pytest.raises(BlockcalcError, match="more than 64 deep"):
            read_text(text, f"a.{form}")


def test_a_matrix_is_the_same_in_every_spelling() -> None:
    rows = [[1, -2.5], [3e-3, 0.1]]
    block = "".join(f"  - [{', '.join(map(str, row))}]\n" for row in rows)
    tall = "".join("  -\n" + "".join(f"    - {v}\n" for v in row) for row in rows)
    forms = [
        f"x: {rows}\n",
        f"x:\n{block}",
        f"x:\n{tall}",
        f"x: {{value: {rows}}}\n",
        json.dumps({"x": rows}),
    ]
    arrays = [
        blockcalc.load(read_text(form, "a").data | {"attn": {"out": [[0, 0], [0, 0]]}}).arrays["x"]
        for form in forms
    ]
    assert all(array.tolist() == rows for array in arrays)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside: list[Any] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    return [path, *(p for key, own in inside for p in paths_of(own, (*path, key)))]


@settings(max_examples=400)
@example(text="a: &v [[1, 2], [3, 4]] # x\nb: *v\nc: [[1,  -2.5],\n   [x, 4]]\n")
@given(text=texts())
def test_places_by_rows_are_places_by_numbers(text: str) -> None:
    try:
        data = read_yaml(Source("a", text))
    except BlockcalcError:
        return
    by_rows = Source("a", text, data, _mark)
    by_numbers = Source("a", text, data, lambda own, marks: _Builder(own, marks=marks).document())
    for path in paths_of(data):
        assert by_rows.place(path) == by_numbers.place(path), path
        assert by_rows.place(path, key=True) == by_numbers.place(path, key=True)


def test_places_in_json_rows() -> None:
    text = '{"a": [1, 2.5,\n  -3e1], "b": [[4], []], "c": ["x", 5]}'
    source = read_text(text, "a.json")
    want = {("a", 0): "1:8", ("a", 1): "1:11", ("a", 2): "2:3", ("b", 0, 0): "2:17", ("b", 1): "2:21",
            ("c", 1): "2:37", ("b",): "2:15"}  # fmt: skip
    assert {path: str(source.place(path))[7:] for path in want} == want
