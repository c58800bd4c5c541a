"""Tables of a backward pass: gradient descent, central differences, stacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from blockcalc.explain.document import Column, Entry, Heading, Listing, Piece, Remark
from blockcalc.messages import say
from blockcalc.nn.orders import SUBLAYERS
from blockcalc.notation.quantities import significant

if TYPE_CHECKING:  # every backward pass has a table, but few have these
    from blockcalc.gradients.differences import Difference
    from blockcalc.gradients.stacks import StackBlock

KINDS = {
    "name": "name",
    "step": "name",
    **dict.fromkeys(("shape", "formula", "where", "reason", "order"), "text"),
}


def listing(
    columns: Sequence[str], rows: Sequence[tuple[Entry, ...]], totals: Sequence[int] = ()
) -> Listing:
    """Make a Listing from the keys of its columns and its rows, without columns that are empty."""
    kept = [j for j in range(len(columns)) if any(row[j] for row in rows)]
    heads = tuple(
        Column(say(f"column.{columns[j]}"), KINDS.get(columns[j], "number")) for j in kept
    )
    return Listing(heads, tuple(tuple(row[j] for j in kept) for row in rows), tuple(totals))


def descent(before: float, after: float, rate: float, digits: int) -> Iterator[Piece]:
    """Describe the effect of one step of gradient descent on the loss."""
    yield Heading(say("heading.descent"), prose=say("prose.descent", lr=significant(rate, 17)))
    yield Remark(
        say(
            "descent.loss",
            before=significant(before, max(digits, 6)),
            after=significant(after, max(digits, 6)),
        )
    )


def numeric(found: Sequence[Difference]) -> Iterator[Piece]:
    """Make the table of gradients and central differences."""
    yield Heading(say("heading.numeric"), prose=say("prose.numeric"))
    rows = [
        (
            f"grad.{d.name}",
            significant(d.norm, 6),
            significant(d.numeric, 6),
            significant(d.largest, 2),
            significant(d.relative, 2),
        )
        for d in found
    ]
    yield listing(("name", "norm", "numeric", "difference", "relative"), rows)
    worst = max(found, key=lambda d: d.relative)
    for d in found:
        if d.unjudged:
            yield Remark(say("numeric.unjudged", name=f"grad.{d.name}", n=d.unjudged))
    if wrong := [d for d in found if d.wrong]:
        for d in wrong:
            yield Remark(say("numeric.differs", name=f"grad.{d.name}", n=d.wrong))
    else:
        yield Remark(say("numeric.agrees", worst=significant(worst.relative, 2)))


def stacks(found: Sequence[StackBlock], counts: Sequence[int], loss: str) -> Iterator[Piece]:
    """Make the table of stacks of several depths, block by block."""
    text = ", ".join(map(str, counts))
    yield Heading(say("heading.depths", depths=text), prose=say("prose.depths", loss=loss))
    rows = []
    for d in found:
        shares = ["" if share is None else significant(share, 3) for share in d.shares]
        first = d.block == 0
        start = (
            (say(f"word.{d.order}"), str(d.blocks), significant(d.loss, 6))
            if first
            else ("", "", "")
        )
        rows.append(
            (*start, str(d.block + 1), significant(d.norm, 4), significant(d.rms, 4), *shares)
        )
    most = max(len(d.shares) for d in found)
    shares_of = [f"{key}_share" for key in SUBLAYERS[:most]]
    yield listing(("order", "blocks", "loss", "block", "norm", "rms", *shares_of), rows)
