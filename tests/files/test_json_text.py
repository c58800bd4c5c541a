"""JSON: its words, its depth, its values and their places."""

from __future__ import annotations

import pytest

from blockcalc.errors import Place
from blockcalc.files import json_text
from blockcalc.files.decode import read_text
from tests.faults import refused_text
from tests.helpers import refused


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_json_words_that_are_no_numbers(word: str) -> None:
    message, line, column = refused_text('{"a": 1,\n "b": [2, ' + word + "]}", "a.json")
    assert word in message
    assert (line, column) == (2, 11)


def test_json_keys_twice_have_both_lines() -> None:
    message, line, column = refused_text('{"a": 1,\n "b": [[1, 2], [3]],\n "a": 2}', "a.json")
    assert "'a'" in message
    assert "line 1" in message
    assert (line, column) == (3, 2)


def test_json_that_is_in_order_is_walked_no_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def walked(*args: object) -> None:
        raise AssertionError

    monkeypatch.setattr(json_text, "_Walker", walked)
    assert read_text('{"a": [[1, 2]], "b": {"c": "d"}}', "a.json").data["b"] == {"c": "d"}


@pytest.mark.parametrize(
    "shape",
    ["list", "mapping", "mixed", "second", "after a number", "list in text"],
)
def test_the_depth_that_json_may_have(shape: str) -> None:
    def nested(depth: int) -> str:
        if shape == "list":
            return '{"a": ' + "[" * (depth - 1) + "1" + "]" * (depth - 1) + "}"
        if shape == "mapping":
            return '{"a": ' * depth + "1" + "}" * depth
        if shape == "mixed":
            half = depth // 2
            return '{"a": [' * half + '{"b": 1}' * (depth % 2) + "]}" * half
        inner = "[" * (depth - 2) + "]" * (depth - 2)
        if shape == "second":
            return '{"a": [[], ' + inner + "]}"
        if shape == "list in text":
            return '{"b": "[[{", "a": [[], ' + inner + "]}"
        return '{"a": [1, ' + inner + "]}"

    assert read_text(nested(64), "a.json").data
    assert "64" in refused_text(nested(65), "a.json")[0]
    assert "64" in refused_text(nested(300), "a.json")[0]


def test_the_values_that_json_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "MAX_VALUES", 6)
    assert read_text('{"a": [1, 2], "b": [[3]]}', "a.json").data["a"] == [1, 2]
    assert "6" in refused_text('{"a": [1, 2], "b": [[3, 4]]}', "a.json")[0]
    assert "6" in refused_text('{"a": [1, [2]], "b": [3, [4]]}', "a.json")[0]


def test_places_in_json_are_found_in_any_order() -> None:
    found = read_text('{"a": [1,\n 2,\n 3], "b": {"c": 1}}', "a.json")
    assert found.place("b.c") == Place("a.json", 3, 17, ' 3], "b": {"c": 1}}')
    assert found.place("a.1") == Place("a.json", 2, 2, " 2,")
    assert found.place("a.0") == Place("a.json", 1, 8, '{"a": [1,')
    assert found.place("b", key=True) == Place("a.json", 3, 6, ' 3], "b": {"c": 1}}')
    assert found.place("b.none.of.these") == found.place("b")
    assert found.place("none") == Place("a.json")
    assert found.place(()) == Place("a.json")


def test_places_of_mixed_lists() -> None:
    found = read_text('{"a": ["b", 1, [2], "c"]}', "a.json")
    columns = [found.place(f"a.{i}").column for i in range(4)]
    assert columns == [8, 13, 16, 21]


def test_json_is_held_to_its_count_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockcalc.files.json_text.MAX_VALUES", 4)
    assert read_text('{"a": [1, 2, 3]}', "a.json").data
    assert "more than 4 values" in refused(lambda: read_text('{"a": [1, 2, 3, 4]}', "a.json"))
