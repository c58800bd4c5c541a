"""Two runs with their steps in pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from blockcalc.messages import say
from blockcalc.notebook.shown import depth_of, printed
from blockcalc.notebook.trace import Trace
from blockcalc.program.align import align

if TYPE_CHECKING:
    from blockcalc.explain.depth import Depth
    from blockcalc.explain.document import Piece


@dataclass(frozen=True)
class Pair:
    """A step in two runs; ``largest`` is the largest difference, None if one run lacks the step."""

    a: str | None
    b: str | None
    largest: float | None


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two runs with their steps in pairs; a notebook shows them side by side."""

    a: Trace
    b: Trace
    pairs: tuple[Pair, ...]

    @property
    def first(self) -> str | None:
        """Name the first common step that differs."""
        return next((pair.a for pair in self.pairs if pair.largest), None)

    def __repr__(self) -> str:
        """Say in one line what it is: the two orders, the steps, the first difference."""
        first = self.first
        found = say("repr.alike") if first is None else say("repr.first", name=first)
        a, b = (say(f"word.{trace.spec.order}") for trace in (self.a, self.b))
        return say("repr.comparison", a=a, b=b, n=len(self.pairs), first=found)

    def _repr_html_(self) -> str:
        """Give the HTML for a notebook."""
        from blockcalc.explain.depth import Depth
        from blockcalc.views.html.page import page

        return page(self._pieces(Depth()))

    def _pieces(self, depth: Depth) -> Iterator[Piece]:
        from blockcalc.explain.comparison import compare

        return compare((self.a.spec, self.a), (self.b.spec, self.b), depth)

    def show(self, *patterns: str, digits: int = 4, whole: bool = False) -> None:
        """Print the two runs side by side, or some steps of them, as the command line does."""
        printed(self._pieces(depth_of(patterns, "normal", digits, whole)))


def compared(a: Trace, b: Trace) -> Comparison:
    """Pair the steps of two runs and measure their differences."""
    return Comparison(a, b, tuple(_pairs(a, b)))


def _pairs(a: Trace, b: Trace) -> Iterator[Pair]:
    for i, j in align(a.program, b.program):
        one = None if i is None else a.program.equations[i].out.name
        two = None if j is None else b.program.equations[j].out.name
        largest = None
        if one is not None and two is not None and a[one].shape == b[two].shape:
            with np.errstate(invalid="ignore"):
                largest = float(np.nanmax(np.abs(b[two] - a[one]), initial=0.0))
        yield Pair(one, two, largest)
