"""The commands ``run``, ``grad``, ``compare`` and ``export``."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli.formats import with_formats
from blockcalc.cli.groups import Without, grouped
from blockcalc.cli.inputs import (
    Backward,
    Errors,
    Reading,
    Screen,
    Showing,
    Writing,
    parse_depths,
)
from blockcalc.cli.options import (
    FRAMED,
    DepthsOpt,
    FileArg,
    Formats,
    FragmentOpt,
    GradOpt,
    NumericOpt,
    OtherArg,
    VerifyOpt,
)
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.nn.orders import compared
from blockcalc.shell.argv import Command
from blockcalc.views import FORMATS

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace
    from blockcalc.views.terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(help=say("help.run"), cls=Command)(run)
    app.command(help=say("help.grad"), cls=Command)(grad)
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
    verify: VerifyOpt = False,
    *,
    reading: Reading,
    showing: Showing,
    screen: Screen,
    errors: Errors,
) -> None:
    """Show every step in the terminal."""
    spec, trace = _load(file, reading)
    if verify and spec.rounding:
        raise UsageError(Fault(say("verify.round")))
    from blockcalc.explain.steps import explain

    terminal = screen.terminal()
    pieces = explain(spec, trace, replace(showing.depth(), verify=verify))
    first = next(pieces, None)
    if file is None:
        terminal.write((say("cli.embedded"), "quiet"))
        if not showing.steps:
            terminal.blank()
    if first is not None:
        terminal.show(first)
    terminal.print(pieces)


@grouped
def grad(
    file: FileArg = None,
    *,
    backward: Backward,
    numeric: NumericOpt = False,
    depths: DepthsOpt = None,
    reading: Reading,
    showing: Showing,
    screen: Screen,
    errors: Errors,
) -> None:
    """Show the backward pass in the terminal."""
    spec = reading.spec(file)
    from blockcalc.gradients.run import work_gradients

    kind, terminal = backward.kind, screen.terminal()
    if depths is not None:
        asked = {"--numeric": numeric, "--lr": backward.lr, "--chain": backward.chain}
        if spare := [
            option for option, value in (asked | {"--steps": showing.steps}).items() if value
        ]:
            raise UsageError(Fault(say("depths.alone", options=", ".join(spare))))
        _stacks(terminal, spec, parse_depths(depths), kind)
        return
    rate = backward.rate()
    if numeric and spec.rounding:
        raise UsageError(Fault(say("numeric.round")))
    trace = work_gradients(spec, kind, backward.chain, rate)
    from blockcalc.gradients.differences import differences
    from blockcalc.gradients.explain import explain_gradient

    found_numeric = differences(spec, kind, trace) if numeric else []
    pieces = explain_gradient(spec, trace, showing.depth())
    if file is None:
        terminal.write((say("cli.embedded"), "quiet"))
    terminal.print(pieces)
    if rate is not None:
        _descend(terminal, spec, trace, kind, rate, showing.digits)
    if numeric:
        from blockcalc.gradients.tables import numeric as beside

        terminal.print(beside(found_numeric))
        if any(d.wrong for d in found_numeric):
            raise typer.Exit(1)


def _stacks(terminal: Terminal, spec: Spec, counts: list[int], kind: str | None) -> None:
    """Show only the stacks of the given depths."""
    from blockcalc.gradients.loss import choose_loss, loss_text
    from blockcalc.gradients.stacks import depths
    from blockcalc.gradients.tables import stacks

    found = list(depths(spec, counts, kind))
    terminal.print(stacks(found, counts, loss_text(spec, choose_loss(spec, kind))))


def _descend(
    terminal: Terminal, spec: Spec, trace: Trace, kind: str | None, rate: float, digits: int
) -> None:
    """Show the effect of one step of gradient descent."""
    from blockcalc.gradients.loss import loss_after
    from blockcalc.gradients.tables import descent

    before = float(trace.arrays["loss"][0])
    terminal.print(descent(before, loss_after(spec, kind, trace), rate, digits))


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
