"""Explain a backward pass: forward summary, loss, every gradient, and a table of all gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Entry, Heading, Listing, Piece
from blockcalc.explain.head import head
from blockcalc.explain.steps import Explainer
from blockcalc.gradients.loss import loss_text
from blockcalc.gradients.run import gradient_of, norm_of, parameters, scale
from blockcalc.gradients.tables import listing
from blockcalc.gradients.zeros import Zeros
from blockcalc.messages import known, say
from blockcalc.messages.words import axis_word, dims
from blockcalc.nn.settings import NormSettings
from blockcalc.nn.spec import Spec
from blockcalc.notation.quantities import significant
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Call, Name, Slot, walk
from blockcalc.ops.op import Ref
from blockcalc.program.backward import BackwardSettings
from blockcalc.program.loss import LOSSES, Loss
from blockcalc.program.program import Equation, Program, Section
from blockcalc.program.trace import Step, Trace

ROUND_OFF = 1e-13  # relative to the largest gradient: smaller entries are shown as 0


def explain_gradient(spec: Spec, trace: Trace, depth: Depth | None = None) -> Iterator[Piece]:
    """Explain a forward and backward run, piece by piece.

    Raises
    ------
    UsageError
        A pattern of ``depth`` matches no step.
    """
    return GradientExplainer(spec, trace, depth or Depth()).pieces()


class GradientExplainer(Explainer):
    """Explains a run with a backward pass."""

    @cached_property
    def start(self) -> Program:
        """Give the forward pass alone."""
        return self.program.start()

    def pieces(self) -> Iterator[Piece]:
        if self.chosen is not None:
            yield from super().pieces()
            return
        first = head(self.spec, replace(self.trace, program=self.start))
        facts = (say("fact.loss"), self._loss()), (say("fact.gradients"), self._how())
        if self.depth.pictures:
            yield replace(first, notes=None, facts=(), hints=(), headline=self._headline())
            yield from self._summary()
            if self.depth.brief:
                return
            yield Heading(say("heading.block"))
            first = replace(first, title="")
        yield replace(first, facts=(*first.facts, *facts))
        yield Heading(say("heading.given"))
        yield self.given(self.program.inputs)
        if self.depth.detail == Detail.cells:
            yield from self.walk(0, len(self.start.equations))
        else:
            prose = say("prose.forward") if self.depth.prose else None
            yield Heading(say("heading.forward"), prose=prose)
            yield self.brief()
            yield self.given([eq.out for eq in self.start.equations])
        yield from self.walk(len(self.start.equations), len(self.program.equations))
        if not self.depth.pictures:
            yield from self._summary()

    def _summary(self) -> Iterator[Piece]:
        """Show the table of all gradients under its heading."""
        table = self.table()
        counted = say("column.zeros") in {column.title for column in table.columns}
        zeros = say("prose.table.zeros") if counted else ""
        prose = say("prose.table", zeros=zeros) if self.depth.prose else None
        yield Heading(say("heading.table"), prose=prose)
        yield table

    @property
    def loss(self) -> Loss:
        """Give the loss."""
        (section,) = (s for s in self.program.sections if s.name == "loss")
        return LOSSES[section.settings.of]

    def _headline(self) -> str:
        text, value = self._loss()
        return say("headline.loss", value=value, text=text)

    def _loss(self) -> tuple[str, ...]:
        text = loss_text(self.spec, self.loss)
        value = self.written(float(self.trace.arrays["loss"][0]))
        return text, say("loss.value", value=value)

    def _how(self) -> tuple[str, ...]:
        closed = any(eq.out.part == "closed" for eq in self.program.equations)
        parts = [say("gradients.closed" if closed else "gradients.chain")] if self._inside() else []
        parts += [say("gradients.rounded")] if self.trace.rounding else []
        return (*parts, say("gradients.names"))

    def digits_of(self, ref: Ref) -> int:
        forward = ref.name in self.names or not self.trace.rounding
        return self.digits if forward else self.depth.digits

    def _inside(self) -> bool:
        sections = self.start.sections
        return any(s.kind == "softmax" or isinstance(s.settings, NormSettings) for s in sections)

    def written(self, x: float) -> str:
        """Write a number in a table."""
        return significant(x, self.depth.digits)

    # pieces -----------------------------------------------------------------------------

    def brief(self) -> Listing:
        """List the forward steps, one line for each."""
        rows: list[tuple[Entry, ...]] = []
        for i, eq in enumerate(self.start.equations, 1):
            formula = eq.op.formula([Name(r.symbol) for r in eq.inputs])
            left = self.text.symbol(eq.out.symbol)
            rows.append(
                (str(i), eq.out.name, dims(eq.out.shape), f"{left} = {self.text.render(formula)}")
            )
        return listing(("number", "step", "shape", "formula"), rows)

    def heading(self, section: Section | None, name: str) -> Heading:
        if section is None or section.kind not in ("loss", "grad"):
            return super().heading(section, name)
        key = "loss" if section.kind == "loss" else f"grad.{section.settings.of}"
        prose = say(f"prose.{key}") if self.depth.prose and known(f"prose.{key}") else None
        title = say(f"section.{key}" if known(f"section.{key}") else "section.grad")
        return Heading(title, section.name, prose or None)

    def step_title(self, step: Step) -> str:
        name = step.equation.out.name
        if name.startswith("loss"):
            return say(f"step.loss.{name.rpartition('.')[2]}")
        if name.startswith("new."):
            return say("step.grad.new", name=name.removeprefix("new."))
        if not name.startswith("grad."):
            return super().step_title(step)
        of = name.removeprefix("grad.")
        last = of.rpartition(".")[2]
        if step.equation.out.part in ("inner", "closed"):
            return say(f"step.grad.{last}") if known(f"step.grad.{last}") else last
        target, _, way = of.partition(".from.")
        if way:
            return say("step.grad.part", name=target, way=way)
        several = sum(r.name.startswith(f"{name}.from.") for r in step.equation.inputs) > 1
        return say("step.grad.sum" if several else "step.grad.whole", name=target)

    def notes(self, step: Step) -> Iterator[str]:
        yield from super().notes(step)
        eq = step.equation
        if step.index < len(self.start.equations):
            return
        if over := eq.op.sums_over(eq.inputs):
            yield say("note.sums", axes=say("axes.and").join(dict.fromkeys(map(axis_word, over))))
        if masked := self.masked_rows(eq):
            yield say("note.unseen", rows=", ".join(masked))
        section = self.program.section_of(step.index)
        of_loss = section is not None and section.settings == BackwardSettings("loss")
        if isinstance(eq.op, Elementwise) and not of_loss:
            steps = {
                e.args for e in walk(eq.op.body) if isinstance(e, Call) and e.function == "step"
            }
            for slot in (args[0] for args in steps if isinstance(args[0], Slot)):
                operand = step.inputs[slot.index]
                n = int((operand == 0).sum())
                if n:
                    yield say("note.step_at_zero", n=n, total=operand.size)

    def masked_rows(self, eq: Equation) -> list[str]:
        """Name the fully masked rows in the gradient of a softmax."""
        outs = {s.out.name for s in self.start.sections if s.kind == "softmax"}
        first = eq.inputs[0].name if eq.inputs else ""
        if first not in outs or len(eq.inputs) != 3:
            return []
        masked = np.asarray((self.trace.arrays[first] == 0).all(axis=-1))
        return [str(int(i) + 1) for i in np.unique(np.argwhere(masked)[:, -1])]

    # the table --------------------------------------------------------------------------

    def table(self) -> Listing:
        """List the gradient of every parameter and of x, and the norm of all."""
        inputs = [ref for ref in self.start.inputs if ref.role == "data"]
        refs = [*inputs, *parameters(self.start)]
        top, zeros = scale(self.trace), Zeros(self.start, self.trace, self.loss)
        rows: list[tuple[Entry, ...]] = []
        norms: list[float] = []
        for ref in refs:
            g = gradient_of(self.trace, ref.name)
            zero = np.abs(g) <= ROUND_OFF * top
            g = np.where(zero, 0.0, g)
            norms += [norm_of(g)] if ref.role == "weight" else []
            at = np.unravel_index(int(np.abs(g).argmax()), g.shape)
            where = "[" + ",".join(str(int(i) + 1) for i in at) + "]"
            largest = "0" if zero.all() else self.written(float(g[at]))
            norm = "0" if zero.all() else self.written(norm_of(g))
            count = f"{int(zero.sum())}/{g.size}" if zero.any() else ""
            reason = zeros.reason(ref, zero) if zero.any() else ""
            rows.append(
                (f"grad.{ref.name}", norm, largest, "" if zero.all() else where, count, reason)
            )
        total = self.written(norm_of(np.array(norms)))
        rows.append((say("total.gradient"), total, "", "", "", ""))
        columns = ("name", "norm", "largest", "where", "zeros", "reason")
        return listing(columns, rows, (len(rows) - 1,))

    @property
    def names(self) -> set[str]:
        """List all names of the forward pass."""
        return {*self.start.refs()}
