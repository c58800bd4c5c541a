"""Explain a backward pass: forward summary, loss, every gradient, and a table of all gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Column, Entry, Heading, Listing, Piece
from blockcalc.explain.head import collapses, head, two_features
from blockcalc.explain.steps import Explainer
from blockcalc.gradients.loss import loss_text
from blockcalc.gradients.run import gradient_of, norm_of, parameters, scale
from blockcalc.messages import known, say
from blockcalc.messages.words import dims
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.settings import FfnSettings, NormSettings
from blockcalc.nn.spec import Spec
from blockcalc.notation.quantities import significant
from blockcalc.ops.elementwise import Elementwise, Quotient
from blockcalc.ops.expr import Call, Name, Slot, walk
from blockcalc.ops.movement import Columns
from blockcalc.ops.op import Array, Ref
from blockcalc.ops.rotate import Rotate
from blockcalc.program.backward import BackwardSettings
from blockcalc.program.loss import LOSSES, Loss
from blockcalc.program.program import Equation, Program, Section
from blockcalc.program.trace import Step, Trace

NOTHING = 1e-13  # relative to the largest gradient: smaller entries are round-off


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
        facts = (
            *first.facts,
            (say("fact.loss"), self._loss()),
            (say("fact.gradients"), self._how()),
        )
        table = Heading(
            say("heading.table"), prose=say("prose.table") if self.depth.prose else None
        )
        if self.depth.pictures:
            yield replace(first, notes=None, facts=(), hints=(), headline=self._headline())
            yield table
            yield self.table()
            if self.depth.brief:
                return
            yield Heading(say("heading.block"))
            first = replace(first, title="")
        yield replace(first, facts=facts)
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
            yield table
            yield self.table()

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
        heads = (("number", "number"), ("step", "name"), ("shape", "text"), ("formula", "text"))
        return Listing(
            tuple(Column(say(f"column.{key}"), kind) for key, kind in heads), tuple(rows)
        )

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
        own = name.removeprefix("grad.")
        *_, last = own.split(".")
        if step.equation.out.part in ("inner", "closed"):
            return say(f"step.grad.{last}") if known(f"step.grad.{last}") else last
        target, _, way = own.partition(".from.")
        if way:
            return say("step.grad.part", name=target, way=way)
        together = sum(r.name.startswith(f"{name}.from.") for r in step.equation.inputs) > 1
        return say("step.grad.sum" if together else "step.grad.whole", name=target)

    def notes(self, step: Step) -> Iterator[str]:
        yield from super().notes(step)
        eq = step.equation
        if step.index < len(self.start.equations):
            return
        if over := eq.op.sums_over(eq.inputs):
            yield say("note.sums", axes=" and ".join(dict.fromkeys(over)))
        if unseen := self.unseen(eq):
            yield say("note.unseen", rows=", ".join(unseen))
        section = self.program.section_of(step.index)
        of_loss = section is not None and section.settings == BackwardSettings("loss")
        if isinstance(eq.op, Elementwise) and not of_loss:
            steps = {
                e.args for e in walk(eq.op.body) if isinstance(e, Call) and e.function == "step"
            }
            for slot in (args[0] for args in steps if isinstance(args[0], Slot)):
                taken = step.inputs[slot.index]
                n = int((taken == 0).sum())
                if n:
                    yield say("note.step_at_zero", n=n, total=taken.size)

    def unseen(self, eq: Equation) -> list[str]:
        """Name the fully masked rows in the gradient of a softmax."""
        outs = {s.out.name for s in self.start.sections if s.kind == "softmax"}
        first = eq.inputs[0].name if eq.inputs else ""
        if first not in outs or len(eq.inputs) != 3:
            return []
        nothing = np.asarray((self.trace.arrays[first] == 0).all(axis=-1))
        return [str(int(i) + 1) for i in np.unique(np.argwhere(nothing)[:, -1])]

    # the table --------------------------------------------------------------------------

    def table(self) -> Listing:
        """List the gradient of every parameter and of x, and the norm of all."""
        inputs = [ref for ref in self.start.inputs if ref.role == "data"]
        refs = [*inputs, *parameters(self.start)]
        top = scale(self.trace)
        rows: list[tuple[Entry, ...]] = []
        norms: list[float] = []
        for ref in refs:
            g = gradient_of(self.trace, ref.name)
            quiet = np.abs(g) <= NOTHING * top
            g = np.where(quiet, 0.0, g)
            norms += [norm_of(g)] if ref.role == "weight" else []
            at = np.unravel_index(int(np.abs(g).argmax()), g.shape)
            where = "[" + ",".join(str(int(i) + 1) for i in at) + "]"
            largest = "0" if quiet.all() else self.written(float(g[at]))
            norm = "0" if quiet.all() else self.written(norm_of(g))
            zeros = f"{int(quiet.sum())}/{g.size}" if quiet.any() else ""
            reason = self.reason(ref, quiet) if quiet.any() else ""
            rows.append(
                (f"grad.{ref.name}", norm, largest, "" if quiet.all() else where, zeros, reason)
            )
        total = self.written(norm_of(np.array(norms)))
        rows.append((say("total.gradient"), total, "", "", "", ""))
        heads = ("name", "norm", "largest", "where", "zeros", "reason")
        kinds = {"name": "name", "where": "text", "reason": "text"}
        columns = tuple(Column(say(f"column.{key}"), kinds.get(key, "number")) for key in heads)
        return Listing(columns, tuple(rows), (len(rows) - 1,))

    def reason(self, ref: Ref, quiet: Array) -> str:
        """Say why entries of a gradient are 0, if that is known."""
        if self._shifts_scores(ref, quiet):
            return say("why.b_k")
        if quiet.all() and self._two(ref):
            return say("why.two")
        if quiet.all() and self._constant():
            return say("why.constant")
        dead = self._dead(ref, quiet)
        if dead is not None and dead.any():
            some = {"n": int(dead.sum()), "all": int(quiet.sum())}
            reason = say("why.dead")
            return reason if dead.sum() == quiet.sum() else say("why.some", reason=reason, **some)
        return say("why.masked") if ref.role == "data" and self._unseen(quiet) else ""

    def _constant(self) -> bool:
        """Tell whether the loss is a sum of normalized rows, which is constant."""
        last = self.start.sections[-1] if self.start.sections else None
        norm = (
            last is not None
            and last.kind == "layer_norm"
            and last.last == len(self.start.equations)
        )
        return self.loss.uniform and norm and isinstance(self.start.equations[-1].op, Quotient)

    def _dead(self, ref: Ref, quiet: Array) -> Array | None:
        """Find zeros of hidden units whose ReLU is 0 for all tokens, in every run of a block."""
        axes = [axis for axis, name in enumerate(ref.axes) if name == "d_ff"]
        taken = [self.trace.arrays[name] for name in self._rectified(ref)]
        if not axes or not taken:
            return None
        silent = np.all([(x <= 0).all(axis=tuple(range(x.ndim - 1))) for x in taken], axis=0)
        shape = [1] * quiet.ndim
        shape[axes[0]] = len(silent)
        return np.asarray(quiet & silent.reshape(shape))

    def _rectified(self, ref: Ref) -> Iterator[str]:
        """Name what ReLU is applied to in the FFNs that use a matrix."""
        equations = self.start.equations
        for section in self.start.sections:
            own = equations[section.first : section.last]
            if isinstance(section.settings, FfnSettings) and any(ref in eq.inputs for eq in own):
                yield from (eq.inputs[0].name for eq in own if eq.op == ACTIVATIONS["relu"].op)

    def _shifts_scores(self, ref: Ref, quiet: Array) -> bool:
        """Tell whether zeros come from a bias of keys: it adds a constant to a row of scores."""
        equations = self.start.equations
        made = next((eq for eq in equations if ref in eq.inputs[2:]), None)
        if made is None or any(isinstance(eq.op, Rotate) for eq in equations):
            return False
        if made.out.part == "key":
            return True
        taken = (eq for eq in equations if made.out in eq.inputs and eq.out.part == "key")
        columns = [i for eq in taken if isinstance(eq.op, Columns) for i in eq.op.indices]
        return bool(columns) and set(np.flatnonzero(quiet).tolist()) <= set(columns)

    def _two(self, ref: Ref) -> bool:
        """Tell whether every path from a matrix to the loss passes a LayerNorm of two features."""
        reached = {self.start.equations[-1].out.name}
        for index in range(len(self.start.equations) - 1, -1, -1):
            eq, section = self.start.equations[index], self.start.top_section_of(index)
            inner = eq.inputs[:1] if section is not None and two_features(section) else ()
            if eq.out.name in reached:
                reached.update(r.name for r in eq.inputs if r not in inner)
        return collapses(self.start) and ref.name not in reached

    def _unseen(self, quiet: Array) -> bool:
        """Tell whether every row of zeros is of a token that no query attends to, in any block."""
        outs = (s.out.name for s in self.start.sections if s.kind == "softmax")
        weights = [self.trace.arrays[name] for name in outs]
        rows = np.asarray(quiet.all(axis=-1))
        if not weights or not rows.any() or rows.ndim != 1:
            return False
        seen = np.any([(w != 0).any(axis=tuple(range(w.ndim - 1))) for w in weights], axis=0)
        return bool(not (rows & seen).any() and (quiet == rows[:, None]).all())

    @property
    def names(self) -> set[str]:
        """List all names of the forward pass."""
        return {*self.start.refs()}
