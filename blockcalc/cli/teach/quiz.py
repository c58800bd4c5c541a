"""The command ``quiz``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from blockcalc.cli.inputs import Errors, Reading, Screen, computed, stem_of
from blockcalc.cli.options import FileArg
from blockcalc.cli.output import encodable
from blockcalc.cli.teach.asking import Asking
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.groups import Without, grouped


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
    from blockcalc.views.screen import make_console
    from blockcalc.views.terminal import Terminal

    terminal = Terminal(make_console("never" if screen.no_color else screen.color.value))
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
