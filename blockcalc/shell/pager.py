"""Show output that is longer than the screen through a pager, as git does."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

DEFAULT = "less"
LESS = "FRX"  # exit if the text fits the screen, show colours, do not clear the screen at the end


class Pager(io.TextIOBase):
    """A file that holds text back until it is longer than the screen, and then starts a pager.

    Parameters
    ----------
    out : text file
        The terminal, for a text that fits the screen, or if the pager cannot be started.
    command : str
        The pager with its options.
    height : int
        The lines of the screen.
    """

    def __init__(self, out: TextIO, command: str, height: int) -> None:
        self.out, self.command, self.height = out, command, height
        self.held: list[str] = []
        self.lines = 0
        self.process: subprocess.Popen[str] | None = None
        self.through = False
        self.before: object = None
        self.begun: Callable[[], None] | None = None  # called before the first text is shown

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Give the encoding of the screen."""
        return self.out.encoding

    def write(self, text: str) -> int:
        """Write a text.

        Raises
        ------
        BrokenPipeError
            The person has left the pager.
        """
        if self.process is None and not self.through:
            self.held.append(text)
            self.lines += text.count("\n")
            if self.lines < self.height:
                return len(text)
            self._start()
            text = "".join(self.held)
        target = self.out if self.process is None else self.process.stdin
        assert target is not None
        target.write(text)
        return len(text)

    def _start(self) -> None:
        """Start the pager; without one, the text goes to the screen."""
        if self.begun is not None:
            self.begun()
        try:
            self.process = subprocess.Popen(
                shlex.split(self.command),
                stdin=subprocess.PIPE,
                text=True,
                encoding=self.out.encoding,
                env={**_settings(self.out.encoding), **os.environ},
            )
        except (OSError, ValueError, IndexError):
            self.through = True
        else:  # Ctrl-C is for the pager
            self.before = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def close(self) -> None:
        """Show the text still held back, and wait until the person leaves the pager."""
        if self.process is None:
            if not self.through:
                self.out.write("".join(self.held))
                self.held, self.through = [], True
            return
        with suppress(BrokenPipeError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        self.process.wait()
        signal.signal(signal.SIGINT, self.before)  # type: ignore[arg-type]


def _settings(encoding: str) -> dict[str, str]:
    """Give the environment variables of pagers; a person's own values override them.

    In the C locale Python writes UTF-8, but less shows it as bytes unless it is told.
    """
    utf8 = (encoding or "").lower().replace("_", "-") in ("utf-8", "utf8")
    return {"LESS": LESS, "LV": "-c", **({"LESSCHARSET": "utf-8"} if utf8 else {})}


def pager_for(out: TextIO) -> Pager | None:
    """Make the pager for a terminal; None if the output is not one, or ``PAGER`` asks for none."""
    command = os.environ.get("PAGER", DEFAULT).strip()
    if command in ("", "cat") or os.environ.get("TERM") == "dumb" or not out.isatty():
        return None
    try:
        height = os.get_terminal_size(out.fileno()).lines
    except (OSError, ValueError):
        return None
    return Pager(out, command, height) if height > 0 else None
