"""The commands ``run``, ``compare`` and ``export``."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli.formats import with_formats
from blockcalc.cli.groups import Without, grouped
from blockcalc.cli.inputs import Backward, Errors, Reading, Screen, Showing, Writing
from blockcalc.cli.options import FRAMED, FileArg, Formats, FragmentOpt, GradOpt, OtherArg
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.nn.orders import compared
from blockcalc.shell.argv import Command
from blockcalc.views import FORMATS

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(help=say("help.run"), cls=Command)(run)
    app.command(help=say("help.compare"), cls=Command)(compare)
    app.command(help=say("help.export", names=", ".join(FORMATS)), cls=Command)(export)


def _load(file: str | None, reading: Reading) -> tuple[Spec, Trace]:
    """Read a file, and compute it."""
    spec = reading.spec(file)
    from blockcalc.nn.run import run as work

    return spec, work(spec)


@grouped
def run(
    file: FileArg = None,
    *,
    reading: Reading,
    showing: Showing,
    screen: Screen,
    errors: Errors,
) -> None:
    """Show every step in the terminal."""
    spec, trace = _load(file, reading)
    from blockcalc.explain.steps import explain

    terminal = screen.terminal()
    pieces = explain(spec, trace, showing.depth())
    first = next(pieces, None)
    if file is None:
        terminal.write((say("cli.embedded"), "quiet"))
        if not showing.steps:
            terminal.blank()
    if first is not None:
        terminal.show(first)
    terminal.print(pieces)


@grouped
def compare(
    file: FileArg = None,
    other: OtherArg = None,
    *,
    reading: Annotated[Reading, Without("norm")],
    showing: Annotated[Showing, Without("detail", "no_prose")],
    screen: Screen,
    errors: Errors,
) -> None:
    """Show two runs side by side in the terminal."""
    if file == other == "-":
        raise UsageError(Fault(say("cli.stdin_twice")))
    if other:
        first, second = _load(file, reading), _load(other, reading)
    else:
        spec = reading.spec(file, compared)
        from blockcalc.nn.run import run as work

        first, second = ((own, work(own)) for own in map(spec.with_order, compared(spec.order)))
    from blockcalc.explain.comparison import compare as pieces

    depth = replace(showing, no_prose=True).depth()
    screen.terminal().print(pieces(first, second, depth))


@with_formats(("pieces", "data", "arrays"))
@grouped
def export(
    file: FileArg = None,
    asked: Formats = None,
    grad: GradOpt = False,
    *,
    backward: Backward,
    writing: Writing,
    fragment: FragmentOpt = False,
    reading: Reading,
    showing: Showing,
    errors: Errors,
) -> None:
    """Write every step in an export format."""
    from blockcalc.views import choose_format

    output = writing.output
    chosen = choose_format(asked or {}, output)
    if fragment and not chosen.document:
        raise UsageError(Fault(say("cli.fragment", names=FRAMED)))
    if chosen.binary and output in (None, "-") and sys.stdout.isatty():
        raise UsageError(Fault(say("cli.binary", name=chosen.name)))
    if not grad and (backward.loss or backward.chain or backward.lr):
        raise UsageError(Fault(say("cli.needs_grad")))
    if grad:
        from blockcalc.gradients.explain import explain_gradient as explained
        from blockcalc.gradients.run import work_gradients

        rate = backward.rate()
        spec = reading.spec(file)
        trace = work_gradients(spec, backward.kind, backward.chain, rate)
    else:
        from blockcalc.explain.steps import explain as explained

        spec, trace = _load(file, reading)
    depth = showing.depth()
    from blockcalc.explain.data import run_document

    writing.send(chosen.write(run_document(spec, trace, depth, explained), fragment))
