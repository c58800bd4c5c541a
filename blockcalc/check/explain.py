"""The report of a check: the first wrong step, the table of steps, then each wrong step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from blockcalc.answers.answer import TEXT
from blockcalc.check.data import (
    check_data,
    columns,
    led_away,
    not_handed_in,
    numbers_of,
    places_of,
    right_text,
    sentence,
    step_rows,
    tolerance_text,
    unread_text,
    workable,
    worst,
    worst_cells,
)
from blockcalc.check.judge import FOLLOWS, RIGHT, ROUNDED, WRONG, Judged
from blockcalc.check.reasons.sentences import frames_text, reasons_text
from blockcalc.check.run import JUDGED, OPEN, Checked
from blockcalc.check.several.points import Points, points_of, shown
from blockcalc.check.several.table import class_pieces, class_rows
from blockcalc.check.where import (
    differences,
    infinite_text,
    place,
    sum_alone,
    total_text,
    untold_text,
    wrong_cells,
    wrong_place,
)
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import (
    Document,
    Entry,
    Heading,
    Line,
    Listing,
    Piece,
    Remark,
    Right,
    Worked,
    Wrong,
)
from blockcalc.explain.steps import Explainer
from blockcalc.messages import say
from blockcalc.messages.words import listed, say_count, sentences
from blockcalc.nn.spec import Spec
from blockcalc.notation.digits import ALL_DIGITS
from blockcalc.notation.quantities import significant
from blockcalc.ops.expr import At, Cell, walk
from blockcalc.program.bounds import NUMBERS
from blockcalc.program.trace import Step, Trace

MOST_CELLS = 4  # of the first wrong step
MOST_CELLS_AFTER = 2
MOST_WRONG = 3  # steps with a section of their own; the others have a line each
MOST_ROWS = 12  # if there are more steps, those with the same verdict share a line
SHARED = 4
SAME = 1e-12

Explains = Callable[[Spec, Trace, Depth], Explainer]


def check_document(
    spec: Spec,
    all_checked: Sequence[Checked],
    scored: bool = False,
    explains: Explains = Explainer,
) -> Document:
    """Make the document of one set of answers, or of several.

    ``explains`` gives the titles of steps and their arithmetic; a backward pass has its own.
    """
    one, points = all_checked[0], points_of(all_checked)
    counted = points if scored else None
    of = points.of if scored else None
    if len(all_checked) > 1:
        return Document(
            lambda: class_pieces(all_checked, counted),
            lambda: [check_data(checked, of) for checked in all_checked],
            None,
            lambda: class_rows(all_checked, points),
        )
    return Document(
        lambda: Report(spec, one, counted, explains).pieces(),
        lambda: check_data(one, of),
        None,
        lambda: step_rows(one, of),
    )


class Report:
    """The report on one set of answers."""

    def __init__(
        self, spec: Spec, checked: Checked, points: Points | None, explains: Explains
    ) -> None:
        self.spec, self.checked, self.points, self.explains = spec, checked, points, explains
        self.carried = checked.judgement.carried
        trace = checked.judgement.trace
        arrays = {name: value.numbers for name, value in self.carried.carried.items()}
        self.own = Trace(trace.program, arrays, trace.rounding)
        self.refs = trace.program.refs()
        self.chosen = checked.judgement.tolerance is not None
        self.dump = any(s.answer.read_as != TEXT for s in checked.steps.values())
        self.bounded = self.dump and not self.chosen

    def pieces(self) -> Iterator[Piece]:
        checked = self.checked
        yield Heading(say("check.heading", answers=checked.answers.source), prose=self.first())
        infinite = checked.judgement.infinite
        if infinite and not any(r.step == infinite for r in checked.reasons):
            yield Remark(infinite_text(checked.judgement, checked.steps[infinite]))
        right = [f for f in checked.frames if checked.verdict(f.step) != WRONG]  # else a reason
        for steps, text in frames_text(right):
            yield Remark(say("check.frame", step=listed(steps), text=text))
        if checked.steps:
            yield self.table()
        wrong = checked.wrong
        for own in wrong[:MOST_WRONG]:
            yield from self.wrong(own)
        if len(wrong) > MOST_WRONG:
            yield Heading(say("check.more"))
            yield self.more(wrong[MOST_WRONG:])
        if checked.next:
            key = "check.next.part" if checked.next in checked.steps else "check.next"
            first = checked.first_wrong
            yield Remark(say(key, step=checked.next, wrong=first))
        yield from self.rest()

    def rest(self) -> Iterator[Piece]:
        """State what could not be judged, the score, and the tolerance in force."""
        for one in self.checked.unreadable:
            yield Remark(unread_text("check.unreadable", one))
        for step in self.checked.judgement.untold:
            text = untold_text(self.checked.judgement, step)
            yield Remark(say("check.untold_in", step=step, text=text))
        yield from map(Remark, self.checked.matched.warnings)
        if self.checked.matched.unmatched:
            names = list(self.checked.matched.unmatched)
            yield Remark(say("answers.unmatched", names=listed(names)))
        if self.points is not None:
            yield Remark(self.score(self.points))
        judged = self.checked.steps or self.checked.state == OPEN
        said = [say("check.rule", rule=tolerance_text(self.checked))] if judged else []
        if any(s.verdict == FOLLOWS for s in self.checked.steps.values()):
            said.append(say("check.follows"))
        if said := [*said, *self.checked.matched.remarks]:
            yield Remark(sentences(said), quiet=True)

    def score(self, points: Points) -> str:
        """State the points reached and the most there are, what counts, and missing steps."""
        reached, of = self.checked.score(points.of)
        said = [say("check.score", points=shown(reached), of=shown(of)), points.rule()]
        missing = not_handed_in(self.checked, points.of)
        if missing and self.checked.state == JUDGED:
            said.append(sentence(say("points.missing", names=listed(missing))))
        return sentences(said)

    def first(self) -> str:
        """State the first wrong step, its reason, and its worst cell."""
        checked = self.checked
        wrong = checked.judgement.first_wrong
        if checked.state != JUDGED:
            return say(f"check.{checked.state}")
        if wrong is None:
            return right_text(checked)
        own = checked.steps[wrong]
        if self.sum_alone(own):
            return sentences([say("check.first.sum", step=wrong), total_text(own)])
        said = [say("check.first", step=wrong, reason=reasons_text(checked, wrong))]
        if cells := worst_cells(own, MOST_CELLS):
            given, right, mine = numbers_of(own, cells)[0]
            apart = mine != right and led_away(own, cells[:1])
            key = "check.cell.own" if apart else "check.cell"
            said.append(say(key, at=place(cells[0]), given=given, right=right, own=mine))
        if others := len(checked.wrong) - 1:
            said.append(say_count("check.others", others))
        return sentences(said)

    # the table of steps -----------------------------------------------------------------------

    def table(self) -> Listing:
        """List the steps with their verdicts; neighbours with the same verdict may share a line."""
        steps = list(self.checked.steps.values())
        rows: list[tuple[Entry, ...]] = []
        for kind, group in groupby(steps, self.kind):
            own = list(group)
            if kind in (RIGHT, FOLLOWS) and len(own) >= SHARED and len(steps) > MOST_ROWS:
                rows.append(self.row(own))
            else:
                rows += [self.row([s]) for s in own]
        ratio = ("ratio",) if self.bounded else ()
        return Listing(columns("step", "verdict", "cells", "largest", *ratio, "where"), tuple(rows))

    def kind(self, own: Judged) -> str:
        """Tell which steps may share a line."""
        if own.step in self.checked.blind:
            return ROUNDED
        return RIGHT if own.verdict == ROUNDED else own.verdict

    def verdict(self, steps: Sequence[Judged]) -> Entry:
        """State the verdict of steps; written numbers that are rounded count as right."""
        first = steps[0]
        if first.step == self.checked.judgement.first_wrong:
            return Wrong(say("verdict.first"))
        plain = not self.bounded or all(s.verdict == RIGHT for s in steps)
        if self.kind(first) == RIGHT:
            return Right(say(f"verdict.{RIGHT if plain else ROUNDED}"))
        text = say(f"verdict.{first.verdict}")
        return Wrong(text) if first.verdict == WRONG else text

    def row(self, steps: Sequence[Judged]) -> tuple[Entry, ...]:
        """Make the row of a step, or of several with the same verdict."""
        first, last = steps[0], steps[-1]
        framed = any(frame.step == first.step for frame in self.checked.frames)
        right = self.kind(first) in (RIGHT, ROUNDED) or (framed and not first.bad.any())
        found = [(s, wrong_cells(s)) for s in steps]
        n = 0 if right else sum(int(bad.sum()) for _, bad in found)
        of = sum(int(s.answer.judged.sum()) for s in steps)
        sizes = [differences(s) for s in steps]
        several = len(steps) > 1
        text = say("check.steps", n=len(steps)) if several else ""
        if not right and not several:
            text = wrong_place(first, self.refs[first.step].axes)
            text = "" if text == say("where.some", n=n, of=of) else text
        if not several and first.step in self.checked.blind:
            text = say("where.blind")
        name = say("check.from_to", first=first.step, last=last.step) if several else first.step
        cells = [bad if bad.any() else s.answer.judged for s, bad in found]
        largest, _, over = (
            max(
                float(np.max(size[i], initial=0.0, where=own))
                for size, own in zip(sizes, cells, strict=True)
            )
            for i in range(3)
        )
        if (total := first.total) and sum_alone(first) and not several:
            off = significant(abs(total.given - total.own), 2)
            return (name, self.verdict(steps), say("check.sum"), off, *[""] * self.bounded, text)
        row: list[Entry] = [name, self.verdict(steps), f"{n}/{of}"]
        row.append(significant(largest, 2) if self.dump or not right else "")
        row += [significant(over, 2) if math.isfinite(over) else ""] if self.bounded else []
        return (*row, text)

    # a wrong step -------------------------------------------------------------------------------

    def wrong(self, own: Judged) -> Iterator[Piece]:
        """Report a wrong step: its reasons, its worst cells, and the arithmetic of the worst."""
        first = own.step == self.checked.judgement.first_wrong
        alone = self.sum_alone(own)
        if first and alone:
            return  # all is said at the head
        said = [] if first or alone else [sentence(reasons_text(self.checked, own.step))]
        if own.answer.read_as in NUMBERS and not self.chosen and not sum_alone(own):
            said.append(self.bound(own))
        yield Heading(self.title(own.step), own.step, prose=sentences(said) or None)
        yield from map(Remark, filter(None, [total_text(own)]))
        cells = worst_cells(own, MOST_CELLS if first else MOST_CELLS_AFTER)
        if not cells:
            return
        yield self.cells(own, cells)
        if rest := int(wrong_cells(own).sum()) - len(cells):
            yield Remark(say_count("check.cells.more", rest))
        eq = self.carried.equation(own.step)
        if eq is None or not eq.op.worked:
            return
        if workable(eq, cells[0], self.own.arrays, self.carried.own[own.step].numbers):
            yield self.line(self.carried.index[own.step], cells[0], places_of(own, cells))

    def sum_alone(self, own: Judged) -> bool:
        """Tell whether only the sum of a step is wrong, and no reason is known."""
        return sum_alone(own) and not any(r.step == own.step for r in self.checked.reasons)

    def bound(self, own: Judged) -> str:
        """State by how much a dump exceeds the bound of its format."""
        _, _, over = differences(own)
        at = worst(own) or ()
        n, of = int(own.bad.sum()), int(own.answer.judged.sum())
        ratio = float(over[at]) if at else 0.0
        words = {"dtype": own.answer.read_as, "at": place(at)}
        if at and np.isfinite(own.answer.values[at]) and math.isinf(ratio):
            return say_count("check.bound.zero", of, wrong=n, **words)
        shown = significant(ratio, 3) if at else ""
        return say_count("check.bound", of, wrong=n, ratio=shown, **words)

    def cells(self, own: Judged, cells: Sequence[At]) -> Listing:
        """Tabulate the worst cells: numbers given, right, and following if different."""
        numbers = numbers_of(own, cells)
        far = led_away(own, cells) and any(mine != right for _, right, mine in numbers)
        rows = [
            (place(at), Wrong(given), Right(right), *([mine] if far else []))
            for at, (given, right, mine) in zip(cells, numbers, strict=True)
        ]
        keys = ("cell", "given", "right", *(("own",) if far else ()))
        return Listing(columns(*keys), tuple(rows))

    def more(self, wrong: Sequence[Judged]) -> Listing:
        """List wrong steps, one line each, with their worst cell and the reason."""
        rows: list[tuple[Entry, ...]] = []
        for own in wrong:
            reason = reasons_text(self.checked, own.step)
            cells = worst_cells(own, 1)
            if not cells:
                rows.append((own.step, say("where.sum"), "", "", reason))
                continue
            given, right, _ = numbers_of(own, cells)[0]
            rows.append((own.step, place(cells[0]), Wrong(given), Right(right), reason))
        return Listing(columns("step", "cell", "given", "right", "reason"), tuple(rows))

    def line(self, number: int, at: At, places: int) -> Worked:
        """Write the arithmetic of a cell, from the answers before it."""
        eq = self.own.program.equations[number]
        inputs = tuple(self.own.arrays[ref.name] for ref in eq.inputs)
        own = self.carried.own[eq.out.name].numbers
        trace = Trace(self.own.program, {**self.own.arrays, eq.out.name: own}, self.own.rounding)
        sized = own[at] and np.isfinite(own[at])
        digits = places + math.floor(math.log10(abs(own[at]))) + 1 if sized else 6
        depth = Depth(digits=min(max(digits, 6), ALL_DIGITS - 1))
        explainer = self.explains(self.spec, trace, depth)
        line: Line = explainer.line(Step(number, eq, inputs, own), explainer.matrix(eq.out), at)
        plain = self.checked.judgement.plain.own
        used = {e for e in walk(eq.op.cell(at, eq.inputs)) if isinstance(e, Cell)}
        pairs = (
            (inputs[e.operand][e.at], plain[eq.inputs[e.operand].name].numbers[e.at]) for e in used
        )
        theirs = any(not np.isclose(a, b, SAME, 0.0) for a, b in pairs)
        return Worked((line,), say("check.line.own" if theirs else "check.line"))

    def title(self, name: str) -> str:
        """Give the title of a step."""
        number = self.carried.index.get(name)
        if number is None:
            return say("check.input")
        step = Step(number, self.own.program.equations[number], (), self.own.arrays[name])
        return self.explains(self.spec, self.own, Depth(digits=6)).step_title(step)
