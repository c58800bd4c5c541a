"""Write to the terminal, a pipe or a file."""

from __future__ import annotations

import os
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blockcalc.errors import Fault, Place, WriteError
from blockcalc.messages import say


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Make Ctrl-C raise an exception, so that partial files are removed before the process ends."""
    before = signal.getsignal(signal.SIGINT)
    ours = callable(before) and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


def write_file(target: str, content: bytes, force: bool = False) -> None:
    """Write a file completely or not at all.

    Raises
    ------
    WriteError
        The file exists and ``force`` is not given, or it cannot be written.
    """
    with _undisturbed():
        _write_whole(target, content, force)


def _write_whole(target: str, content: bytes, force: bool) -> None:
    temporary: str | None = None
    taken = Fault(say("write.exists"), Place(target), say("write.exists.hint"))
    try:
        if not target or target.endswith(("/", os.sep)) or Path(target).is_dir():
            raise WriteError(Fault(say("write.directory"), Place(target)))
        if not force and os.path.lexists(target):
            raise WriteError(taken)
        path = Path(os.path.realpath(target))
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            raise WriteError(Fault(say("write.special"), Place(target)))
        handle, temporary = tempfile.mkstemp(prefix=".blockcalc-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask() if mode is None else stat.S_IMODE(mode))
        if force:
            os.replace(temporary, path)
        else:
            _link(temporary, path)
    except FileExistsError:
        raise WriteError(taken) from None
    except FileNotFoundError:
        raise WriteError(Fault(say("write.folder"), Place(target))) from None
    except (OSError, ValueError) as error:
        message = say("write.failed", problem=getattr(error, "strerror", None) or str(error))
        raise WriteError(Fault(message, Place(target))) from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def _link(temporary: str, path: Path) -> None:
    """Move the file into place unless the name exists, even without support for hard links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(path):
            raise FileExistsError(str(path)) from None
        os.rename(temporary, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_folder(target: str, contents: dict[str, bytes], force: bool = False) -> list[str]:
    """Write several files into a folder, which is created if it is missing.

    Nothing is written if one of them exists and ``force`` is not given.
    """
    folder = Path(target)
    try:
        if not target:
            raise WriteError(Fault(say("write.no_name"), Place("--copy")))
        taken = [name for name in contents if os.path.lexists(folder / name)]
        if taken and not force:
            place = Place(str(folder / taken[0]))
            raise WriteError(Fault(say("write.exists"), place, say("write.exists.hint")))
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = say("write.failed", problem=error.strerror or str(error))
        raise WriteError(Fault(message, Place(target))) from None
    for name, content in contents.items():
        write_file(str(folder / name), content, force)
    return [str(folder / name) for name in contents]


def send(content: bytes, output: str | None, force: bool) -> None:
    """Write output to standard output, or to a file with a note."""
    if output in (None, "-"):
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    write_file(str(output), content, force)
    wrote(output)


def wrote(path: str | None) -> None:
    """Note which file was written, with control characters in its name escaped."""
    from blockcalc.notation.signs import clean

    note(say("cli.wrote", path=clean(str(path))))


def note(text: str) -> None:
    """Print a line on standard error, if there is one."""
    with suppress(OSError, AttributeError):
        print(encodable(text, sys.stderr.encoding), file=sys.stderr, flush=True)


def encodable(text: str, encoding: str | None) -> str:
    """Replace characters that an encoding lacks."""
    from blockcalc.notation.signs import plain_signs

    return plain_signs(text, encoding or "utf-8")
