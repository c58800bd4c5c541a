"""What is said of designed blocks: the steps with their longest numbers, or a table of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockcalc.explain.document import Column, Heading, Listing, Piece, Remark
from blockcalc.messages import say
from blockcalc.messages.words import listed
from blockcalc.teach.design.score import Design, is_variance
from blockcalc.teach.design.write import summary

MOST_NAMED = 12  # mistakes that are named


def report(design: Design) -> Iterator[Piece]:
    """List the steps of a block with their longest numbers, and the mistakes that it shows."""
    yield Heading(say("design.heading"), prose=summary(design))
    kinds = {"step": "name", "worst": "number", "denominator": "number", "whole": "number"}
    columns = tuple(Column(say(f"design.column.{key}"), kind) for key, kind in kinds.items())
    rows = [
        (
            s.name,
            s.text,
            "" if s.worst is None else str(s.denominator),
            f"{s.whole}/{s.numbers}",
        )
        for s in design.steps
    ]
    yield Listing(columns, tuple(rows))
    if design.exact and any(is_variance(s.name) for s in design.steps):
        yield Remark(say("design.variance"), quiet=True)
    yield from _mistakes(design)


def _mistakes(design: Design) -> Iterator[Piece]:
    total = design.revealed + len(design.hidden)
    yield Remark(say("design.power", n=design.revealed, of=total))
    inside = [name for name in design.hidden if name not in design.unseen]
    for key, names in (("design.power.steps", inside), ("design.power.never", design.unseen)):
        if names:
            yield Remark(say(key, names=listed(list(names)[:MOST_NAMED])), quiet=True)


def table(designs: Sequence[tuple[str, Design]]) -> Iterator[Piece]:
    """List many blocks: the mean length of a number, the largest denominator, mistakes shown."""
    yield Heading(say("design.many", n=len(designs)))
    kinds = {"file": "name", "length": "number", "denominator": "number", "shown": "number"}
    columns = tuple(Column(say(f"design.column.{key}"), kind) for key, kind in kinds.items())
    rows = [
        (
            name,
            f"{d.cost:.2f}",
            str(d.denominator) if d.exact else "",
            f"{d.revealed}/{d.revealed + len(d.hidden)}",
        )
        for name, d in designs
    ]
    yield Listing(columns, tuple(rows))
