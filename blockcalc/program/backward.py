"""The backward pass: the gradient of a program is a program with the same operations.

The gradient of a result is named ``grad.`` and its name. If several steps use a result, each
contributes a part, ``grad.x.from.attn.q``, and the gradient is their sum. Softmax and norms use
their closed gradients, or with ``chain`` the chain rule through every inner step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import reduce
from math import prod
from operator import add

from blockcalc.ops.elementwise import Elementwise, Quotient
from blockcalc.ops.expr import Num, Slot
from blockcalc.ops.op import Gradient, Op, Ref
from blockcalc.ops.reduce import Everywhere, Whole
from blockcalc.program.builder import Builder
from blockcalc.program.loss import Loss
from blockcalc.program.program import Equation, Program, Section
from blockcalc.records import dataclass

# the symbols of the parts of a gradient; a part without one has its own name
SYMBOLS = {"product": "prod", "row_sum": "sum", "product_mean": "mean_prod", "row_mean": "mean"}


@dataclass(frozen=True)
class BackwardSettings:
    """The kind of section, or of loss, that a section of the backward pass differentiates."""

    of: str

    def facts(self) -> dict[str, str]:
        """Give the settings as they appear in the JSON export."""
        return {"of": self.of}


def with_gradients(program: Program, loss: Loss, chain: bool = False) -> Program:
    """Append the loss and the whole backward pass to a program.

    Parameters
    ----------
    program : Program
    loss : Loss
        Its matrix, if it has one, becomes an input of the new program, with the shape of the
        result.
    chain : bool
        Whether softmax and norms are differentiated step by step.
    """
    return replace(_Backward(program, loss, chain).program(), forward=len(program.equations))


@dataclass(eq=False, repr=False)
class _Backward:
    """Writes the backward pass, equation by equation from the last to the first."""

    forward: Program
    loss: Loss
    chain: bool
    parts: dict[str, list[Ref]] = field(default_factory=dict)
    done: dict[str, Ref] = field(default_factory=dict)

    def __post_init__(self) -> None:
        p = self.forward
        self.b = Builder(
            {}, inputs={ref.name: ref for ref in p.inputs}, equations=list(p.equations),
            sections=list(p.sections), aliases=dict(p.aliases), blocks=list(p.blocks),
        )  # fmt: skip
        self.active = self._active()
        self.jumps = {} if self.chain else self._jumps()
        self.skipped = self._skipped()
        self.uses = self._uses()

    def program(self) -> Program:
        out = self.forward.equations[-1].out
        self._start(out)
        index = len(self.forward.equations)
        while index > 0:
            index -= 1
            first = len(self.b.equations)
            eq = self.forward.equations[index]
            if (
                eq.out.name in self.active
                and index not in self.skipped
                and self.total_gradient(eq.out)
            ):
                self._gather(eq.out, first)
                first = len(self.b.equations)
            self._through(index)
            self._section(self.forward.top_section_of(index), eq, first)
        for ref in self.forward.inputs:
            if ref.name in self.active:
                first = len(self.b.equations)
                self.total_gradient(ref)
                self._gather(ref, first)
        for name, target in self.forward.aliases.items():
            if target in self.done:
                self.b.alias(self.done[target], f"grad.{name}")
        return self.b.program()

    # what has a gradient ------------------------------------------------------------------

    def _active(self) -> set[str]:
        """Find the names that depend on x or a weight and that the result depends on."""
        found = {ref.name for ref in self.forward.inputs if ref.role in ("weight", "data")}
        for eq in self.forward.equations:
            if any(ref.name in found for ref in eq.inputs):
                found.add(eq.out.name)
        return found & self._live()

    def _live(self) -> set[str]:
        """Find the names that the result depends on."""
        found = {self.forward.equations[-1].out.name}
        for eq in reversed(self.forward.equations):
            if eq.out.name in found:
                found.update(ref.name for ref in eq.inputs)
        return found

    def _jumps(self) -> dict[int, Section]:
        """Find the final quotients of sections with a closed gradient, with these sections."""
        found = {}
        for index, eq in enumerate(self.forward.equations):
            section = self.forward.section_of(index)
            if section is not None and section.gradient and isinstance(eq.op, Quotient):
                found[index] = section
        return found

    def _skipped(self) -> set[int]:
        """Find the equations that a closed gradient skips."""
        found: set[int] = set()
        for at, section in self.jumps.items():
            found.update(
                i for i in range(section.first, at) if self.forward.section_of(i) is section
            )
        return found

    def _uses(self) -> dict[str, int]:
        """Count the parts of the gradient of each name."""
        found: dict[str, int] = {}
        for index, eq in enumerate(self.forward.equations):
            if eq.out.name not in self.active:
                continue
            if index in self.jumps:
                name = self.jumps[index].inputs[0].name
                found[name] = found.get(name, 0) + 1
            elif index not in self.skipped:
                for i in self._wanted(eq):
                    if eq.op.vjp(eq.inputs, i, eq.out) is not None:
                        found[eq.inputs[i].name] = found.get(eq.inputs[i].name, 0) + 1
        return found

    def _wanted(self, eq: Equation) -> Iterator[int]:
        """Find the operands of an equation that have a gradient, by number."""
        return (i for i, ref in enumerate(eq.inputs) if ref.name in self.active)

    # writing --------------------------------------------------------------------------------

    def _start(self, out: Ref) -> None:
        """Write the loss, and its gradient with respect to the result."""
        loss, b = self.loss, self.b
        first = len(b.equations)
        operands = [out]
        if loss.key:
            other = Ref(loss.matrix, loss.symbol, out.axes, out.shape, "constant")
            b.inputs[other.name] = other
            operands.append(other)
        if loss.difference:
            op = Elementwise.on(lambda y, t: y - t, *operands)
            operands = [b.add("loss.difference", "Err", op, *operands)]
        b.add("loss", "L", Whole(loss.tree, loss.mean), *operands)
        self._write_section("loss", "loss", (out,), first, of=loss.kind)
        self._first_gradient(out, operands)

    def _first_gradient(self, out: Ref, operands: list[Ref]) -> None:
        """Write the gradient of the loss with respect to the result."""
        first, name = len(self.b.equations), f"grad.{out.name}"
        slope = self.loss.slope
        if self.loss.mean:
            slope = slope / Num(float(prod(out.shape)), "N")
        if isinstance(slope, Slot):
            self.done[out.name] = operands[slope.index]
            self.b.alias(operands[slope.index], name)
            return
        op = Everywhere(slope) if self.loss.uniform else Elementwise(slope)
        self.done[out.name] = self.b.add(name, f"grad:{out.symbol}", op, *operands)
        self._write_section(name, "grad", (out,), first, of="loss")

    def _through(self, index: int) -> None:
        """Write the gradients that an equation passes to its operands."""
        eq = self.forward.equations[index]
        if eq.out.name not in self.active or index in self.skipped:
            return
        g = self.total_gradient(eq.out)
        if g is None:
            return
        if index in self.jumps:
            section = self.jumps[index]
            name, _ = self._target(section.inputs[0], section.name)
            self.part(section.inputs[0], section.name, self._closed(section, eq, g, name))
            return
        for i in self._wanted(eq):
            lines = eq.op.vjp(eq.inputs, i, g)
            if lines is not None:
                self.part(eq.inputs[i], eq.out.name, lines, g)

    def part(self, ref: Ref, source: str, lines: Gradient, g: Ref | None = None) -> None:
        """Write one part of a gradient, or the whole gradient if there is no other part."""
        name, symbol = self._target(ref, source)
        last: Ref | None = None
        for k, (part, op, operands) in enumerate(lines):
            filled = [last if operand is None else operand for operand in operands]
            refs = [operand for operand in filled if operand is not None]
            final = k == len(lines) - 1
            if final:
                last = self.b.add(name, symbol, op, *refs, axes=ref.axes)
            else:
                last = self.b.add(f"{name}.{part}", part, op, *refs, part="inner")
        if last is None:
            assert g is not None
            self.b.alias(g, name)
            last = g
        self.parts.setdefault(ref.name, []).append(last)

    def _target(self, ref: Ref, source: str) -> tuple[str, str]:
        """Name the gradient of an operand, or the part of it that a step contributes."""
        if self.uses[ref.name] == 1:
            return f"grad.{ref.name}", f"grad:{ref.symbol}"
        letters = _lettered(ref.symbol, len(self.parts.get(ref.name, [])))
        return f"grad.{ref.name}.from.{source}", f"grad:{letters}"

    def total_gradient(self, ref: Ref) -> Ref | None:
        """Give the gradient of a result: its only part, or the sum of its parts."""
        if ref.name in self.done:
            return self.done[ref.name]
        parts = self.parts.get(ref.name, [])
        if not parts:
            return None
        total = parts[0]
        if len(parts) > 1:
            op = Elementwise.on(lambda *gs: reduce(add, gs), *parts)
            total = self.b.add(f"grad.{ref.name}", f"grad:{ref.symbol}", op, *parts, axes=ref.axes)
        self.done[ref.name] = total
        return total

    def _closed(self, section: Section, eq: Equation, g: Ref, name: str) -> Gradient:
        """Write the closed gradient of a section, starting at its quotient."""
        assert section.gradient is not None

        def write(part: str, op: Op, *refs: Ref) -> Ref:
            symbol = SYMBOLS.get(part, part)
            return self.b.add(f"{name}.{part}", symbol, op, *refs, part="closed")

        return section.gradient(write, eq, g)

    # sections -------------------------------------------------------------------------------

    def _section(self, top: Section | None, eq: Equation, first: int) -> None:
        """Add the equations written for one equation to the backward section of its section."""
        if len(self.b.equations) == first:
            return
        name = f"grad.{top.name if top else eq.out.name}"
        kind = top.kind if top else "residual"
        last = self.b.sections[-1]
        if last.name == name and last.last == first and _of(last) == kind:
            first = last.first
            self.b.sections.pop()
        self._write_section(name, "grad", (eq.out,), first, of=kind)

    def _gather(self, ref: Ref, first: int) -> None:
        """Add a section for the sum of the parts of a gradient, if one was written."""
        if len(self.b.equations) > first:
            self._write_section(f"grad.{ref.name}", "grad", (ref,), first, of="input")

    def _write_section(
        self, name: str, kind: str, inputs: tuple[Ref, ...], first: int, of: str
    ) -> None:
        last = len(self.b.equations)
        out = self.b.equations[-1].out
        section = Section(name, kind, BackwardSettings(of), inputs, out, first, last)
        self.b.sections.append(section)


def _of(section: Section) -> str:
    """Name the section that a section of the backward pass differentiates."""
    settings = section.settings
    return settings.of if isinstance(settings, BackwardSettings) else ""


def _lettered(symbol: str, k: int) -> str:
    """Mark the parts of a gradient with letters: X_a, X_b."""
    base, power, rest = symbol.partition("^")
    letter = chr(ord("a") + k) if k < 26 else str(k + 1)
    base += f",{letter}" if "_" in base else f"_{letter}"
    return base + power + rest
