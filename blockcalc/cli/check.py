"""The commands about a person's numbers: ``check`` and ``mistakes``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from blockcalc.cli.formats import with_formats
from blockcalc.cli.inputs import Backward, Errors, Reading, Screen, Writing, parse_steps, waiting
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
from blockcalc.messages.words import listed
from blockcalc.program.loss import is_backward
from blockcalc.shell.argv import verdict
from blockcalc.shell.groups import Without, grouped
from blockcalc.views import target

if TYPE_CHECKING:
    from blockcalc.answers.answer import Answers
    from blockcalc.check.judge import Tolerance
    from blockcalc.check.run import Checked
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace


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
    def patterns(self) -> tuple[str, ...]:
        """Give the patterns of ``--steps``."""
        return parse_steps(self.steps)

    def _of_answers(self) -> list[str]:
        """Name the options given that say how answers are read and judged."""
        given = {
            "--map": self.names is not None,
            "--dtype": self.dtype is not None,
            "--layer": self.layer is not None,
            "--tolerance": self.tolerance is not None,
            "--score": self.score,
        }
        return [name for name, is_given in given.items() if is_given]

    def require(
        self, asked: Mapping[str, bool], fragment: bool, answers: bool, writing: Writing
    ) -> None:
        """Refuse options that do not go together."""
        if self.blank and self.power:
            raise UsageError(Fault(say("check.two")))
        alone = self.blank or self.power
        if alone and (answers or fragment or any(asked.values())):
            raise UsageError(Fault(say("check.alone")))
        if (self.blank or self.power) and (unused := self._of_answers()):
            raise UsageError(Fault(say("check.of_answers", names=listed(unused))))
        if self.power and (writing.output is not None or writing.force):
            raise UsageError(Fault(say("check.power_output"), hint=say("check.power_output.hint")))
        if self.steps and not (self.blank or self.power):
            raise UsageError(Fault(say("check.steps_of")))


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
    judging.require(asked or {}, fragment, bool(answers), writing)
    if [file, *(answers or ()), judging.names].count("-") > 1:
        raise UsageError(Fault(say("cli.stdin_twice")))
    tolerance = parse_tolerance(judging.tolerance)
    spec = reading.spec(file)
    gradients = backward.loss is not None or backward.lr is not None
    if judging.blank or judging.power:
        target(writing.output, ".yaml")
        _require_rate(backward, judging.patterns)
        trace = _work(spec, backward, gradients or any(map(is_backward, judging.patterns)))
        if judging.power:
            _power(trace, spec, screen, judging.patterns)
        else:
            writing.send(_blank(spec, trace, judging.patterns, file, backward).encode())
        return
    from blockcalc.answers.read import read_map
    from blockcalc.check.run import wants_gradients

    with waiting(judging.names):
        renames = read_map(judging.names) if judging.names else {}
    read = _read(spec, file, answers or (), judging.dtype)
    good = [one for one in read if not isinstance(one, BlockcalcError)]
    trace = _work(spec, backward, gradients or wants_gradients(good, renames, spec.points))
    checked = _checked(spec, trace, read, tolerance, renames, judging.layer)
    with verdict(_exit_code(checked)):
        _show(spec, checked, asked or {}, fragment, judging.score, screen, writing)


def _exit_code(all_checked: Sequence[Checked]) -> int:
    """Give 0 where all is right, 1 where something is not, 2 where nothing could be read."""
    from blockcalc.check.run import JUDGED, OPEN, UNTOLD

    if all(one.ok for one in all_checked):
        return 0
    return 1 if any(one.state in (JUDGED, OPEN, UNTOLD) for one in all_checked) else 2


def _work(spec: Spec, backward: Backward, gradients: bool) -> Trace:
    """Work the block, and its backward pass where gradients are asked for."""
    from blockcalc.shell.progress import progress

    if gradients:
        from blockcalc.gradients.run import work_gradients

        with progress(say("progress.computing")):
            return work_gradients(spec, backward.kind, False, backward.rate())
    from blockcalc.nn.run import run

    with progress(say("progress.computing")):
        return run(spec)


def _require_rate(backward: Backward, names: Sequence[str]) -> None:
    """Refuse new weights without the learning rate that they are made with."""
    new = next((name for name in names if name.split(".")[0] == "new"), None)
    if new and backward.lr is None:
        raise UsageError(Fault(say("check.rate", name=new), hint=say("check.rate.hint")))


def _read(
    spec: Spec, file: str | None, names: Sequence[str], dtype: str | None
) -> list[Answers | BlockcalcError]:
    """Read every file of answers; an unreadable one is an error only if it is the only one."""
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
            with waiting(name):
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
    from blockcalc.shell.progress import progress

    found = []
    with progress(say("progress.judging")) as shown:
        every = catalogue(spec, trace)
        for one in read:
            if isinstance(one, BlockcalcError):
                fault = one.faults[0]
                name = fault.place.file if fault.place else ""
                one = Answers(name, (), (Unreadable(name, fault.message, fault.place),))
            shown.text = say("progress.judging.one", name=one.source)
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
    from blockcalc.gradients.explained import explainer_of

    explains = explainer_of(checked[0].judgement.trace)
    document = check_document(spec, checked, score, explains)
    if any(asked.values()) or writing.output:
        writing.write(document, writing.formats(asked, fragment), "check", fragment)
        return
    if fragment:
        raise UsageError(Fault(say("cli.fragment", names=FRAMED)))
    screen.show(screen.terminal(), document.pieces())


def parse_tolerance(text: str | None) -> Tolerance | None:
    """Read ``1e-3``, ``abs:1e-6`` or ``abs:1e-6,rel:1e-4``."""
    from blockcalc.check.judge import Tolerance
    from blockcalc.files.source import short
    from blockcalc.files.yaml_text import plain_scalar

    if text is None:
        return None
    found: dict[str, float] = {}
    for part in text.split(","):
        kind, colon, number = part.strip().rpartition(":")
        kind = kind if colon else "abs"
        value = plain_scalar(number.strip())
        real = type(value) in (int, float) and 0 <= value <= sys.float_info.max
        if kind not in ("abs", "rel") or kind in found or not real:
            raise UsageError(Fault(say("check.tolerance", text=short(text))))
        found[kind] = float(value)
    return Tolerance(found.get("abs", 0.0), found.get("rel", 0.0))


def _blank(
    spec: Spec, trace: Trace, patterns: Sequence[str], file: str | None, backward: Backward
) -> str:
    """Write answers to fill in; with gradients, of which loss they are."""
    from blockcalc.answers.blank import blank_text
    from blockcalc.explain.depth import Depth, chosen_steps
    from blockcalc.gradients.explained import explainer_of
    from blockcalc.gradients.loss import choose_loss, loss_text

    names = chosen_steps(trace.program, patterns) if patterns else None
    explainer = explainer_of(trace)(spec, trace, Depth())
    titles = {s.equation.out.name: explainer.step_title(s) for s in trace.steps()}
    given = {"loss": backward.kind, "lr": backward.lr}
    options = "".join(f" --{key} {value}" for key, value in given.items() if value is not None)
    notes = []
    if trace.program.forward is not None:
        loss = choose_loss(spec, backward.kind)
        notes.append(say("answers.blank.loss", loss=loss_text(spec, loss)))
    name = Path(file).name if file else "FILE"
    return blank_text(trace.program, names, titles, name, options, notes)


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
    from blockcalc.views.formats.json import json_bytes

    if as_json:
        sys.stdout.buffer.write(json_bytes(mistakes_data()))
        return
    screen.terminal().print(mistake_pieces())
