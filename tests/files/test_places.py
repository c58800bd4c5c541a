"""Places in files, and what is set over them."""

from __future__ import annotations

from pathlib import Path

from blockcalc.errors import Place
from blockcalc.files.source import Source, is_index, short


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
