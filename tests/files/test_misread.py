"""Characters that look like others, in every reader, place and encoding."""

from __future__ import annotations

import codecs
import time
from pathlib import Path

import pytest

import blockcalc
from blockcalc.errors import BlockcalcError
from blockcalc.files.decode import decode, read_text, read_value
from blockcalc.files.misread import LONGEST_TRIED, culprit, lookalike, lookalikes
from blockcalc.views.errors import report
from tests.faults import ENCODINGS, TWO_ROWS, advice, fault_of, named, place_of

pytestmark = pytest.mark.slow

# the character, its name, and what is to be written: told here once more, from the Unicode tables
SPACES = dict.fromkeys(
    "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
    "a space",
)
NOTHING = dict.fromkeys(
    "\xad\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff",
    "",
)
LINES = dict.fromkeys("\x85\u2028\u2029", "a line break")
MINUSES = dict.fromkeys("˗‐‑‒–—―⁃⁻−➖﹘﹣－", "'-'")
QUOTES = dict.fromkeys("´ʹʼ‘’‚‛′‵‹›＇", '"\'"')
DOUBLES = dict.fromkeys("«»ʺ“”„‟″‶「」『』〝〞〟＂", "'\"'")
COMMAS = dict.fromkeys("،、︐︑﹐﹑，､", "','")
STOPS = dict.fromkeys("٫․。︒﹒．｡", "'.'")
COLONS = dict.fromkeys("ː∶꞉︓﹕：", "':'")
OPENING = dict.fromkeys("⟦【〔〚﹇﹝［", "'['")
CLOSING = dict.fromkeys("⟧】〕〛﹈﹞］", "']'")
BRACES = {"\uff5b": "'{'", "\u2774": "'{'", "\ufe5b": "'{'"}
ENDING = {"\uff5d": "'}'", "\u2775": "'}'", "\ufe5c": "'}'"}
SOLIDI = dict.fromkeys("⁄∕⧸／", "'/'")
DIGITS = {
    chr(first + n): f"'{n}'" for first in (0xFF10, 0x660, 0x6F0, 0x966, 0x1D7CE) for n in range(10)
}
FRACTIONS = {"½": "'1/2'", "¼": "'1/4'", "¾": "'3/4'", "⅓": "'1/3'", "⅔": "'2/3'"}
OTHERS = {
    "\uff0b": "'+'",
    "\uff1b": "';'",
    "\uff05": "'%'",
    "\uff45": "'e'",
    "\uff58": "'x'",
    "\u061b": "';'",
    "\uff1f": "'?'",
}
INSIDE = {
    **SPACES, **NOTHING, **LINES, **MINUSES, **QUOTES, **DOUBLES, **COMMAS, **STOPS, **COLONS, **OPENING, **CLOSING,
    **BRACES, **ENDING, **SOLIDI, **DIGITS, **FRACTIONS, **OTHERS,
}  # fmt: skip
READERS = ["yaml", "json", "stdin", "csv"]


# in values --------------------------------------------------------------------------------


JSON_VALUE = '{{"title":\n"😀", "x": [["1{}2"]]}}\n'
VALUES = {  # a number with a character in its middle, on the second line, after a tab or an astral character
    "yaml": ('title: "😀"\nx: [[0.5,\t1{}2]]\n', (2, 12)),
    "json": (JSON_VALUE, (2, 15)),
    "stdin": (JSON_VALUE, (2, 15)),
    "csv": ("0,5\n7, 1{}2\n", (2, 5)),
}


@pytest.mark.parametrize("reader", READERS)
def test_in_a_number(reader: str, tmp_path: Path) -> None:
    text, place = VALUES[reader]
    for sign, meant in INSIDE.items():
        if reader == "yaml" and sign in LINES:
            continue  # YAML takes these for spaces
        fault = fault_of(reader, text.format(sign), tmp_path)
        assert fault.message == f"a number is expected; this is the text '1{sign}2'"
        assert place_of(fault) == place, named(sign)
        assert fault.hint == f"{named(sign)}: {advice(meant, reader in ('json', 'stdin'))}"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("reader", READERS)
def test_in_every_encoding(reader: str, ending: str, encoding: str, tmp_path: Path) -> None:
    text, place = VALUES[reader]
    for sign in "\u2212\uff0c\u00a0\u200b\u201c１":
        raw = text.format(sign).replace("\n", ending)
        fault = fault_of(reader, raw, tmp_path, encoding)
        assert place_of(fault) == place
        assert fault.hint == f"{named(sign)}: {advice(INSIDE[sign])}"


@pytest.mark.parametrize("reader", ["yaml", "json", "stdin"])
def test_in_a_key(reader: str, tmp_path: Path) -> None:
    for sign, meant in INSIDE.items():
        if reader == "yaml" and (sign in LINES or sign == "\ufeff"):
            continue
        text = (
            f"x: [[1]]\nn{sign}orm: pre\n"
            if reader == "yaml"
            else f'{{"x": [[1]],\n"n{sign}orm": "pre"}}'
        )
        fault = fault_of(reader, text, tmp_path)
        assert fault.message == f"unknown key 'n{sign}orm'"
        assert place_of(fault) == (2, 2 if reader == "yaml" else 3)
        assert fault.hint == f"{named(sign)}: {advice(meant, reader != 'yaml')}"


# between tokens ---------------------------------------------------------------------------


BLANKS = {**SPACES, **NOTHING}
BETWEEN_YAML = [  # where a character stands alone between two tokens, and where it is on its line
    (BLANKS, "x: [[1, 2]{}, [3, 4]]\n", (1, 11)),
    (BLANKS, "x: [[1, 2], [3, 4]]{}# note\n", (1, 20)),
    (COMMAS, "# 😀\nx: [[1, 2]{} [3, 4]]\n", (2, 11)),
    (COLONS, "x{} [[1, 2]]\nnorm: pre\n", (1, 2)),
    (COLONS, "attn:\n  causal: true\n  mask{} {{keep: [[1]]}}\n", (3, 7)),
    (COLONS, "attn: {{w_q{} [[1]]}}\n", (1, 11)),
    (OPENING, "x: [{}1, 2]]\n", (1, 5)),
    (CLOSING, "x: [[1, 2{}]\nnorm: pre\n", (1, 10)),
    (BRACES, "attn: {}out: [[1, 2]]}}\n", (1, 7)),
    (ENDING, "attn: {{out: [[1, 2]]{}\nnorm: pre\n", (1, 21)),
    ({"\uff03": "'#'", "\ufe5f": "'#'"}, "x: [[1, 2]] {} note\n", (1, 13)),
]
BETWEEN_JSON = [
    ({**BLANKS, **LINES}, '{{"x":{} [[1, 2]]}}', (1, 6)),
    ({**BLANKS, **LINES}, '{{"x": [[1{}, 2]]}}', (1, 10)),
    (COMMAS, '{{"title": "😀",\n"x": [[1, 2]{} [3, 4]]}}', (2, 13)),
    (COLONS, '{{"x"{} [[1, 2]]}}', (1, 5)),
    (OPENING, '{{"x": [{}1, 2]]}}', (1, 8)),
    (CLOSING, '{{"x": [[1, 2]{}}}', (1, 14)),
    (BRACES, '{{"attn": {}"out": [[1]]}}}}', (1, 10)),
    (ENDING, '{{"attn": {{"out": [[1]]{}}}', (1, 23)),
    (DOUBLES, '{{{0}x{0}: [[1, 2]]}}', (1, 2)),
    (QUOTES, '{{{0}x{0}: [[1, 2]]}}', (1, 2)),
    (QUOTES, '{{"norm": {0}pre{0}, "x": [[1]]}}', (1, 10)),
    (MINUSES, '{{"x": [[1, {}2]]}}', (1, 12)),
    (DIGITS, '{{"x": [[{}, 2]]}}', (1, 9)),
    (STOPS, '{{"x": [[0{}5, 2]]}}', (1, 10)),
]  # fmt: skip


def test_between_the_tokens_of_yaml(tmp_path: Path) -> None:
    for signs, text, place in BETWEEN_YAML:
        for sign, meant in signs.items():
            fault = fault_of("yaml", text.format(sign), tmp_path)
            assert fault.message == f"{named(sign)} does not belong here", text
            assert place_of(fault) == place
            assert fault.hint == advice(meant)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be without"])
def test_between_the_tokens_of_json(encoding: str, tmp_path: Path) -> None:
    for signs, text, place in BETWEEN_JSON:
        for sign, meant in signs.items():
            fault = fault_of("json", text.format(sign), tmp_path, encoding)
            assert fault.message == f"{named(sign)} does not belong here", text
            assert place_of(fault) == place
            assert fault.hint == advice(meant, json=True)


@pytest.mark.parametrize(
    ("sign", "text", "place", "hint"),
    [
        ("\uff0c", '{{"x": [[1, 2]{} [3, 4]]}}', (1, 14), "write ',' instead"),
        ("\uff1a", '{{"x"{} [[1, 2]]}}', (1, 5), "write ':' instead"),
        ("\u00a0", '{{"x":{} [[1, 2]]}}', (1, 6), "write a space instead"),
        ("\uff3d", '{{"x": [[1, 2{}]}}', (1, 13), "write ']' instead"),
        ("\uff5d", '{{"x": [[1, 2]]{}', (1, 15), "write '}}' instead"),
    ],
)
def test_json_on_standard_input(
    sign: str, text: str, place: tuple[int, int], hint: str, tmp_path: Path
) -> None:
    fault = fault_of("stdin", text.format(sign), tmp_path)
    assert fault.message == f"{named(sign)} does not belong here"
    assert place_of(fault) == place
    assert fault.hint == hint.replace("}}", "}")


@pytest.mark.parametrize(
    ("text", "place", "sign", "hint"),
    [
        ("x：[[1, 2]]\nnorm: pre\n", (1, 2), "：", "write ':' and a space instead"),
        ("x： ［［1， 2］］\nnorm: pre\n", (1, 2), "：", "write ':' instead"),
        ("title: “Exercise: three”\n", (1, 8), "“", "write '\"' instead"),
        ("title: ‘Exercise: three’\n", (1, 8), "‘", "write \"'\" instead"),
        ('title: "Exercise: three”\nx: [[1]]\n', (1, 24), "”", "write '\"' instead"),
        ("notes: “a”, ‘b’ – ok\nx: [[1, 2], [3， 4]] ]\n", None, "", ""),
        ("title: It’s ［a draft］, 你好，世界\nx: [[1, 2\nnorm: pre\n", None, "", ""),
        ("title: ’tis\nx: [[1, 2]]]\n", None, "", ""),
        ("x: [[1, 2]， , [3, 4]]\n", (1, 11), "，", "write ',' instead"),
        ("x: [[1, 2]−, [3, 4]]\n", (1, 11), "−", None),
        ("x: [[1, 2]，, [3, 4]]\n", (1, 11), "，", None),
        ("a: 1\u2028b: 2\n", (1, 5), "\u2028", "write a line break instead"),
        ("　x: [[1]]\n norm: pre\nattn: 1\n", (1, 1), "　", "write a space instead"),
    ],
)  # fmt: skip
def test_only_a_cause_is_blamed(
    text: str, place: tuple[int, int] | None, sign: str, hint: str | None, tmp_path: Path
) -> None:
    fault = fault_of("yaml", text, tmp_path)
    if place is None:
        assert fault.message.startswith("not YAML: ")
        return
    assert fault.message == f"{named(sign)} does not belong here"
    assert (place_of(fault), fault.hint) == (place, hint)


# what a hint rests on ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("tokens: [a， b]\n", (1, 11), "full-width comma U+FF0C: write ',' instead"),
        ("tokens: [“a” 、b]\n", (1, 14), "ideographic comma U+3001: write ',' instead"),
        ("tokens: ['a， b']\n", (1, 9), None),
        ('tokens: ["“a”， b"]\n', (1, 9), None),
        ("tokens: [“a”, “b”, c]\n", (1, 9), None),
        ("title: [“a”]\n", (1, 8), "put it in quotes"),
        ("stop: attn．out\n", (1, 11), "full-width full stop U+FF0E: write '.' instead"),
        ("expect: {norm1：mean: [1, 2]}\n", (1, 15), "full-width colon U+FF1A: write ':' instead"),
        ("norm: {order: pre–}\n", (1, 18), "en dash U+2013: write '-' instead"),
        ("norm: ‘pre’\n", (1, 7), "left single quotation mark U+2018: write \"'\" instead"),
        ("norm: рrе\n", (1, 7), "Cyrillic small letter er U+0440: write 'p' instead"),
        ("norm: вперёд\n", (1, 7), None),
        ("ν: 1\n", (1, 1), "the keys here are"),
        ("norm1: {eps: −1}\n", (1, 14), "minus sign U+2212: write '-' instead"),
        ("norm1: {eps: &a −1}\n", (1, 17), "minus sign U+2212: write '-' instead"),
        ("norm1: {eps: 'it''s −1'}\n", (1, 21), "minus sign U+2212: write '-' instead"),
        ('norm1: {eps: "\\t\\u221200 −1"}\n', (1, 17), "minus sign U+2212: write '-' instead"),
        ('norm1: {eps: "a\\\n  b −1"}\n', (2, 5), "minus sign U+2212: write '-' instead"),
        ("norm1: {eps: a\n\n   b  c −1}\n", (3, 9), "minus sign U+2212: write '-' instead"),
        ("norm1: {eps: 'a\x85\x85 −1'}\n", (1, 19), "minus sign U+2212: write '-' instead"),
        ("norm1: &n {eps: −1}\nnorm2: {<<: *n}\n", (1, 17), "minus sign U+2212: write '-' instead"),
    ],
)  # fmt: skip
def test_where_a_character_is_named(
    text: str, place: tuple[int, int], hint: str | None, tmp_path: Path
) -> None:
    fault = fault_of("yaml", text + TWO_ROWS, tmp_path)
    assert place_of(fault) == place
    assert fault.hint == hint or (hint is not None and str(fault.hint).startswith(hint))


def test_a_text_that_is_no_mapping(tmp_path: Path) -> None:
    fault = fault_of("yaml", "# 中\nx：［［1，0］］\nnorm：post\n", tmp_path)
    assert fault.message.startswith("a file is a mapping of keys such as x and attn; this is")
    assert place_of(fault) == (2, 2)
    assert fault.hint == "full-width colon U+FF1A: write ':' instead"
    assert place_of(fault_of("yaml", "hello\n", tmp_path)) == (None, None)
    assert place_of(fault_of("json", '"a， b"', tmp_path)) == (1, 3)


def test_an_alias_is_blamed_where_it_stands(tmp_path: Path) -> None:
    fault = fault_of("yaml", "notes: &n −1\nnorm1: {eps: *n}\n" + TWO_ROWS, tmp_path)
    assert place_of(fault) == (2, 14)
    assert fault.hint == "minus sign U+2212: write '-' instead"


def test_a_file_that_is_there_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "it’s.npy").write_bytes(b"none")
    fault = fault_of("yaml", "x: {file: it’s.npy}\n", tmp_path)
    assert "’" not in str(fault.hint)
    fault = fault_of("yaml", "x: {file: its’.npy}\n", tmp_path)
    assert place_of(fault) == (1, 14)
    assert fault.hint == 'right single quotation mark U+2019: write "\'" instead'


def test_what_is_set_has_no_column() -> None:
    with pytest.raises(BlockcalcError) as caught:
        blockcalc.load({"x": [[1]], "attn": {"out": [[1]]}}, [("x", "[[1，2]]")])
    assert report(caught.value) == (
        "x=[[1，2]]: a number is expected; this is the text '1，2'\n"
        "  full-width comma U+FF0C: write ',' instead"
    )
    with pytest.raises(BlockcalcError) as caught:
        blockcalc.load({"x": [[1]]}, [("x", "[[1，[2]]")])
    assert str(caught.value.faults[0].place) == "x=[[1，[2]]:1:4"
    with pytest.raises(BlockcalcError) as caught:
        blockcalc.load({"x": [["−1"]], "attn": {"out": [[1]]}})
    assert str(caught.value).endswith("the text '−1' (minus sign U+2212: write '-' instead)")


# the search itself ------------------------------------------------------------------------


def test_lookalikes_in_order() -> None:
    found = [(one.sign, one.at, one.meant) for one in lookalikes("a，😀−１½")]
    assert found == [("，", 1, ","), ("−", 3, "-"), ("１", 4, "1"), ("½", 5, "1/2")]
    assert list(lookalikes("plain")) == []
    assert lookalike("é中😀ü²") is None
    assert lookalike("хвост") is None


def test_a_long_text_is_not_read_again_and_again() -> None:
    text = "a" * LONGEST_TRIED + "，b"

    def breaks(changed: str) -> int:
        raise AssertionError("read again")

    found = culprit(text, (0, LONGEST_TRIED), breaks, json=False)
    assert found is not None
    assert (found.sign, found.at) == ("，", LONGEST_TRIED)
    assert culprit(text, (0, 5), breaks, json=False) is None


def test_many_characters_do_not_take_long(tmp_path: Path) -> None:
    text = "notes: |\n" + "  你好，世界。\n" * 5000 + "x: [[1, 2\nnorm: pre\n"
    begun = time.process_time()
    assert fault_of("yaml", text, tmp_path).message.startswith("not YAML: ")
    assert time.process_time() - begun < 10


def test_marks_before_a_text_are_no_text() -> None:
    raw = codecs.BOM_UTF8 * 2 + b"x: ]\n"
    with pytest.raises(BlockcalcError) as caught:
        read_text(decode(raw, "a.yaml"), "a.yaml")
    assert str(caught.value.faults[0].place) == "a.yaml:1:4"
    assert read_value("\ufeff[1]", "--set x") == [1]
