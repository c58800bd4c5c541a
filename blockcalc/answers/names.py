"""From the names in a file of answers to the steps of a program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from blockcalc.answers.answer import (
    Answer,
    Answers,
    Unreadable,
    fitted,
    heads_fitted,
    last_token,
    without_padding,
)
from blockcalc.answers.maps import MAPS, OUTPUTS, OUTPUTS_LABEL, NameMap
from blockcalc.answers.text import unreadable
from blockcalc.errors import LookupFault
from blockcalc.messages import say
from blockcalc.messages.words import dims, listed
from blockcalc.program.program import Program

_COMMAS = re.compile(
    r"[0-9],[0-9]+, +-?[0-9]+,[0-9]"
)  # some commas have a space after them, some have none


@dataclass(frozen=True)
class Matched:
    """Answers by the step that each is of.

    Attributes
    ----------
    steps : mapping
        Each answer by the recorded name of its step; in the shape of the step where only axes of length 1, or the
        known order of axes of another program, stood between.
    unreadable : tuple of Unreadable
        What could not be read, and names of no step.
    unmatched : tuple of str
        Names of a dump that are no steps.
    points : mapping
        Points by step.
    remarks : tuple of str
        Which names were recognized, which layer was taken.
    """

    steps: Mapping[str, Answer]
    unreadable: tuple[Unreadable, ...] = ()
    unmatched: tuple[str, ...] = ()
    points: Mapping[str, float] | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Meant:
    """What a name of another program means: a step in a layer, or outside of all."""

    answer: Answer
    label: str
    step: str
    layer: int | None = None
    table: NameMap | None = None
    name: str = ""


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
        Their names to ours, before anything else is looked at.
    layer : int, optional
        The layer of the answers that a block without a stack is; by default the only one, or the first.
    """
    own = _Matcher(answers, program, renames or {}, layer)
    own.all()
    return own.matched()


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

    def matched(self) -> Matched:
        points = {}
        for name, number in self.answers.points:
            try:
                points[self.program.find(name)] = number
            except LookupFault as error:
                self.lost.append(unreadable(f"points.{name}", error.faults[0]))
        return Matched(
            self.steps, tuple(self.lost), tuple(self.unmatched), points, tuple(self.remarks)
        )

    def all(self) -> None:
        """Match by name, then by the names of other programs."""
        rest = []
        for answer in self.answers.given:
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
        """Note a name that is no step: typed by hand, it is a mistake."""
        if self.answers.dump and answer.name not in self.renames:
            self.unmatched.append(answer.name)
        else:
            self.lost.append(replace(unreadable(answer.name, error.faults[0]), place=answer.place))

    def put(self, step: str, answer: Answer, quiet: bool = False) -> None:
        """Keep an answer in the shape of its step, the first of several; the same numbers again are no news."""
        shape = self.refs[step].shape
        answer = fitted(answer, shape)
        if not self.answers.dump and _by_commas(answer, shape):
            sizes = {"has": dims(answer.values.shape), "shape": dims(shape)}
            text = say("answers.commas", name=answer.name, hint=say("hint.decimal_comma"), **sizes)
            self.lost.append(Unreadable(answer.name, text, answer.place))
            return
        if step in self.steps:
            if quiet or np.array_equal(answer.values, self.steps[step].values, equal_nan=True):
                return
            text = say("answers.twice", step=step, first=self.steps[step].name, name=answer.name)
            if self.answers.dump:
                self.remarks.append(text)
            else:
                self.lost.append(Unreadable(answer.name, text, answer.place))
            return
        self.steps[step] = answer

    # names of other programs --------------------------------------------------------------

    def meanings(self, answer: Answer) -> Iterator[_Meant]:
        """Give what a name may mean, by each map that has it."""
        name = answer.name
        if found := OUTPUTS.fullmatch(name):
            at = int(found["at"])
            if found["list"] == "attentions":
                yield _Meant(answer, OUTPUTS_LABEL, "attn.weights", at)
            else:
                yield from self.hidden(answer, at)
        for table in MAPS:
            inside = table.inside.fullmatch(name)
            key = (inside["name"] or "") if inside else ""
            layer = int(inside["layer"]) if inside and inside["layer"] else None
            suffix = "" if layer is None else f"-{layer}"
            if inside and (step := table.steps.get(f"{answer.op} {key}") or table.steps.get(key)):
                if f"{table.instead.get(key)}{suffix}" not in self.names:
                    yield _Meant(answer, table.label, step, layer, table, key)
            elif name in table.outside and table.instead.get(name, "") not in self.names:
                yield _Meant(answer, table.label, table.outside[name], None, table, name)

    @cached_property
    def names(self) -> set[str]:
        return {answer.name for answer in self.answers.given}

    def hidden(self, answer: Answer, at: int) -> Iterator[_Meant]:
        """Give what a hidden state is: the first goes into block 0, the last is after the final norm."""
        last = self.last_state
        if at < max(last, 1):
            yield _Meant(answer, OUTPUTS_LABEL, "<in>", at)
        if at > 0:
            yield _Meant(answer, OUTPUTS_LABEL, "<end>" if at == last else "<out>", at - 1)

    @cached_property
    def last_state(self) -> int:
        states = [f for n in self.names if (f := OUTPUTS.fullmatch(n)) and f["list"][0] == "h"]
        return max(int(f["at"]) for f in states)

    def choose(self, layers: Iterable[int | None]) -> int:
        """Choose the layer that a block is, where the file has no stack."""
        there = {n for n in layers if n is not None}
        if self.layer is not None:
            return self.layer
        return 0 if 0 in there or not there else min(there)

    def step(self, meant: _Meant) -> str | None:
        """Find the recorded step, if the program has it."""
        blocks, prefix = self.program.blocks, ""
        at = meant.layer
        if blocks:
            outside = meant.table is not None and meant.name in meant.table.outside
            if at is None and not outside:
                at = self.layer if self.layer is not None else 0 if len(blocks) == 1 else None
                if at is None:
                    return None
            if at is not None:
                if at >= len(blocks):
                    return None
                prefix = f"{blocks[at].name}."
        if meant.step == "<in>":
            return blocks[at].inputs[0].name if blocks and at is not None else "x"
        if meant.step == "<end>" and (not blocks or at == len(blocks) - 1):
            return self.targets.get("out")
        if meant.step in ("<out>", "<end>"):
            return blocks[at].out.name if blocks and at is not None else self.output
        return next(
            (self.targets[prefix + s] for s in meant.step.split("|") if prefix + s in self.targets),
            None,
        )

    @cached_property
    def output(self) -> str | None:
        """Name what flows out of the only block, before the final norm."""
        final = next((s for s in self.program.sections if s.name == "final_norm"), None)
        return final.inputs[0].name if final else self.targets.get("out")

    def take(self, meant: _Meant, step: str) -> None:
        """Keep an answer under its step, its axes in our order where the map knows theirs."""
        answer, shape, table = meant.answer, self.refs[step].shape, meant.table
        if table and meant.name in table.by_token:
            answer = heads_fitted(answer, shape)
        if table and table.padded:
            axes = self.refs[step].axes
            answer = without_padding(answer, axes, shape, step.endswith("weights"))
            if (rows := last_token(answer, shape)) is not answer:
                self.remarks.append(say("answers.last_token", name=answer.name))
                answer = rows
            if step in self.steps and answer.op == "ADD" and self.steps[step].name == answer.name:
                del self.steps[step]  # the bias is added to what was printed before
        self.put(step, answer, table is not None and table.padded)


def _by_commas(answer: Answer, shape: tuple[int, ...]) -> bool:
    """Tell whether decimal commas made two numbers of each."""
    if answer.place is None or answer.values.size != 2 * math.prod(shape):
        return False
    return _COMMAS.search(answer.place.text or "") is not None


def unmatched_remark(matched: Matched) -> str | None:
    """Say which names of a dump are no steps."""
    if not matched.unmatched:
        return None
    return say("answers.unmatched", names=listed(matched.unmatched))
