"""Show what takes long: one line on standard error, after a second, only in a terminal.

The line is not written by Rich, which hides the cursor: Ctrl-C ends the process at once and would
leave it hidden.
"""

from __future__ import annotations

import os
import stat
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
    """Show a text with the elapsed seconds while the body takes long; remove it at the end."""
    line = Progress(text)
    line.start()
    try:
        yield line
    finally:
        line.stop()


def seen_at_once() -> bool:
    """Tell whether output may be seen while it is written: in a terminal, or through a pipe.

    A line on standard error would then appear in the middle of it.
    """
    with suppress(OSError, ValueError, AttributeError):
        out = sys.stdout
        return out.isatty() or stat.S_ISFIFO(os.fstat(out.fileno()).st_mode)
    return False


class Progress:
    """A line on standard error; ``text`` may change while it is shown."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.begun = time.monotonic()
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread that shows the line, if standard error is a terminal."""
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
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some terminals give 0
    return 80


def counted(parts: Iterable[bytes], shown: Progress) -> Iterator[bytes]:
    """Pass on the parts of a content, and show how many bytes have been written."""
    done = 0
    for part in parts:
        yield part
        done += len(part)
        shown.text = (
            say("progress.writing.bytes", n=done // MILLION) if done >= MILLION else shown.text
        )
