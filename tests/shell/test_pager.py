"""The pager: what is longer than the screen goes through it, and only on a terminal."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blockcalc.shell.pager import Pager, pager_for
from tests.helpers import TINY

MARK = f"{sys.executable} -c \"import sys; print('PAGED', len(sys.stdin.readlines()))\""


class Terminal(io.StringIO):
    encoding = "utf-8"


def test_what_fits_the_screen_goes_to_it() -> None:
    out = Terminal()
    pager = Pager(out, "false", 10)
    pager.write("one\n" * 9)
    assert out.getvalue() == ""
    pager.close()
    pager.close()
    assert out.getvalue() == "one\n" * 9


def test_what_is_longer_goes_to_the_pager(tmp_path: Path) -> None:
    got = tmp_path / "got"
    out = Terminal()
    copy = f"open({str(got)!r}, 'w').write(sys.stdin.read())"
    pager = Pager(out, f'{sys.executable} -c "import sys; {copy}"', 10)
    for n in range(30):
        pager.write(f"{n} Σ\n")
    pager.close()
    assert got.read_text(encoding="utf-8").split("\n")[29] == "29 Σ"
    assert out.getvalue() == ""


def test_a_pager_that_is_not_there_is_left_out() -> None:
    out = Terminal()
    pager = Pager(out, "no-such-pager", 3)
    pager.write("one\n" * 5)
    pager.write("two\n")
    pager.close()
    assert out.getvalue() == "one\n" * 5 + "two\n"


def test_a_pager_that_is_left_ends_the_output() -> None:
    pager = Pager(Terminal(), "true", 2)
    with pytest.raises(BrokenPipeError):
        pager.write("one\n" * 1_000_000)
    pager.close()


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({"PAGER": ""}, None),
        ({"PAGER": "cat"}, None),
        ({"TERM": "dumb"}, None),
        ({"PAGER": "more -s"}, "more -s"),
        ({}, "less"),
    ],
)
def test_which_pager(environ: Any, command: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAGER", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert pager_for(Terminal()) is None  # no terminal
    monkeypatch.setattr(Terminal, "isatty", lambda self: True)
    monkeypatch.setattr(Terminal, "fileno", lambda self: 1)
    monkeypatch.setattr(os, "get_terminal_size", lambda fd: os.terminal_size((80, 24)))
    found = pager_for(Terminal())
    assert (found and found.command) == command


def on_a_terminal(*args: str, **environ: str) -> str:
    """Run the program on a pseudo-terminal of 24 lines, and give what it prints."""
    master, slave = pty.openpty()
    env = {**os.environ, "PYTHONIOENCODING": "utf-8", "TERM": "xterm", "NO_COLOR": "1", **environ}
    env.pop("COLUMNS", None)
    command = [sys.executable, "-c", SIZED, "-m", *args]
    with subprocess.Popen(command, stdout=slave, stdin=slave, env=env) as process:
        os.close(slave)
        got = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            if not more:
                break
            got += more
        assert process.wait() == 0
    os.close(master)
    return got.decode().replace("\r\n", "\n")


SIZED = """
import fcntl, runpy, struct, sys, termios
fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
sys.argv = ["blockcalc", *sys.argv[2:]]
runpy.run_module("blockcalc", run_name="__main__")
"""


@pytest.mark.slow
def test_a_terminal_has_a_pager() -> None:
    assert on_a_terminal("run", TINY, PAGER=MARK).startswith("PAGED")
    assert "PAGED" not in on_a_terminal("run", TINY, "--steps", "attn.q", PAGER=MARK)
    assert "attn.q" in on_a_terminal("run", TINY, "--steps", "attn.q", PAGER=MARK)
    whole = on_a_terminal("run", TINY, "--no-pager", PAGER=MARK)
    assert "PAGED" not in whole
    assert len(whole.splitlines()) > 100
    assert on_a_terminal("grad", TINY, PAGER=MARK).startswith("PAGED")
    assert on_a_terminal("run", TINY, PAGER="true") == ""  # left at once


@pytest.mark.parametrize(
    ("encoding", "own", "said"),
    [("utf-8", None, "utf-8"), ("UTF8", None, "utf-8"), ("utf-8", "latin1", "latin1"), ("ascii", None, "None")],
)  # fmt: skip
def test_less_is_told_the_encoding(
    encoding: str, own: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the C locale Python writes UTF-8, of which less would show the bytes."""
    monkeypatch.delenv("LESSCHARSET", raising=False)
    if own:
        monkeypatch.setenv("LESSCHARSET", own)
    got = tmp_path / "got"
    write = f"open({str(got)!r}, 'w').write(str(os.environ.get('LESSCHARSET')))"
    out = Terminal()
    out.encoding = encoding
    pager = Pager(out, f'{sys.executable} -c "import os, sys; sys.stdin.read(); {write}"', 2)
    pager.write("one\n" * 9)
    pager.close()
    assert got.read_text() == said
