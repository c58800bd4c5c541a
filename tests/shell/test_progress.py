"""What takes long says so: after a while, in a terminal alone, and the line goes again."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from blockcalc.cli.inputs import Screen as Shown
from blockcalc.cli.inputs import waiting
from blockcalc.explain.document import Remark
from blockcalc.shell import progress as module
from blockcalc.shell.pager import Pager
from blockcalc.shell.progress import Progress, counted, progress
from blockcalc.views.terminal import Terminal
from tests.helpers import TINY, process


class Screen(io.StringIO):
    """A terminal that keeps what is written."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    made = Screen()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=made))  # pytest sets that of sys
    monkeypatch.setattr(module, "BEGUN", time.monotonic() - module.AFTER)
    monkeypatch.setattr(module, "EVERY", 0.005)
    monkeypatch.setenv("TERM", "xterm")
    return made


def test_a_line_is_shown_and_removed(screen: Screen) -> None:
    with progress("reading a\x1b[2Jb") as shown:
        time.sleep(0.02)
        shown.text = "writing"
        time.sleep(0.02)
    said = screen.getvalue()
    assert said.startswith("\rreading a\\x1b[2Jb … 0 s\x1b[K")
    assert "\rwriting … 0 s\x1b[K" in said
    assert said.endswith("\r\x1b[K")
    assert "\n" not in said


def test_nothing_is_shown_of_what_is_short(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEGUN", time.monotonic())
    with progress("reading"):
        pass
    assert screen.getvalue() == ""


@pytest.mark.parametrize("where", ["pipe", "dumb", "closed"])
def test_nothing_is_shown_without_a_terminal(
    where: str, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    else:
        other = io.StringIO() if where == "pipe" else None
        monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=other))
    before = threading.active_count()
    with progress("reading"):
        assert threading.active_count() == before
    assert screen.getvalue() == ""


def test_an_error_removes_the_line_too(screen: Screen) -> None:
    def fail() -> None:
        with progress("computing"):
            time.sleep(0.02)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_a_line_is_no_longer_than_the_terminal(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_width", lambda: 20)
    with progress("a" * 100):
        time.sleep(0.02)
    assert screen.getvalue().split("\x1b[K")[0] == "\r" + "a" * 19


def test_bytes_are_counted() -> None:
    shown = Progress("writing")
    parts = counted([b"a" * 1_500_000, b"b" * 1_000_000], shown)
    texts = []
    for part in parts:
        assert part
        texts.append(shown.text)
    assert [*texts, shown.text] == ["writing", "writing, 1 MB", "writing, 2 MB"]


@pytest.mark.parametrize(("name", "shown"), [("a.yaml", True), ("-", False), ("/dev/null", False)])
def test_only_of_a_file_is_said_that_it_is_read(
    name: str, shown: bool, screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").touch()
    with waiting(name):
        time.sleep(0.02)
    assert ("reading a.yaml" in screen.getvalue()) == shown
    assert bool(screen.getvalue()) == shown


BIG = """x: {random: [200, 200], std: 0.5}
attn: {w_q: {random: [200, 200]}, w_k: {random: [200, 200], seed: 1}, w_v: {random: [200, 200], seed: 2}}
ffn: {w_1: {random: [200, 400]}, w_2: {random: [400, 200]}}
"""


def said_by(args: tuple[str, ...], where: Path, out: Path) -> bytes:
    """Give what a command says on a terminal; its output goes to a file."""
    ours, theirs = pty.openpty()
    code = (
        "import sys, blockcalc.shell.progress as p; p.AFTER = 0.1; p.EVERY = 0.02;"
        "sys.argv[0] = 'blockcalc'; from blockcalc.cli.app import main; main()"
    )
    with open(out, "wb") as file:
        started = subprocess.Popen(
            [sys.executable, "-c", code, *args], cwd=where, stdout=file, stderr=theirs,
            env={**os.environ, "TERM": "xterm"},
        )  # fmt: skip
        os.close(theirs)
        said = b""
        while started.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    said += os.read(ours, 4096)
                except OSError:
                    break
    os.close(ours)
    assert started.wait() == 0
    return said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("export", "big.yaml", "--json"), b"writing"),
        (("run", "big.yaml"), b"explaining"),
        (("grad", "big.yaml"), b"explaining"),
        (("compare", "big.yaml"), b"explaining"),
        (("cost", "deep.yaml"), b"explaining"),
        (("shapes", "deep.yaml"), b"explaining"),
    ],
)
def test_what_takes_long_says_so_beside_a_file(
    args: tuple[str, ...], text: bytes, tmp_path: Path
) -> None:
    (tmp_path / "big.yaml").write_text(BIG)
    block = "- {attn: {w_q: {random: [4, 4]}, w_k: {random: [4, 4]}, w_v: {random: [4, 4]}}, ffn: {w_1: {random: [4, 4]}, w_2: {random: [4, 4]}}}\n"  # fmt: skip
    (tmp_path / "deep.yaml").write_text("x: {random: [3, 4]}\nblocks:\n" + block * 200)
    out = tmp_path / "out"
    said = said_by(args, tmp_path, out)
    assert text in said
    assert said.endswith(b"\r\x1b[K")
    done = process(*args, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == out.read_bytes()


@pytest.mark.parametrize("seen", [False, True])
def test_the_line_goes_when_output_is_seen(
    seen: bool, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a screen, and in a pipe, which may lead to a pager: the line would stand in the middle."""
    monkeypatch.setattr(module, "seen_at_once", lambda: seen)
    running = threading.active_count()
    lines: list[int] = []

    def pieces() -> Iterator[Remark]:
        for n in range(3):
            lines.append(threading.active_count() - running)
            yield Remark(str(n))

    out = io.StringIO()
    Shown().show(Terminal(Console(file=out)), pieces())
    assert lines == ([1, 0, 0] if seen else [1, 1, 1])
    assert out.getvalue().split() == ["0", "1", "2"]


def test_output_is_seen_in_a_pipe_and_not_in_a_file(tmp_path: Path) -> None:
    code = "import sys, blockcalc.shell.progress as p; sys.stdout.write(str(p.seen_at_once()))"
    args = [sys.executable, "-c", code]
    assert subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout == b"True"
    with open(tmp_path / "out", "wb") as out:
        subprocess.run(args, stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"False"


def test_the_line_goes_before_the_pager_comes() -> None:
    gone: list[str] = []
    pager = Pager(io.StringIO(), "true", 2)
    pager.begun = lambda: gone.append("line")
    pager.write("one\n")
    assert gone == []
    pager.write("two\n")
    assert gone == ["line"]
    pager.close()


def test_a_quick_command_says_nothing() -> None:
    assert process("run", TINY).stderr == b""
