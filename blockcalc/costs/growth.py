"""Growth of costs along an axis, and the number of tokens where attention overtakes the FFN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log2

from blockcalc.costs.count import GROUPS, Cost, counted
from blockcalc.costs.plan import resized
from blockcalc.explain.document import Column, Entry, Heading, Listing, Piece, Remark
from blockcalc.messages import say
from blockcalc.messages.words import sentences
from blockcalc.notation.quantities import compact, grouped, significant, size

MOST_TOKENS = 2**40
AXIS_LETTERS = {"tokens": "T", "batch": "B", "d_model": "C", "d_ff": "F", "heads": "H"}


def overtaking(cost: Cost) -> Iterator[Piece]:
    """Describe where attention overtakes the FFN, if there are both."""
    if cost.flops_of("scores") and cost.flops_of("ffn"):
        yield Remark(overtakes(cost))


def overtakes(cost: Cost) -> str:
    """Describe from how many tokens on attention takes more operations than the FFN."""
    tokens = overtaken(cost)
    if tokens is None:
        return say("cost.overtakes.never")
    if tokens == 1:
        return say("cost.overtakes.always")
    return say("cost.overtakes", n=grouped(tokens))


def overtaken(cost: Cost) -> int | None:
    """Give the smallest number of tokens at which attention takes more operations than the FFN.

    Only matrix products count; None if there is no such number up to 2^40, or only one of the two
    parts.
    """
    if not (cost.flops_of("scores") and cost.flops_of("ffn")):
        return None
    tokens = cost.forms.sizes["T"]

    def ahead(n: int) -> bool:
        longer = counted(resized(cost.plan, cost.program, "tokens", n, tokens))
        attention = longer.flops_of("projections", "scores", products=True)
        return attention > longer.flops_of("ffn", products=True)

    if ahead(1):
        return 1
    low, high = 1, 2
    while not ahead(high):
        low, high = high, high * 2
        if high > MOST_TOKENS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ahead(middle) else (middle, high)
    return high


def doubled(cost: Cost, axis: str) -> list[Cost]:
    """Count a block with an axis of 2 and of 4 times its length.

    Raises
    ------
    UsageError
        The shapes do not fit at that length.
    """
    return [counted(resized(cost.plan, cost.program, axis, n)) for n in (2, 4)]


def growth(cost: Cost, larger: Sequence[Cost], axis: str) -> Iterator[Piece]:
    """Make the table of a block and those that are larger along an axis."""
    costs = [cost, *larger]
    prose = say("prose.growth", axis=axis)
    if axis in ("d_model", "heads"):
        prose = sentences([prose, say(f"growth.note.{axis}")])
    yield Heading(say("heading.growth"), prose=prose)
    rows: list[tuple[Entry, ...]] = []
    for key, counts in grown(costs):
        if any(counts):
            write = size if key.startswith("bytes.") else compact
            rows.append((say(f"growth.{key}"), *map(write, counts), exponent(counts)))
    now = cost.plan.layers if axis == "layers" else cost.forms.sizes.get(AXIS_LETTERS[axis], 1)
    columns = [Column(say("column.what"), "text")]
    columns += [Column(f"{axis} {grouped(now * n)}", "number") for n in (1, 2, 4)]
    columns.append(Column(say("column.exponent"), "number"))
    yield Listing(tuple(columns), tuple(rows))
    yield from overtaking(cost)


def grown(costs: Sequence[Cost]) -> Iterator[tuple[str, list[int]]]:
    """Give the rows of counts, for all layers."""
    yield "parameters", [c.parameters_of() * c.plan.layers for c in costs]
    for group in GROUPS:
        yield group, [c.flops_of(group) * c.plan.layers for c in costs]
    yield "operations", [c.flops_of() * c.plan.layers for c in costs]
    yield "bytes.scores", [c.score_bytes for c in costs]
    yield "bytes.cache", [c.cache_bytes for c in costs]
    yield "bytes.kept", [c.kept_bytes for c in costs]


def exponent(counts: Sequence[int]) -> str:
    """Give the exponent with which counts at 1, 2 and 4 times a size grow.

    Examples
    --------
    >>> exponent([3, 6, 12]), exponent([5, 5, 5]), exponent([10, 25, 70])
    ('1', '0', '1.32 → 1.49')
    """
    first, last = (log2(b / a) if a else 0.0 for a, b in pairwise(counts))
    a, b = significant(first, 3), significant(last, 3)
    return a if a == b else f"{a} → {b}"
