"""The command that goes backward."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.errors import Fault, UsageError
from blockcalc.line import Command
from blockcalc.options import (
    AllOpt,
    Color,
    ColorOpt,
    DebugOpt,
    Detail,
    DetailOpt,
    DigitsOpt,
    EpsOpt,
    ErrorFormat,
    ErrorOpt,
    FileArg,
    NoColorOpt,
    NoProseOpt,
    NormOpt,
    RoundOpt,
    SetOpt,
    StepsOpt,
)
from blockcalc.titles import say
from blockcalc.working import depth_of, read_spec

if TYPE_CHECKING:
    from blockcalc.spec import Spec
    from blockcalc.trace import Trace
    from blockcalc.views.terminal import Terminal


class LossKind(StrEnum):
    """The words of ``--loss``."""

    sum = "sum"
    mse = "mse"
    dot = "dot"


LossOpt = Annotated[LossKind | None, typer.Option("--loss", help=say("help.loss"))]
ChainOpt = Annotated[bool, typer.Option("--chain", help=say("help.chain"))]
RateOpt = Annotated[str | None, typer.Option("--lr", metavar="NUMBER", help=say("help.lr"))]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(help=say("help.grad"), cls=Command)(grad)


def grad(
    file: FileArg = None,
    loss: LossOpt = None,
    chain: ChainOpt = False,
    numeric: Annotated[bool, typer.Option("--numeric", help=say("help.numeric"))] = False,
    lr: RateOpt = None,
    depths: Annotated[
        str | None, typer.Option("--depths", metavar="N,N", help=say("help.depths"))
    ] = None,
    norm: NormOpt = None,
    eps: EpsOpt = None,
    sets: SetOpt = None,
    rounding: RoundOpt = None,
    detail: DetailOpt = Detail.normal,
    steps: StepsOpt = None,
    digits: DigitsOpt = 4,
    whole: AllOpt = False,
    no_prose: NoProseOpt = False,
    color: ColorOpt = Color.auto,
    no_color: NoColorOpt = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """Show the backward pass in the terminal."""
    spec = read_spec(file, norm, eps, sets, rounding)
    from blockcalc import gradient
    from blockcalc.views.screen import make_console
    from blockcalc.views.terminal import Terminal

    kind = loss.value if loss else None
    screen = Terminal(make_console("never" if no_color else color.value))
    if depths is not None:
        from blockcalc.explain_gradient import stacks

        asked = {"--numeric": numeric, "--lr": lr, "--chain": chain, "--steps": steps}
        if spare := [option for option, value in asked.items() if value]:
            raise UsageError(Fault(say("depths.alone", options=", ".join(spare))))
        counts = gradient.parse_depths(depths)
        found = list(gradient.depths(spec, counts, kind))
        chosen = gradient.loss_text(spec, gradient.choose_loss(spec, kind))
        screen.print(stacks(found, counts, chosen))
        return
    rate = None if lr is None else gradient.parse_rate(lr)
    if numeric and spec.rounding:
        raise UsageError(Fault(say("numeric.round")))
    trace = gradient.work_gradients(spec, kind, chain, rate)
    from blockcalc.explain import explain

    found_numeric = gradient.differences(spec, kind, trace) if numeric else []
    pieces = explain(spec, trace, depth_of(detail, digits, no_prose, whole, steps))
    if file is None:
        screen.write((say("cli.embedded"), "quiet"))
    screen.print(pieces)
    if rate is not None:
        _descend(screen, spec, trace, kind, rate, digits)
    if numeric:
        from blockcalc.explain_gradient import numeric as beside

        screen.print(beside(found_numeric, gradient.AGREES))
        if any(d.relative > gradient.AGREES for d in found_numeric):
            raise typer.Exit(1)


def _descend(
    screen: Terminal, spec: Spec, trace: Trace, kind: str | None, rate: float, digits: int
) -> None:
    """Show what one step of gradient descent does."""
    from blockcalc.explain_gradient import descent
    from blockcalc.gradient import loss_after

    before = float(trace.arrays["loss"][0])
    screen.print(descent(before, loss_after(spec, kind, trace), rate, digits))
