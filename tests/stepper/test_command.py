"""The command: what it asks for, what it refuses, and once in a real terminal of 80 × 24."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from codecs import getincrementaldecoder
from contextlib import suppress
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blockcalc.cli import step as command
from blockcalc.errors import UsageError
from tests.helpers import TINY, cli, process


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


def streams(**others: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"stdin": Screen(), "stdout": Screen(), "stderr": Screen(), **others})


def test_without_a_terminal_it_says_what_to_do() -> None:
    found = cli("step", TINY)
    assert found.returncode == 2
    assert found.stdout == b""
    said = found.stderr.decode()
    assert "step needs a terminal" in said
    assert "blockcalc run" in said


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
@pytest.mark.parametrize("stream", [StringIO(), None])
def test_keys_and_screen_need_a_terminal(
    name: str, stream: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(command, "sys", streams(**{name: stream}))
    with pytest.raises(UsageError, match="needs a terminal"):
        command._require_terminal(None)
    if name == "stdin":  # the file; keys come from the terminal behind it
        command._require_terminal("-")


def test_a_dumb_terminal_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "sys", streams())
    monkeypatch.setenv("TERM", "dumb")
    with pytest.raises(UsageError, match="needs a terminal"):
        command._require_terminal(None)
    monkeypatch.setenv("TERM", "screen")
    command._require_terminal(None)


def test_without_textual_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "textual"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "blockcalc.stepper.app", raising=False)
    monkeypatch.setitem(sys.modules, "textual", None)
    with pytest.raises(UsageError, match=r"needs Textual.*pip install 'blockcalc\[tui\]'"):
        command._lead()


def test_another_missing_module_is_not_blamed_on_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual", reason="the extra tui is not installed")
    monkeypatch.delitem(sys.modules, "blockcalc.stepper.app", raising=False)
    monkeypatch.setitem(sys.modules, "blockcalc.stepper.page", None)
    with pytest.raises(ModuleNotFoundError):
        command._lead()


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--lr", "1"], "need --grad"),
        (["--steps", "x"], "only given matrices"),
        (["--steps", "attn.nothing"], "there is no step"),
        (["--row", "t9"], "t9"),
        (["--cell", "9,9"], "9,9"),
        (["--brief"], "--brief"),
    ],
)
def test_what_is_refused(args: list[str], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_require_terminal", lambda file: None)
    monkeypatch.setattr(command, "_lead", lambda: lambda *_: 0)
    found = cli("step", TINY, *args)
    assert found.returncode == 2
    assert text in found.stderr.decode()


@pytest.mark.parametrize(
    ("args", "name", "position", "total"),
    [
        ([TINY], "attn.q", 0, 24),
        ([], "attn.q", 0, 24),
        (["@tiny", "--norm", "pre"], "norm1.mean", 0, 24),
        ([TINY, "--steps", "attn.scores,norm1.*"], "attn.scores", 0, 6),
        ([TINY, "--grad"], "loss.difference", 24, None),
        ([TINY, "--grad", "--loss", "sum", "--chain", "--lr", "0.1"], "loss", 24, None),
        (["-"], "attn.q", 0, 24),
    ],
)
def test_where_it_begins(
    args: list[str],
    name: str,
    position: int,
    total: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    got: list[Any] = []
    monkeypatch.setattr(command, "_require_terminal", lambda file: None)
    monkeypatch.setattr(command, "_keys_from_terminal", lambda: None)

    def lead(*given: Any) -> int:
        got.extend(given)
        return 0

    monkeypatch.setattr(command, "_lead", lambda: lead)
    stdin = Path(TINY).read_bytes() if "-" in args else None
    found = cli("step", *args, "--guess", "--no-color", stdin=stdin)
    assert found.returncode == 0, found.stderr
    session, page, colored = got
    assert session.step.equation.out.name == name
    assert session.position == position
    assert total in (None, len(session.numbers))
    assert session.guessing
    assert not colored
    assert page.name


def test_the_code_of_a_signal_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_require_terminal", lambda file: None)
    monkeypatch.setattr(command, "_lead", lambda: lambda *_: 143)
    assert cli("step", TINY).returncode == 143


def test_a_fault_inside_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(command, "_require_terminal", lambda file: None)
    monkeypatch.setattr(command, "_lead", lambda: broken)
    found = cli("step", TINY)
    assert found.returncode == 70
    assert b"ZeroDivisionError" in found.stderr


def test_no_other_command_imports_it() -> None:
    code = (
        "import sys; from blockcalc.cli.app import main\n"
        "sys.argv = ['blockcalc', 'run', '@tiny', '--brief']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(any(n.startswith(('textual', 'blockcalc.stepper')) for n in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert found.returncode == 0


def test_a_process_without_a_terminal() -> None:
    found = process("step", "-", stdin=b"x: [[1]]", TERM="xterm")
    assert found.returncode == 2
    assert b"needs a terminal" in found.stderr


def test_keys_come_from_the_terminal_behind_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[int, int]] = []
    fake = SimpleNamespace(
        open=lambda name, how: 7, dup2=lambda a, b: done.append((a, b)), O_RDWR=2
    )
    monkeypatch.setattr(command, "os", fake)
    monkeypatch.setattr(command, "sys", streams())
    command._keys_from_terminal()
    assert not done
    monkeypatch.setattr(command, "sys", streams(stdin=StringIO()))
    command._keys_from_terminal()
    assert done == [(7, 0)]

    def none(name: str, how: int) -> int:
        raise OSError

    fake.open = none
    with pytest.raises(UsageError, match="needs a terminal"):
        command._keys_from_terminal()


# a real terminal ------------------------------------------------------------------------

KEYS = {"left": "\x1b[D", "right": "\x1b[C", "up": "\x1b[A", "down": "\x1b[B"}


class Real:
    """A process in a terminal of its own, and the screen that it draws."""

    def __init__(self, *args: str, stdin: str | None = None, **env: str) -> None:
        pexpect = pytest.importorskip("pexpect", reason="pexpect is not installed")
        pyte = pytest.importorskip("pyte", reason="pyte is not installed")
        pytest.importorskip("textual", reason="the extra tui is not installed")
        self.timeout, self.eof = pexpect.TIMEOUT, pexpect.EOF
        kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}  # fmt: skip
        words = [sys.executable, "-m", "blockcalc", "step", *args]
        line = f"exec {shlex.join(words)}" + (f" < {shlex.quote(stdin)}" if stdin else "")
        self.child = pexpect.spawn(
            "/bin/sh",
            ["-c", line],
            dimensions=(24, 80),
            env={**kept, "TERM": "xterm-256color", **env},
            timeout=30,
        )
        self.screen = pyte.Screen(80, 24)
        self.stream = pyte.Stream(self.screen)
        self.decoder = getincrementaldecoder("utf-8")()
        self.raw = b""

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, text: str) -> str:
        """Read until a text is on the screen."""
        for _ in range(300):
            if text in self.text:
                return self.text
            try:
                self.read()
            except self.eof:
                break
        raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")

    def read(self) -> None:
        """Read what is written within a moment."""
        with suppress(self.timeout):
            part = self.child.read_nonblocking(65536, 0.1)
            self.raw += part
            self.stream.feed(self.decoder.decode(part))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.child.send(KEYS.get(key, key))

    def ended(self) -> int:
        """Wait for the end; give the exit code, or the signal below 0."""
        self.raw += self.child.read()
        self.child.close()
        code = self.child.exitstatus
        return int(-self.child.signalstatus if code is None else code)

    def restored(self) -> bool:
        """Tell whether the terminal is as it was: its modes, the cursor, the screen before."""
        shown, hidden = self.raw.rfind(b"\x1b[?25h"), self.raw.rfind(b"\x1b[?25l")
        back, other = self.raw.rfind(b"\x1b[?1049l"), self.raw.rfind(b"\x1b[?1049h")
        return shown > hidden >= 0 and back > other >= 0


def test_once_in_a_real_terminal_of_80_by_24() -> None:
    real = Real("@tiny")
    out = real.until("q leave")
    assert "step 1 of 24" in out
    assert "Q[3,1] = 1×1 + 1×0 = 1" in out
    real.press("right", "right", "right")
    out = real.until("step 4 of 24")
    assert "S = Q Kᵀ" in out
    real.press("down")
    real.until("esc steps")
    real.press("up", "left")
    real.until("S[2,2] = 0×0 + 1×1 = 1")
    real.press(" ")
    real.until("S[2,2] = Q[2,1]×K[2,1] + Q[2,2]×K[2,2] = ?")
    real.press("2", "\r")
    real.until("2 is not right")
    real.press("1", "\r")
    real.until("1 is right.")
    assert "S[2,2] = 0×0 + 1×1 = 1" in real.until("1 of 2 guesses right")
    real.press("g", "/", *"norm2.var")
    real.until("norm2.var")
    real.press("\r")
    real.until("step 22 of 24")
    real.press("?")
    real.until("leave; also Ctrl-C")
    real.press("?")
    real.until("step 22 of 24")
    real.press("q")
    assert real.ended() == 0
    assert real.restored()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["\x03", signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_however_it_is_left_the_terminal_is_restored(how: str | signal.Signals) -> None:
    real = Real("@two_heads")
    real.until("q leave")
    if isinstance(how, str):
        real.press(how)
        assert real.ended() == 0
    else:
        os.kill(real.child.pid, how)
        assert real.ended() == 128 + how
    assert real.restored()


@pytest.mark.slow
def test_after_a_stop_the_screen_is_drawn_anew() -> None:
    real = Real("@tiny")
    real.until("q leave")
    real.press("\x1a")
    while not real.restored():
        real.read()
    _, status = os.waitpid(real.child.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    real.screen.reset()
    os.kill(real.child.pid, signal.SIGCONT)
    real.until("step 1 of 24")
    real.until("q leave")
    real.press("q")
    assert real.ended() == 0
    assert real.restored()


@pytest.mark.slow
def test_a_file_may_be_standard_input_and_keys_come_from_the_terminal() -> None:
    real = Real("-", stdin=TINY)
    real.until("step 1 of 24")
    real.press("n")
    real.until("step 2 of 24")
    real.press("q")
    assert real.ended() == 0
    assert real.restored()


@pytest.mark.slow
def test_ascii_and_no_colour_in_a_real_terminal() -> None:
    real = Real("@sentence_zh", NO_COLOR="1", PYTHONIOENCODING="ascii")
    out = real.until("q leave")
    assert out.isascii()
    real.press("n", "down")
    assert real.until("arrows cell").isascii()
    real.press("q")
    assert real.ended() == 0
    codes = [
        c for part in real.raw.split(b"\x1b[")[1:] for c in part.partition(b"m")[0].split(b";")
    ]
    assert not {b"35", b"36", b"33", b"31"} & set(codes)
