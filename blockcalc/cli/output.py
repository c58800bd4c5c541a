"""Write to the terminal, a pipe or a file."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from blockcalc.errors import BlockcalcError, Fault, Place, WriteError
from blockcalc.messages import say

MOST_NOTES = 6  # files that are named one by one


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


def write_file(target: str, content: bytes | Iterable[bytes], force: bool = False) -> None:
    """Write a file completely or not at all; the content may come in parts.

    Raises
    ------
    WriteError
        The file exists and ``force`` is not given, or it cannot be written.
    """
    with _undisturbed():
        _write_whole(target, content, force)


def _parts(content: bytes | Iterable[bytes]) -> Iterable[bytes]:
    return (content,) if isinstance(content, bytes) else content


def _write_whole(target: str, content: bytes | Iterable[bytes], force: bool) -> None:
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
        import tempfile

        handle, temporary = tempfile.mkstemp(prefix=".blockcalc-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            for part in _parts(content):
                file.write(part)
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


def write_folder(
    target: str, contents: Mapping[str, bytes | Iterable[bytes]], force: bool = False
) -> list[str]:
    """Write several files into a folder, which is created if it is missing.

    Raises
    ------
    WriteError
        One of them exists and ``force`` is not given, or one cannot be written. Those that were
        new are then removed, and the error names the others, which were overwritten.
    """
    if not target:
        raise WriteError(Fault(say("write.no_name"), Place("--copy")))
    folder = Path(target)
    files = {str(folder / name): content for name, content in contents.items()}
    there = [name for name in files if os.path.lexists(name)]
    if there and not force:
        raise WriteError(Fault(say("write.exists"), Place(there[0]), say("write.exists.hint")))
    made: list[Path] = []
    written: list[str] = []
    try:
        for part in (*reversed(folder.parents), folder):
            if not part.is_dir():
                part.mkdir()
                made.append(part)
        for name, content in files.items():
            write_file(name, content, force)
            written.append(name)
    except BaseException as error:
        _take_back([name for name in written if name not in there], made)
        left = [name for name in written if name in there]
        if isinstance(error, BlockcalcError) and left:
            from blockcalc.notation.signs import clean

            hint = say("write.part", names=", ".join(map(clean, left)))
            raise type(error)(replace(error.faults[0], hint=hint)) from None
        if isinstance(error, OSError):
            message = say("write.failed", problem=error.strerror or str(error))
            raise WriteError(Fault(message, Place(target))) from None
        raise
    return written


def _take_back(names: Sequence[str], folders: Sequence[Path]) -> None:
    """Remove files that were just written, and the folders that were made for them."""
    with suppress(OSError):
        for name in names:
            os.unlink(name)
        for folder in reversed(folders):
            folder.rmdir()


def send(content: bytes | Iterable[bytes], output: str | None, force: bool) -> None:
    """Write output to standard output, or to a file with a note."""
    from blockcalc.shell.progress import counted, progress, seen_at_once

    piped = output in (None, "-")
    if piped and seen_at_once():
        _print(_parts(content))
        return
    with progress(say("progress.writing")) as shown:
        parts = counted(_parts(content), shown)
        if piped:
            _print(parts)
        else:
            write_file(str(output), parts, force)
    if not piped:
        wrote(output)


def _print(parts: Iterable[bytes]) -> None:
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def send_folder(contents: Mapping[str, Iterable[bytes]], output: str, force: bool) -> None:
    """Write files into a folder, with a note for each of a few, or one for many."""
    from blockcalc.shell.progress import counted, progress

    with progress(say("progress.writing")) as shown:
        parts = {name: counted(own, shown) for name, own in contents.items()}
        written = write_folder(output, parts, force)
    if len(written) > MOST_NOTES:
        from blockcalc.notation.signs import clean

        note(say("cli.wrote_many", n=len(written), path=clean(output)))
        return
    for name in written:
        wrote(name)


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
