"""Options as they are typed, given twice or with their values attached; and how a command ends."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import typer

from blockcalc.shell import argv
from blockcalc.shell.argv import verdict
from tests.helpers import TINY, cli


@pytest.mark.slow
def test_attached_short_values_count_as_given_twice() -> None:
    done = cli("export", TINY, "--json", "-oza.json", "-o", "zb.json")
    assert done.returncode == 2
    assert b"given twice" in done.stderr
    assert cli("run", TINY, "--eps", "0.1", "--set", "norm1.eps=3").returncode == 2
    assert cli("run", TINY, "--round", "3", "--set", "round={decimals: 4}").returncode == 2


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_verdict_holds_where_the_reader_of_a_pipe_goes_away(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []
    monkeypatch.setattr(argv, "quiet", lambda: closed.append(1))
    for gone in (False, True):
        ends = pytest.raises(typer.Exit) if code else nullcontext()
        with ends as end, verdict(code):
            if gone:
                raise BrokenPipeError
        assert end is None or end.value.exit_code == code
    assert len(closed) == 1
