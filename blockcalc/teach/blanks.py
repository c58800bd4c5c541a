"""Choose which cells of a block are left open: telling ones first, the same ones for a seed.

No given number is left open, nor a cell that only copies another. Two cells of which one is
computed from the other alone, such as a score and the scaled score, are not both asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import NamedTuple, cast

import numpy as np

from blockcalc.errors import Fault, UsageError
from blockcalc.explain.picture.choice import dullness
from blockcalc.explain.steps import Explainer
from blockcalc.messages import say
from blockcalc.messages.words import listed
from blockcalc.notation.digits import fraction_of
from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import At, Blank, Cell, Expr, Figure, walk
from blockcalc.program.trace import Step
from blockcalc.records import dataclass

MOST_BLANKS = 500
MOST_TRIED = 100  # cells of a step
BLANKS, STEPS = 8, 3  # how many are left open if nothing is said
Spot = tuple[str, At]  # a cell of a step


class Level(StrEnum):
    """How hard it is: single cells with operands in view, single cells, or whole steps."""

    easy = "easy"
    normal = "normal"
    hard = "hard"


class Gap(NamedTuple):
    """A cell to fill in, with its number."""

    number: int
    step: str
    at: At


@dataclass(frozen=True)
class Candidate:
    """A cell that may be left open: how dull it is, and the cells that it is computed from."""

    spot: Spot
    rank: tuple[int, int, float]
    reads: frozenset[Spot]


def room(number: int = 0) -> Blank:
    """Make the entry of a blank; without a number it is not asked for."""
    return Blank(f"({number})____" if number else "____", None, number)


ARITHMETIC = Blank("_" * 20, None, 0, True)


class Cells:
    """The cells of a run: what each is computed from, and which tell something.

    Parameters
    ----------
    explainer : Explainer
        Of the run, without blanks.
    """

    def __init__(self, explainer: Explainer) -> None:
        self.explainer = explainer
        self.made = explainer.made
        self.steps = {step.equation.out.name: step for step in explainer.trace.steps()}
        self.refs = explainer.program.refs()

    def tree(self, spot: Spot) -> Expr:
        """Give the tree of a cell."""
        eq = self.made[spot[0]]
        return eq.op.cell(spot[1], eq.inputs)

    def read(self, spot: Spot, tree: Expr) -> frozenset[Spot]:
        """Find the cells that a cell is computed from."""
        eq = self.made[spot[0]]
        return frozenset(
            (eq.inputs[e.operand].name, e.at) for e in walk(tree) if isinstance(e, Cell)
        )

    def origin(self, spot: Spot) -> Spot:
        """Follow copies to the cell that was computed."""
        while spot[0] in self.made and isinstance(tree := self.tree(spot), Cell):
            (spot,) = self.read(spot, tree)
        return spot

    def root(self, spot: Spot) -> Spot:
        """Follow copies and functions of one number to what they begin with."""
        while spot[0] in self.made:
            reads = self.read(spot, self.tree(spot))
            if len(reads) != 1:
                break
            (spot,) = reads
        return spot

    def figure(self, spot: Spot) -> Figure:
        """Give a number as its table shows it."""
        name, at = spot
        return self.explainer.matrix(self.refs[name]).figure(at)

    def candidates(self, step: Step, seed: int, whole: bool = False) -> Iterator[Candidate]:
        """Give the cells of a step that may be left open, the most telling first.

        Of a large step some are tried, unless the ``whole`` step is asked for.
        """
        rng = Random(f"{seed} {step.equation.out.name}")
        eq = step.equation
        if not eq.op.worked:
            return
        shown = self.explainer.matrix(eq.out)
        operands = [self.explainer.matrix(ref) for ref in eq.inputs]
        found = []
        places = list(shown.places())
        if len(places) > MOST_TRIED and not whole:
            places = rng.sample(places, MOST_TRIED)
        often = Counter(shown.figure(at).digits for at in places)
        for at in places:
            tree = eq.op.cell(at, eq.inputs)
            if isinstance(tree, Cell) or not math.isfinite(shown.number(at)):
                continue
            spot = (eq.out.name, at)
            reads = self.read(spot, tree)
            (silent, plain), _ = dullness(tree, operands, shown.number(at))
            same = len(reads) == 1 and _equal(self.figure(next(iter(reads))), shown.figure(at))
            plain += often[shown.figure(at).digits] > 1  # the number can be seen beside it
            rank = (silent + 2 * same, plain, rng.random())
            found.append(Candidate(spot, rank, reads))
        yield from sorted(found, key=lambda c: c.rank)

    def arithmetic(self, spot: Spot) -> bool:
        """Tell whether a cell has arithmetic to show."""
        name, at = spot
        line = self.explainer.line(self.steps[name], self.explainer.matrix(self.refs[name]), at)
        return line.middle is not None

    def blanks(self, gaps: Sequence[Gap]) -> dict[str, dict[At, Blank]]:
        """Give what each table leaves open: the cells asked for, and those that would tell them.

        A copy has the number of its cell. A cell that would show the same number whatever it is, as
        a sum with 0 or a product with 1 do, has none.
        """
        found: dict[str, dict[At, Blank]] = {}
        for gap in gaps:
            found.setdefault(gap.step, {})[gap.at] = room(gap.number)
        for eq in self.explainer.program.equations:
            if not any(ref.name in found for ref in eq.inputs):
                continue
            own = found.get(eq.out.name, {})
            for at in self.explainer.matrix(eq.out).places():
                if at not in own and (entry := self._told((eq.out.name, at), found)):
                    own[at] = entry
            if own:
                found[eq.out.name] = own
        return found

    def _told(self, spot: Spot, found: Mapping[str, Mapping[At, Blank]]) -> Blank | None:
        """Give the entry of a cell that would show a number left open; None of any other."""
        tree = self.tree(spot)
        for name, at in self.read(spot, tree):
            entry = found.get(name, {}).get(at)
            if entry is not None and isinstance(tree, Cell):
                return entry
            if entry is not None and self._same(spot, tree, (name, at)):
                return room()
        return None

    def _same(self, spot: Spot, tree: Expr, source: Spot) -> bool:
        """Tell whether a cell is the same number as one that it reads, also if that were larger."""
        eq, arrays = self.made[spot[0]], self.explainer.trace.arrays

        def value(more: float) -> float:
            def leaf(e: Expr) -> float:
                cell = cast(Cell, e)
                own = (eq.inputs[cell.operand].name, cell.at)
                return float(arrays[own[0]][cell.at]) + (more if own == source else 0.0)

            with np.errstate(all="ignore"):
                return float(evaluate(tree, leaf))

        own = float(arrays[source[0]][source[1]])
        return all(math.isclose(value(more), own + more, rel_tol=1e-9) for more in (0.0, 1.0))


def _equal(a: Figure, b: Figure) -> bool:
    """Tell whether two numbers look the same."""
    if "inf" in a.digits or "inf" in b.digits:
        return a.digits == b.digits
    return fraction_of(a) == fraction_of(b)


def choose(
    explainer: Explainer,
    steps: set[str] | None,
    wanted: int | None,
    seed: int,
    level: Level = Level.normal,
) -> tuple[Gap, ...]:
    """Choose the cells that are left open, numbered in the order of the steps.

    Parameters
    ----------
    explainer : Explainer
        Of the run, without blanks.
    steps : set of str, optional
        The steps that they may be of; with these alone, all their cells are left open.
    wanted : int, optional
        How many; for ``hard`` how many steps.
    seed : int
    level : Level

    Raises
    ------
    UsageError
        There are not so many, or none.
    """
    cells = Cells(explainer)
    complete = steps is not None and wanted is None and level != Level.easy
    every: dict[str, list[Candidate]] = {}
    for name, step in cells.steps.items():
        if steps is None or name in steps:
            own = list(cells.candidates(step, seed, complete or level == Level.hard))
            every |= {name: own} if own else {}
    if not every:
        raise UsageError(Fault(say("teach.none"), hint=say("teach.none.hint")))
    if complete:
        picked = [c for own in every.values() for c in own if cells.arithmetic(c.spot)]
    elif level == Level.hard:
        picked = _whole(cells, every, wanted)
    else:
        picked = _single(cells, every, wanted, level)
    if len(picked) > MOST_BLANKS:
        raise UsageError(Fault(say("teach.many", n=len(picked), most=MOST_BLANKS)))
    order = {name: i for i, name in enumerate(explainer.made)}
    spots = sorted((c.spot for c in picked), key=lambda spot: (order[spot[0]], spot[1]))
    return tuple(Gap(i, name, at) for i, (name, at) in enumerate(spots, 1))


def _single(
    cells: Cells, every: Mapping[str, list[Candidate]], wanted: int | None, level: Level
) -> list[Candidate]:
    """Choose single cells: of each part of the block a telling one in turn."""
    picked: list[Candidate] = []
    roots, read, taken = set[Spot](), set[Spot](), set[Spot]()
    most = BLANKS if wanted is None else wanted
    for one in _spread(cells, every):
        root = cells.root(one.spot)
        if root in roots or not cells.arithmetic(one.spot):
            continue
        if level == Level.easy:
            origins = set(map(cells.origin, one.reads))
            if origins & taken or one.spot in read:
                continue
            read |= origins
        picked.append(one)
        roots.add(root)
        taken.add(one.spot)
        if len(picked) == most:
            return picked
    if not picked or wanted is not None:
        text = say("teach.few", n=len(picked), wanted=most)
        raise UsageError(Fault(text, hint=say("teach.few.hint")))
    return picked


def _spread(cells: Cells, every: Mapping[str, list[Candidate]]) -> Iterator[Candidate]:
    """Give candidates of all parts of the block in turn: of each the best of every step first."""
    program = cells.explainer.program
    parts: dict[str, list[tuple[int, tuple[int, int, float], Candidate]]] = {}
    for name, own in every.items():
        section = program.section_of(cells.steps[name].index)
        listed_here = parts.setdefault(section.name if section else name, [])
        listed_here += [(n, c.rank, c) for n, c in enumerate(own)]
    queues = [sorted(own, key=lambda one: one[:2]) for own in parts.values()]
    queues.sort(key=lambda own: own[0][1][2])
    for n in range(max(map(len, queues))):
        yield from (own[n][2] for own in queues if n < len(own))


def _whole(
    cells: Cells, every: Mapping[str, list[Candidate]], wanted: int | None
) -> list[Candidate]:
    """Choose whole steps, none of which follows from another cell by cell."""
    picked: list[Candidate] = []
    roots, n = set[Spot](), 0
    most = STEPS if wanted is None else wanted
    for own in sorted(every.values(), key=lambda own: own[0].rank):
        if n == most:
            return picked
        kept = [c for c in own if cells.arithmetic(c.spot)]
        mine = {cells.root(c.spot) for c in kept}
        if kept and not roots & mine:
            picked += kept
            roots |= mine
            n += 1
    if not n or (wanted is not None and n < wanted):
        text = say("teach.few.steps", n=n, wanted=wanted)
        raise UsageError(Fault(text, hint=say("teach.few.steps.hint", names=listed(list(every)))))
    return picked
