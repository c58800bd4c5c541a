"""Several formats at once into a folder: what is written, and what is left if something fails."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.cli import output
from blockcalc.errors import Fault, UsageError, WriteError
from blockcalc.views import FORMATS, choose_formats
from tests.blocks import ATTENTION, SQUARE
from tests.helpers import FEW_SAMPLES, STACK, THREE, TINY, cli, text


def error(*args: str, code: int = 3, **keys: Any) -> str:
    done = cli(*args, **keys)
    assert done.returncode == code
    assert done.stdout == b""
    return done.stderr.decode()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_each_format_has_a_file_named_after_the_input(tmp_path: Path) -> None:
    done = cli("export", THREE, "--latex", "--json", "--npz", "-o", "out/", cwd=tmp_path)
    said = "".join(f"wrote out/three_features.{end}\n" for end in ("tex", "json", "npz"))
    assert (done.returncode, done.stdout, done.stderr.decode()) == (0, b"", said)
    for end in ("tex", "json"):
        own = (tmp_path / "out" / f"three_features.{end}").read_text(encoding="utf-8")
        assert own == text(cli("export", THREE, "--latex" if end == "tex" else "--json"))


def test_formats_with_one_ending_have_files_of_their_own(tmp_path: Path) -> None:
    done = cli("export", THREE, "--latex", "--beamer", "-o", "out/", cwd=tmp_path)
    assert done.returncode == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"three_features.tex", "three_features.beamer.tex"}
    assert b"{beamer}" in (tmp_path / "out" / "three_features.beamer.tex").read_bytes()


def test_a_folder_that_is_there_needs_no_slash(tmp_path: Path) -> None:
    text(cli("export", "--json", "-o", ".", cwd=tmp_path))
    assert names(tmp_path) == {"tiny.json"}
    text(cli("cost", "--preset", "gpt2", "--json", "--latex", "-o", ".", cwd=tmp_path))
    text(cli("shapes", "--d-model", "8", "--json", "-o", ".", cwd=tmp_path))
    data = json.dumps({"x": SQUARE, "attn": ATTENTION}).encode()
    text(cli("export", "-", "--latex", "-o", ".", cwd=tmp_path, stdin=data))
    made = {"tiny.json", "gpt2.json", "gpt2.tex", "block.json", "block.tex"}
    assert names(tmp_path) == made


def test_a_check_goes_into_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"attn.q": [[1, 0], [0, 1], [1, 1]]}))
    text(cli("check", TINY, "a.json", "--json", "--latex", "--csv", "-o", "r/", cwd=tmp_path))
    assert names(tmp_path / "r") == {"check.json", "check.tex", "check.csv"}


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("path", FEW_SAMPLES, ids=lambda p: p.stem)
def test_every_matrix_is_a_file_of_its_own(path: Path, tmp_path: Path) -> None:
    text(cli("export", str(path), "--csv", "-o", f"{tmp_path}/"))
    trace = blockcalc.run(blockcalc.load(path))
    assert names(tmp_path) == {f"{name}.csv" for name in trace.arrays}
    for name, value in trace.arrays.items():
        head, *rows = read(tmp_path / f"{name}.csv")
        before = max(value.ndim - 1, 1)
        assert tuple(head[:before]) == trace.program.refs()[name].axes[:before]
        numbers = np.array([[float(x) for x in row[before:]] for row in rows])
        np.testing.assert_array_equal(numbers.reshape(value.shape), value)
        assert len(rows) == math.prod(value.shape[:-1] if value.ndim > 1 else value.shape)


def test_a_matrix_is_given_again(tmp_path: Path) -> None:
    text(cli("export", TINY, "--csv", "-o", f"{tmp_path}/"))
    given = {"file": str(tmp_path / "attn.z.csv"), "header": True, "index": True}
    spec = blockcalc.load({"x": given, "attn": {"out": [[0, 0]] * 3}, "stop": "residual1"})
    z = blockcalc.run(blockcalc.load(TINY))["attn.z"]
    np.testing.assert_array_equal(blockcalc.run(spec)["x"], z)


def test_a_matrix_is_checked(tmp_path: Path) -> None:
    text(cli("export", THREE, "--grad", "--csv", "-o", f"{tmp_path}/"))
    for name in ("attn.scores", "attn.z", "norm1.mean", "norm2", "grad.ffn.w_1", "grad.attn.k"):
        said = text(cli("check", THREE, str(tmp_path / f"{name}.csv")))
        assert "The step is right." in said, name


def test_tokens_with_one_label_keep_their_columns(tmp_path: Path) -> None:
    data = {"tokens": ["a", "a", 'b,"'], "x": np.eye(3, 2).tolist(), "attn": ATTENTION}
    stdin = json.dumps(data).encode()
    text(cli("export", "-", "--csv", "--steps", "attn.scores", "-o", f"{tmp_path}/", stdin=stdin))
    head, *rows = read(tmp_path / "attn.scores.csv")
    assert head == ["query", "a", "a", 'b,"']
    assert [row[0] for row in rows] == ["a", "a", 'b,"']


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text("mine")
    args = ("export", "--latex", "--json", "-o", ".")
    assert error(*args, cwd=tmp_path).startswith("tiny.json: the file exists")
    assert names(tmp_path) == {"tiny.json"}
    assert (tmp_path / "tiny.json").read_text() == "mine"
    text(cli(*args, "--force", cwd=tmp_path))
    assert json.loads((tmp_path / "tiny.json").read_text())["format"] == "blockcalc"
    assert names(tmp_path) == {"tiny.json", "tiny.tex"}


@pytest.mark.parametrize("args", [("--steps", "nosuch"), ("--set", "attn.scale=x")])
def test_what_is_refused_makes_no_folder(args: tuple[str, ...], tmp_path: Path) -> None:
    error("export", TINY, *args, "--latex", "--csv", "-o", "new/", code=2, cwd=tmp_path)
    error("export", "--latex", "--csv", "-o", "new.tex", code=2, cwd=tmp_path)
    error("export", "-o", "new/", code=2, cwd=tmp_path)
    assert names(tmp_path) == set()


def failing(monkeypatch: pytest.MonkeyPatch, after: int, fault: BaseException) -> None:
    """Let writing fail after some files."""
    written: list[str] = []
    write = output.write_file

    def fails(target: str, content: bytes, force: bool = False) -> None:
        if len(written) == after:
            raise fault
        written.append(target)
        write(target, content, force)

    monkeypatch.setattr(output, "write_file", fails)


def test_a_half_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, 2, WriteError(Fault("the disk is full")))
    said = error("export", "--latex", "--json", "--npz", "-o", "new/deep/", cwd=tmp_path)
    assert said == "the disk is full\n"
    assert names(tmp_path) == set()


def test_an_interruption_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, 5, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        output.write_folder(str(tmp_path / "a"), {f"{i}": b"" for i in range(9)})
    assert names(tmp_path) == set()


def test_what_was_overwritten_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.tex").write_text("mine")
    failing(monkeypatch, 2, WriteError(Fault("the disk is full")))
    args = ("export", "--latex", "--json", "--npz", "-o", ".", "--force")
    said = error(*args, cwd=tmp_path)
    assert said == "the disk is full\n  these are written already: tiny.tex\n"
    assert names(tmp_path) == {"tiny.tex"}


def test_many_files_are_one_note(tmp_path: Path) -> None:
    done = cli("export", STACK, "--csv", "-o", "a\x1b/", cwd=tmp_path)
    n = len(names(tmp_path / "a\x1b"))
    assert done.stderr.decode() == f"wrote {n} files into a\\x1b/\n"


@pytest.mark.parametrize("target", ["/dev/null/a/", "tiny.json/"])
def test_a_folder_that_cannot_be_made_is_one_line(target: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text("mine")
    said = error("export", "--latex", "--json", "-o", target, cwd=tmp_path)
    assert len(said.splitlines()) == 1
    assert names(tmp_path) == {"tiny.json"}


ENDINGS = sorted({form.ending for form in FORMATS.values()})


@pytest.mark.parametrize("ending", [*ENDINGS, ".JSON", ".xlsx", ".html"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_and_the_ending_of_another_contradict_each_other(name: str, ending: str) -> None:
    asked = {form: form == name for form in FORMATS}
    if ending.lower() == FORMATS[name].ending:
        assert choose_formats(asked, f"a{ending}") == [FORMATS[name]]
        return
    with pytest.raises(UsageError) as raised:
        choose_formats(asked, f"a{ending}")
    said = f"--{name} does not write files that end in {ending}; choose a name that ends in "
    assert raised.value.faults[0].message.startswith(said + FORMATS[name].ending)


@pytest.mark.parametrize("output", ["a.txt", "a", "a.markdown", "-", None, "a.json/", "v1.5"])
def test_any_other_ending_is_free(output: str | None) -> None:
    assert choose_formats({"markdown": True}, output) == [FORMATS["markdown"]]


@pytest.mark.parametrize(
    ("args", "own"),
    [
        (("check", "a.json", "--csv"), ".csv"),
        (("check", "a.json", "--latex"), ".tex"),
        (("export", "--markdown"), ".md"),
        (("cost", "--latex"), ".tex"),
        (("check", "--blank"), ".yaml"),
    ],
)
def test_a_contradiction_writes_nothing(args: tuple[str, ...], own: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"attn.q": [[1, 0], [0, 1], [1, 1]]}')
    command, *rest = args
    said = error(command, TINY, *rest, "-o", "x.json", code=2, cwd=tmp_path)
    assert f"choose a name that ends in {own}" in said
    assert not (tmp_path / "x.json").exists()
