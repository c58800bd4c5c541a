"""Match the names in a file of answers with the steps of a program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from blockcalc.answers.answer import (
    Answer,
    Answers,
    Matched,
    Unreadable,
    fitted,
    heads_fitted,
    last_token,
    same_numbers,
    unstacked,
    without_padding,
)
from blockcalc.answers.maps import LAST, MAPS, OUTPUTS, OUTPUTS_LABEL, STACKED, NameMap, useless
from blockcalc.answers.text import unreadable
from blockcalc.errors import Fault, LookupFault
from blockcalc.messages import say
from blockcalc.messages.words import dims, listed, say_count
from blockcalc.nn.settings import NormSettings
from blockcalc.program.program import Program
from blockcalc.records import dataclass

_COMMAS = re.compile(
    r"[0-9],[0-9]+, +-?[0-9]+,[0-9]"
)  # some commas have a space after them, some have none


@dataclass(frozen=True)
class _Meant:
    """What a name of another program means: a step in a layer, or outside the layers."""

    answer: Answer
    label: str
    step: str
    layer: int | None = None
    table: NameMap | None = None
    name: str = ""
    outside: bool = False


def match(
    answers: Answers,
    program: Program,
    renames: Mapping[str, str] | None = None,
    layer: int | None = None,
) -> Matched:
    """Find the step of each answer.

    Parameters
    ----------
    answers : Answers
    program : Program
        Forward, or with its backward pass, whose steps begin with ``grad.``.
    renames : mapping, optional
        Names in the answers to names of steps; applied first.
    layer : int, optional
        The layer to compare a single block with; by default the only one, or the first.
    """
    own = _Matcher(answers, program, renames or {}, layer)
    own.all()
    names = {*own.names, *(a.name for a in answers.given), *(u.name for u in answers.unreadable)}
    warnings = useless(renames or {}, names, program)
    return replace(own.matched(), warnings=tuple(warnings))


class _Matcher:
    def __init__(
        self, answers: Answers, program: Program, renames: Mapping[str, str], layer: int | None
    ) -> None:
        self.answers, self.program, self.renames, self.layer = answers, program, renames, layer
        self.refs = program.refs()
        self.targets = {**{name: name for name in self.refs}, **program.aliases}
        self.steps: dict[str, Answer] = {}
        self.lost = list(answers.unreadable)
        self.unmatched: list[str] = []
        self.remarks = list(answers.remarks)
        self.differing: dict[str, list[Answer]] = {}  # typed answers for one step

    def matched(self) -> Matched:
        self.refuse_differing()
        points = {}
        for name, number in self.answers.points:
            try:
                points[self.program.find(name)] = number
            except LookupFault as error:
                self.lost.append(unreadable(f"points.{name}", error.faults[0]))
        blank = {k for k, a in self.steps.items() if not (a.judged.any() or a.total)}
        lost = [replace(one, step=next(self.found([one.name]), None)) for one in self.lost]
        handed_in = frozenset({*self.steps, *(one.step for one in lost if one.step)} - blank)
        return Matched(
            self.steps,
            tuple(lost),
            tuple(self.unmatched),
            points,
            tuple(self.remarks),
            handed_in | blank | set(self.found(self.answers.left_open)),
            handed_in,
        )

    def found(self, names: Iterable[str]) -> Iterator[str]:
        """Give the steps that names are of, as far as they are of any."""
        for name in names:
            with suppress(LookupFault):
                yield self.program.find(self.renames.get(name, name))

    def all(self) -> None:
        """Match by name, then by the names of other programs."""
        rest = []
        for answer in self.given:
            name = self.renames.get(answer.name, answer.name)
            try:
                self.put(self.program.find(name), answer)
            except LookupFault as error:
                if answer.name in self.renames:
                    self.refuse(answer, error)
                else:
                    rest.append((answer, error))
        meant = [(list(self.meanings(answer)), answer, error) for answer, error in rest]
        chosen = self.choose({m.layer for many, _, _ in meant for m in many})
        used: dict[str, int] = {}
        others = 0
        for many, answer, fault in meant:
            here = [m for m in many if self.program.blocks or m.layer in (None, chosen)]
            others += bool(many) and not here
            found = next(((m, step) for m in here if (step := self.step(m))), None)
            if found:
                used[found[0].label] = used.get(found[0].label, 0) + 1
                self.take(*found)
            elif not many or here:
                self.refuse(answer, fault)
        self.remarks += [say("answers.names", label=label, n=n) for label, n in used.items()]
        if others:
            self.remarks.append(say("answers.layer", layer=chosen, n=others))

    def refuse(self, answer: Answer, error: LookupFault) -> None:
        """Record a name that is not a step; in answers typed by hand it is an error."""
        if self.answers.dump and answer.name not in self.renames:
            self.unmatched.append(answer.name)
        else:
            fault = error.faults[0]
            if answer.name.startswith("new.") and not any(n.startswith("new.") for n in self.refs):
                text = say("check.rate", name=answer.name)
                fault = Fault(text, hint=say("check.rate.hint"))
            self.lost.append(replace(unreadable(answer.name, fault), place=answer.place))

    def put(self, step: str, answer: Answer, quiet: bool = False) -> None:
        """Keep an answer in the shape of its step, the first of several; duplicates are ignored."""
        shape = self.refs[step].shape
        answer = fitted(answer, shape)
        if not self.answers.dump and _by_commas(answer, shape):
            sizes = {"has": dims(answer.values.shape), "shape": dims(shape)}
            text = say("answers.commas", name=answer.name, hint=say("hint.decimal_comma"), **sizes)
            self.lost.append(Unreadable(answer.name, text, answer.place))
            return
        first = self.steps.get(step)
        if first is None or not (first.judged.any() or first.total):
            self.steps[step] = answer
        elif quiet or not answer.judged.any() or same_numbers(first, answer):
            return
        elif self.answers.dump:
            text = say("answers.twice", step=step, first=first.name, name=answer.name)
            self.remarks.append(text)
        else:
            self.differing.setdefault(step, [first]).append(answer)

    def refuse_differing(self) -> None:
        """Refuse typed answers to one step that differ: each is an error that names all."""
        for step, many in self.differing.items():
            del self.steps[step]
            for one in many:
                others = listed(other.name for other in many if other is not one)
                text = say("answers.differ", step=step, others=others)
                self.lost.append(Unreadable(one.name, text, one.place))

    # names of other programs --------------------------------------------------------------

    def meanings(self, answer: Answer) -> Iterator[_Meant]:
        """Give the meanings of a name, one for each map that has it."""
        name = answer.name
        if found := OUTPUTS.fullmatch(name):
            at = int(found["at"])
            if found["list"] == "attentions":
                yield _Meant(answer, OUTPUTS_LABEL, "attn.weights", at)
            else:
                yield from self.hidden(answer, at)
        if LAST.fullmatch(name):
            end = self.last_state - 1 if self.last_state else None
            yield _Meant(answer, OUTPUTS_LABEL, "<end>", end, outside=True)
        for table in MAPS:
            inside = table.inside.fullmatch(name)
            key = (inside["name"] or "") if inside else ""
            layer = int(inside["layer"]) if inside and inside["layer"] else None
            suffix = "" if layer is None else f"-{layer}"
            if inside and (step := table.steps.get(f"{answer.op} {key}") or table.steps.get(key)):
                if not self.others(table, key, suffix):
                    yield _Meant(answer, table.label, step, layer, table, key)
                continue
            step = table.outside.get(f"{answer.op} {name}") or table.outside.get(name)
            if step and not self.others(table, name):
                yield _Meant(answer, table.label, step, None, table, name, True)

    def others(self, table: NameMap, name: str, suffix: str = "") -> bool:
        """Tell whether a name is there that is the step in place of this one."""
        instead = table.instead.get(name, "").split("|")
        return any(f"{other}{suffix}" in self.names for other in instead)

    @cached_property
    def names(self) -> set[str]:
        return {answer.name for answer in self.given}

    @cached_property
    def given(self) -> list[Answer]:
        """List the answers; an array of all hidden states or attentions is split by layer."""
        found: list[Answer] = []
        for answer in self.answers.given:
            name = STACKED.fullmatch(answer.name)
            step = self.layer_step("attn.weights" if name and name["list"][0] == "a" else None)
            parts = unstacked(answer, self.refs[step].shape) if name and step else []
            found += parts or [answer]
        return found

    def layer_step(self, name: str | None) -> str | None:
        """Name a step of the first block, or what goes into it."""
        blocks = self.program.blocks
        if name is None:
            return self.program.inputs[0].name
        return self.targets.get(f"{blocks[0].name}.{name}" if blocks else name)

    def hidden(self, answer: Answer, at: int) -> Iterator[_Meant]:
        """Find the step of a hidden state: the first is the input, the last has the final norm."""
        last = self.last_state
        if at < max(last, 1):
            yield _Meant(answer, OUTPUTS_LABEL, "<in>", at)
        if at > 0:
            yield _Meant(answer, OUTPUTS_LABEL, "<end>" if at == last else "<out>", at - 1)

    @cached_property
    def last_state(self) -> int:
        """Give the number of the last hidden state, that of layers; 0 where none is known."""
        found = [f for n in self.names if (f := OUTPUTS.fullmatch(n))]
        ends = (int(f["at"]) + (f["list"][0] == "a") for f in found)  # attentions have one fewer
        return max(ends, default=0)

    def choose(self, layers: Iterable[int | None]) -> int:
        """Choose the layer to compare a single block with."""
        there = {n for n in layers if n is not None}
        if self.layer is not None:
            return self.layer
        return 0 if 0 in there or not there else min(there)

    def step(self, meant: _Meant) -> str | None:
        """Find the recorded step, if the program has it."""
        blocks, prefix = self.program.blocks, ""
        at = meant.layer
        if blocks:
            if at is None and not meant.outside:
                at = self.layer if self.layer is not None else 0 if len(blocks) == 1 else None
                if at is None:
                    return None
            if at is not None:
                if at >= len(blocks):
                    return None
                prefix = f"{blocks[at].name}."
        if meant.step == "<in>":
            return blocks[at].inputs[0].name if blocks and at is not None else "x"
        if meant.step == "<end>" and (not blocks or at in (None, len(blocks) - 1)):
            return self.targets.get("out")
        if meant.step in ("<out>", "<end>"):
            return blocks[at].out.name if blocks and at is not None else self.output
        if meant.step in ("<normalized>", "<scaled>"):
            return self.norm(meant, prefix)
        if meant.step == "<mid>":
            return self.middle(prefix)
        return next(
            (self.targets[prefix + s] for s in meant.step.split("|") if prefix + s in self.targets),
            None,
        )

    def middle(self, prefix: str) -> str | None:
        """Name the stream that the last residual adds to: after attention, or after its norm."""
        last = self.targets.get(f"{prefix}residual2")
        found = (eq.inputs[0].name for eq in self.program.equations if eq.out.name == last)
        return next(found, self.targets.get(f"{prefix}residual1"))

    def norm(self, meant: _Meant, prefix: str) -> str | None:
        """Find the part of the norm that a name of several norms means, by its place among them.

        None, with a remark, where not as many are printed as the block has.
        """
        answer, norms = meant.answer, self.norms(prefix, meant.outside)
        same = [a for a in self.given if (a.name, a.op) == (answer.name, answer.op)]
        if len(same) == len(norms):
            return self.targets.get(f"{norms[answer.nth]}.{meant.step[1:-1]}")
        if not answer.nth and norms:
            text = say_count("answers.norms", len(same), name=answer.name, of=len(norms))
            self.remarks.append(text)
        return None

    def norms(self, prefix: str, final: bool) -> list[str]:
        """Name the norms of a block that have weights, or the final norm."""
        found = (
            s for s in self.program.sections if isinstance(s.settings, NormSettings) and not s.given
        )
        return [
            s.name
            for s in found
            if s.name.startswith(prefix) and (s.name == "final_norm") == final
            for eq in self.program.equations[s.last - 1 : s.last]
            if eq.inputs[-1].part in ("gamma", "beta")
        ]

    @cached_property
    def output(self) -> str | None:
        """Name the output of the only block, before the final norm."""
        final = next((s for s in self.program.sections if s.name == "final_norm"), None)
        return final.inputs[0].name if final else self.targets.get("out")

    def take(self, meant: _Meant, step: str) -> None:
        """Keep an answer under its step, its axes in our order if the map knows theirs."""
        answer, ref, table = meant.answer, self.refs[step], meant.table
        shape = ref.shape
        if table and meant.name in table.by_token:
            answer = heads_fitted(answer, shape)
        if table and table.padded:
            answer = without_padding(answer, ref.axes, shape, ref.part == "weights")
            if (rows := last_token(answer, shape)) is not answer:
                self.remarks.append(say("answers.last_token", name=answer.name))
                answer = rows
            if step in self.steps and answer.op == "ADD" and self.steps[step].name == answer.name:
                del self.steps[step]  # the bias is added to the tensor printed before
        self.put(step, answer, table is not None and table.padded)


def _by_commas(answer: Answer, shape: tuple[int, ...]) -> bool:
    """Tell whether decimal commas split each number in two."""
    if answer.place is None or answer.values.size != 2 * math.prod(shape):
        return False
    return _COMMAS.search(answer.place.text or "") is not None
