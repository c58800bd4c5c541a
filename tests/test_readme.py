"""README is a test: its commands run, and its output is what they print."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

import blockcalc
from blockcalc.files.samples import folder
from tests.helpers import HERE, cli

README = (HERE.parent / "README.md").read_text(encoding="utf-8")
CONSOLES = re.findall(r"```console\n(.*?)```", README, re.DOTALL)


def test_what_the_consoles_show_is_what_is_printed(tmp_path: Path) -> None:
    shutil.copytree(folder(), tmp_path / "samples")
    assert len(CONSOLES) >= 4
    for console in CONSOLES:
        for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            words = shlex.split(command)
            assert words[0] == "blockcalc"
            done = cli(*words[1:], cwd=tmp_path)
            said = done.stdout if done.returncode == 0 else done.stderr
            assert said.decode() == shown, command


def test_the_python_session_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder().parent)
    session = re.findall(r"```python\n(>>>.*?)```", README, re.DOTALL)
    assert session
    test = doctest.DocTestParser().get_doctest(session[0], {}, "README", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_the_examples_of_the_format_page_are_read() -> None:
    page = (HERE.parent / "blockcalc" / "docs" / "format.md").read_text(encoding="utf-8")
    examples = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    whole = [data for data in examples if "x" in data]
    assert len(whole) >= 2
    two = {"x": [[1, 0], [0, 1]], **{key: whole[0][key] for key in ("attn", "ffn")}}
    for data in examples:
        assert blockcalc.run(blockcalc.load(data if "x" in data else {**two, **data}))["out"].any()


def test_every_room_is_in_the_table() -> None:
    rooms = {p.name for p in (HERE.parent / "blockcalc").iterdir() if p.suffix == ".py"}
    for room in rooms - {"__init__.py", "__main__.py"}:
        assert f"`{room}`" in README, room


def test_readme_and_the_format_page_name_no_place_of_a_machine() -> None:
    for path in (HERE.parent / "README.md", HERE.parent / "blockcalc" / "docs" / "format.md"):
        assert os.path.expanduser("~") not in path.read_text(encoding="utf-8")
