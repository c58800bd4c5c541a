"""The command ``step``: go through the steps with keys."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli.inputs import Backward, Errors, Reading, Screen, Showing, computed, stem_of
from blockcalc.cli.options import FileArg, GradOpt, GuessOpt
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.groups import Without, grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    from blockcalc.stepper.page import Page
    from blockcalc.stepper.session import Session


@grouped
def step(
    file: FileArg = None,
    guess: GuessOpt = False,
    grad: GradOpt = False,
    *,
    backward: Backward,
    reading: Reading,
    showing: Annotated[Showing, Without("detail", "brief", "whole")],
    screen: Annotated[Screen, Without("no_pager")],
    errors: Errors,
) -> None:
    """Go through the steps with keys."""
    _require_terminal(file)
    work = backward.only_with(grad)
    lead = _lead()
    depth = showing.depth(pictures=True)
    spec = reading.spec(file)
    trace = computed(spec, work)
    from blockcalc.explain.depth import chosen_steps
    from blockcalc.gradients.explained import explainer_of
    from blockcalc.stepper.page import Page
    from blockcalc.stepper.session import Session
    from blockcalc.views.screen import make_console

    program = trace.program
    chosen = chosen_steps(program, depth.patterns) if depth.patterns else None
    numbers = [
        n for n, eq in enumerate(program.equations) if chosen is None or eq.out.name in chosen
    ]
    if not numbers:
        raise UsageError(Fault(say("stepper.none"), hint=say("stepper.none.hint")))
    start = program.forward if grad and chosen is None else 0
    session = Session(explainer_of(trace)(spec, trace, depth), numbers, start or 0)
    session.guessing = guess
    console = make_console("never" if screen.no_color else screen.color.value)
    page = Page(console, spec.title or stem_of(file))
    if file == "-":
        _keys_from_terminal()
    gc.enable()  # this process may live long
    if code := lead(session, page, console.color_system is not None):
        raise typer.Exit(code)


def _require_terminal(file: str | None) -> None:
    """Raise an error unless keys are read from a terminal and the screen is one."""
    streams = [sys.stdout, sys.stderr, *([] if file == "-" else [sys.stdin])]
    dumb = os.environ.get("TERM", "") == "dumb"
    if dumb or not all(stream is not None and stream.isatty() for stream in streams):
        raise UsageError(Fault(say("stepper.terminal"), hint=say("stepper.terminal.hint")))


def _keys_from_terminal() -> None:
    """Read keys from the terminal if standard input was the file."""
    if sys.stdin is not None and sys.stdin.isatty():
        return
    try:
        os.dup2(os.open("/dev/tty", os.O_RDWR), 0)
    except OSError:
        fault = Fault(say("stepper.terminal"), hint=say("stepper.terminal.hint"))
        raise UsageError(fault) from None


def _lead() -> Callable[[Session, Page, bool], int]:
    """Import the function that reads keys and draws the screen; it needs an optional package."""
    try:
        from blockcalc.stepper.app import lead
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "textual":
            raise
        fault = Fault(say("stepper.textual"), hint=say("stepper.textual.hint"))
        raise UsageError(fault) from None
    return lead
