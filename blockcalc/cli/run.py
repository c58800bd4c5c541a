"""The commands ``run``, ``compare`` and ``export``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli.formats import with_formats
from blockcalc.cli.grad import ChainOpt, LossOpt, RateOpt
from blockcalc.cli.inputs import depth_of, read_spec
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
    Formats,
    NoColorOpt,
    NoProseOpt,
    NormOpt,
    Order,
    RoundOpt,
    SetOpt,
    StepsOpt,
)
from blockcalc.cli.output import send
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.argv import Command

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(help=say("help.run"), cls=Command)(run)
    app.command(help=say("help.compare"), cls=Command)(compare)
    app.command(help=say("help.export"), cls=Command)(export)


def _load(
    file: str | None,
    norm: Order | None,
    eps: str | None,
    sets: list[str] | None,
    rounding: str | None,
    orders: Sequence[str] = (),
) -> tuple[Spec, Trace]:
    """Read a file, and compute it in the first of the orders."""
    spec = read_spec(file, norm, eps, sets, rounding, orders)
    from blockcalc.nn.run import run as work

    return spec, work(spec)


def run(
    file: FileArg = None,
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
    """Show every step in the terminal."""
    spec, trace = _load(file, norm, eps, sets, rounding)
    from blockcalc.explain.steps import explain
    from blockcalc.views.screen import make_console
    from blockcalc.views.terminal import Terminal

    screen = Terminal(make_console("never" if no_color else color.value))
    pieces = explain(spec, trace, depth_of(detail, digits, no_prose, whole, steps))
    first = next(pieces, None)
    if file is None:
        screen.write((say("cli.embedded"), "quiet"))
        if not steps:
            screen.blank()
    if first is not None:
        screen.show(first)
    screen.print(pieces)


def compare(
    file: FileArg = None,
    other: Annotated[str | None, typer.Argument(metavar="OTHER", help=say("help.other"))] = None,
    eps: EpsOpt = None,
    sets: SetOpt = None,
    rounding: RoundOpt = None,
    steps: StepsOpt = None,
    digits: DigitsOpt = 4,
    whole: AllOpt = False,
    color: ColorOpt = Color.auto,
    no_color: NoColorOpt = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """Show two runs side by side in the terminal."""
    if file == other == "-":
        raise UsageError(Fault(say("cli.stdin_twice")))
    orders = () if other else ("post", "pre")
    first = _load(file, None, eps, sets, rounding, orders)
    from blockcalc.nn.run import run as work

    if other:
        second = _load(other, None, eps, sets, rounding)
    else:
        spec = first[0].with_order("pre")
        second = spec, work(spec)
    from blockcalc.explain.comparison import compare as pieces
    from blockcalc.views.screen import make_console
    from blockcalc.views.terminal import Terminal

    screen = Terminal(make_console("never" if no_color else color.value))
    screen.print(pieces(first, second, depth_of(Detail.normal, digits, True, whole, steps)))


@with_formats(("pieces", "data", "arrays"))
def export(
    file: FileArg = None,
    asked: Formats = None,
    grad: Annotated[bool, typer.Option("--grad", help=say("help.export.grad"))] = False,
    loss: LossOpt = None,
    chain: ChainOpt = False,
    lr: RateOpt = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help=say("help.output"))
    ] = None,
    force: Annotated[bool, typer.Option("--force", help=say("help.force"))] = False,
    fragment: Annotated[bool, typer.Option("--fragment", help=say("help.fragment"))] = False,
    norm: NormOpt = None,
    eps: EpsOpt = None,
    sets: SetOpt = None,
    rounding: RoundOpt = None,
    detail: DetailOpt = Detail.normal,
    steps: StepsOpt = None,
    digits: DigitsOpt = 4,
    whole: AllOpt = False,
    no_prose: NoProseOpt = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """Write every step in an export format."""
    from blockcalc.views import choose_format

    chosen = choose_format(asked or {}, output)
    if fragment and not chosen.document:
        raise UsageError(Fault(say("cli.fragment")))
    if chosen.binary and output in (None, "-") and sys.stdout.isatty():
        raise UsageError(Fault(say("cli.binary", name=chosen.name)))
    if not grad and (loss or chain or lr):
        raise UsageError(Fault(say("cli.needs_grad")))
    if grad:
        from blockcalc.cli.inputs import parse_rate
        from blockcalc.gradients.explain import explain_gradient
        from blockcalc.gradients.run import work_gradients

        rate = None if lr is None else parse_rate(lr)
        spec = read_spec(file, norm, eps, sets, rounding)
        trace = work_gradients(spec, loss.value if loss else None, chain, rate)
        explained = explain_gradient
    else:
        from blockcalc.explain.steps import explain as explained

        spec, trace = _load(file, norm, eps, sets, rounding)
    depth = depth_of(detail, digits, no_prose, whole, steps)
    from blockcalc.explain.data import run_document

    send(chosen.write(run_document(spec, trace, depth, explained), fragment), output, force)
