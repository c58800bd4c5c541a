"""Files as bytes: ends of lines, encodings, sizes, and whether one is YAML or JSON."""

from __future__ import annotations

from typing import Any

import pytest

from blockcalc.errors import InputError, Place
from blockcalc.files import decode as source
from blockcalc.files.decode import decode, read_text
from blockcalc.files.json_text import is_json
from tests.faults import refused_text
from tests.helpers import cli, refused


def test_endless_input_is_refused_at_its_bound() -> None:
    for args in (("run", "/dev/zero"), ("run", "-")):
        done = cli(*args, stdin=b" " * (33 * 2**20) if "-" in args else None)
        assert done.returncode == 2
        assert b"limit of 33554432 bytes" in done.stderr


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
    assert refused_text('{"a": "b\tc"}', "a.json")[1:] == (1, 9)


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


def test_json_by_its_content_or_its_name() -> None:
    assert read_text('{"x": 1e5}', "a").data == {"x": 1e5}
    assert read_text("{x: 1}", "a").data == {"x": 1}
    assert "not JSON" in refused(lambda: read_text("{x: 1}", "a.json"))
    assert "not YAML" in refused(lambda: read_text('{"x": [1, 2}', "a"))
    deep = "{" + '"a":{' * 5000
    assert "not YAML" in refused(lambda: read_text(deep, "a")) or "deep" in refused(
        lambda: read_text(deep, "a")
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"a: 1\rb: [2]\r",
        b"a: 1\r\nb: [2]\r\n",
        b"\xff\xfe" + "a: 1\nb: [2]\n".encode("utf-16-le"),
        b"\xfe\xff" + "a: 1\nb: [2]\n".encode("utf-16-be"),
        b"\xef\xbb\xbfa: 1\nb: [2]\n",
    ],
)
def test_every_encoding_and_line_end(raw: bytes) -> None:
    assert read_text(decode(raw, "a"), "a").data == {"a": 1, "b": [2]}


@pytest.mark.parametrize(
    ("text", "name", "data"),
    [
        ('\n\t{"a":\t1e5}', "a", {"a": 1e5}),
        ('{"a": "\\ud83c\\udf4e"}', "a.txt", {"a": "🍎"}),
        ("{a: 1}", "A.YML", {"a": 1}),
        ("{a: 1}", "a.yaml", {"a": 1}),
        ('{"a": 1}', "a.JSON", {"a": 1}),
        ("{a: 1, a.b: 2}", "a", {"a": 1, "a.b": 2}),
    ],
)
def test_a_name_or_the_content_tells(text: str, name: str, data: Any) -> None:
    assert read_text(text, name).data == data


def test_a_name_beats_the_content() -> None:
    assert "not YAML" in refused(lambda: read_text('{"a":\t[1}', "a.yml"))
    assert "YAML" in refused(lambda: read_text('\t{"a": 1, "b": *c}', "a.yml"))
    assert "not JSON" in refused(lambda: read_text("a: 1", "b.Json"))


def test_the_bound_on_bytes_is_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockcalc.files.decode.MAX_BYTES", 4)
    assert decode(b"a: 1", "a") == "a: 1"
    assert "larger than the limit of 4 bytes" in refused(lambda: decode(b"a: 12", "a"))
    assert decode(b"a: 12", "a", most=5) == "a: 12"
    assert "larger than the limit of 3 bytes" in refused(lambda: decode(b"a: 1", "a", most=3))


@pytest.mark.parametrize(
    ("raw", "place"),
    [(b"\xff", "1:1"), (b"a\nb\n\xff\n", "3:1"), (b"\n\n\n\xff", "4:1"), (b"ab\xff", "1:3")],
)
def test_the_place_of_bytes_that_are_no_text(raw: bytes, place: str) -> None:
    assert refused(lambda: decode(raw, "a")).startswith(f"a:{place}: this is not UTF-8 text")
