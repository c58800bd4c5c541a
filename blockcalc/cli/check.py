"""The commands about a person's numbers: ``check`` and ``mistakes``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli.formats import with_formats
from blockcalc.cli.groups import Without, grouped
from blockcalc.cli.inputs import Backward, Errors, Reading, Screen, Writing
from blockcalc.cli.options import (
    FRAMED,
    AnswersArg,
    AsJsonOpt,
    BlankOpt,
    FileArg,
    Formats,
    FragmentOpt,
    LayerOfOpt,
    MapOpt,
    NumbersOpt,
    PowerOpt,
    ScoreOpt,
    StepsOpt,
    ToleranceOpt,
)
from blockcalc.errors import BlockcalcError, Fault, InputError, UsageError
from blockcalc.messages import say
from blockcalc.shell.argv import Command

if TYPE_CHECKING:
    from blockcalc.answers.answer import Answers
    from blockcalc.check.judge import Tolerance
    from blockcalc.check.run import Checked
    from blockcalc.explain.steps import Explainer
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(help=say("help.check"), cls=Command)(check)
    app.command(help=say("help.mistakes"), cls=Command)(mistakes)


@dataclass(frozen=True)
class Judging:
    """How answers are taken and judged, or what is made of the block in place of that."""

    names: MapOpt = None
    dtype: NumbersOpt = None
    layer: LayerOfOpt = None
    tolerance: ToleranceOpt = None
    score: ScoreOpt = False
    blank: BlankOpt = False
    power: PowerOpt = False
    steps: StepsOpt = None

    @property
    def patterns(self) -> list[str]:
        """Give the patterns of ``--steps``."""
        return [p.strip() for text in self.steps or [] for p in text.split(",") if p.strip()]

    def require(self, asked: Mapping[str, bool], fragment: bool, answers: bool) -> None:
        """Refuse options that do not go together."""
        if self.blank and self.power:
            raise UsageError(Fault(say("check.two")))
        if (self.blank or self.power) and (answers or fragment or any(asked.values())):
            raise UsageError(Fault(say("check.alone")))
        if self.steps and not (self.blank or self.power):
            raise UsageError(Fault(say("check.steps_of")))
        if self.steps and not self.patterns:
            raise UsageError(Fault(say("cli.no_steps")))


@with_formats(("pieces", "data", "rows"), "help.check")
@grouped
def check(
    file: FileArg = None,
    answers: AnswersArg = None,
    *,
    asked: Formats = None,
    fragment: FragmentOpt = False,
    judging: Judging,
    backward: Annotated[Backward, Without("chain")],
    reading: Reading,
    screen: Screen,
    writing: Writing,
    errors: Errors,
) -> None:
    """Judge a person's numbers."""
    judging.require(asked or {}, fragment, bool(answers))
    tolerance = parse_tolerance(judging.tolerance)
    spec = reading.spec(file)
    gradients = backward.loss is not None or backward.lr is not None
    if judging.blank or judging.power:
        trace = _work(spec, backward, gradients)
        if judging.power:
            _power(trace, spec, screen, judging.patterns)
        else:
            writing.send(_blank(spec, trace, judging.patterns, file).encode())
        return
    from blockcalc.answers.read import read_map
    from blockcalc.check.run import wants_gradients

    renames = read_map(judging.names) if judging.names else {}
    read = _read(spec, file, answers or (), judging.dtype)
    good = [one for one in read if not isinstance(one, BlockcalcError)]
    trace = _work(spec, backward, gradients or wants_gradients(good, renames))
    checked = _checked(spec, trace, read, tolerance, renames, judging.layer)
    _show(spec, checked, asked or {}, fragment, judging.score, screen, writing)
    if len(checked) == 1 and checked[0].matched.unmatched and not checked[0].matched.steps:
        raise typer.Exit(2)  # nothing in a dump is a step: nothing was judged
    if not all(one.ok for one in checked):
        raise typer.Exit(1)


def _work(spec: Spec, backward: Backward, gradients: bool) -> Trace:
    """Work the block, and its backward pass where gradients are asked for."""
    if gradients:
        from blockcalc.gradients.run import work_gradients

        return work_gradients(spec, backward.kind, False, backward.rate())
    from blockcalc.nn.run import run

    return run(spec)


def _read(
    spec: Spec, file: str | None, names: Sequence[str], dtype: str | None
) -> list[Answers | BlockcalcError]:
    """Read every file of answers; one that cannot be read stops the others only where it is the only one."""
    from blockcalc.answers.read import answers_of, read_answers, stored_as

    if not names:
        if not spec.expect:
            shown = file or "FILE"
            hint = say("check.no_answers.hint", file=shown)
            raise UsageError(Fault(say("check.no_answers", file=shown), hint=hint))
        return [stored_as(answers_of(spec), dtype)]
    found: list[Answers | BlockcalcError] = []
    for name in names:
        try:
            found.append(read_answers(name, dtype))
        except InputError as error:
            if len(names) == 1:
                raise
            found.append(error)
    return found


def _checked(
    spec: Spec,
    trace: Trace,
    read: Sequence[Answers | BlockcalcError],
    tolerance: Tolerance | None,
    renames: dict[str, str],
    layer: int | None,
) -> list[Checked]:
    """Judge the answers of each."""
    from blockcalc.answers.answer import Answers, Unreadable
    from blockcalc.check.run import catalogue
    from blockcalc.check.run import check as judged

    every = catalogue(spec, trace)
    found = []
    for one in read:
        if isinstance(one, BlockcalcError):
            fault = one.faults[0]
            name = fault.place.file if fault.place else ""
            one = Answers(name, (), (Unreadable(name, fault.message, fault.place),))
        found.append(judged(trace, one, every, tolerance, renames, layer))
    return found


def _show(
    spec: Spec,
    checked: Sequence[Checked],
    asked: Mapping[str, bool],
    fragment: bool,
    score: bool,
    screen: Screen,
    writing: Writing,
) -> None:
    """Print what was found, or write it in another format."""
    from blockcalc.check.explain import check_document
    from blockcalc.views import choose_format

    explains = _explains(checked[0].judgement.trace)
    document = check_document(spec, checked, score, explains)
    if any(asked.values()) or writing.output:
        chosen = choose_format(asked, writing.output)
        if fragment and not chosen.document:
            raise UsageError(Fault(say("cli.fragment", names=FRAMED)))
        writing.send(chosen.write(document, fragment))
        return
    if fragment:
        raise UsageError(Fault(say("cli.fragment", names=FRAMED)))
    screen.terminal().print(document.pieces())


def _explains(trace: Trace) -> type[Explainer]:
    """Choose what names steps and works their lines: a backward pass has one of its own."""
    if trace.program.forward is None:
        from blockcalc.explain.steps import Explainer

        return Explainer
    from blockcalc.gradients.explain import GradientExplainer

    return GradientExplainer


def parse_tolerance(text: str | None) -> Tolerance | None:
    """Read ``1e-3``, ``abs:1e-6`` or ``abs:1e-6,rel:1e-4``."""
    from blockcalc.check.judge import Tolerance

    if text is None:
        return None
    found = {"abs": 0.0, "rel": 0.0}
    for part in text.split(","):
        kind, colon, number = part.strip().rpartition(":")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if (kind if colon else "abs") not in found or not 0 <= value < float("inf"):
            raise UsageError(Fault(say("check.tolerance", text=text)))
        found[kind if colon else "abs"] = value
    return Tolerance(found["abs"], found["rel"])


def _blank(spec: Spec, trace: Trace, patterns: Sequence[str], file: str | None) -> str:
    """Write answers to fill in."""
    from blockcalc.answers.blank import blank_text
    from blockcalc.explain.depth import Depth, chosen_steps

    names = chosen_steps(trace.program, patterns) if patterns else None
    explainer = _explains(trace)(spec, trace, Depth())
    titles = {s.equation.out.name: explainer.step_title(s) for s in trace.steps()}
    return blank_text(trace.program, names, titles, Path(file).name if file else "FILE")


def _power(trace: Trace, spec: Spec, screen: Screen, patterns: Sequence[str]) -> None:
    """Show what the block can reveal."""
    from blockcalc.check.power import power, power_pieces
    from blockcalc.check.run import catalogue
    from blockcalc.explain.depth import chosen_steps

    last = trace.program.start().equations[-1].out.name
    names = sorted(chosen_steps(trace.program, patterns)) if patterns else [last]
    known = {eq.out.name for eq in trace.program.equations}
    found = power(catalogue(spec, trace), [n for n in names if n in known], 4)
    screen.terminal().print(power_pieces(found, names))


@grouped
def mistakes(as_json: AsJsonOpt = False, *, screen: Screen, errors: Errors) -> None:
    """List the catalogue of mistakes."""
    from blockcalc.check.power import mistake_pieces, mistakes_data
    from blockcalc.views.json import json_bytes

    if as_json:
        sys.stdout.buffer.write(json_bytes(mistakes_data()))
        return
    screen.terminal().print(mistake_pieces())
