"""The command ``grad``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from blockcalc.cli.groups import grouped
from blockcalc.cli.inputs import Backward, Errors, Reading, Screen, Showing, parse_depths
from blockcalc.cli.options import DepthsOpt, FileArg, NumericOpt
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.argv import Command

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace
    from blockcalc.views.terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(help=say("help.grad"), cls=Command)(grad)


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
