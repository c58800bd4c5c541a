"""The commands ``run``, ``grad``, ``compare`` and ``export``."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from blockcalc.cli.formats import formats_of, with_formats
from blockcalc.cli.groups import Without, grouped
from blockcalc.cli.inputs import (
    Backward,
    Errors,
    Reading,
    Screen,
    Showing,
    Writing,
    parse_depths,
    stem_of,
)
from blockcalc.cli.options import (
    DepthsOpt,
    FileArg,
    Formats,
    FragmentOpt,
    GradOpt,
    HeatOpt,
    NumericOpt,
    OtherArg,
    ShadeOpt,
    VerifyOpt,
)
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.nn.orders import compared
from blockcalc.shell.argv import verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from blockcalc.explain.depth import Depth
    from blockcalc.explain.document import Piece
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace
    from blockcalc.views.terminal import Terminal

EXPORTED = ("pieces", "data", "arrays", "rows", "pictures")  # the parts that a run has
HELP = {"names": ", ".join(formats_of(EXPORTED))}  # the fields of help texts


def _load(file: str | None, reading: Reading) -> tuple[Spec, Trace]:
    """Read a file, and compute it."""
    spec = reading.spec(file)
    from blockcalc.nn.run import run as work
    from blockcalc.shell.progress import progress

    with progress(say("progress.computing")):
        return spec, work(spec)


@grouped
def run(
    file: FileArg = None,
    verify: VerifyOpt = False,
    heat: HeatOpt = False,
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
    depth = replace(showing.depth(pictures=True), verify=verify)
    pieces = explain(spec, trace, depth)
    if heat:
        pieces = _shaded(spec, trace, depth)
    first = next(pieces, None)
    if file is None:
        terminal.write((say("cli.embedded"), "quiet"))
        if not showing.steps:
            terminal.blank()
    terminal.print(pieces if first is None else chain([first], pieces))


def _shaded(spec: Spec, trace: Trace, depth: Depth) -> Iterator[Piece]:
    """Make the heat maps, which work no cell."""
    from blockcalc.explain.depth import Detail
    from blockcalc.explain.picture.heat import heat

    others = {"--verify": depth.verify, "--row": depth.row, "--cell": depth.cell,
              "--detail cells": depth.detail == Detail.cells}  # fmt: skip
    if given := [name for name, value in others.items() if value]:
        raise UsageError(Fault(say("cell.alone", options=", ".join(["--heat", *given]))))
    return heat(spec, trace, depth)


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
    from blockcalc.shell.progress import progress

    with progress(say("progress.computing")):
        trace = work_gradients(spec, kind, backward.chain, rate)
    from blockcalc.gradients.differences import differences
    from blockcalc.gradients.explain import explain_gradient

    with progress(say("progress.differences")):
        found_numeric = differences(spec, kind, trace) if numeric else []
    pieces = explain_gradient(spec, trace, showing.depth(pictures=True))
    with verdict(1 if any(d.wrong for d in found_numeric) else 0):
        if file is None:
            terminal.write((say("cli.embedded"), "quiet"))
        terminal.print(pieces)
        if rate is not None:
            _descend(terminal, spec, trace, kind, rate, showing.digits)
        if numeric:
            from blockcalc.gradients.tables import numeric as beside

            terminal.print(beside(found_numeric))


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
    showing: Annotated[Showing, Without("detail", "no_prose", "row", "cell")],
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


@with_formats(EXPORTED)
@grouped
def export(
    file: FileArg = None,
    asked: Formats = None,
    grad: GradOpt = False,
    *,
    backward: Backward,
    writing: Writing,
    fragment: FragmentOpt = False,
    heat: ShadeOpt = False,
    reading: Reading,
    showing: Annotated[Showing, Without("brief")],
    errors: Errors,
) -> None:
    """Write every step in an export format."""
    formats = writing.formats(asked or {}, fragment)
    if heat and not any(form.part == "pictures" for form in formats):
        raise UsageError(Fault(say("svg.heat")))
    if not grad and (backward.loss or backward.chain or backward.lr):
        raise UsageError(Fault(say("cli.needs_grad")))
    if grad:
        from blockcalc.gradients.explain import explain_gradient as explained
        from blockcalc.gradients.run import work_gradients
        from blockcalc.shell.progress import progress

        rate = backward.rate()
        spec = reading.spec(file)
        with progress(say("progress.computing")):
            trace = work_gradients(spec, backward.kind, backward.chain, rate)
    else:
        from blockcalc.explain.steps import explain as explained

        spec, trace = _load(file, reading)
    depth = showing.depth()
    from blockcalc.explain.data import run_document

    document = run_document(spec, trace, depth, explained, heat)
    writing.write(document, formats, stem_of(file), fragment)
