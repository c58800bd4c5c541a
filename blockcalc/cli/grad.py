"""The command ``grad``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli.inputs import depth_of, parse_depths, parse_rate, read_spec
from blockcalc.cli.options import (
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
    words,
)
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.argv import Command

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace
    from blockcalc.views.terminal import Terminal


class LossKind(StrEnum):
    """The words of ``--loss``."""

    sum = "sum"
    mse = "mse"
    dot = "dot"


LossOpt = Annotated[
    LossKind | None, typer.Option("--loss", metavar=words(LossKind), help=say("help.loss"))
]
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
    from blockcalc.gradients.run import work_gradients
    from blockcalc.views.screen import make_console
    from blockcalc.views.terminal import Terminal

    kind = loss.value if loss else None
    screen = Terminal(make_console("never" if no_color else color.value))
    if depths is not None:
        from blockcalc.gradients.loss import choose_loss, loss_text
        from blockcalc.gradients.stacks import depths as work_depths
        from blockcalc.gradients.tables import stacks

        asked = {"--numeric": numeric, "--lr": lr, "--chain": chain, "--steps": steps}
        if spare := [option for option, value in asked.items() if value]:
            raise UsageError(Fault(say("depths.alone", options=", ".join(spare))))
        counts = parse_depths(depths)
        found = list(work_depths(spec, counts, kind))
        chosen = loss_text(spec, choose_loss(spec, kind))
        screen.print(stacks(found, counts, chosen))
        return
    rate = None if lr is None else parse_rate(lr)
    if numeric and spec.rounding:
        raise UsageError(Fault(say("numeric.round")))
    trace = work_gradients(spec, kind, chain, rate)
    from blockcalc.gradients.differences import differences
    from blockcalc.gradients.explain import explain_gradient

    found_numeric = differences(spec, kind, trace) if numeric else []
    pieces = explain_gradient(spec, trace, depth_of(detail, digits, no_prose, whole, steps))
    if file is None:
        screen.write((say("cli.embedded"), "quiet"))
    screen.print(pieces)
    if rate is not None:
        _descend(screen, spec, trace, kind, rate, digits)
    if numeric:
        from blockcalc.gradients.tables import numeric as beside

        screen.print(beside(found_numeric))
        if any(d.wrong for d in found_numeric):
            raise typer.Exit(1)


def _descend(
    screen: Terminal, spec: Spec, trace: Trace, kind: str | None, rate: float, digits: int
) -> None:
    """Show the effect of one step of gradient descent."""
    from blockcalc.gradients.loss import loss_after
    from blockcalc.gradients.tables import descent

    before = float(trace.arrays["loss"][0])
    screen.print(descent(before, loss_after(spec, kind, trace), rate, digits))
