"""Where YAML breaks off: every sentence of its parsers, in our own words, at its true place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from blockcalc.errors import BlockcalcError
from blockcalc.files.decode import decode, read_text
from blockcalc.files.source import Source
from blockcalc.files.yaml_faults import syntax_fault
from blockcalc.messages import say
from blockcalc.views.errors import report
from tests.helpers import caught

# every sentence that libyaml's scanner and parser have for a text, and a text that provokes it
# with the place and the words that a person gets
BROKEN: list[tuple[str, str, str, str]] = [
    ("found character that cannot start any token", "x:\n  -\t[1, 2]\n", "2:4", "YAML does not allow a tab after '-'"),
    ("found character that cannot start any token", "é: &a\n- \t[1]\n", "2:3", "YAML does not allow a tab after '-'"),
    ("found character that cannot start any token", "? \tx\n", "1:3", "YAML does not allow a tab after '?'"),
    ("found character that cannot start any token", "x:\n\t- 1\n", "2:1", "YAML does not allow tabs for indentation"),
    ("found character that cannot start any token", "a: @x\n", "1:4", "not YAML: an unquoted text cannot begin with '@'"),
    ("found character that cannot start any token", "a: [1, `x]\n", "1:8", "not YAML: an unquoted text cannot begin with '`'"),
    ("found character that cannot start any token", "😀: %x\n", "1:4", "not YAML: an unquoted text cannot begin with '%'"),
    ("found a tab character that violates indentation", "a:\n  b: 1\n  \tc: 2\n", "3:3", "YAML does not allow tabs for indentation"),
    ("found a tab character where an indentation space is expected", "a: |\n\tb\n", "2:1", "YAML does not allow tabs for indentation"),
    ("mapping values are not allowed in this context", "a: b: c\n", "1:5", "not YAML: this colon makes a key where none can be"),
    ("mapping values are not allowed in this context", "attn\n  w_q: 1\n", "2:6", "not YAML: this colon makes a key where none can be"),
    ("block sequence entries are not allowed in this context", "a: - b\n", "1:4", "not YAML: this dash makes a list where none can begin"),
    ("mapping keys are not allowed in this context", "a: ? b\n", "1:4", "not YAML: this '?' makes a key where none can be"),
    ("did not find expected key", "a:\n  - b\n c: 1\n", "3:2", "not YAML: this line does not belong to anything before it"),
    ("did not find expected key", "a: [1]]\n", "1:7", "not YAML: this ']' has no opening bracket"),
    ("did not find expected key", "a: 'x' y\n", "1:8", "not YAML: the value ends before this"),
    ("did not find expected '-' indicator", "- a\nb: 1\n", "2:1", "not YAML: this line does not belong to anything before it"),
    ("did not find expected '-' indicator", "a:\n  - [1, 2], [3]\n", "2:11", "not YAML: the value ends before this"),
    ("did not find expected <document start>", "[[1]] x\n", "1:7", "not YAML: the value ends before this"),
    ("did not find expected <document start>", "  a: 1\n b: 2\n", "2:2", "not YAML: this line does not belong to anything before it"),
    ("did not find expected <document start>", "%YAML 1.1\na: 1\n", "1:1", "not YAML: a line that begins with '%' is a directive"),
    ("did not find expected ',' or ']'", "a: [1, 2\nb: 1\n", "2:2", "not YAML: ',' or ']' is expected here, for the '[' on line 1, column 4"),
    ("did not find expected ',' or ']'", "a: [1, 2", "1:9", "not YAML: ',' or ']' is expected here, for the '[' on line 1, column 4"),
    ("did not find expected ',' or '}'", "a:\n  {b: 1]\n", "2:8", "not YAML: ',' or '}' is expected here, for the '{' on line 2, column 3"),
    ("did not find expected node content", "a: [1,, 2]\n", "1:7", "not YAML: a value is missing before this comma"),
    ("did not find expected node content", "a: ]\n", "1:4", "not YAML: this ']' has no opening bracket"),
    ("did not find expected node content", "a: [\n- 1\n]\n", "2:1", "not YAML: a list with dashes is not allowed inside brackets"),
    ("did not find expected node content", "a: [:]\n", "1:5", "not YAML: a key is missing before this colon"),
    ("did not find expected node content", "a: [[\n", "2:1", "not YAML: the text ends before its brackets are closed"),
    ("did not find expected node content", "a: [\n---\n", "2:1", "not YAML: the text ends before its brackets are closed"),
    ("did not find expected node content", "a: [b: ? c]\n", "1:8", "not YAML: this '?' makes a key where none can be"),
    ("could not find expected ':'", "a:\n  b\nc\nd\n", "3:1", "not YAML: this key has no colon"),
    ("found unexpected end of stream", "a: 1\nb: 'x\n", "2:4", "not YAML: the quote that opens here is not closed"),
    ("found unexpected end of stream", 'a: ["é", "x\n', "1:10", "not YAML: the quote that opens here is not closed"),
    ("found unexpected document indicator", "a: 'x\n---\n'\n", "1:4", "not YAML: the quote that opens here is not closed"),
    ("found unknown escape character", 'a: "x\\q"\n', "1:6", r"not YAML: '\q' is not an escape of double quotes"),
    ("did not find expected hexdecimal number", 'a: "C:\\Users"\n', "1:7", r"not YAML: '\U' needs 8 hexadecimal digits after it"),
    ("did not find expected hexdecimal number", 'a: "\\x1"\n', "1:5", r"not YAML: '\x' needs 2 hexadecimal digits after it"),
    ("did not find expected hexdecimal number", 'a: "\\u12', "1:5", r"not YAML: '\u' needs 4 hexadecimal digits after it"),
    ("found invalid Unicode character escape code", 'a: "\\ud800"\n', "1:5", r"not YAML: '\ud800' is not a character"),
    ("found unknown directive name", "%FOO bar\n---\na: 1\n", "1:5", "not YAML: a line that begins with '%' is a directive"),
    ("found unexpected non-alphabetical character", "%FO~\n", "1:4", "not YAML: a line that begins with '%' is a directive"),
    ("found incompatible YAML document", "%YAML 2.0\n---\na: 1\n", "1:1", "not YAML: a line that begins with '%' is a directive"),
    ("found duplicate %YAML directive", "%YAML 1.1\n%YAML 1.1\n---\na\n", "2:1", "not YAML: a line that begins with '%' is a directive"),
    ("found duplicate %TAG directive", "%TAG ! tag:a\n%TAG ! tag:b\n---\na\n", "2:1", "not YAML: a line that begins with '%' is a directive"),
    ("found extremely long version number", "%YAML 11111111111.1\n---\na\n", "1:16", "not YAML: a line that begins with '%' is a directive"),
    ("did not find expected version number", "%YAML x\n", "1:7", "not YAML: a line that begins with '%' is a directive"),
    ("did not find expected digit or '.' character", "%YAML 1;1\n---\n", "1:8", "not YAML: a line that begins with '%' is a directive"),
    ("could not find expected directive name", "%\n", "1:2", "not YAML: a line that begins with '%' is a directive"),
    ("did not find expected comment or line break", "%YAML 1.1 x\n---\na\n", "1:11", "not YAML: a line that begins with '%' is a directive"),
    ("did not find expected '!'", "%TAG x y\n---\n", "1:6", "not YAML: a line that begins with '%' is a directive"),
    ("did not find expected whitespace", "%TAG !a!tag y\n---\n", "1:9", "not YAML: a line that begins with '%' is a directive"),
    ("did not find expected tag URI", "%TAG !a! \n---\n", "1:10", "not YAML: a line that begins with '%' is a directive"),
    ("did not find expected alphabetic or numeric character", "a: & x\n", "1:5", "not YAML: a name of letters and digits is expected after '&'"),
    ("did not find expected alphabetic or numeric character", "a: [**bold**]\n", "1:6", "not YAML: a name of letters and digits is expected after '*'"),
    ("did not find expected tag URI", "a: !<> b\n", "1:6", "not YAML: a word that begins with '!' is a tag"),
    ("did not find the expected '>'", "a: !<x\n", "1:7", "not YAML: a word that begins with '!' is a tag"),
    ("found undefined tag handle", "a: !x!y z\n", "1:4", "not YAML: a word that begins with '!' is a tag"),
    ("did not find URI escaped octet", "a: !a%zz b\n", "1:6", "not YAML: a word that begins with '!' is a tag"),
    ("found an incorrect leading UTF-8 octet", "a: !a%ff b\n", "1:6", "not YAML: a word that begins with '!' is a tag"),
    ("found an incorrect trailing UTF-8 octet", "a: !a%e4%20 b\n", "1:9", "not YAML: a word that begins with '!' is a tag"),
    ("did not find expected whitespace or line break", 'a: !"x\n', "1:5", "not YAML: a word that begins with '!' is a tag"),
    ("found an indentation indicator equal to 0", "a: |0\n  b\n", "1:5", "not YAML: after '|' a digit from 1 to 9, '+' or '-' may follow"),
    ("did not find expected comment or line break", "a: > b\n", "1:6", "not YAML: after '>' a digit from 1 to 9, '+' or '-' may follow"),
    ("exceeded maximum nesting depth", "[" * 2000, "1:1001", "lists and mappings are nested more than 64 deep"),
    ("control characters are not allowed", "é: 1\nb: 😀\x01\n", "2:5", "the character U+0001 is not allowed in a YAML file"),
    ("control characters are not allowed", "a: [1,\x0c2]\n", "1:7", "the character U+000C is not allowed in a YAML file"),
]  # fmt: skip

# what a text cannot provoke: bytes are decoded before, streams and memory are no text
UNPROVOKED = {
    "input error", "input is too long", "memory",
    "incomplete UTF-8 octet sequence", "incomplete UTF-16 character", "incomplete UTF-16 surrogate pair",
    "invalid leading UTF-8 octet", "invalid length of a UTF-8 sequence", "invalid trailing UTF-8 octet",
    "invalid Unicode character", "unexpected low surrogate area", "did not find expected <stream-start>",
    "found unexpected ':'",
}  # fmt: skip
# words of its composer, of its contexts, and of PyYAML's own scanner, parser and reader
OTHERS = [
    "while parsing", "while scanning", "while composing", "but found", "but got", "expected <", "<block end>", "<stream end>",
    "expected the node content", "expected alphabetic", "expected escape sequence", "expected a ", "expected URI", "expected chomping",
    "expected indentation indicator", "special characters are not allowed", "sequence entries are not allowed",
    "found undefined alias", "found duplicate anchor", "duplicate tag handle", "codec", "chr()", "Error",
    "found unexpected document separator", "mapping values are not allowed here", "second occurrence", "unacceptable character",
]  # fmt: skip
LIBRARY = sorted({sentence for sentence, *_ in BROKEN} | UNPROVOKED | set(OTHERS))


@pytest.fixture(params=["C", "Python"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read with libyaml, and as where there is none."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader")
    return str(request.param)


def refused(text: str, name: str = "a.yaml") -> BlockcalcError:
    return caught(lambda: read_text(text, name))


def sentence_of(text: str) -> str:
    """Give what libyaml itself says of a text."""
    with pytest.raises(yaml.YAMLError) as caught:
        list(yaml.parse(text, Loader=yaml.CSafeLoader))
    error = caught.value
    return str(getattr(error, "problem", None) or getattr(error, "reason", ""))


def told(text: str, name: str) -> str:
    """Give what is said of a text, nothing where it can be read."""
    try:
        read_text(text, name)
    except BlockcalcError as error:
        return report(error)
    return ""


def in_library_words(said: str) -> list[str]:
    return [sentence for sentence in LIBRARY if sentence in said]


@pytest.mark.parametrize(("sentence", "text", "place", "said"), BROKEN)
def test_a_sentence_of_the_parser_is_told_in_our_words(
    sentence: str, text: str, place: str, said: str
) -> None:
    assert sentence in sentence_of(text)
    error = refused(text)
    assert report(error).startswith(f"a.yaml:{place}: {said}")
    assert in_library_words(report(error)) == []


def test_the_list_of_sentences_is_whole() -> None:
    import yaml._yaml as compiled

    raw = Path(compiled.__file__).read_bytes()  # libyaml is part of it, where a wheel was installed
    begins = rb"did not find|could not find|found|exceeded|control characters|mapping (?:keys|values)|block sequence"
    there = {s.decode() for s in re.findall(rb"\0((?:" + begins + rb") [ -~]{8,})(?=\0)", raw)}
    assert there <= {sentence for sentence, *_ in BROKEN} | UNPROVOKED


@pytest.mark.parametrize("text", [text for _, text, _, _ in BROKEN])
def test_no_library_speaks_with_either_loader(text: str, loader: str) -> None:
    assert in_library_words(told(text, "a.yaml")) == []


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a: [1, 2\nb: 1\n", "2:2", "',' or ']' is expected here, for the '[' on line 1, column 4"),
        ("a:\n  - b\n c: 1\n", "3:2", "this line does not belong to anything before it"),
        ('a: "x\\q"\n', "1:6", r"'\q' is not an escape of double quotes"),
        ('a: "C:\\Users"\n', "1:7", r"'\U' needs 8 hexadecimal digits after it"),
        ("a: 'x\n", "1:4", "the quote that opens here is not closed"),
        ("a: b: c\n", "1:5", "this colon makes a key where none can be"),
        ("a: - b\n", "1:4", "this dash makes a list where none can begin"),
        ("a: [1,, 2]\n", "1:7", "a value is missing before this comma"),
        ("%TAG ! a\n%TAG ! b\n---\na\n", "2:1", "a line that begins with '%' is a directive"),
        ("a: !x!y z\n", "1:4", "a word that begins with '!' is a tag"),
    ],
)
def test_both_loaders_say_the_same(text: str, place: str, said: str, loader: str) -> None:
    assert report(refused(text)).startswith(f"a.yaml:{place}: not YAML: {said}")


def test_what_the_loader_without_libyaml_stumbles_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    said = report(refused("é:\t1\n"))
    assert said.startswith("a.yaml:1:3: YAML does not allow a tab after ':'")
    assert "put a space there" in said
    said = report(refused('a: 1\nb: "\\U00110000"\n'))
    assert said == f"a.yaml:1:1: {say('yaml.syntax', problem=say('yaml.other'))}\n  a: 1\n  ^"


def test_a_sentence_that_is_not_known_is_not_passed_on() -> None:
    class Mark:
        index = 5

    class Strange:
        problem, context, problem_mark, context_mark = "some novelty", None, Mark, None

    said = report(syntax_fault(Source("a.yaml", "a: 1\nb: 2\n"), Strange, lambda text: None))
    assert said == "a.yaml:2:1: not YAML: this breaks the rules of YAML\n  b: 2\n  ^"
    Strange.problem = "did not find expected node content"
    said = report(syntax_fault(Source("a.yaml", "a: 1\nb: 2\n"), Strange, lambda text: None))
    assert said.startswith("a.yaml:2:1: not YAML: a value is missing here")
    Strange.problem = "found unexpected ':'"
    said = report(syntax_fault(Source("a.yaml", "a: 1\nb: 2\n"), Strange, lambda text: None))
    assert said.startswith("a.yaml:2:1: not YAML: this colon has no space after it")


# places in characters ---------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "before", ["", "é", "😀", "a\tb", "\u2028", "\x85", "中文", "e\u0301", "\ufeff"]
)
def test_columns_count_characters(before: str, encoding: str, ending: str) -> None:
    raw = f"notes: 'a{before}'\ntitle: ['{before}', 1 2}}\n".replace("\n", ending).encode(encoding)
    with pytest.raises(BlockcalcError) as caught:
        read_text(decode(raw, "a.yaml"), "a.yaml")
    place = caught.value.faults[0].place
    assert place is not None
    assert (place.line, place.column) == (2, 16 + len(before))
    assert place.text == f"title: ['{before}', 1 2}}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("x:\n  -\t[1, 2]\n", "put a space there"),
        ("x:\n\t- 1\n", "indent with spaces"),
        ("title: a: b\n", "put a text with a colon in quotes; after the colon of a key there is a space"),
        ("attn\n  w_q: 1\n", "a colon may be missing on the line before; keys that belong together begin in the same column"),
        ("a: 1\n b: 2\n", "a colon may be missing on the line before; keys that belong together begin in the same column"),
        ("x: [1, 0], [0, 1]\n", "a matrix has brackets around its rows: [[1, 0], [0, 1]]"),
        ("x: [1, 0]\n   [0, 1]\n", "a matrix has brackets around its rows: [[1, 0], [0, 1]]"),
        ('title: "it\'s \\q"\n', r"in single quotes backslashes stay: 'it''s \q'"),
        ('title: "C:\\Users\n', r"in single quotes backslashes stay: 'C:\Users'"),
        ("notes: @home\n", "put the text in quotes"),
        ("notes: *\n", "put a text that begins with '*' in quotes"),
        ("notes: | x\n", "put a text that begins with '|' in quotes"),
        ("a: \"b\" c\n", "put a text with quotes, brackets or commas in quotes as a whole"),
        ("a:\n - b\nc\n", "a key is followed by a colon and a space"),
    ],
)  # fmt: skip
def test_hints(text: str, hint: str) -> None:
    assert refused(text).faults[0].hint == hint


def test_a_tab_inside_brackets_is_not_blamed() -> None:
    error = refused("a: [\n\t1,\n\t2}\n")
    assert report(error).startswith("a.yaml:3:3: not YAML: ',' or ']' is expected here")


PIECES = [
    "x: ", "[", "]", "{", "}", ", ", ": ", "\n", "  ", "- ", "\t", "'", '"', "\\", "\\n", "#", "&a ", "*a", "!t ", "|\n", ">", "?",
    "%YAML 2\n", "---\n", "...\n", "1", "a", "，", "：", "−", "“", "”", "\u00a0", "\u200b", "\u2028", "\x85", "😀", "［", "@", "`", "\x00", "½",
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=600)
@given(parts=st.lists(st.sampled_from(PIECES), max_size=14), name=st.sampled_from(["a.yaml", "a"]))
def test_no_text_makes_a_library_speak(parts: list[str], name: str) -> None:
    text = "".join(parts)
    said = told(text, name)
    assert in_library_words(re.sub(r"\n  .*", "", said)) == []
    lines = text.lstrip("\ufeff").split("\n")
    found = re.match(r"a(?:\.yaml)?:([0-9]+):([0-9]+): ", said)
    if said:
        assert found is not None
        assert 1 <= int(found[1]) <= len(lines)
        assert 1 <= int(found[2]) <= len(lines[int(found[1]) - 1]) + 1
