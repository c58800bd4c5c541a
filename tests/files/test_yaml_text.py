"""YAML: its scalars, its entries, its merges, and what it is refused for."""

from __future__ import annotations

from typing import Any

import pytest

import blockcalc
from blockcalc.files import yaml_text
from blockcalc.files.decode import read_text
from blockcalc.files.source import Source
from blockcalc.files.yaml_text import plain_scalar, read_yaml
from tests.faults import refused_text
from tests.helpers import refused


def test_the_longest_whole_number() -> None:
    assert plain_scalar("1" * 1000) == int("1" * 1000)
    assert plain_scalar("1" * 1001) == "1" * 1001
    assert plain_scalar("1e999") == "1e999"
    assert plain_scalar("-1e999") == "-1e999"
    assert plain_scalar("1e308") == 1e308
    assert plain_scalar("1e-400") == "1e-400"
    assert plain_scalar("-0.01e-400") == "-0.01e-400"
    assert plain_scalar("0e-400") == 0
    assert plain_scalar("5e-324") == 5e-324
    assert read_text("a: [1e-400, 0, 0.0e-3]", "a.yaml").data == {"a": ["1e-400", 0, 0]}


@pytest.mark.parametrize(
    ("content", "line", "column", "says"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, 2, "']'"),
        ("a: 1\n\tb: 2\n", 2, 1, "tab"),
        ("a: 1\nb: \x01\n", 2, 4, "U+0001"),
        ("\x01", 1, 1, "U+0001"),
        ("a: 1\n---\nb: 2\n", 2, 1, "document"),
        ("a: &b [*b]\n", 1, 8, "b"),
        ("a: *b\n", 1, 4, "b"),
        ("a: !!str 1\n", 1, 4, "tag"),
        ("a: ! [1]\n", 1, 4, "!"),
        ("a: ! {b: 1}\n", 1, 4, "!"),
        ("<<: [1]\n", 1, 1, "<<"),
        ("[a]: 1\n", 1, 1, "key"),
        ("", 1, 1, "empty"),
        ("# nothing\n", 1, 1, "empty"),
        ("a: 1\na: 2\n", 2, 1, "line 1"),
        ("a: 'b\n", 1, 4, "not closed"),
    ],
)
def test_what_yaml_is_refused_for(content: str, line: int, column: int, says: str) -> None:
    message, at, there = refused_text(content)
    assert says in message
    assert (at, there) == (line, column)


def test_an_exclamation_mark_alone_makes_a_text() -> None:
    assert read_text("a: ! 1\nb: 'c'\n", "a.yaml").data == {"a": "1", "b": "c"}


def test_rows_beside_numbers_that_only_look_so() -> None:
    content = "a: [1, 2]\nb: [1e301, 2]\nc: [1.2.3, 4]\nd: [-1e301, .5, 5., +1]\ne: [-, 1]\n"
    assert read_text(content, "a.yaml").data == {
        "a": [1, 2],
        "b": [1e301, 2],
        "c": ["1.2.3", 4],
        "d": [-1e301, 0.5, 5.0, 1],
        "e": ["-", 1],
    }
    assert read_text("a: [.5, 1.e3, +2]\n", "a.yaml").data == {"a": [0.5, 1000.0, 2]}
    assert type(read_text("a: [1.0, 2]\n", "a.yaml").data["a"][1]) is int


def test_the_entries_that_yaml_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MAX_NODES", 4)
    assert read_text("a: [b, c]\n", "a.yaml").data == {"a": ["b", "c"]}
    assert "4" in refused_text("a: [b, c, d]\n")[0]
    assert read_text("a: [[1, 2, 3], [4, 5, 6]]\n", "a.yaml").data["a"][1] == [4, 5, 6]


def test_the_values_that_yaml_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MAX_VALUES", 8)
    # a mapping, a list, two texts, an alias that stands for a list and two texts
    assert read_text("a: &r [b, c]\nd: *r\n", "a.yaml").data["d"] == ["b", "c"]
    assert "8" in refused_text("a: &r [b, c]\nd: [*r, *r]\n")[0]
    assert "8" in refused_text("a: [b, c, d, e, f, g, h, i]\n")[0]
    assert "8" in refused_text("a: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n")[0]


def test_merges_of_one_and_of_several() -> None:
    one = read_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n", "a.yaml").data["b"]
    assert one == {"x": 1, "y": 3}
    several = "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n"
    assert read_text(several, "a.yaml").data["c"] == {"x": 1, "y": 2}


@pytest.mark.slow
def test_infinities_of_yaml_in_every_spelling() -> None:
    found = read_text("a: [-.Inf, -.INF, -.inf, .Inf, +.INF, .NaN, .NAN]", "a.yaml").data["a"]
    assert found[:3] == [float("-inf")] * 3
    assert found[3:5] == [float("inf")] * 2
    assert all(x != x for x in found[5:])


def test_corners_of_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[" * 62 + "\n  [1, 2]\n  " + "]" * 62
    assert read_yaml(Source("a", "x: " + text))["x"]
    text = "[" * 63 + "\n  [1, 2]\n  " + "]" * 63
    assert "2:3: lists and mappings are nested more than 64 deep" in refused(
        lambda: read_yaml(Source("a", "x: " + text))
    )
    assert read_yaml(Source("a", "title: \x85a\u2028b\n")) == {"title": "a b"}
    monkeypatch.setattr("blockcalc.files.yaml_text.MAX_VALUES", 5)
    assert "1:14: more than 5 values" in refused(
        lambda: read_yaml(Source("a", "[1, 2, 3, a, b, c]"))
    )
    monkeypatch.setattr("blockcalc.files.yaml_text.MAX_NODES", 4)
    said = refused(lambda: read_yaml(Source("a", "[[1, 2, 3], a, b, c, d]")))
    assert "more than 4 entries" in said
    assert "npz or safetensors" in said
    monkeypatch.setattr("blockcalc.files.yaml_text.MAX_VALUES", 100)
    assert "more than 4 entries" in refused(lambda: read_yaml(Source("a", "x: [[1], [2], [3]]")))
    monkeypatch.undo()
    assert read_yaml(Source("a", "a: &v [1, 2]\nb: *v\nc: ~\n")) == {
        "a": [1, 2],
        "b": [1, 2],
        "c": None,
    }


def test_a_plain_tag_that_says_text_is_read() -> None:
    assert read_text("a: ! 12\nb: '12'\nc: 12\n", "a.yaml").data == {"a": "12", "b": "12", "c": 12}


def test_depth_that_hides_behind_a_number() -> None:
    hidden = '{"a": [1, ' + "[" * 70 + "]" * 70 + "]}"
    assert "more than 64 deep" in refused(lambda: read_text(hidden, "a.json"))
    harmless = '{"a": "[[[[{{{{", "b": [1, [2, {"c": [3]}]], "d": [], "e": {}}'
    assert read_text(harmless, "a.json").data["b"] == [1, [2, {"c": [3]}]]
    deepest = '{"a": ' + "[" * 63 + "]" * 63 + "}"
    assert read_text(deepest, "a.json").data
    over = '{"a": ' + "[" * 64 + "]" * 64 + "}"
    assert "more than 64 deep" in refused(lambda: read_text(over, "a.json"))
    mixed = '{"a": [1, ' + "[" * 62 + "2" + "]" * 62 + "]}"
    assert read_text(mixed, "a.json").data
    mixed = '{"a": [1, ' + "[" * 63 + "2" + "]" * 63 + "]}"
    assert "more than 64 deep" in refused(lambda: read_text(mixed, "a.json"))


def test_a_row_of_numbers_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockcalc.files.yaml_text.MAX_NODES", 5)
    assert read_text("a: [[1, 2, 3], [4, 5, 6], [7, 8, 9]]\n", "a.yaml").data["a"][2] == [7, 8, 9]
    assert "more than 5 entries" in refused(
        lambda: read_text("a: [[1, 2], [3, x], [4, y]]\n", "a.yaml")
    )


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("[1, 2, 3]", 4), ("[[1, 2], [3]]", 6), ("[a, b]", 3), ("{a: 1, b: 2}", 3),
        ("a: &v [1, 2]\nb: *v\n", 8), ("a: &v x\nb: *v\n", 4), ("a: &v [[1, 2], [3, 4]]\nb: [*v, *v]\n", 25),
    ],
)  # fmt: skip
def test_values_are_counted_with_what_aliases_stand_for(
    text: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = None
    for most in range(limit + 3):
        monkeypatch.setattr("blockcalc.files.yaml_text.MAX_VALUES", most)
        try:
            read_yaml(Source("a", text))
        except blockcalc.BlockcalcError:
            continue
        counted = most
        break
    assert counted == limit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-1", -1), ("+1", 1), ("010", 10), ("1.", 1.0), (".5", 0.5), ("-.5", -0.5), ("1e3", 1000.0),
        ("1E-3", 0.001), ("1e+3", 1000.0), ("1e999", "1e999"), ("0x1", "0x1"), ("0o7", "0o7"), ("1_0", "1_0"),
        ("1:30", "1:30"), ("2024-01-01", "2024-01-01"), ("no", "no"), ("on", "on"), ("true", True), ("False", False),
        ("~", None), ("null", None), ("", None), (".inf", float("inf")), ("-.inf", float("-inf")), ("9" * 1001, "9" * 1001),
        ("9" * 1000, int("9" * 1000)), ("1.5" + "0" * 2000, 1.5), ("e5", "e5"), (".", "."), ("-", "-"), ("1e", "1e"),
    ],
)  # fmt: skip
def test_scalars_by_the_rules_of_yaml_1_2(text: str, value: Any) -> None:
    got = plain_scalar(text)
    assert got == value
    assert type(got) is type(value)
