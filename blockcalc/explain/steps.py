"""Explain a trace: the pieces of a document, their order and level of detail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from blockcalc.explain.arithmetic import (
    divides_by_nothing,
    no_answer,
    same_words,
    undefined_words,
    why_not,
    work,
)
from blockcalc.explain.depth import Depth, Detail, chosen_steps, labels_of
from blockcalc.explain.document import (
    Closing,
    Given,
    Heading,
    Line,
    Piece,
    Remark,
    Result,
    StepPiece,
)
from blockcalc.explain.grids import Shown
from blockcalc.explain.head import dropouts, head, rounding
from blockcalc.explain.picture.choice import Choice, row_axis
from blockcalc.explain.picture.parts import Pictures
from blockcalc.explain.round_off import RoundOff, verdict, verified
from blockcalc.explain.summary import composed_formulas
from blockcalc.messages import known, say
from blockcalc.messages.words import axis_word, clauses, sentences
from blockcalc.nn.orders import ORDERS
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Text
from blockcalc.notation.digits import ALL_DIGITS
from blockcalc.ops.elementwise import Elementwise, Quotient
from blockcalc.ops.expr import At, Call, Cell, Expr, Figure, Name, fill, word
from blockcalc.ops.op import Array, Ref
from blockcalc.program.program import Section
from blockcalc.program.trace import Step, Trace

MOST_LINES = 8
ROWS = ((), ("token",), ("query",), ("head",), ("kv_head",), ("batch",), ("one",))


def explain(spec: Spec, trace: Trace, depth: Depth | None = None) -> Iterator[Piece]:
    """Explain a forward run, piece by piece.

    Parameters
    ----------
    spec : Spec
    trace : Trace
    depth : Depth, optional

    Yields
    ------
    Piece

    Raises
    ------
    UsageError
        A pattern of ``depth`` matches no step.
    """
    depth = depth or Depth()
    pieces = Explainer(spec, trace, depth).pieces()
    return (p for p in pieces if isinstance(p, StepPiece)) if depth.brief else pieces


class Explainer:
    """Explains a run, piece by piece."""

    text = Text()

    def __init__(self, spec: Spec, trace: Trace, depth: Depth) -> None:
        self.spec, self.trace, self.depth = spec, trace, depth
        self.labels = labels_of(spec)
        self.program = trace.program
        self.digits = 12 if trace.rounding else depth.digits
        self.blocks = {block.name: i for i, block in enumerate(self.program.blocks)}
        self.shown: dict[tuple[str, str], Shown] = {}
        self.first_shown: dict[str, Shown] = {}
        self.made = {eq.out.name: eq for eq in self.program.equations}
        self.round_off = RoundOff(self.made, trace.arrays, self.matrix)
        self.chosen = chosen_steps(self.program, depth.patterns) if depth.patterns else None
        steps = (eq.out for eq in self.program.equations)
        shapes = [ref.shape for ref in steps if not self.chosen or ref.name in self.chosen]
        self.choice = Choice(depth, spec.tokens, shapes)
        self.pictures = Pictures(depth, self.labels)

    def matrix(self, ref: Ref) -> Shown:
        """Give the shown form of a matrix; symbols depend on the block of a stack."""
        key = ref.name, ref.symbol
        if key not in self.shown:
            value, whole = self.trace.arrays[ref.name], self.depth.whole
            first = self.first_shown.get(ref.name)
            if first is not None:
                self.shown[key] = replace(first, ref=ref)
            else:
                self.shown[key] = Shown(ref, value, self.digits_of(ref), whole)
                if eq := self.made.get(ref.name):
                    self.round_off.measure(eq, self.shown[key])
                self.first_shown[ref.name] = self.shown[key]
        return self.shown[key]

    def digits_of(self, ref: Ref) -> int:
        """Give the significant digits with which a matrix is shown."""
        return self.digits

    def verify(self) -> Iterator[Piece]:
        """State how many digits are certain, with ``--verify`` or if many digits are printed."""
        if self.depth.verify:
            yield from verified(self.round_off.certainties(self.program, self.chosen), self.digits)
        elif self.digits > ALL_DIGITS and self.trace.arrays["x"].dtype == np.float64:
            found = self.round_off.certainties(self.program, self.chosen)
            if any(c.uncertain for c in found):
                yield verdict(found, self.digits)

    def pieces(self) -> Iterator[Piece]:
        if self.chosen is None:
            yield head(self.spec, self.trace)
            yield Heading(say("heading.given"))
            yield self.given(self.program.inputs)
        else:
            total = len(self.program.equations)
            named = [ref for ref in self.program.inputs if ref.name in self.chosen]
            facts = [say(f"order.{self.spec.order}"), *rounding(self.trace), *dropouts(self.spec)]
            order = clauses(facts)
            yield Remark(
                say("remark.chosen", order=order, n=len(self.chosen) - len(named), total=total)
            )
            if named:
                yield Heading(say("heading.given"))
                yield self.given(named)
        yield from self.walk(0, len(self.program.equations))
        if self.chosen is None:
            stack = ".stack" if self.program.blocks else ""
            title = say(f"heading.closing{stack}")
            yield Closing(title, tuple(composed_formulas(self.program)))
            last = self.matrix(self.program.equations[-1].out)
            title = say(f"remark.result{'.stop' if self.spec.stop else stack}", name=last.ref.name)
            yield Result(title, last.operand, tuple(last.grids(self.labels)))
            if not (ORDERS[self.spec.order].normalized or self.spec.stop or self.spec.final_norm):
                yield Remark(say("remark.no_final_norm", order=say(f"word.{self.spec.order}")))
        yield from self.verify()

    def walk(self, first: int, last: int) -> Iterator[Piece]:
        """Explain some steps, under the headings of their sections."""
        headed: Section | str | None = None
        block: Section | None = None
        for step in self.trace.steps(first, last):
            if self.chosen is not None and step.equation.out.name not in self.chosen:
                continue
            if (holder := self.program.block_of(step.index)) is not block and holder:
                block = holder
                yield self.block_heading(block)
            section = self.program.top_section_of(step.index)
            name = section.name if section else step.equation.out.name
            key = section or name
            if key != headed:
                headed = key
                self.choice.begin()
                yield self.heading(section, name)
            yield self.step(step)

    # sections and steps -----------------------------------------------------------------

    def given(self, refs: Sequence[Ref]) -> Given:
        """Show given matrices."""
        self.pictures.seen |= {ref.name for ref in refs}
        shown = [self.matrix(ref) for ref in refs]
        return Given(tuple((m.operand, tuple(m.grids(self.labels))) for m in shown))

    def block_heading(self, block: Section) -> Heading:
        """Begin a block of a stack."""
        number = self.blocks[block.name]
        title = say("section.block", n=number + 1, total=len(self.spec.blocks))
        prose = None
        if self.depth.prose and number:
            keys = self.spec.blocks[number].keys
            prose = say("prose.block", x=block.inputs[0].name)
            if self.spec.blocks[number - 1].keys == keys:
                first = next(i for i, b in enumerate(self.spec.blocks) if b.keys == keys)
                name = self.program.blocks[first].name
                prose = sentences([prose, say("prose.block.shared", name=name)])
        return Heading(title, block.name, prose, level=1)

    def heading(self, section: Section | None, name: str) -> Heading:
        """Begin a section, or a step outside any section, such as a residual."""
        key = section.kind if section else "residual"
        prose = say(f"prose.{key}") if self.depth.prose else None
        title = say(f"section.{key}", index=name[-1] if name[-1].isdigit() else "")
        return Heading(title.strip(), name, prose)

    def step_title(self, step: Step) -> str:
        """Give the title of a step."""
        name = step.equation.out.name
        section = self.program.section_of(step.index)
        if section is None:
            return say(f"step.{name.rpartition('.')[2].rstrip('0123456789')}")
        part = name.removeprefix(section.name).removeprefix(".")
        if section.kind == "dropout" and part:
            part = "keep"
        if not part:
            part = self.last_part(section)
        return say(f"step.{section.kind}.{part}")

    def last_part(self, section: Section) -> str:
        """Give the part name of a section's result: normalized, scaled or out."""
        prefix = section.name + "."
        parts = [a[len(prefix) :] for a, t in self.program.aliases.items()
                 if t == section.name and a.startswith(prefix)]  # fmt: skip
        return next((p for p in parts if p != "out" and known(f"step.{section.kind}.{p}")), "out")

    def step(self, step: Step) -> StepPiece:
        """Explain one step."""
        eq = step.equation
        shown = self.matrix(eq.out)
        bare = self.depth.detail == Detail.tables
        operands = [self.matrix(r) for r in eq.inputs]
        at = self.choice.of(step, operands, shown) if self.choosing else (0,) * step.value.ndim
        lines = () if bare else tuple(self.lines(step, shown, at))
        pictures = self.depth.pictures
        return StepPiece(
            step.index + 1,
            self.step_title(step),
            eq.out.name,
            Name(eq.out.symbol),
            eq.op.formula([Name(r.symbol) for r in eq.inputs]),
            () if bare else tuple(m.operand for m in operands),
            shown.operand,
            lines,
            self.worked(step, at, len(lines)) if lines else None,
            () if pictures else tuple(shown.grids(self.labels)),
            (*self.notes(step), *(self.pictures.left_out(shown) if pictures else ())),
            self.definition(step),
            self.pictures.of(step, operands, shown, at) if pictures else None,
        )

    @property
    def choosing(self) -> bool:
        """Tell whether the worked cell is chosen; else it is the first."""
        return self.depth.pictures or self.depth.row is not None or self.depth.cell is not None

    def definition(self, step: Step) -> tuple[Expr, Expr] | None:
        """Give the definition of a named function: GELU(x) = …."""
        op = step.equation.op
        if self.depth.detail == Detail.tables or not isinstance(op, Elementwise) or not op.label:
            return None
        x = Name("x")
        return Call(op.label, (x,)), fill(op.body, [x])

    def notes(self, step: Step) -> Iterator[str]:
        """Note undefined cases set by convention, and effects of rounding."""
        op = step.equation.op
        section = self.program.section_of(step.index)
        kind = section.kind if section else ""
        if isinstance(op, Quotient):
            undefined = op.undefined(step.inputs)
            yield from self.undefined(step.equation.inputs[op.divisor], undefined, kind)
            if kind == "softmax" and self.depth.detail != Detail.tables:
                others = ".others" if undefined.any() else ""
                rounded = bool(self.trace.rounding)
                yield say("note.row_sums.rounded" if rounded else f"note.row_sums{others}")

    def undefined(self, divisor: Ref, undefined: Array, kind: str) -> Iterator[str]:
        """Name the undefined rows; with the head only if not all heads have the row."""
        axes = divisor.axes[:-1]
        every = undefined
        if "head" in axes:
            head = axes.index("head")
            every = np.broadcast_to(undefined.all(axis=head, keepdims=True), undefined.shape)
        said = set()
        for at in zip(*undefined.nonzero(), strict=True):
            lead = dict(zip(axes, map(int, at[:-1]), strict=True))
            token = self.spec.tokens[lead.get("batch", 0)][int(at[-1])]
            if every[at]:
                lead.pop("head", None)
            where = "".join(
                f", {say('grid.lead', axis=axis_word(a), n=i + 1)}" for a, i in lead.items()
            )
            text = say(f"note.undefined.{kind}", row=int(at[-1]) + 1, token=token, where=where)
            if text not in said:
                said.add(text)
                yield text

    def worked(self, step: Step, at: At, count: int) -> str | None:
        """Describe which cells are worked."""
        total = step.value.size
        if self.depth.detail == Detail.cells or count == total:
            return say("worked.all")
        if self.depth.cell is not None:
            return say("worked.cell")
        row = step.value.shape[-1] if step.value.ndim > 1 else 1
        if step.equation.out.axes[-2:-1] not in ROWS:
            return say("worked.first") if count == row else say("worked.part", n=count, total=row)
        axis = row_axis(step)
        if count < row and not self.alone(step):
            return say("worked.part", n=count, total=row)
        return say("worked.row", token=self.spec.tokens[0][0 if axis is None else at[axis]])

    def alone(self, step: Step) -> bool:
        """Tell whether the chosen row has one cell in a step: that of the token in a vector."""
        return self.depth.row is not None and row_axis(step) == step.value.ndim - 1

    def cells(self, step: Step, at: At) -> Iterator[At]:
        """Choose the cells to work: one, its row, or all."""
        shape = step.value.shape
        if self.depth.detail == Detail.cells:
            return product(*(range(n) for n in shape))
        one = self.depth.cell is not None or (self.depth.pictures and self.depth.row is None)
        if len(shape) == 1 or one or self.alone(step):
            return iter([at])
        limit = shape[-1] if self.depth.whole else min(shape[-1], MOST_LINES)
        return iter([(*at[:-1], j) for j in range(limit)])

    def lines(self, step: Step, shown: Shown, at: At) -> Iterator[Line]:
        """Write the lines of the chosen cells."""
        if step.equation.op.worked:
            for cell in self.cells(step, at):
                yield self.line(step, shown, cell)

    def line(self, step: Step, shown: Shown, at: At) -> Line:
        """Write the line of one cell."""
        eq = step.equation
        operands = [self.matrix(ref) for ref in eq.inputs]

        def number(cell: Cell) -> float:
            return operands[cell.operand].number(cell.at)

        def show(cell: Cell, extra: int) -> Figure:
            return operands[cell.operand].operand_figure(cell.at, extra)

        tree = eq.op.cell(at, eq.inputs)
        left = word("at", Name(eq.out.symbol), *(Name(str(i + 1)) for i in at))
        result = shown.figure(at)
        if isinstance(tree, Cell):
            return Line(left, "=", None, "=", result, words=same_words(eq))
        if divides_by_nothing(tree, number):
            return Line(left, "=", None, "=", result, words=say("words.over"))
        if isinstance(eq.op, Quotient) and no_answer(tree, number):
            words = undefined_words(self.program.section_of(step.index))
            return Line(left, "=", None, "=", result, words=words)
        line = work(left, tree, number, show, result, self.depth.whole)
        return line if line.middle else replace(line, words=say(why_not(tree, show, result)))
