"""Explain the shapes of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockcalc.costs.closed_form import form_text
from blockcalc.costs.count import Cost, counted
from blockcalc.costs.explain import cost_head
from blockcalc.costs.plan import Plan
from blockcalc.explain.document import Entry, Head, Heading, Listing, Piece, listing
from blockcalc.messages import say
from blockcalc.messages.words import dims


def shape_pieces(plan: Plan) -> Iterator[Piece]:
    """List the shapes, with the rule that gives each."""
    cost = counted(plan)
    head = cost_head(cost)
    kept = tuple(f for f in head.facts if f[0] != say("fact.counting"))
    kept += ((say("fact.walk"), (in_short(cost),)),)
    title = say("shapes.title.of", title=plan.title) if plan.title else say("shapes.title")
    yield Head(title, None, kept, head.hints)
    yield Heading(say("heading.walk"), prose=say("prose.walk"))
    yield walk(cost)


def walk(cost: Cost) -> Listing:
    """List every matrix with its axes and its shape, in the order of use."""
    rows: list[tuple[Entry, ...]] = []
    program = cost.program

    def add(name: str, axes: Sequence[str], shape: Sequence[int], rule: str) -> None:
        rows.append((name, _bracketed(cost, axes, shape), dims(shape), rule))

    shown = set()
    for eq in program.equations:
        for ref in eq.inputs:
            if ref.role != "computed" and ref.name not in shown:
                shown.add(ref.name)
                add(ref.name, ref.axes, ref.shape, say("rule.given"))
        add(eq.out.name, eq.out.axes, eq.out.shape, eq.op.rule(eq.inputs))
    return listing(("name", "axes", "shape", "rule"), rows, [])


def _bracketed(cost: Cost, axes: Sequence[str], shape: Sequence[int]) -> str:
    """Write axes in letters: [B, H, T, D]."""
    forms = cost.forms.each(axes, shape)
    return "[" + ", ".join(map(form_text, forms)) + "]"


STATIONS = ("query", "scores", "weighted", "hidden", "out")


def in_short(cost: Cost) -> str:
    """Write the shapes of the first block on one line: [T, C] → [H, T, D] → [H, T, T] → …."""
    program = cost.program
    last = program.blocks[0].last if program.blocks else len(program.equations)
    found = [_bracketed(cost, program.inputs[0].axes, program.inputs[0].shape)]
    for eq in program.equations[:last]:
        if eq.out.part in STATIONS:
            text = _bracketed(cost, eq.out.axes, eq.out.shape)
            found += [text] if text != found[-1] else []
    return " → ".join(found)
