"""The results that a backward pass needs, without computing it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from blockcalc.ops.elementwise import Quotient
from blockcalc.ops.op import Op, Ref
from blockcalc.program.program import ClosedForm, Equation, Program


def kept_results(program: Program, trained: Set[str] | None) -> Iterator[Ref]:
    """Find the results that a backward pass needs if some matrices are trained, or all (None).

    A softmax or a norm, which has a closed gradient, needs the forward results in that gradient;
    any other step needs the operands in its derivatives.
    """
    active = {
        ref.name for ref in program.inputs
        if ref.role == "data" or (ref.role == "weight" and (trained is None or ref.name in trained))
    }  # fmt: skip
    for index, eq in enumerate(program.equations):
        wanted = {i for i, ref in enumerate(eq.inputs) if ref.name in active}
        if wanted and eq.out.part != "keep":
            active.add(eq.out.name)
        section = program.section_of(index)
        if section is not None and section.gradient is not None:
            if isinstance(eq.op, Quotient):
                yield from _named(section.gradient, eq)
                continue
            rest = program.equations[index + 1 : section.last]
            if any(isinstance(later.op, Quotient) for later in rest):
                continue
        for i in sorted(eq.op.keeps(eq.inputs, wanted)):
            if eq.inputs[i].role in ("computed", "data"):
                yield eq.inputs[i]


def _named(gradient: ClosedForm, quotient: Equation) -> list[Ref]:
    """List the result and those operands of a quotient that occur in its closed gradient."""
    named: list[Ref] = []

    def write(part: str, op: Op, *refs: Ref) -> Ref:
        named.extend(refs)
        axes, shape = op.result(refs)
        return Ref(part, part, axes, shape, "computed")

    for _, _, operands in gradient(write, quotient, replace(quotient.out, name="")):
        named.extend(ref for ref in operands if ref is not None)
    return [ref for ref in (quotient.out, *quotient.inputs) if ref in named]
