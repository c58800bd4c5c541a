"""The reading at its bounds and in its seldom cases, each with what it must give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blockcalc import limits
from blockcalc.errors import InputError, Place
from blockcalc.files import decode as source
from blockcalc.files import json_text, yaml_text
from blockcalc.files.decode import decode, read_text
from blockcalc.files.json_text import is_json
from blockcalc.files.source import Source, is_index, short
from blockcalc.files.yaml_text import plain_scalar
from blockcalc.reading.checker import Checker, Entries, is_text, kind_of, plain_array, quoted
from blockcalc.reading.load import load

TINY_JSON = '{"x": [[1, 2]], "attn": {"out": [[0, 1]]}}'


def refused(content: str, name: str = "a.yaml") -> tuple[str, int | None, int | None]:
    """Read what must be refused; give its first message, line and column."""
    with pytest.raises(InputError) as caught:
        read_text(content, name)
    fault = caught.value.faults[0]
    assert fault.place is not None
    assert fault.place.file == name
    return fault.message, fault.place.line, fault.place.column


# bytes ------------------------------------------------------------------------------------


def test_line_ends_of_every_kind_are_one() -> None:
    assert decode(b"a\r\nb\rc\nd", "a") == "a\nb\nc\nd"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str) -> None:
    assert decode("x: é字\n".encode(encoding), "a") == "x: é字\n"


def test_utf_16_by_either_mark() -> None:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        assert decode(mark + "x: 1".encode(encoding), "a") == "x: 1"


def test_the_size_that_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 10)
    assert decode(b"x: 1234567", "a") == "x: 1234567"
    with pytest.raises(InputError) as caught:
        decode(b"x: 12345678", "a.yaml")
    (fault,) = caught.value.faults
    assert "10" in fault.message
    assert fault.place == Place("a.yaml")
    assert fault.hint
    assert "npz" in fault.hint


def test_bytes_that_are_no_text_have_their_line() -> None:
    with pytest.raises(InputError) as caught:
        decode(b"x: 1\ny: \xff\n", "a.yaml")
    (fault,) = caught.value.faults
    assert fault.place == Place("a.yaml", 2, 4, "y: ÿ")
    assert "UTF-8" in fault.message
    with pytest.raises(InputError) as caught:
        decode(b"\xff\xfex", "a.yaml")
    assert "UTF-16" in caught.value.faults[0].message


# by name or by content --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.yaml", "A.YAML", "a.yml", "a.YML"])
def test_a_name_of_yaml_is_read_as_yaml(name: str) -> None:
    # to YAML the last of these is a key twice with its own words; JSON says the same at a place
    content = '{"a": 1, "b": 0x1F}'
    assert read_text(content, name).data == {"a": 1, "b": "0x1F"}
    assert read_text('{"a": 1,\n "b": [1,],}', name).data == {"a": 1, "b": [1]}


def test_a_name_of_yaml_reads_the_escapes_of_json_as_yaml_does() -> None:
    # a slash may be escaped in both; a tab inside a text only in YAML
    assert read_text('{"a": "b\tc"}', "a.yaml").data == {"a": "b\tc"}
    assert read_text('{"a": "b\tc"}', "<stdin>").data == {"a": "b\tc"}
    assert refused('{"a": "b\tc"}', "a.json")[1:] == (1, 9)


def test_content_tells_where_the_name_does_not() -> None:
    # a number of JSON's that YAML would take for a text
    content = '\n {"a": 1e400000}'
    assert is_json(content)
    assert read_text(content, "a").data == {"a": float("inf")}
    assert read_text(content, "a.yaml").data == {"a": "1e400000"}
    assert read_text("{a: 1}", "a").data == {"a": 1}
    assert read_text('["a"]', "a").data == ["a"]
    assert not is_json("{")
    assert not is_json("[" * 100_000)


def test_errors_of_a_value_have_the_name_they_were_given() -> None:
    with pytest.raises(InputError) as caught:
        source.read_value("[1", "--set x")
    assert caught.value.faults[0].place is not None
    assert caught.value.faults[0].place.file == "--set x"


# JSON -------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_json_words_that_are_no_numbers(word: str) -> None:
    message, line, column = refused('{"a": 1,\n "b": [2, ' + word + "]}", "a.json")
    assert word in message
    assert (line, column) == (2, 11)


def test_json_keys_twice_have_both_lines() -> None:
    message, line, column = refused('{"a": 1,\n "b": [[1, 2], [3]],\n "a": 2}', "a.json")
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
    assert "64" in refused(nested(65), "a.json")[0]
    assert "64" in refused(nested(300), "a.json")[0]


def test_the_values_that_json_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "MAX_VALUES", 6)
    assert read_text('{"a": [1, 2], "b": [[3]]}', "a.json").data["a"] == [1, 2]
    assert "6" in refused('{"a": [1, 2], "b": [[3, 4]]}', "a.json")[0]
    assert "6" in refused('{"a": [1, [2]], "b": [3, [4]]}', "a.json")[0]


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


# places -----------------------------------------------------------------------------------


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


# YAML -------------------------------------------------------------------------------------


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
    message, at, there = refused(content)
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
    assert "4" in refused("a: [b, c, d]\n")[0]
    assert read_text("a: [[1, 2, 3], [4, 5, 6]]\n", "a.yaml").data["a"][1] == [4, 5, 6]


def test_the_values_that_yaml_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MAX_VALUES", 8)
    # a mapping, a list, two texts, an alias that stands for a list and two texts
    assert read_text("a: &r [b, c]\nd: *r\n", "a.yaml").data["d"] == ["b", "c"]
    assert "8" in refused("a: &r [b, c]\nd: [*r, *r]\n")[0]
    assert "8" in refused("a: [b, c, d, e, f, g, h, i]\n")[0]
    assert "8" in refused("a: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n")[0]


def test_merges_of_one_and_of_several() -> None:
    one = read_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n", "a.yaml").data["b"]
    assert one == {"x": 1, "y": 3}
    several = "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n"
    assert read_text(several, "a.yaml").data["c"] == {"x": 1, "y": 2}


# numbers and words ------------------------------------------------------------------------


def checked(value: object, blocks: bool = False) -> tuple[float | None, Checker]:
    """Read one number beside no file."""
    checker = Checker(Source("<data>", ""))
    return checker.number(value, ("a", 0), Entries(blocks=blocks)), checker


@pytest.mark.parametrize("value", [float("-inf"), "-inf"])
def test_minus_infinity_is_for_masks(value: object) -> None:
    assert checked(value, blocks=True)[0] == float("-inf")
    number, checker = checked(value)
    assert number is None
    assert "inf" in checker.faults[0].message


def test_only_plus_infinity_is_told_of_minus_infinity() -> None:
    with_hint = checked(float("inf"), blocks=True)[1].faults[0].hint
    assert with_hint
    assert "-" in with_hint
    assert checked(float("nan"), blocks=True)[1].faults[0].hint is None
    assert checked(float("inf"))[1].faults[0].hint is None


def test_a_number_beyond_float64_is_refused_at_its_place() -> None:
    number, checker = checked(10**400)
    assert number is None
    (fault,) = checker.faults
    assert fault.place == Place("a.0")
    assert fault.message == "a number has too many digits"


def test_a_whole_number_that_float64_does_not_hold_is_noted() -> None:
    number, checker = checked(2**53 + 1)
    assert number == 2.0**53
    (told,) = checker.inexact
    assert "a.0" in told
    assert "9007199254740993" in told
    assert "9007199254740992" in told
    assert checked(2**53)[1].inexact == []
    assert checked(2**60)[1].inexact == []


def test_what_is_named_in_messages() -> None:
    assert kind_of(12) == "the number 12"
    assert "1071508" in kind_of(2**1000 - 1)
    assert "digits" in kind_of(2**1000)
    assert kind_of(1.5) == "the number 1.5"
    assert kind_of(True).endswith("true")
    assert "list" in kind_of([])
    assert "mapping" in kind_of({})
    assert kind_of(None)
    assert kind_of(object()) == kind_of(frozenset())
    assert quoted("a") == "'a'"
    assert quoted(3) == kind_of(3)


def test_long_texts_are_cut() -> None:
    assert short("a" * 40) == "a" * 40
    assert short("a" * 41) == "a" * 37 + "..."


def test_halves_of_surrogate_pairs_are_no_text() -> None:
    assert is_text("a\ud7ff\ue000")
    assert not is_text("a\ud800")
    assert not is_text("\udfff")


def test_matrices_are_float64_and_stay_as_they_are() -> None:
    for rows in ([[1, 2]], [["1/2", 2]]):
        array = load({"x": rows, "attn": {"out": [[0, 1]]}}).arrays["x"]
        assert array.dtype == np.float64
        assert not array.flags.writeable
    assert plain_array([[1, 2]]) is not None
    assert plain_array([[1, True]]) is None
    assert plain_array([[2**53, 1]]) is None
    assert plain_array([[1], [2, 3]]) is None
    assert plain_array([[[1, 2]], [[1, 2], [3, 4]]]) is None
    assert plain_array([[], [1]]) is None
    assert plain_array([[10**400]]) is None
    assert np.array_equal(plain_array([[[1, 2]], [[3, 4.5]]]), [[[1, 2]], [[3, 4.5]]])  # type: ignore[arg-type]


def test_rows_under_value_are_kept_under_the_name_of_the_matrix() -> None:
    data = {"x": {"value": [[1], ["1/2"]], "transpose": True}, "attn": {"out": [[0, 1]]}}
    assert load(data).arrays["x"].tolist() == [[1, 0.5]]
    with pytest.raises(InputError) as caught:
        load({**data, "attn": {"out": {"value": [[0, "b"]]}}})
    assert caught.value.faults[0].place == Place("attn.out.value.0.1")


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("1,5", "decimal"),
        ("-1,5", "decimal"),
        ("\u22121", "U+2212"),
        ("\u20131", "U+2013"),
        ("\uff11", "full"),
        ("\uff01", "full"),
        ("\uff5e", "full"),
        ("1.5", "quotes"),
        ("1e999", "float64"),
        ("1 2", "commas"),
        ("1; 2", "commas"),
        ("one", None),
        ("1,5,6", None),
    ],
)
def test_hints_for_texts_that_stand_for_numbers(value: str, hint: str | None) -> None:
    fault = checked(value)[1].faults[0]
    assert (fault.hint is None) if hint is None else (hint in str(fault.hint))


def test_a_comma_in_a_line_is_taken_for_a_decimal_one_by_its_spaces() -> None:
    checker = Checker(read_text("x: [[1,5, 2,5], [3, 4]]\n", "a.yaml"))
    assert checker.array([[1, 5, 2, 5], [3, 4]], ("x",), (2,)) is None
    assert "decimal" in str(checker.faults[0].hint)
    checker.paths["x"] = ("x",)
    assert checker.has_commas("x")
    assert not checker.has_commas("y") or checker.source.place("y").text == checker.source.text


def test_labels_are_texts_as_they_were_typed() -> None:
    def labels(content: str, sets: list[tuple[str, str]] | None = None) -> tuple[str, ...]:
        rest = "\nx: [[1], [2], [3]]\nattn: {out: [[1], [2], [3]]}\n"
        source = read_text(content + rest, "a.yaml").data
        return load(source, sets or []).tokens[0]

    assert labels("tokens: [007, 1e3, no]") == ("007", "1e3", "no")
    assert labels("tokens: [007, 08, 1.50]") == ("007", "08", "1.50")
    assert labels("tokens: [007, 08, 1.50,]") == ("007", "08", "1.50")
    assert labels("tokens: [&a 007, b, *a]") == ("007", "b", "007")
    assert labels("tokens:\n- 007\n- 2026-11-30\n- '1'") == ("007", "2026-11-30", "1")
    assert labels("notes: a", [("tokens", "[007, 08, 9]")]) == ("007", "08", "9")
    assert labels("tokens: [a, b, c]", [("tokens.1", "007")]) == ("a", "007", "c")
    assert limits.MAX_DEPTH == 64
