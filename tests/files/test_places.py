"""Places in files, and what is set over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockcalc.errors import Place
from blockcalc.files.decode import read_text
from blockcalc.files.source import Source, is_index, short
from tests.helpers import refused


def test_what_is_set_has_its_own_place() -> None:
    here = Place("--set a.b=1")
    found = Source("a.yaml", "a: {b: 2}", overrides={("a", "b"): here})
    assert found.place("a.b.0.1") == here
    assert found.place("a.b") == here
    assert found.place("a") == Place("a.yaml")
    top = Source("a.yaml", "", overrides={("a",): here})
    assert top.place(("a", "b", 0)) == here
    assert Source("<data>", "").place("a.0") == Place("a.0")
    assert Source("<data>", "").place(()) == Place("<data>")


def test_the_folder_of_a_file_that_is_named() -> None:
    found = Source("dir/a.yaml", "x", overrides={("a", "b"): Place("--set a.b=1")})
    assert found.folder(("a",)) == Path("dir")
    assert found.folder(("c", "d")) == Path("dir")
    assert found.folder(("a", "b")) == Path()
    assert found.folder(("a", "b", 0, 1)) == Path()
    assert Source("<stdin>", "x").folder(("a",)) == Path()
    one = Source("dir/a.yaml", "x", overrides={("a",): Place("--set a=1")})
    assert one.folder(("a",)) == Path()
    assert one.folder(()) == Path("dir")


def test_a_place_behind_the_last_line_is_empty() -> None:
    found = Source("a.yaml", "x: 1")
    assert found.at(0, 2) == Place("a.yaml", 1, 3, "x: 1")
    assert found.at(1, 0) == Place("a.yaml", 2, 1, "")


def test_what_counts_as_a_place_in_a_list() -> None:
    assert is_index("123456789")
    assert not is_index("1234567890")
    assert not is_index("²")
    assert not is_index("-1")
    assert not is_index("")


def test_long_texts_are_cut() -> None:
    assert short("a" * 40) == "a" * 40
    assert short("a" * 41) == "a" * 37 + "..."


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ('{"a": 1,\n "b": [1,\n   NaN]}', "a.json", "a.json:3:4: a finite number"),
        ('{"a": 1,\n  "a": 2}', "a.json", "a.json:2:3: 'a' is given twice, first on line 1"),
        ('{"a": {"b": 1,\n\n "b": 2}}', "a.json", "a.json:3:2: 'b' is given twice, first on line 1"),
        ('{"a": 1,\n "b" 2}', "a.json", "a.json:2:6: not JSON: a colon is expected here, after the key"),
        ("", "a.json", "a.json:1:1: the file is empty"),
        (" \n ", "a.json", "a.json:1:1: the file is empty"),
        ("", "a.yaml", "a.yaml:1:1: the file is empty"),
        ("a: 1\nb: \x01\n", "a.yaml", "a.yaml:2:4: the character U+0001 is not allowed"),
        ("\x00", "a.yaml", "a.yaml:1:1: the character U+0000 is not allowed"),
        ("a: 1\n\tb: 2\n", "a.yaml", "a.yaml:2:1: YAML does not allow tabs"),
        ("a: 1\nb: [1, 2\n", "a.yaml", "a.yaml:3:1: not YAML: ',' or ']' is expected here, for the '[' on line 2, column 4"),
        ('a: "x\n', "a.yaml", "a.yaml:1:4: not YAML: the quote that opens here is not closed"),
        ("a: 1\nb: !t [1]\n", "a.yaml", "a.yaml:2:4: the tag !t is not supported"),
        ("a: ! [1]\n", "a.yaml", "a.yaml:1:4: the tag ! is not supported"),
        ("a: 1\n---\nb: 2\n", "a.yaml", "a.yaml:2:1: a second document"),
        ("a: 1\nb: {c: *d}\n", "a.yaml", "a.yaml:2:8: there is no anchor &d"),
        ("a: 1\nb: &c {d: *c}\n", "a.yaml", "a.yaml:2:11: the alias *c is inside"),
        ("a: 1\n? [b]\n: 2\n", "a.yaml", "a.yaml:2:3: a key must be a plain word"),
        ("a: 1\nb: 2\na: 3\n", "a.yaml", "a.yaml:3:1: 'a' is given twice, first on line 1"),
        ("a: 1\nb:\n  <<: [1]\n", "a.yaml", "a.yaml:3:3: << takes a mapping"),
    ],
)  # fmt: skip
def test_places_to_the_column(text: str, name: str, place: str) -> None:
    assert refused(lambda: read_text(text, name)).startswith(place)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x.0.1", "a:1:9"),
        ("x.1", "a:2:5"),
        ("attn.w_q", "a:3:13"),
        ("attn.none", "a:3:7"),
        ("y", "a"),
    ],
)
def test_places_of_values(path: str, said: str) -> None:
    source = read_text("x: [[1, 2],\n    [3, 4]]\nattn: {w_q: [[1]], b: 2}\n", "a")
    assert str(source.place(path)) == said
    assert str(source.place(("attn", "w_q"), key=True)) == "a:3:8"
    as_json = read_text('{"x": [[1, 2],\n    [3, 4]],\n"attn": {"w_q": [[1]], "b": 2}}\n', "a.json")
    assert str(as_json.place("x.1.1")) == "a.json:2:9"
    assert str(as_json.place(("attn", "b"), key=True)) == "a.json:3:24"


@pytest.mark.parametrize("text", ["x: [[1, 2]]", '{"x": [[1, 2]]}'])
def test_an_entry_that_a_row_does_not_have_is_placed_at_the_row(text: str) -> None:
    source = read_text(text, "a")
    row, last = text.index("[1"), text.index("2")
    assert source.place("x.0.1").column == last + 1
    assert source.place("x.0.2").column == source.place("x.0.99").column == row + 1
