"""A sample by its name: ``@tiny`` in place of a file, in every command and in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import blockcalc
from blockcalc.docs.samples import file_of, files, folder, names
from tests.helpers import TINY, cli, text


def test_a_marked_name_is_the_file_of_the_sample() -> None:
    assert [file_of(name) for name in names()] == [str(path) for path in files()]
    assert file_of("@tiny.yaml") == file_of("@tiny") == TINY
    assert file_of("tiny") == "tiny"
    assert file_of("./@tiny") == "./@tiny"


@pytest.mark.parametrize(("word", "hint"), [("@tinny", "'tiny'"), ("@", "tiny, bert_style"), ("@../tiny", "tiny")])  # fmt: skip
def test_an_unknown_name_is_refused_with_the_nearest(word: str, hint: str) -> None:
    with pytest.raises(blockcalc.UsageError, match="no sample") as caught:
        file_of(word)
    assert hint in str(caught.value)


def test_python_takes_the_name_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert blockcalc.load("@two_heads").title == blockcalc.sample("two_heads").title
    monkeypatch.chdir(tmp_path)
    (tmp_path / "@tiny").write_text("x: [[1]]\nattn: {out: [[1]]}\n")
    assert blockcalc.load("./@tiny").shapes["x"] == (1, 1)
    assert blockcalc.load(Path("@tiny")).shapes["x"] == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "grad", "cost", "shapes", "check", "compare"])
def test_every_command_takes_the_name(command: str) -> None:
    assert text(cli(command, "@tiny")) == text(cli(command, TINY))


@pytest.mark.slow
def test_names_and_files_side_by_side() -> None:
    other = str(folder() / "three_features.yaml")
    assert text(cli("compare", "@tiny", "@three_features")) == text(cli("compare", TINY, other))
    wrong = cli("compare", TINY, "@tinny")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert b"did you mean 'tiny'?" in wrong.stderr
    bare = cli("@tiny")
    assert bare.returncode == 2
    assert b"blockcalc run @tiny" in bare.stderr
