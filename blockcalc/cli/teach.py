"""The commands of a teacher: ``worksheet`` and ``quiz``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli.formats import with_formats
from blockcalc.cli.inputs import Errors, Reading, Screen, Writing, computed, parse_steps, stem_of
from blockcalc.cli.options import (
    FRAMED,
    DigitsOpt,
    FileArg,
    FormOpt,
    Formats,
    FragmentOpt,
    KeyOpt,
    LevelEasyOpt,
    LevelHardOpt,
    SeedOpt,
    StepsOfOpt,
    TeachBlanksOpt,
    TokensForm,
)
from blockcalc.cli.output import encodable, send_folder
from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import say
from blockcalc.shell.groups import Without, grouped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from blockcalc.explain.document import Document
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace
    from blockcalc.teach.sheet import Worksheet
    from blockcalc.views import Format

HELP = {"blanks": 8, "steps": 3}


@dataclass(eq=False, repr=False)
class Asking:
    """Which cells are left open."""

    blanks: TeachBlanksOpt = None
    steps: StepsOfOpt = None
    seed: SeedOpt = 0
    easy: LevelEasyOpt = False
    hard: LevelHardOpt = False
    digits: DigitsOpt = 4

    def worksheet(self, spec: Spec, trace: Trace, columns: bool = False) -> Worksheet:
        """Choose the cells."""
        from blockcalc.explain.depth import Depth, chosen_steps
        from blockcalc.explain.steps import Explainer
        from blockcalc.teach.blanks import Level, choose
        from blockcalc.teach.sheet import Worksheet

        if self.easy and self.hard:
            raise UsageError(Fault(say("teach.levels")))
        level = Level.easy if self.easy else Level.hard if self.hard else Level.normal
        patterns = parse_steps(self.steps)
        depth = Depth(digits=self.digits)
        steps = chosen_steps(trace.program, patterns) if patterns else None
        gaps = choose(Explainer(spec, trace, depth), steps, self.blanks, self.seed, level)
        return Worksheet(spec, trace, gaps, depth, level, columns)


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
    writing: Writing,
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
        _write(own, formats, file, fragment, writing)
    elif formats:
        writing.send(formats[0].chunks(document, fragment))
    else:
        screen.show(screen.terminal(), (document.drawn or document.pieces)())


def _write(
    own: Worksheet, formats: Sequence[Format], file: str | None, fragment: bool, writing: Writing
) -> None:
    """Write all files of a worksheet beside each other, or none."""
    from blockcalc.teach.answers import answers_text
    from blockcalc.views import is_folder

    output = str(writing.output)
    files: dict[str, Iterable[bytes]] = {}
    if is_folder(output):
        folder, stem = output, f"{stem_of(file)}-sheet"
        for form in formats:
            files |= _named(form, own.sheet(), stem, fragment)
            files |= _named(form, own.key(), f"{stem}.key", fragment)
    else:
        path = Path(output)
        folder, stem = str(path.parent), path.stem
        files[path.name] = formats[0].chunks(own.sheet(), fragment)
        files[f"{stem}.key{path.suffix}"] = formats[0].chunks(own.key(), fragment)
    answers = f"{stem}.yaml"
    _require_other(Path(folder) / answers, file)
    name = "FILE" if file in (None, "-") else Path(str(file)).name
    points = {} if own.spec.points else own.points
    text = answers_text(own.trace.program, own.steps, points, name, answers)
    files[answers] = [text.encode()]
    send_folder(files, folder, writing.force)


def _named(
    form: Format, document: Document, stem: str, fragment: bool
) -> Mapping[str, Iterable[bytes]]:
    return form.files(document, stem, fragment)


def _require_other(path: Path, file: str | None) -> None:
    """Refuse to write the blanks over the block itself."""
    if file not in (None, "-") and path.exists() and Path(str(file)).exists():
        if path.samefile(str(file)):
            raise UsageError(
                Fault(say("teach.same", path=path), Place("--output"), say("teach.same.hint"))
            )


@grouped
def quiz(
    file: FileArg = None,
    *,
    asking: Asking,
    reading: Reading,
    screen: Annotated[Screen, Without("no_pager")],
    errors: Errors,
) -> None:
    """Ask for shapes and cells, and judge the answers."""
    if file == "-":
        raise UsageError(Fault(say("quiz.stdin")))
    spec = reading.spec(file)
    trace = computed(spec)
    own = asking.worksheet(spec, trace)
    from blockcalc.check.run import catalogue
    from blockcalc.teach.quiz import Quiz

    terminal = screen.terminal()
    title = spec.title or stem_of(file)
    asked = Quiz(own, catalogue(spec, trace), asking.seed, title, terminal.alphabet)
    try:
        for said in asked.run(_typed):
            if isinstance(said, str):
                terminal.write(said) if said else terminal.blank()
            else:
                terminal.print([said])
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _typed() -> str | None:
    """Read a line that is typed, after a prompt; None at the end of the input."""
    sys.stdout.write(encodable(say("quiz.prompt"), sys.stdout.encoding))
    sys.stdout.flush()
    line = sys.stdin.readline() if sys.stdin is not None else ""
    return line if line else None
