"""Where JSON breaks off: every sentence of Python's reader, in our own words, at its true place."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockcalc.errors import BlockcalcError, Fault, Place
from blockcalc.files.decode import read_text
from blockcalc.files.json_text import _depths, _syntax
from blockcalc.files.source import Source
from blockcalc.views.errors import report
from tests.helpers import caught

pytestmark = pytest.mark.slow

NUMBER = (
    "a number of JSON has digits on both sides of its point, no plus sign and no leading 0: 0.5, 10"
)
WORD = 'put a word in double quotes, except true, false and null: "word"'
COMMA = "remove the comma before the closing bracket"
COMMENT = "JSON has no comments; a YAML file has"
BROKEN: list[tuple[str, str, str, str, str | None]] = [
    ("Expecting value", '{"x": [[1,, 2]]}', "1:11", "a value is expected here", None),
    ("Expecting value", '{"x": [[1, 2],\n]}', "2:1", "a value is expected here", COMMA),
    ("Expecting value", '{"😀": [.5]}', "1:8", "a value is expected here", NUMBER),
    ("Expecting value", '{"x": [-.5]}', "1:8", "a value is expected here", NUMBER),
    ("Expecting value", '{"x": [+1]}', "1:8", "a value is expected here", NUMBER),
    ("Expecting value", '{"x": None}', "1:7", "a value is expected here", WORD),
    ("Expecting value", '{"x": \'a\'}', "1:7", "a value is expected here", "JSON has double quotes only"),
    ("Expecting value", '{"x": # one\n1}', "1:7", "a value is expected here", COMMENT),
    ("Expecting value", '{"x": /* one */ 1}', "1:7", "a value is expected here", COMMENT),
    ("Expecting value", '{"x": ', "1:7", "the text ends before its brackets are closed", None),
    ("Expecting value", '{"x": [1,\n\n', "3:1", "the text ends before its brackets are closed", None),
    ("Expecting property name enclosed in double quotes", "{x: 1}", "1:2", "a key in double quotes is expected here", WORD),
    ("Expecting property name enclosed in double quotes", "{'x': 1}", "1:2", "a key in double quotes is expected here", "JSON has double quotes only"),
    ("Expecting property name enclosed in double quotes", '{"x": 1,\t// one\n "y": 2}', "1:10", "a key in double quotes is expected here", COMMENT),
    ("Expecting property name enclosed in double quotes", '{"x": 1,}', "1:9", "a key in double quotes is expected here", COMMA),
    ("Expecting property name enclosed in double quotes", '{"x": 0,5}', "1:9", "a key in double quotes is expected here", "decimals use a point: 0.5, not 0,5"),
    ("Expecting property name enclosed in double quotes", "{", "1:2", "the text ends before its brackets are closed", None),
    ("Expecting ':' delimiter", '{"é" 1}', "1:6", "a colon is expected here, after the key", None),
    ("Expecting ',' delimiter", '{"x": [1 2]}', "1:10", "a comma or a closing bracket is expected here", None),
    ("Expecting ',' delimiter", '{"x": [1/3]}', "1:9", "a comma or a closing bracket is expected here", 'JSON has no fractions of its own; write one in quotes: "1/3"'),
    ("Expecting ',' delimiter", '{"x": [5.]}', "1:9", "a comma or a closing bracket is expected here", NUMBER),
    ("Expecting ',' delimiter", '{"x": [05]}', "1:9", "a comma or a closing bracket is expected here", NUMBER),
    ("Expecting ',' delimiter", '{"x": [-05]}', "1:10", "a comma or a closing bracket is expected here", NUMBER),
    ("Expecting ',' delimiter", '{"x": [0x5]}', "1:9", "a comma or a closing bracket is expected here", None),
    ("Expecting ',' delimiter", '{"x": [1\n', "2:1", "the text ends before its brackets are closed", None),
    ("Extra data", '{"x": 1}\r\n{"y": 2}', "2:1", "the JSON value ends before this", None),
    ("Extra data", '{"x": 1}}', "1:9", "the JSON value ends before this", None),
    ("Unterminated string starting at", '{"x": "a}', "1:7", "the quote that opens here is not closed", None),
    ("Unterminated string starting at", '{"x": 1, "', "1:10", "the quote that opens here is not closed", None),
    ("Invalid control character at", '{"x": "a\tb"}', "1:9", "a text in quotes cannot contain a tab directly", r"in JSON write \t"),
    ("Invalid control character at", '{"x": "😀\n"}', "1:9", "a text in quotes cannot contain a line break directly", r"in JSON write \n"),
    ("Invalid control character at", '{"x": "\x0c"}', "1:8", "a text in quotes cannot contain a form feed directly", r"in JSON write \f"),
    ("Invalid control character at", '{"x": "\x01"}', "1:8", "a text in quotes cannot contain U+0001 directly", r"in JSON write \u0001"),
    ("Invalid \\escape", '{"😀": "a\\qb"}', "1:9", r"'\q' is not an escape of JSON", r'write each backslash twice: "a\\qb"'),
    ("Invalid \\escape", '{"x": "C:\\Users"}', "1:10", r"'\U' is not an escape of JSON", r'write each backslash twice: "C:\\Users"'),
    ("Invalid \\uXXXX escape", '{"x": "C:\\users"}', "1:10", r"'\u' needs 4 hexadecimal digits after it", r'write each backslash twice: "C:\\users"'),
    ("Invalid \\uXXXX escape", '{"x": "\\u12', "1:8", r"'\u' needs 4 hexadecimal digits after it", None),
]  # fmt: skip
LIBRARY = [*{sentence for sentence, *_ in BROKEN}, "Illegal trailing comma", "delimiter", "(char ", "enclosed in", "Exceeds the limit", "recursion"]  # fmt: skip


def refused(text: str) -> Fault:
    (fault,) = caught(lambda: read_text(text.replace("\r\n", "\n"), "a.json")).faults
    return fault


@pytest.mark.parametrize(("sentence", "text", "place", "said", "hint"), BROKEN)
def test_a_sentence_of_python_is_told_in_our_words(
    sentence: str, text: str, place: str, said: str, hint: str | None
) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(text)
    assert caught.value.msg.startswith(sentence)
    fault = refused(text)
    assert (str(fault.place), fault.message) == (f"a.json:{place}", f"not JSON: {said}")
    assert fault.hint == hint


@pytest.mark.parametrize(
    ("text", "at", "sentence", "hint"),
    [
        ('{"x": 1,}', 7, "Illegal trailing comma before end of object", COMMA),
        ('{"x": [1, ]}', 8, "Illegal trailing comma before end of array", COMMA),
        ('{"x": 1 2}', 8, "Some novelty", None),
    ],
)
def test_sentences_of_other_pythons(text: str, at: int, sentence: str, hint: str | None) -> None:
    error = json.JSONDecodeError(sentence, text, at)
    (fault,) = _syntax(Source("a.json", text), error).faults
    assert str(fault.place) == f"a.json:1:{at + 1}"
    assert fault.message in (
        "not JSON: a key in double quotes is expected here",
        "not JSON: a value is expected here",
    )
    assert fault.hint == hint  # fmt: skip


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('{"a": "[[",\n"x": ' + "[" * 80 + "]" * 80 + "}", "a.json:2:69", "more than 64 deep"),
        ('{"x":' + "[" * 100_000, "a.json:1:69", "more than 64 deep"),
        ("[" * 100_000, "a.json:1:65", "more than 64 deep"),
        ('{"y": "' + "1" * 5000 + '",\n "x": [1, ' + "9" * 5000 + "]}", "a.json:2:11", "too many digits"),
        ('{"x": [1, -' + "9" * 5000 + "]}", "a.json:1:12", "too many digits"),
    ],
)  # fmt: skip
def test_what_python_has_no_place_for(text: str, place: str, said: str) -> None:
    fault = refused(text)
    assert str(fault.place) == place
    assert said in fault.message


def test_a_character_is_blamed_also_before_what_python_cannot_hold() -> None:
    fault = refused('{"x"： [' + "9" * 5000 + "]}")
    assert fault.message == "full-width colon U+FF1A does not belong here"
    fault = refused('{"x"： ' + "[" * 5000)
    assert fault.message == "full-width colon U+FF1A does not belong here"


def test_brackets_in_quotes_open_nothing() -> None:
    assert list(_depths('["[", {}]')) == [(0, 1), (1, 1), (6, 2), (7, 1), (8, 0)]


def test_too_many_values_have_the_file_for_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockcalc.files.json_text.MAX_VALUES", 3)
    assert refused('{"x": [1, 2, 3]}').place == Place("a.json")


PIECES = [
    "{", "}", "[", "]", ",", ":", '"', '"x"', "'", "1", "0", ".", "-", "+", "/", "\\", "\\n", "\\u00e9", "null", "NaN", "\t", "\n", "#", "，", "：",
    "“", "”", "\u00a0", "\u2028", "−", "１", "😀", "９" * 3, "１" * 2,
]  # fmt: skip


@settings(max_examples=600)
@given(parts=st.lists(st.sampled_from(PIECES), max_size=14))
def test_no_text_makes_python_speak(parts: list[str]) -> None:
    text = "".join(parts)
    said = ""
    try:
        read_text(text, "a.json")
    except BlockcalcError as error:
        said = report(error)
    first = re.sub(r"\n  .*", "", said)
    assert [sentence for sentence in LIBRARY if sentence.lower() in first.lower()] == []
    if said:
        found = re.match(r"a\.json:([0-9]+):([0-9]+): ", said)
        assert found is not None
        lines = text.split("\n")
        assert 1 <= int(found[1]) <= len(lines)
        assert 1 <= int(found[2]) <= len(lines[int(found[1]) - 1]) + 1
