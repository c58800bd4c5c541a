"""Say on standard error what takes long: one line, after a second, in a terminal alone.

The line is written here and not by Rich, which hides the cursor: Ctrl-C ends the process at once
and would leave it hidden.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from blockcalc.messages import say

AFTER = 1.0  # seconds from the first long work of the process
EVERY = 0.2
BEGUN = time.monotonic()
MILLION = 1_000_000


@contextmanager
def progress(text: str) -> Iterator[Progress]:
    """Work inside; if it takes long, show the text with the seconds, and remove it at the end."""
    own = Progress(text)
    own.start()
    try:
        yield own
    finally:
        own.stop()


class Progress:
    """A line on standard error; ``text`` may change while it is shown."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.begun = time.monotonic()
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to wait, if there is a terminal to write to."""
        error = sys.stderr
        if error is not None and error.isatty() and os.environ.get("TERM") != "dumb":
            self.thread = threading.Thread(target=self._show, daemon=True)
            self.thread.start()

    def stop(self) -> None:
        """Remove the line."""
        self.ended.set()
        if self.thread is not None:
            self.thread.join()

    def _show(self) -> None:
        with suppress(OSError, ValueError):
            if self.ended.wait(max(0.0, BEGUN + AFTER - time.monotonic())):
                return
            while True:
                sys.stderr.write(f"\r{self._line()}\x1b[K")
                sys.stderr.flush()
                if self.ended.wait(EVERY):
                    break
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _line(self) -> str:
        from blockcalc.notation.signs import clean, plain_signs

        seconds = int(time.monotonic() - self.begun)
        text = say("progress.line", text=clean(self.text), seconds=seconds)
        return plain_signs(text, sys.stderr.encoding or "utf-8")[: _width() - 1]


def _width() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some say 0
    return 80


def counted(parts: Iterable[bytes], shown: Progress) -> Iterator[bytes]:
    """Hand on the parts of a content, and say how many bytes have been written."""
    done = 0
    for part in parts:
        yield part
        done += len(part)
        shown.text = (
            say("progress.writing.bytes", n=done // MILLION) if done >= MILLION else shown.text
        )
