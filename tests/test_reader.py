"""The corners of reading: files, what the command line sets, and the last resorts of messages."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checker import MAX_FAULTS, Checker
from blockcalc.decimals import Rounding
from blockcalc.errors import UsageError
from blockcalc.explain import explain
from blockcalc.reader import parse_eps, parse_round, parse_sets, read_file
from blockcalc.source import decode, read_text
from blockcalc.text import MAX_BYTES, Source
from blockcalc.views.report import report
from blockcalc.weights import tensors
from blockcalc.yaml_text import read_yaml

X = [[1, 0], [0, 1]]
OUT = {"x": X, "attn": {"out": X}}


def refused(call: Any) -> str:
    with pytest.raises(blockcalc.BlockcalcError) as error:
        call()
    return report(error.value)


def read(text: str, name: str = "a.yaml") -> str:
    """Give the refusal of a text, checked as a file would be."""
    from blockcalc.reader import check

    return refused(lambda: check(Checker(read_text(text, name))))


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such file" in refused(lambda: read_file(str(tmp_path / "none.yaml")))
    assert "this is a folder" in refused(lambda: read_file(str(tmp_path)))
    assert "no such file" in refused(lambda: read_file("a\0b"))
    (tmp_path / "large.yaml").write_bytes(b" " * (MAX_BYTES + 1))
    said = refused(lambda: read_file(str(tmp_path / "large.yaml")))
    assert "the most" in said
    assert "{file: weights.npz, key: name}" in said
    assert "2:1: this is not utf-8 text" in refused(lambda: decode(b"a\n\xff", "a"))
    assert "this is not utf-16 text" in refused(lambda: decode(b"\xff\xfe\x00\xd8", "a"))
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
    spec = blockcalc.load(OUT, [("norm.kind", "rms"), ("x.0.1", "5"), ("norm1.eps", "0.5")])
    assert spec.arrays["x"].tolist() == [[1, 5], [0, 1]]
    assert spec.order == "post"
    assert blockcalc.load({**OUT, "norm": "pre"}, [("norm.kind", "rms")]).order == "pre"
    assert "there is no such entry" in refused(lambda: blockcalc.load(OUT, [("x.7.0", "1")]))
    assert "there is no such entry" in refused(lambda: blockcalc.load(OUT, [("x.a", "1")]))
    path = tmp_path / "list.yaml"
    path.write_text("[1]\n")
    assert "a file is a mapping" in refused(lambda: blockcalc.load(path, [("x", "1")]))
    shared = {"x": X, "attn": {"out": X}}
    assert blockcalc.load(shared, [("x.0.0", "9")]).arrays["attn.out"].tolist() == X


def test_twenty_faults_are_enough() -> None:
    rows = ", ".join("[a]" for _ in range(30))
    said = read(f"x: [{rows}]\nattn: {{out: [[1]]}}\n")
    assert said.count("a number is wanted") == MAX_FAULTS


def test_last_resorts() -> None:
    assert "a number is wanted; this is the text '1" in read("x: [[1" + "0" * 250 + "/0." + "0" * 250 + "1]]\nattn: {}\n")  # fmt: skip
    assert "tokens.0: this text holds half" in refused(
        lambda: blockcalc.load({**OUT, "tokens": ["\ud800", "b"]})
    )
    assert blockcalc.load({**OUT, "tokens": [7, 8]}).tokens == (("7", "8"),)
    assert "attn.rope" not in refused(lambda: blockcalc.load({"x": X, "attn": {"rope": {}}}))
    source = Source("a", "", {"x": 1})
    assert str(source.place("x.1")) == "x.1"
    assert Source("a", "text").place("x").file == "a"
    checker = Checker(read_text("x: [[0,5, 1]]\n", "a"))
    checker.arrays["x"], checker.paths["x"] = np.ones((1, 3)), ("x",)
    assert checker.has_commas("x")
    checker.fault("x", "wrong")
    assert checker.faults[0].hint == "decimals use a point: 0.5, not 0,5"
    label = Checker(Source("<dict>", "", {})).typed(("tokens", 0), "7")
    assert label == "7"
    assert Checker(read_text("tokens: [007]\n", "a")).typed(("tokens", 0), "7") == "007"
    said = refused(lambda: blockcalc.load(OUT, [("x.0.0", "a")]))
    assert said.startswith("--set x.0.0=a: a number is wanted")
    keep = {"p": 0.5, "training": True, "seed": 1, "keep": {"attn.out": [[1, "a"], [0, 1]]}}
    assert "a number is wanted" in refused(lambda: blockcalc.load({**OUT, "dropout": keep}))
    short = {**OUT, "ffn": {"b_1": [1]}, "stop": "residual1"}
    assert list(blockcalc.run(blockcalc.load(short))) == ["residual1"]
    assert blockcalc.load({**OUT, "round": {"decimals": 2}}).rounding == Rounding("decimals", 2)
    assert "at most" not in refused(lambda: blockcalc.load({**OUT, "round": {"decimals": "a"}}))
    folder = Source("some/where/a.yaml", "").folder(("x",))
    assert folder == Path("some/where")


def test_a_whole_number_that_float64_cannot_hold_is_noted() -> None:
    big = 2**53 + 1
    for rows in ([[big, 0], [0, 1]], [[0, -big], [0.5, 1]]):
        spec = blockcalc.load({"x": rows, "attn": {"out": X}})
        head: Any = next(explain(spec, blockcalc.run(spec)))
        assert any("9007199254740993 in the file" in hint for hint in head.hints)
    for fine in ([[2**53, 0], [0, 1]], [[2.0**60, 0], [0, 1]], [[2**60, 0], [0, 1]]):
        assert blockcalc.load({"x": fine, "attn": {"out": X}}).inexact == ()


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
    monkeypatch.setattr("blockcalc.weights.MAX_BYTES", 2)
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
    monkeypatch.setattr("blockcalc.yaml_text.MAX_VALUES", 5)
    assert "1:14: more than 5 values" in refused(
        lambda: read_yaml(Source("a", "[1, 2, 3, a, b, c]"))
    )
    monkeypatch.setattr("blockcalc.yaml_text.MAX_NODES", 4)
    said = refused(lambda: read_yaml(Source("a", "[[1, 2, 3], a, b, c, d]")))
    assert "more than 4 entries" in said
    assert "npz or safetensors" in said
    assert "more than 4 entries" in refused(lambda: read_yaml(Source("a", "x: [[1], [2], [3]]")))
    monkeypatch.undo()
    assert read_yaml(Source("a", "a: &v [1, 2]\nb: *v\nc: ~\n")) == {
        "a": [1, 2],
        "b": [1, 2],
        "c": None,
    }
