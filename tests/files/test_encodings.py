"""Bytes to text: every encoding that is read, with or without a mark, and errors for others."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockcalc
from blockcalc.errors import BlockcalcError, Fault, Place
from blockcalc.files.decode import decode
from blockcalc.files.tensors import read, tensors
from blockcalc.views.errors import report
from tests.helpers import cli, text

pytestmark = pytest.mark.slow

MARKED = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
TEXTS = {
    "a.yaml": "title: Übung 一 😀\nx: [[1, 2.5], [-3, 1/4]]\nattn: {out: [[0, 0], [0, 0]]}\n",
    "a.json": '{"title": "Übung 一 😀", "x": [[1, 2.5], [-3, "1/4"]],\n"attn": {"out": [[0, 0], [0, 0]]}}\n',
    "a.txt": '{"title": "Übung 一 😀", "x": [[1, 2.5], [-3, "1/4"]],\n"attn": {"out": [[0, 0], [0, 0]]}}\n',
}


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("encoding", MARKED)
def test_what_is_read(encoding: str, marked: bool, ending: str, tmp_path: Path) -> None:
    for name, content in TEXTS.items():
        raw = content.replace("\n", ending).encode(encoding)
        (tmp_path / name).write_bytes((MARKED[encoding] if marked else b"") + raw)
        spec = blockcalc.load(tmp_path / name)
        assert spec.title == "Übung 一 😀"
        assert spec.arrays["x"].tolist() == [[1, 2.5], [-3, 0.25]]


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("encoding", MARKED)
def test_a_csv_is_read_so_too(encoding: str, marked: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    raw = "1,2.5\r\n-3,1e-3\r\n".encode(encoding)
    path.write_bytes((MARKED[encoding] if marked else b"") + raw)
    (tensor,) = tensors(path)
    assert read(path, tensor).tolist() == [[1, 2.5], [-3, 0.001]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_standard_input_is_read_so_too(encoding: str) -> None:
    raw = TEXTS["a.json"].encode(encoding)
    assert "Übung" in text(cli("run", "-", stdin=raw, PYTHONIOENCODING="utf-8"))


@given(
    words=st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"),
        max_size=20,
    ),
    encoding=st.sampled_from(sorted(MARKED)),
)
def test_a_text_without_a_mark_is_what_it_was(words: str, encoding: str) -> None:
    content = f"x: [[1, 2], [3, 4]]\ntitle: {words}\n"
    assert decode(content.encode(encoding), "a") == content
    assert decode(MARKED[encoding] + content.encode(encoding), "a") == content


def test_a_text_with_a_null_stays_utf_8() -> None:
    assert decode(b"a: \0b\n", "a") == "a: \0b\n"
    assert decode(b"abcd\0efgh\0ijkl\0\0", "a") == "abcd\0efgh\0ijkl\0\0"
    assert decode(b"", "a") == ""


# what is not read -------------------------------------------------------------------------


def fault(raw: bytes) -> Fault:
    with pytest.raises(BlockcalcError) as caught:
        decode(raw, "a.yaml")
    (found,) = caught.value.faults
    return found


@pytest.mark.parametrize(
    ("content", "line", "column", "byte", "sign"),
    [
        ("title: Übung\n", 1, 8, "0xDC", "Ü"),
        ("x: [[1]]\r\ntitle: caf\xe9 cr\xe8me\r\n", 2, 11, "0xE9", "é"),
        ("a: \u2018b\u2019\n", 1, 4, "0x91", "‘"),
        ("a: 5 \u20ac\n", 1, 6, "0x80", "€"),
        ("a: 1\xa0000\n", 1, 5, "0xA0", "no-break space U+00A0"),
        ("x: [[\u20131]]", 1, 6, "0x96", "–"),
    ],
)
def test_latin_1_is_named(content: str, line: int, column: int, byte: str, sign: str) -> None:
    found = fault(content.encode("cp1252"))
    shown = f"'{sign}'" if len(sign) == 1 else sign
    said = f"this is not UTF-8 text; in Latin-1 (Windows-1252) the byte {byte} would be {shown}"
    assert found.message == said
    lines = content.replace("\r\n", "\n").split("\n")
    assert found.place == Place("a.yaml", line, column, lines[line - 1])
    assert found.hint == "save the file as UTF-8, such as with: iconv -f CP1252 -t UTF-8"


def test_what_could_be_read_is_shown_as_it_is() -> None:
    raw = "notes: ü 😀 ".encode() + b"\xfc" + "ü\n".encode()
    assert report(BlockcalcError(fault(raw))) == (
        "a.yaml:1:12: this is not UTF-8 text; in Latin-1 (Windows-1252) the byte 0xFC would be 'ü'\n"
        "  notes: ü 😀 üü\n"
        "              ^\n"
        "  save the file as UTF-8, such as with: iconv -f CP1252 -t UTF-8"
    )


def test_a_byte_that_latin_1_has_no_sign_for() -> None:
    assert fault(b"a: \x81\n").message == "this is not UTF-8 text"


@pytest.mark.parametrize("raw", [b"\x93NUMPY\x01\x00", b"\x7fELF\x02\xff", b"PK\x03\x04\xff\xfe"])
def test_a_file_of_another_kind_is_no_text(raw: bytes) -> None:
    assert fault(raw) == Fault("this is not text", Place("a.yaml"))


@pytest.mark.parametrize(
    ("raw", "said", "line", "column"),
    [
        (codecs.BOM_UTF16_LE + "a: 1\nb: ".encode("utf-16-le") + b"\x00\xd8", "UTF-16", 2, 4),
        (codecs.BOM_UTF16_BE + "a: 1\r\n😀b".encode("utf-16-be") + b"\xdc\x00", "UTF-16", 2, 3),
        (codecs.BOM_UTF16_LE + "a: 1".encode("utf-16-le") + b"1", "UTF-16", 1, 5),
        ("a: [1, 2]".encode("utf-16-le") + b"1", "UTF-16", 1, 10),
        (codecs.BOM_UTF32_LE + "a: 1".encode("utf-32-le") + b"\x00\x00\xff\xff", "UTF-32", 1, 5),
        (codecs.BOM_UTF32_BE + "é: 1".encode("utf-32-be") + b"\x00", "UTF-32", 1, 5),
    ],
)
def test_broken_texts_of_wider_encodings(raw: bytes, said: str, line: int, column: int) -> None:
    found = fault(raw)
    assert found.message == f"this is not {said} text"
    assert found.place == Place("a.yaml", line, column)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.yaml"])
def test_every_reader_names_latin_1(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes("1;\xfc".encode("cp1252"))
    open_it: Any = tensors if name == "a.csv" else blockcalc.load
    with pytest.raises(BlockcalcError) as caught:
        open_it(tmp_path / name)
    assert str(caught.value.faults[0].place) == f"{tmp_path / name}:1:3"
    assert "in Latin-1 (Windows-1252) the byte 0xFC would be 'ü'" in str(caught.value)
