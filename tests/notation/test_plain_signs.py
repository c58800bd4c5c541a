"""Terminals that lack signs: the same words and roots everywhere, nothing lost."""

from __future__ import annotations

import re

import pytest

from tests.helpers import SAMPLES, cli

pytestmark = pytest.mark.slow

COMMANDS = [
    ("run",), ("run", "--detail", "cells"), ("grad",), ("grad", "--numeric", "--steps", "loss"), ("compare",),
    ("cost",), ("cost", "--double", "tokens"), ("shapes",),
]  # fmt: skip
LATIN = [path for path in SAMPLES if path.stem != "sentence_zh"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_is_lost_where_signs_are_missing(command: tuple[str, ...], encoding: str) -> None:
    for path in LATIN[:: 1 if command == ("run",) else 4]:
        done = cli(command[0], str(path), *command[1:], PYTHONIOENCODING=encoding, COLUMNS="100")
        out = done.stdout.decode(encoding)
        assert done.returncode == 0, done.stderr
        assert "?" not in out
        assert "\\u" not in out
        assert not re.search(r"sqrt(?!\(| ->)", out)
        assert not re.search(r"\de[+-]0\d", out)


def test_the_head_writes_roots_as_the_lines_do() -> None:
    out = cli("run", str(SAMPLES[0]), PYTHONIOENCODING="cp1252").stdout.decode("cp1252")
    assert "scores divided by sqrt(d_head) = sqrt(2)" in out
    assert "S_scaled = S / sqrt(d_head)" in out


@pytest.mark.parametrize("command", [("format",), ("samples",), ("--help",), ("run", "--help")])
def test_pages_too(command: tuple[str, ...]) -> None:
    out = cli(*command, PYTHONIOENCODING="cp1252").stdout.decode("cp1252")
    assert "√" not in out
    assert "sqrtd" not in out
