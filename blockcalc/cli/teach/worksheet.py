"""The command ``worksheet``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blockcalc.cli.formats import with_formats
from blockcalc.cli.inputs import Errors, Reading, Screen, Writing, computed, stem_of
from blockcalc.cli.options import (
    FRAMED,
    FileArg,
    Formats,
    FormOpt,
    FragmentOpt,
    KeyOpt,
    SheetOutputOpt,
    TokensForm,
)
from blockcalc.cli.output import send_folder
from blockcalc.cli.teach.asking import Asking
from blockcalc.errors import Fault, Place, UsageError, WriteError
from blockcalc.messages import say
from blockcalc.shell.groups import grouped

if TYPE_CHECKING:
    from blockcalc.teach.sheet import Worksheet
    from blockcalc.views import Format


@dataclass(eq=False, repr=False)
class Handing(Writing):
    """Options for the files of a worksheet."""

    output: SheetOutputOpt = None


@with_formats(("pieces", "live"), "help.worksheet")
@grouped
def worksheet(
    file: FileArg = None,
    form: FormOpt = TokensForm.row,
    key: KeyOpt = False,
    *,
    asked: Formats = None,
    fragment: FragmentOpt = False,
    asking: Asking,
    reading: Reading,
    screen: Screen,
    writing: Handing,
    errors: Errors,
) -> None:
    """Write a worksheet, its key, and its blanks as a file of answers."""
    to_file = writing.output not in (None, "-")
    formats: list[Format] = []
    if to_file or any((asked or {}).values()):
        formats = writing.formats(asked or {}, fragment)
    elif fragment:
        raise UsageError(Fault(say("cli.fragment", names=FRAMED)))
    if key and to_file:
        raise UsageError(Fault(say("teach.key.file")))
    spec = reading.spec(file)
    own = asking.worksheet(spec, computed(spec), form == TokensForm.column)
    document = own.key() if key else own.sheet()
    if to_file:
        _write(own, formats, file, fragment, reading, writing)
    elif formats:
        writing.send(formats[0].chunks(document, fragment))
    else:
        screen.show(screen.terminal(), (document.drawn or document.pieces)())


def _write(
    own: Worksheet,
    formats: Sequence[Format],
    file: str | None,
    fragment: bool,
    reading: Reading,
    writing: Writing,
) -> None:
    """Write all files of a worksheet beside each other, or none."""
    from blockcalc.teach.answers import answers_text
    from blockcalc.views import is_folder

    output = str(writing.output)
    files: dict[str, Iterable[bytes]] = {}
    if is_folder(output):
        folder, stem = output, f"{stem_of(file)}-sheet"
        for form in formats:
            files |= form.files(own.sheet(), stem, fragment)
            files |= form.files(own.key(), f"{stem}.key", fragment)
    else:
        path = Path(output)
        folder, stem = str(path.parent), path.stem
        if not path.parent.is_dir():
            raise WriteError(Fault(say("write.folder"), Place(output)))
        files[path.name] = formats[0].chunks(own.sheet(), fragment)
        files[f"{stem}.key{path.suffix}"] = formats[0].chunks(own.key(), fragment)
    answers = f"{stem}.yaml"
    _require_other(Path(folder) / answers, file)
    name = "FILE" if file in (None, "-") else Path(str(file)).name
    points = {} if own.spec.points else own.points
    words = f"{name} {answers}{_again(reading)}"
    text = answers_text(own.trace.program, own.steps, points, words, own.columns)
    files[answers] = [text.encode()]
    send_folder(files, folder, writing.force)


def _again(reading: Reading) -> str:
    """Write the options that override the file, as ``check`` needs them too."""
    norm = reading.norm.value if reading.norm else None
    given = [("--norm", norm), ("--eps", reading.eps), ("--round", reading.rounding)]
    given += [("--set", pair) for pair in reading.sets or ()]
    return "".join(f" {name} {shlex.quote(value)}" for name, value in given if value is not None)


def _require_other(path: Path, file: str | None) -> None:
    """Refuse to write the blanks over the block itself."""
    own = Path(str(file))
    if file not in (None, "-") and path.exists() and own.exists() and path.samefile(own):
        text = say("teach.same", path=path)
        raise UsageError(Fault(text, Place("--output"), say("teach.same.hint")))
