"""Compare two runs: which steps match, and by how much they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from blockcalc.errors import Fault, UsageError
from blockcalc.explain.depth import Depth, chosen_steps, labels_of
from blockcalc.explain.document import (
    Head,
    Heading,
    Labelled,
    Match,
    Overview,
    PairPiece,
    Piece,
    Remark,
)
from blockcalc.explain.grids import Shown
from blockcalc.explain.head import conventions, dropouts, flows, rounding, sizes
from blockcalc.messages import say
from blockcalc.messages.words import clauses, did_you_mean, dims
from blockcalc.nn.spec import Spec
from blockcalc.notation.digits import column_places, figure
from blockcalc.ops.expr import Figure, Name
from blockcalc.ops.op import Array, Ref
from blockcalc.program.align import Pair, align
from blockcalc.program.program import Equation
from blockcalc.program.trace import Trace

Run = tuple[Spec, Trace]
SIDES = ("A", "B")
ROUND_OFF = 1e-12


def compare(a: Run, b: Run, depth: Depth) -> Iterator[Piece]:
    """Compare two runs: the differences of the files, every step, and the outputs.

    Parameters
    ----------
    a, b : (Spec, Trace)
    depth : Depth
        Only ``digits``, ``whole``, ``patterns`` and ``brief`` are used.

    Raises
    ------
    UsageError
        A pattern of ``depth`` matches no step of either run.
    """
    return _Comparison(a, b, depth).pieces()


class _Comparison:
    def __init__(self, a: Run, b: Run, depth: Depth) -> None:
        self.runs, self.depth = (a, b), depth
        self.digits = 12 if a[1].rounding or b[1].rounding else depth.digits
        self.programs = (a[1].program, b[1].program)
        # round-off is relative to the size of x if that is below 1
        self.size = min(1.0, max(float(np.abs(run[1].arrays["x"]).max()) for run in (a, b)))
        self.known = [
            {eq.out.name: i for i, eq in enumerate(program.equations)} for program in self.programs
        ]

    def pieces(self) -> Iterator[Piece]:
        pairs = list(align(*self.programs))
        chosen = self.chosen()
        if chosen is None:
            yield from self.opening(pairs)
            if self.depth.brief:
                return
        else:
            orders = (say(f"order.{spec.order}") for spec, _ in self.runs)
            names = [spec.source.name for spec, _ in self.runs if spec.source]
            heads = [f"{side} {name}" for side, name in zip(SIDES, names, strict=False)]
            heads = heads if len(set(names)) == 2 else list(SIDES)
            comma, both = say("words.comma"), zip(heads, orders, strict=True)
            yield Remark(clauses(f"{a}{comma}{order}" for a, order in both))
        if chosen is None or chosen:
            yield Heading(say("compare.steps"))
        for pair in pairs:
            if chosen is None or self.match(pair).name in chosen:
                yield self.pair(pair)
        if "out" in self.depth.patterns:
            yield Heading(say("compare.outputs"))
            yield self.outputs()

    def opening(self, pairs: Sequence[Pair]) -> Iterator[Piece]:
        """Begin with the outputs and the first step that differs; then the runs and every step."""
        head = self.head()
        yield replace(head, facts=(), headline=self.first(pairs))
        yield Heading(say("compare.outputs"))
        yield self.outputs()
        if not self.depth.brief:
            yield Heading(say("compare.runs"))
            yield replace(head, title="")
            yield Heading(say("compare.overview"))
            yield Overview(tuple(self.match(pair) for pair in pairs))

    def chosen(self) -> set[str] | None:
        """Find the selected steps of each run."""
        if not self.depth.patterns:
            return None
        found: set[str] = set()
        for pattern in (p for p in self.depth.patterns if p != "out"):
            hits: set[str] = set()
            for program in self.programs:
                try:
                    hits |= chosen_steps(program, [pattern])
                except UsageError:
                    continue
            if not hits:
                hint = did_you_mean(pattern, [*self.known[0], *self.known[1]])
                raise UsageError(Fault(say("steps.none", pattern=pattern), hint=hint))
            found |= hits
        return found

    # the head ---------------------------------------------------------------------------

    def head(self) -> Head:
        """Describe the two runs, and every convention and matrix in which they differ."""
        (first, _), (second, _) = self.runs
        title = first.title or say("title.none")
        if second.title != first.title:
            title = say("compare.title", a=title, b=second.title or say("title.none"))
        own = [self.facts(*run) for run in self.runs]
        names = [spec.source.name for spec in (first, second) if spec.source]
        if len(set(names)) == 2:
            own = [[name, *lines] for name, lines in zip(names, own, strict=True)]
        facts = []
        for side, mine, other in zip(SIDES, own, own[::-1], strict=True):
            lines = [line for line in mine if line not in other]
            facts.append((side, tuple(lines or [say("compare.as_other")])))
        facts.append((say("compare.both"), tuple(line for line in own[0] if line in own[1])))
        facts.append((say("heading.given"), tuple(self.given())))
        return Head(title, None, tuple(facts), ())

    def facts(self, spec: Spec, trace: Trace) -> list[str]:
        """List the facts of one run as sentences."""
        lines = [say(f"order.{spec.order}"), *flows(trace.program), sizes(trace.program)]
        return [*lines, *conventions(spec, trace.program), *rounding(trace), *dropouts(spec)]

    def given(self) -> Iterator[str]:
        """Describe which of the given matrices differ."""
        a, b = ({ref.name: trace.arrays[ref.name] for ref in trace.program.inputs}
                for _, trace in self.runs)  # fmt: skip
        same = True
        for name in dict.fromkeys([*a, *b]):
            if name not in a or name not in b:
                same = False
                yield say("compare.only", name=name, side=SIDES[name in b])
            elif not np.array_equal(a[name], b[name]):
                same = False
                yield say("compare.given", name=name, how=self.verdict_text(a[name], b[name]))
        if same:
            yield say("compare.same_given")
        labels = [spec.tokens for spec, _ in self.runs]
        if labels[0] != labels[1] and a["x"].shape == b["x"].shape:
            first = next((p, q) for p, q in zip(*labels, strict=True) if p != q)
            yield say("compare.tokens", a=", ".join(first[0]), b=", ".join(first[1]))

    def verdict_text(self, a: Array, b: Array) -> str:
        """Describe how a given matrix differs."""
        if a.shape != b.shape:
            return say("compare.shapes", a=dims(a.shape), b=dims(b.shape))
        return say("compare.differ", n=int(np.sum(a != b)), total=a.size)

    def first(self, pairs: Sequence[Pair]) -> str:
        """Name the first common step that differs."""
        if all(None in pair for pair in pairs):
            return say("compare.nothing")
        for pair in pairs:
            match = self.match(pair)
            if None not in pair and not match.same:
                return say("compare.first", name=match.name)
        return say("compare.none")

    # steps ------------------------------------------------------------------------------

    def equations(self, pair: Pair) -> list[Equation | None]:
        """Give the equations of a pair."""
        found = zip(self.programs, pair, strict=True)
        return [None if i is None else program.equations[i] for program, i in found]

    def match(self, pair: Pair) -> Match:
        """Describe a pair of steps and its difference on one line."""
        both = self.equations(pair)
        numbers = [None if i is None else i + 1 for i in pair]
        if both[0] and both[1]:
            name = both[0].out.name
            a, b = (trace.arrays[name] for _, trace in self.runs)
            return Match(name, numbers[0], numbers[1], *self.difference(a, b))
        side = 0 if both[0] else 1
        eq = both[side]
        assert eq is not None
        words = say("compare.alone", side=SIDES[side])
        if eq.out.name in self.known[1 - side] and eq.inputs:
            other = self.known[1 - side][eq.out.name] + 1
            words = say("compare.elsewhere", x=eq.inputs[0].name, side=SIDES[1 - side], n=other)
        return Match(eq.out.name, numbers[0], numbers[1], None, words, False)

    def difference(self, a: Array, b: Array) -> tuple[Figure | None, str, bool]:
        """Give the largest difference, or a text if there is none."""
        if a.shape != b.shape:
            return None, say("compare.shapes", a=dims(a.shape), b=dims(b.shape)), False
        if np.array_equal(a, b):
            return None, say("compare.equal"), True
        if not np.array_equal(np.isinf(a), np.isinf(b)):
            return None, say("compare.masked"), False
        largest = float(np.abs(_less(b, a)).max())
        if not np.isfinite(largest):
            return None, say("compare.far"), False
        if largest <= ROUND_OFF * max(self.size, float(np.abs(a[np.isfinite(a)]).max(initial=0))):
            return None, say("compare.round_off"), True
        return figure(largest, column_places([largest], self.digits), self.digits), "", False

    def pair(self, pair: Pair) -> PairPiece:
        """Show the matrices of a pair side by side, with their difference."""
        both = self.equations(pair)
        formulas = []
        for side, eq in zip(SIDES, both, strict=True):
            if eq:
                right = eq.op.formula([Name(ref.symbol) for ref in eq.inputs])
                formulas.append((side, Name(eq.out.symbol), right))
        if len(formulas) == 2 and formulas[0][1:] == formulas[1][1:]:
            formulas = [("", *formulas[0][1:])]
        refs = [eq.out if eq else None for eq in both]
        match = self.match(pair)
        return PairPiece(match, tuple(formulas), tuple(self.matrices(refs, match.same)))

    def outputs(self) -> PairPiece:
        """Show the two outputs and their difference."""
        refs: list[Ref | None] = []
        arrays = []
        for _, trace in self.runs:
            name = trace.program.equations[-1].out.name
            refs.append(trace.program.refs()[name])
            arrays.append(trace.arrays[name])
        names = [ref.name for ref in refs if ref]
        name = names[0] if names[0] == names[1] else f"{names[0]}, {names[1]}"
        last = [len(program.equations) for program in self.programs]
        match = Match(name, last[0], last[1], *self.difference(*arrays))
        return PairPiece(match, (), tuple(self.matrices(refs, match.same)))

    def matrices(self, refs: Sequence[Ref | None], same: bool) -> Iterator[tuple[Labelled, ...]]:
        """Make tables of both matrices, head by head, and of the difference if the shapes agree."""
        shown: list[tuple[str, Shown, Spec]] = []
        for side, ref, (spec, trace) in zip(SIDES, refs, self.runs, strict=True):
            if ref:
                value = trace.arrays[ref.name]
                shown.append((side, Shown(ref, value, self.digits, self.depth.whole), spec))
        if same:
            shown = [(say("compare.both"), *shown[0][1:])]
        elif len(shown) == 2:
            a, b = (m.value for _, m, _ in shown)
            alike = a.shape == b.shape and np.array_equal(np.isinf(a), np.isinf(b))
            if alike and np.isfinite(_less(b, a)).all():
                finite = np.where(np.isinf(a), 0.0, np.maximum(np.abs(a), np.abs(b)))
                less = Shown(shown[0][1].ref, _less(b, a), self.digits, self.depth.whole, finite)
                shown.append(("B - A", less, shown[0][2]))
        columns = [[(label, grid) for grid in m.grids(labels_of(spec))] for label, m, spec in shown]
        for row in zip_longest(*columns):
            yield tuple(cell for cell in row if cell)


def _less(b: Array, a: Array) -> Array:
    """Subtract, with 0 where both are minus infinity."""
    with np.errstate(all="ignore"):
        return np.where(np.isinf(a) & np.isinf(b), 0.0, b - a)
