"""The choice among the blocks that were found: short numbers, and mistakes that show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from blockcalc.check.power import power
from blockcalc.check.run import catalogue
from blockcalc.nn.run import run
from blockcalc.reading.load import load
from blockcalc.records import dataclass
from blockcalc.teach.design.score import Design, scored
from blockcalc.teach.design.search import Near, candidates
from blockcalc.teach.design.wanted import Wanted

ENOUGH = 14  # blocks that are compared
JUDGED = 4  # of these, how many are tried with every mistake
DECIMALS = 4


@dataclass
class Search:
    """A search for one block; ``best`` is the best so far, also after an interruption."""

    wanted: Wanted
    near: Near
    pause: Callable[[], None]
    best: Design | None = None
    found: int = 0

    def run(self, like: float | None = None) -> Design | None:
        """Search to the end: collect blocks, then try the mistakes in the shortest ones.

        ``like`` is the cost of a block that this one should be as hard as.
        """
        kept: list[Design] = []
        for design in self._designs():
            kept.append(design)
            self.found += 1
            if self.best is None or _rank(design, like) < _rank(self.best, like):
                self.best = design
            if len(kept) >= ENOUGH:
                break
        judged: list[Design] = []
        for design in sorted(kept, key=lambda d: _rank(d, like))[:JUDGED]:
            self.pause()
            judged.append(with_power(design))
            self.best = min(judged, key=lambda d: (len(d.unseen), len(d.hidden), _rank(d, like)))
            if not judged[-1].hidden:
                break
        return self.best

    def finished(self) -> Design | None:
        """Give the best block so far, with what it shows of mistakes."""
        if self.best is None or self.best.revealed:
            return self.best
        return with_power(self.best)

    def _designs(self) -> Iterator[Design]:
        for data in candidates(self.wanted, self.near, self.pause):
            self.near.whole += 1
            design = scored(data, self.wanted.most, self.wanted.exact)
            if design is not None:
                yield design


def _rank(design: Design, like: float | None) -> float:
    return design.cost if like is None else abs(design.cost - like)


def with_power(design: Design) -> Design:
    """Make every mistake of the catalogue in a block, and note which ones do not show."""
    spec = load(design.data)
    trace = run(spec)
    names = [eq.out.name for eq in trace.program.equations]
    mistakes = catalogue(spec, trace)
    result = power(mistakes, names[-1:], DECIMALS)
    anywhere = power(mistakes, names, DECIMALS) if result.hidden else result
    return replace(
        design, revealed=len(result.revealed), hidden=result.hidden, unseen=anywhere.hidden
    )
