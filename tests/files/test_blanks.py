"""Blanks of a YAML text: a lone question mark where a number could stand, and nowhere else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from blockcalc.files.decode import read_text
from blockcalc.files.yaml_blanks import prepared


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: [[1, ?], [?, 2]]", [[1, None], [None, 2]]),
        ("a: [[1,?],[?,2]]", [[1, None], [None, 2]]),
        ('"a": [[1, ?], [2, 3]]', [[1, None], [2, 3]]),
        ("a: &z [[1, ?]]", [[1, None]]),
        ("a: [[1, -.inf], [?, 1]]", [[1, float("-inf")], [None, 1]]),
        ("# as in: |\na: [1, ?]", [1, None]),
        ("a:\n  - [1, ?]\n  - [?, 2] # what is [?]\n", [[1, None], [None, 2]]),
        ("a: [1,\n  ?,\n 2]", [1, None, 2]),
        ("a:\n- 1\n- ?\n- 2", [1, None, 2]),
        ("a: ?", None),
        ("a: {b: ?, c: [?]}", {"b": None, "c": [None]}),
        ("a: [?]", [None]),
        ("a: [it's, ?, b]", ["it's", None, "b"]),
        ("a: ['[', ?, \"it's [\", ?]", ["[", None, "it's [", None]),
        ("a: [x?, '?', \"?\", ?]", ["x?", "?", "?", None]),
        ("a: 2 + 3 ?", "2 + 3 ?"),
        ("a: e ?", "e ?"),
        ("a: why, [x, ?] indeed", "why, [x, ?] indeed"),
        ("a: a - [x, ?]", "a - [x, ?]"),
        ('a: "Which is larger,\n  1/2, 2/3 ?\n  Say so."', "Which is larger, 1/2, 2/3 ? Say so."),
        ("a: 'Which is larger,\n  1/2, 2/3 ?'", "Which is larger, 1/2, 2/3 ?"),
        ("a: Which is larger,\n  1/2, 2/3 ?", "Which is larger, 1/2, 2/3 ?"),
        ("a: |\n  [1, ?]\n\n  [?, 2]\nb: 1", "[1, ?]\n\n[?, 2]\n"),
        ("a: >- # folded\n  [1, ?]\nb: 1", "[1, ?]"),
        ("a: it's [1, ?] of them", "it's [1, ?] of them"),
        ("a: b#c [?]", "b#c [?]"),
        ("a: 'it''s [?]'", "it's [?]"),
        ('a: "\\"[?]"', '"[?]'),
        ("a: [?] # x", [None]),
        ("a: [1, ?]\nb: 'x\n  [?]'\nc: 1", [1, None]),
        ("a:\n  b: |\n    [?]\n  c: [?]", {"b": "[?]\n", "c": [None]}),
        ("a:\n  - |\n    [?]\n  - [?]", ["[?]\n", [None]]),
        ('a: {b: "x\n  y", c: ?}', {"b": "x y", "c": None}),
        ("a: [x | y, ?]", ["x | y", None]),
    ],
)
def test_what_is_a_blank(text: str, value: object) -> None:
    assert read_text(text, "a.yaml").data["a"] == value


@pytest.mark.parametrize(
    "before",
    ["[1, # [\n 2]", "[1] # [", "{c: [1]}", "{c: 1}", "[[1], [2]]", "'['", '"["', "'it''s ['", '"\\"["', "|\n  [\n", ">\n  '[\n",
     "it's ['", "x # '[", "['[', \"[\"]", "[1,\n 2]", "'x\n  [ y'", '"x\n\n  [ y"', "b#['"],
)  # fmt: skip
def test_brackets_close_before_a_text(before: str) -> None:
    text = f"a: {before}\nb: what [?]\nc: [?]\n"
    assert prepared(text) == text.replace("c: [?]", "c: [~]")
    found = read_text(text, "a.yaml").data
    assert (found["b"], found["c"]) == ("what [?]", [None])


def test_a_quote_that_is_not_closed_ends_the_search() -> None:
    assert prepared("a: '[?]\nb: [?]") == "a: '[?]\nb: [?]"
    assert prepared("?") == "?"
    assert prepared("- ?\n- b") == "- ~\n- b"
    assert prepared("? a\n: b") == "? a\n: b"
    assert prepared("a: [" + "b, " * 40 + "?]").endswith("~]")


def test_places_stay_what_they_are() -> None:
    text = "a: [1, ?, '?', x] # ?\n"
    assert prepared(text) == text.replace("[1, ?", "[1, ~")
    assert prepared("a\u2028b") == "a b"
    assert prepared("a: [1, 2]") == "a: [1, 2]"


@pytest.mark.parametrize(
    "text",
    [
        'notes: "a\n  ' + "eeee: " * 20000 + '! ?"\n',
        "a: ?" + "'" * 60000 + "\n",
        "a: ?" + ' "" ' * 40000 + "\n",
        "? " * 40000,
        "[?" * 40000,
        "a: |\n" + " ?\n" * 40000,
        "a: [" + "?," * 40000,
        ("a: |\n ?\n" * 20000),
        "&a " * 30000 + "?",
        "'?" * 30000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    begun = time.process_time()
    prepared(text)
    assert time.process_time() - begun < 2


def test_a_question_mark_in_a_text_stays(tmp_path: Path) -> None:
    texts = {
        'title: "Why, [x, ?] indeed"': "Why, [x, ?] indeed",
        "title: Why, [x, ?] indeed": "Why, [x, ?] indeed",
        "title: |\n  [1, ?]\n  [?, 2]\nx: 1": "[1, ?]\n[?, 2]\n",
        "title: '[1, ?]'": "[1, ?]",
        'title: "a, [b, ?]" # [?]': "a, [b, ?]",
    }
    for text, title in texts.items():
        assert read_text(text, "a.yaml").data["title"] == title
    rows = {
        "e: [[?, 1], [2, ?]]": [[None, 1], [2, None]],
        "e: [?]": [None],
        "a.b: [?, 2] # ?": [None, 2],
    }
    for text, want in rows.items():
        assert next(iter(read_text(text, "a.yaml").data.values())) == want
    assert read_text("e:\n  - [?, 1]\n  - [2,\n     ?]\n", "a.yaml").data == {
        "e": [[None, 1], [2, None]]
    }
    assert read_text("e: {r: [[?, 2]], n.mean: [~]}", "a.yaml").data["e"]["r"] == [[None, 2]]
