"""The commands ``run``, ``grad``, ``compare`` and ``export``."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from blockcalc.cli.formats import formats_of, with_formats
from blockcalc.cli.inputs import (
    Backward,
    Errors,
    Reading,
    Screen,
    Showing,
    Writing,
    computed,
    computing,
    parse_depths,
    stem_of,
)
from blockcalc.cli.options import (
    SHADED,
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
from blockcalc.shell.groups import Without, grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from blockcalc.explain.depth import Depth
    from blockcalc.explain.document import Piece
    from blockcalc.gradients.differences import Difference
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace
    from blockcalc.views import Format
    from blockcalc.views.terminal import Terminal

EXPORTED = ("pieces", "data", "arrays", "rows", "pictures", "live")  # the parts that a run has
HELP = {"names": ", ".join(formats_of(EXPORTED))}  # the fields of help texts


def _load(file: str | None, reading: Reading) -> tuple[Spec, Trace]:
    """Read a file, and compute it."""
    spec = reading.spec(file)
    return spec, computed(spec)


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
    screen.show(terminal, pieces if first is None else chain([first], pieces))


def _shaded(spec: Spec, trace: Trace, depth: Depth) -> Iterator[Piece]:
    """Make the heat maps."""
    from blockcalc.explain.picture.heat import heat

    _check_depth_of_heat(depth)
    return heat(spec, trace, depth)


def _check_depth_of_heat(depth: Depth) -> None:
    """Raise an error for an option that has no effect on a heat map, which shows no arithmetic."""
    from blockcalc.explain.depth import Detail

    others = {"--verify": depth.verify, "--row": depth.row, "--cell": depth.cell,
              "--detail cells": depth.detail == Detail.cells}  # fmt: skip
    if given := [name for name, value in others.items() if value]:
        raise UsageError(Fault(say("cell.alone", options=", ".join(["--heat", *given]))))


def _check_heat(formats: Sequence[Format], showing: Showing) -> None:
    """Raise an error if a format would write no heat map, or tables in its place."""
    _check_depth_of_heat(showing.depth())
    if not any(form.shades for form in formats):
        raise UsageError(Fault(say("heat.formats", names=SHADED)))
    plain = [
        f"--{form.name}" for form in formats if form.part in ("pieces", "live") and not form.shades
    ]
    if plain:
        text = say("heat.formats.plain", plain=", ".join(plain), names=SHADED)
        raise UsageError(Fault(text))


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
    terminal = screen.terminal()
    if depths is not None:
        others = {"--numeric": numeric, "--lr": backward.lr, "--chain": backward.chain,
                  "--steps": showing.steps}  # fmt: skip
        if spare := [name for name, value in others.items() if value]:
            raise UsageError(Fault(say("depths.alone", options=", ".join(spare))))
        _stacks(terminal, spec, depths, backward.kind)
        return
    rate = backward.rate()
    if numeric and spec.rounding:
        raise UsageError(Fault(say("numeric.round")))
    trace = computed(spec, backward)
    from blockcalc.gradients.explain import explain_gradient
    from blockcalc.gradients.tables import numeric as compared_gradients

    found = _differences(spec, backward.kind, trace) if numeric else []
    pieces = explain_gradient(spec, trace, showing.depth(pictures=True))
    with verdict(1 if any(d.wrong for d in found) else 0):
        if file is None:
            terminal.write((say("cli.embedded"), "quiet"))
        screen.show(terminal, pieces)
        if rate is not None:
            _descend(terminal, spec, trace, backward.kind, rate, showing.digits)
        if numeric:
            terminal.print(compared_gradients(found))


def _differences(spec: Spec, kind: str | None, trace: Trace) -> list[Difference]:
    """Compute the gradients again as central differences."""
    from blockcalc.gradients.differences import differences
    from blockcalc.shell.progress import progress

    with progress(say("progress.differences")):
        return differences(spec, kind, trace)


def _stacks(terminal: Terminal, spec: Spec, text: str, kind: str | None) -> None:
    """Show only the stacks of the depths in the value of ``--depths``."""
    counts = parse_depths(text)
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


@with_formats(("live",), "help.compare")
@grouped
def compare(
    file: FileArg = None,
    other: OtherArg = None,
    asked: Formats = None,
    *,
    writing: Writing,
    reading: Annotated[Reading, Without("norm")],
    showing: Annotated[Showing, Without("detail", "no_prose", "row", "cell")],
    screen: Screen,
    errors: Errors,
) -> None:
    """Show two runs side by side in the terminal, or write them as a page."""
    if file == other == "-":
        raise UsageError(Fault(say("cli.stdin_twice")))
    if other:
        first, second = _load(file, reading), _load(other, reading)
    else:
        spec = reading.spec(file, compared)
        both = map(spec.with_order, compared(spec.order))
        first, second = ((own, computed(own)) for own in both)
    from blockcalc.explain.comparison import compare as pieces

    depth = replace(showing, no_prose=True).depth()
    if writing.output is None and not any((asked or {}).values()):
        screen.show(screen.terminal(), pieces(first, second, depth))
        return
    from blockcalc.explain.document import Document

    document = Document(
        lambda: pieces(first, second, depth), live=lambda: pieces(first, second, depth)
    )
    writing.write(document, writing.formats(asked or {}), stem_of(file))


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
    if heat:
        _check_heat(formats, showing)
    if any(form.part == "live" for form in formats) and showing.steps:
        raise UsageError(Fault(say("page.every")))
    work = backward.only_with(grad)
    spec = reading.spec(file)
    trace = computed(spec, work)
    depth = showing.depth()
    from blockcalc.explain.data import run_document
    from blockcalc.gradients.explained import explained

    document = run_document(spec, trace, depth, explained, heat, computing(work))
    writing.write(document, formats, stem_of(file), fragment)
