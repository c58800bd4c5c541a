"""The corners of reading: files, what the command line sets, and the last resorts of messages."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import UsageError
from blockcalc.explain.steps import explain
from blockcalc.files.decode import decode, read_text
from blockcalc.files.source import Source
from blockcalc.files.tensors import tensors
from blockcalc.files.yaml_text import read_yaml
from blockcalc.limits import MAX_BYTES
from blockcalc.program.rounding import Rounding
from blockcalc.reading.checker import MAX_FAULTS, Checker
from blockcalc.reading.load import read_file
from blockcalc.reading.overrides import parse_eps, parse_round, parse_sets
from tests.blocks import GIVEN, SQUARE
from tests.helpers import refused


def read(text: str, name: str = "a.yaml") -> str:
    """Give the refusal of a text, checked as a file would be."""
    from blockcalc.reading.load import check

    return refused(lambda: check(Checker(read_text(text, name))))


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such file" in refused(lambda: read_file(str(tmp_path / "none.yaml")))
    assert "this is a folder" in refused(lambda: read_file(str(tmp_path)))
    assert "no such file" in refused(lambda: read_file("a\0b"))
    (tmp_path / "large.yaml").write_bytes(b" " * (MAX_BYTES + 1))
    said = refused(lambda: read_file(str(tmp_path / "large.yaml")))
    assert "that may be read" in said
    assert "{file: weights.npz, key: name}" in said
    assert "2:1: this is not UTF-8 text" in refused(lambda: decode(b"a\n\xff", "a"))
    assert "1:1: this is not UTF-16 text" in refused(lambda: decode(b"\xff\xfe\x00\xd8", "a"))
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refused(lambda: read_file("-"))

    class Stdin:
        buffer = io.BytesIO(b'{"x": 1}')

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert read_file("-").data == {"x": 1}


def test_json_by_its_content_or_its_name() -> None:
    assert read_text('{"x": 1e5}', "a").data == {"x": 1e5}
    assert read_text("{x: 1}", "a").data == {"x": 1}
    assert "not JSON" in refused(lambda: read_text("{x: 1}", "a.json"))
    assert "not YAML" in refused(lambda: read_text('{"x": [1, 2}', "a"))
    deep = "{" + '"a":{' * 5000
    assert "not YAML" in refused(lambda: read_text(deep, "a")) or "deep" in refused(
        lambda: read_text(deep, "a")
    )


def test_what_the_command_line_sets() -> None:
    none: dict[str, str | None] = {"norm.order": None}
    assert parse_sets(["a.b = 1", "c=[1=2]"], none) == [("a.b", "1"), ("c", "[1=2]")]
    for texts in (["a"], ["=1"], ["a..b=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError):
            parse_sets(texts, none)
    with pytest.raises(UsageError, match="norm is set twice: pre and post"):
        parse_sets(["norm=post"], {"norm.order": "pre"})
    with pytest.raises(UsageError, match="set twice"):
        parse_sets(["norm1.eps=1"], {"eps": "0.5"})
    assert parse_eps("1e-5") == 1e-5
    assert parse_eps("1/4") == 0.25
    assert "--eps -1: eps must not be negative" in refused(lambda: parse_eps("-1"))
    assert "--eps x: a number is wanted" in refused(lambda: parse_eps("x"))
    assert parse_round("3") == Rounding("decimals", 3)
    assert parse_round("4sf") == Rounding("significant", 4)
    for text in ("x", "99", "0sf", "-1", "3 sf"):
        with pytest.raises(UsageError):
            parse_round(text)


def test_places_that_can_be_set(tmp_path: Path) -> None:
    spec = blockcalc.load(GIVEN, [("norm.kind", "rms"), ("x.0.1", "5"), ("norm1.eps", "0.5")])
    assert spec.arrays["x"].tolist() == [[1, 5], [0, 1]]
    assert spec.order == "post"
    assert blockcalc.load({**GIVEN, "norm": "pre"}, [("norm.kind", "rms")]).order == "pre"
    assert "there is no such entry" in refused(lambda: blockcalc.load(GIVEN, [("x.7.0", "1")]))
    assert "there is no such entry" in refused(lambda: blockcalc.load(GIVEN, [("x.a", "1")]))
    path = tmp_path / "list.yaml"
    path.write_text("[1]\n")
    assert "a file is a mapping" in refused(lambda: blockcalc.load(path, [("x", "1")]))
    shared = {"x": SQUARE, "attn": {"out": SQUARE}}
    assert blockcalc.load(shared, [("x.0.0", "9")]).arrays["attn.out"].tolist() == SQUARE


def test_twenty_faults_are_enough() -> None:
    rows = ", ".join("[a]" for _ in range(30))
    said = read(f"x: [{rows}]\nattn: {{out: [[1]]}}\n")
    assert said.count("a number is wanted") == MAX_FAULTS


def test_last_resorts() -> None:
    assert "a number is wanted; this is the text '1" in read("x: [[1" + "0" * 250 + "/0." + "0" * 250 + "1]]\nattn: {}\n")  # fmt: skip
    assert "tokens.0: this text holds half" in refused(
        lambda: blockcalc.load({**GIVEN, "tokens": ["\ud800", "b"]})
    )
    assert blockcalc.load({**GIVEN, "tokens": [7, 8]}).tokens == (("7", "8"),)
    assert "attn.rope" not in refused(lambda: blockcalc.load({"x": SQUARE, "attn": {"rope": {}}}))
    source = Source("a", "", {"x": 1})
    assert str(source.place("x.1")) == "x.1"
    assert Source("a", "text").place("x").file == "a"
    checker = Checker(read_text("x: [[0,5, 1]]\n", "a"))
    checker.arrays["x"], checker.paths["x"] = np.ones((1, 3)), ("x",)
    assert checker.has_commas("x")
    checker.fault("x", "wrong")
    assert checker.faults[0].hint == "decimals use a point: 0.5, not 0,5"
    said = refused(lambda: blockcalc.load(GIVEN, [("x.0.0", "a")]))
    assert said.startswith("--set x.0.0=a: a number is wanted")
    keep = {"p": 0.5, "training": True, "seed": 1, "keep": {"attn.out": [[1, "a"], [0, 1]]}}
    assert "a number is wanted" in refused(lambda: blockcalc.load({**GIVEN, "dropout": keep}))
    short = {**GIVEN, "ffn": {"b_1": [1]}, "stop": "residual1"}
    assert list(blockcalc.run(blockcalc.load(short))) == ["residual1"]
    assert blockcalc.load({**GIVEN, "round": {"decimals": 2}}).rounding == Rounding("decimals", 2)
    assert "at most" not in refused(lambda: blockcalc.load({**GIVEN, "round": {"decimals": "a"}}))
    folder = Source("some/where/a.yaml", "").folder(("x",))
    assert folder == Path("some/where")


def test_a_whole_number_that_float64_cannot_hold_is_noted() -> None:
    big = 2**53 + 1
    for rows in ([[big, 0], [0, 1]], [[0, -big], [0.5, 1]]):
        spec = blockcalc.load({"x": rows, "attn": {"out": SQUARE}})
        head: Any = next(explain(spec, blockcalc.run(spec)))
        assert any("9007199254740993 in the file" in hint for hint in head.hints)
    for fine in ([[2**53, 0], [0, 1]], [[2.0**60, 0], [0, 1]], [[2**60, 0], [0, 1]]):
        assert blockcalc.load({"x": fine, "attn": {"out": SQUARE}}).remarks == ()


def test_sizes_that_have_no_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.arange(4.0))
    np.savez(tmp_path / "w.npz", v=np.arange(4.0))
    with (tmp_path / "old.npy").open("wb") as stream:
        np.lib.format.write_array(stream, np.ones((2, 2)), version=(2, 0))
    path = tmp_path / "a.yaml"
    body = "x: [[1, 0], [0, 1]]\nattn: {out: [[1, 0], [0, 1]]}\nnorm1: {gamma: {file: v.npy, %s}}\n"
    path.write_text(body % "rows: '1:3'")
    assert blockcalc.load(path).arrays["norm1.gamma"].tolist() == [1, 2]
    path.write_text(body % "cols: '1:3'")
    assert "a range of rows or columns is wanted" in refused(lambda: blockcalc.load(path))
    assert tensors(tmp_path / "old.npy")[0].shape == (2, 2)
    assert "this is a folder" in refused(lambda: tensors(_folder(tmp_path / "f.npz")))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_troubles_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2)))
    for error, said in ((PermissionError(13, "Permission denied"), "cannot be read: Permission denied"),
                        (MemoryError(), "too large for the memory")):  # fmt: skip

        def fail(*_: Any, error: BaseException = error, **__: Any) -> Any:
            raise error

        monkeypatch.setattr(Path, "open", fail)
        assert said in refused(lambda: tensors(tmp_path / "v.npy"))


def test_a_csv_beyond_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    monkeypatch.setattr("blockcalc.files.sheets.MAX_SHEET", 2)
    assert "npz or safetensors" in refused(lambda: tensors(tmp_path / "a.csv"))


def test_entries_of_an_archive_that_are_no_arrays(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert tensors(tmp_path / "a.npz") == []


def test_corners_of_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[" * 62 + "\n  [1, 2]\n  " + "]" * 62
    assert read_yaml(Source("a", "x: " + text))["x"]
    text = "[" * 63 + "\n  [1, 2]\n  " + "]" * 63
    assert "2:3: lists and mappings lie more than 64 deep" in refused(
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


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ('{"a": 1,\n "b": [1,\n   NaN]}', "a.json", "a.json:3:4: a finite number"),
        ('{"a": 1,\n  "a": 2}', "a.json", "a.json:2:3: 'a' is given twice, first on line 1"),
        ('{"a": {"b": 1,\n\n "b": 2}}', "a.json", "a.json:3:2: 'b' is given twice, first on line 1"),
        ('{"a": 1,\n "b" 2}', "a.json", "a.json:2:6: not JSON: a colon is wanted here, after the key"),
        ("", "a.json", "a.json:1:1: the file is empty"),
        (" \n ", "a.json", "a.json:1:1: the file is empty"),
        ("", "a.yaml", "a.yaml:1:1: the file is empty"),
        ("a: 1\nb: \x01\n", "a.yaml", "a.yaml:2:4: the character U+0001 may not stand"),
        ("\x00", "a.yaml", "a.yaml:1:1: the character U+0000 may not stand"),
        ("a: 1\n\tb: 2\n", "a.yaml", "a.yaml:2:1: YAML does not allow tabs"),
        ("a: 1\nb: [1, 2\n", "a.yaml", "a.yaml:3:1: not YAML: ',' or ']' is wanted here, for the '[' on line 2, column 4"),
        ('a: "x\n', "a.yaml", "a.yaml:1:4: not YAML: the quote that opens here is not closed"),
        ("a: 1\nb: !t [1]\n", "a.yaml", "a.yaml:2:4: the tag !t is not read"),
        ("a: ! [1]\n", "a.yaml", "a.yaml:1:4: the tag ! is not read"),
        ("a: 1\n---\nb: 2\n", "a.yaml", "a.yaml:2:1: a second document"),
        ("a: 1\nb: {c: *d}\n", "a.yaml", "a.yaml:2:8: nothing is named &d"),
        ("a: 1\nb: &c {d: *c}\n", "a.yaml", "a.yaml:2:11: the alias *c stands inside"),
        ("a: 1\n? [b]\n: 2\n", "a.yaml", "a.yaml:2:3: a key must be a plain word"),
        ("a: 1\nb: 2\na: 3\n", "a.yaml", "a.yaml:3:1: 'a' is given twice, first on line 1"),
        ("a: 1\nb:\n  <<: [1]\n", "a.yaml", "a.yaml:3:3: << takes a mapping"),
    ],
)  # fmt: skip
def test_places_to_the_column(text: str, name: str, place: str) -> None:
    assert refused(lambda: read_text(text, name)).startswith(place)


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


def test_json_is_held_to_its_count_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockcalc.files.json_text.MAX_VALUES", 4)
    assert read_text('{"a": [1, 2, 3]}', "a.json").data
    assert "more than 4 values" in refused(lambda: read_text('{"a": [1, 2, 3, 4]}', "a.json"))


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


def test_the_bound_on_bytes_is_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockcalc.files.decode.MAX_BYTES", 4)
    assert decode(b"a: 1", "a") == "a: 1"
    assert "the file has more than the 4 bytes" in refused(lambda: decode(b"a: 12", "a"))


@pytest.mark.parametrize(
    ("raw", "place"),
    [(b"\xff", "1:1"), (b"a\nb\n\xff\n", "3:1"), (b"\n\n\n\xff", "4:1"), (b"ab\xff", "1:3")],
)
def test_the_place_of_bytes_that_are_no_text(raw: bytes, place: str) -> None:
    assert refused(lambda: decode(raw, "a")).startswith(f"a:{place}: this is not UTF-8 text")


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
    from blockcalc.files.yaml_text import plain_scalar

    got = plain_scalar(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x.0.1", "a:1:9"),
        ("x.1", "a:2:5"),
        ("attn.w_q", "a:3:13"),
        ("attn.none", "a:3:7"),
        ("y", "a"),
    ],
)
def test_places_of_values(path: str, said: str) -> None:
    source = read_text("x: [[1, 2],\n    [3, 4]]\nattn: {w_q: [[1]], b: 2}\n", "a")
    assert str(source.place(path)) == said
    assert str(source.place(("attn", "w_q"), key=True)) == "a:3:8"
    as_json = read_text('{"x": [[1, 2],\n    [3, 4]],\n"attn": {"w_q": [[1]], "b": 2}}\n', "a.json")
    assert str(as_json.place("x.1.1")) == "a.json:2:9"
    assert str(as_json.place(("attn", "b"), key=True)) == "a.json:3:24"


def test_words_for_numbers_get_the_hint_that_helps() -> None:
    cases = {
        "'0,5'": "decimals use a point", "−1": "U+2212", "１": "full-width", "'1'": "take the quotes away",
        "'1e999'": "a number that float64 can hold", "1 2": "with commas", "1;2": "with commas",
    }  # fmt: skip
    for text, hint in cases.items():
        assert hint in read(f"x: [[{text}, 1]]\nattn: {{out: [[1, 1]]}}\n"), text
    assert read("x: [[one, 1]]\nattn: {out: [[1, 1]]}\n").count("\n") == 2
