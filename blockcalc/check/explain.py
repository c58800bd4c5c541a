"""What was found, said: the first wrong step, the table of steps, then each wrong step with its cells, line and reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from blockcalc.answers.answer import TEXT
from blockcalc.check.data import (
    check_data,
    class_rows,
    differences,
    infinite_text,
    led_away,
    place,
    reasons_text,
    step_rows,
    tolerance_text,
    total_text,
    values_of,
    workable,
    worst,
    worst_cells,
    wrong_place,
)
from blockcalc.check.judge import FOLLOWS, RIGHT, ROUNDED, WRONG, Judged
from blockcalc.check.run import Checked
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import (
    Column,
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
from blockcalc.messages.words import listed
from blockcalc.nn.spec import Spec
from blockcalc.notation.digits import ALL_DIGITS
from blockcalc.notation.quantities import in_column, places_apart, significant
from blockcalc.ops.expr import At, Cell, walk
from blockcalc.program.bounds import NUMBERS
from blockcalc.program.trace import Step, Trace

MOST_CELLS = 4  # of the first wrong step
OF_EXACT = 4  # decimals of a right number beside one that is given exactly
MOST_CELLS_AFTER = 2
MOST_WRONG = 3  # steps with a part of their own; the others have a line each
MOST_ROWS = 12  # where there are more steps, alike ones share a line
SHARED = 4
SAME = 1e-12

Explains = Callable[[Spec, Trace, Depth], Explainer]


def check_document(
    spec: Spec,
    all_checked: Sequence[Checked],
    scored: bool = False,
    explains: Explains = Explainer,
) -> Document:
    """Make the document of one person's answers, or of several.

    ``explains`` names steps and works their lines; a backward pass has one of its own.
    """
    one = all_checked[0]
    if len(all_checked) > 1:
        return Document(
            lambda: class_pieces(all_checked, scored),
            lambda: [check_data(checked, scored) for checked in all_checked],
            None,
            lambda: class_rows(all_checked),
        )
    return Document(
        lambda: Report(spec, one, scored, explains).pieces(),
        lambda: check_data(one, scored),
        None,
        lambda: step_rows(one),
    )


def columns(*keys: str) -> tuple[Column, ...]:
    """Make the columns of a list by their keys."""
    kinds = {"step": "name", "name": "name", "cell": "name", "first": "name"}
    kinds |= dict.fromkeys(("verdict", "where", "reason"), "text")
    return tuple(Column(say(f"column.check.{k}"), kinds.get(k, "number")) for k in keys)


def class_pieces(all_checked: Sequence[Checked], scored: bool) -> Iterator[Piece]:
    """Say what was found in the answers of several, one line each."""
    rows: list[tuple[Entry, ...]] = []
    for checked in all_checked:
        first = checked.judgement.first_wrong
        row: list[Entry] = [checked.answers.source, _sum(checked), first or ""]
        reached, of = checked.score()
        row += [f"{reached:g}/{of:g}"] if scored else []
        reason = reasons_text(checked, first) if first else ""
        unread = [say("check.unread", name=one.name, why=one.why) for one in checked.unreadable]
        rows.append((*row, "; ".join([reason, *unread] if reason else unread)))
    score = ("score",) if scored else ()
    yield Listing(columns("name", "verdict", "first", *score, "reason"), tuple(rows))


def _sum(checked: Checked) -> str:
    """Say in a few words how all the steps came out."""
    n = len(checked.wrong)
    if checked.ok:
        return Right(say("check.sum.right", n=len(checked.steps)))
    if n:
        return Wrong(say("check.sum.wrong", n=n, of=len(checked.steps)))
    return Wrong(say("check.sum.unread"))


class Report:
    """Says what was found in one person's answers."""

    def __init__(self, spec: Spec, checked: Checked, scored: bool, explains: Explains) -> None:
        self.spec, self.checked, self.scored, self.explains = spec, checked, scored, explains
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
        if checked.judgement.infinite:
            yield Remark(infinite_text(checked.steps[checked.judgement.infinite]))
        for frame in checked.frames:
            text = say(f"frame.{frame.name}", **frame.words)
            yield Remark(say("check.frame", step=frame.step, text=text))
        if checked.steps:
            yield self.table()
        wrong = checked.wrong
        for own in wrong[:MOST_WRONG]:
            yield from self.wrong(own)
        if len(wrong) > MOST_WRONG:
            yield Heading(say("check.more"))
            yield self.more(wrong[MOST_WRONG:])
        if checked.next:
            first = checked.judgement.first_wrong
            yield Remark(say("check.next", step=checked.next, wrong=first))
        yield from self.rest()

    def rest(self) -> Iterator[Piece]:
        """Say what could not be judged, the score, and the rule that was in force."""
        for one in self.checked.unreadable:
            yield Remark(say("check.unreadable", name=one.name, why=one.why))
        if self.checked.matched.unmatched:
            names = list(self.checked.matched.unmatched)
            yield Remark(say("answers.unmatched", names=listed(names)))
        if self.scored:
            reached, of = self.checked.score()
            yield Remark(say("check.score", points=f"{reached:g}", of=f"{of:g}"))
        rule = say("check.rule", rule=tolerance_text(self.checked))
        yield Remark(" ".join((rule, *self.checked.matched.remarks)), quiet=True)

    def first(self) -> str:
        """Say the most important thing: the first wrong step, why, and its worst cell."""
        checked, n = self.checked, len(self.checked.steps)
        wrong = checked.judgement.first_wrong
        if not checked.steps:
            return say("check.open" if checked.matched.steps else "check.nothing")
        if wrong is None:
            return self.all_right(n)
        own = checked.steps[wrong]
        text = say("check.first", step=wrong, reason=reasons_text(checked, wrong))
        cells = worst_cells(own, 1)
        if not cells:
            return text
        given, right, mine = self.numbers(own, cells)[0]
        key = "check.cell.own" if led_away(own, cells) else "check.cell"
        return f"{text} {say(key, at=place(cells[0]), given=given, right=right, own=mine)}"

    def all_right(self, n: int) -> str:
        """Say that nothing is wrong."""
        steps = self.checked.steps.values()
        formats = {s.answer.read_as for s in steps if s.verdict != RIGHT} & NUMBERS.keys()
        if formats and not self.chosen:
            return say("check.within", n=n, dtype=max(formats, key=lambda f: NUMBERS[f].unit))
        exact = all(s.verdict == RIGHT for s in steps) or self.chosen
        return say("check.all_right" if exact else "check.all_rounded", n=n)

    # the table of steps -----------------------------------------------------------------------

    def table(self) -> Listing:
        """List the steps with their verdicts; several right ones in a row share a line, and several that follow."""
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
        return RIGHT if own.verdict == ROUNDED else own.verdict

    def verdict(self, steps: Sequence[Judged]) -> Entry:
        """Say how steps came out; of written numbers, right to the last digit is right."""
        first = steps[0]
        if first.step == self.checked.judgement.first_wrong:
            return Wrong(say("verdict.first"))
        plain = not self.bounded or all(s.verdict == RIGHT for s in steps)
        if self.kind(first) == RIGHT:
            return Right(say(f"verdict.{RIGHT if plain else ROUNDED}"))
        text = say(f"verdict.{first.verdict}")
        return Wrong(text) if first.verdict == WRONG else text

    def row(self, steps: Sequence[Judged]) -> tuple[Entry, ...]:
        """Say how a step came out, or several that are alike."""
        first, last = steps[0], steps[-1]
        right = self.kind(first) == RIGHT
        found = [(s, s.bad if s.bad.any() else s.wrong) for s in steps]
        n = 0 if right else sum(int(bad.sum()) for _, bad in found)
        of = sum(int(s.answer.judged.sum()) for s in steps)
        sizes = [differences(s) for s in steps]
        several = len(steps) > 1
        text = say("check.steps", n=len(steps)) if several else ""
        if not right and not several:
            text = wrong_place(first, self.refs[first.step].axes)
            text = "" if text == say("where.some", n=n, of=of) else text
        name = say("check.from_to", first=first.step, last=last.step) if several else first.step
        largest, _, over = (
            max(float(np.max(size[i], initial=0.0)) for size in sizes) for i in range(3)
        )
        row: list[Entry] = [name, self.verdict(steps), f"{n}/{of}"]
        row.append(significant(largest, 2) if self.dump or not right else "")
        row += [significant(over, 2)] if self.bounded else []
        return (*row, text)

    # a wrong step -------------------------------------------------------------------------------

    def wrong(self, own: Judged) -> Iterator[Piece]:
        """Say what is wrong with a step: its reasons, its worst cells, and the line of the worst."""
        first = own.step == self.checked.judgement.first_wrong
        said = [] if first else [_sentence(reasons_text(self.checked, own.step))]
        if own.answer.read_as in NUMBERS and not self.chosen:
            said.append(self.bound(own))
        yield Heading(self.title(own.step), own.step, prose=" ".join(said) or None)
        yield from map(Remark, filter(None, [total_text(own)]))
        cells = worst_cells(own, MOST_CELLS if first else MOST_CELLS_AFTER)
        if not cells:
            return
        yield self.cells(own, cells)
        eq = self.carried.equation(own.step)
        if eq is not None and eq.op.worked and workable(eq, cells[0], self.own.arrays):
            yield self.line(self.carried.index[own.step], cells[0], self.places(own, cells))

    def bound(self, own: Judged) -> str:
        """Say by how much a dump exceeds what its format may do."""
        _, _, over = differences(own)
        at = worst(own) or ()
        n, of = int(own.bad.sum()), int(own.answer.judged.sum())
        ratio = significant(float(over[at]), 3) if at else ""
        return say("check.bound", dtype=own.answer.read_as, n=n, of=of, ratio=ratio, at=place(at))

    def numbers(self, own: Judged, cells: Sequence[At]) -> list[tuple[str, str, str]]:
        """Write what is given in some cells, what is right, and what follows from earlier numbers, all alike."""
        rows = values_of(own, cells)
        flat = in_column([x for row in rows for x in row], self.places(own, cells))
        exact = [own.answer.read_as == TEXT and not own.answer.half[at] for at in cells]
        return [
            (significant(row[0], 17) if whole else flat[3 * i], flat[3 * i + 1], flat[3 * i + 2])
            for i, (row, whole) in enumerate(zip(rows, exact, strict=True))
        ]

    def places(self, own: Judged, cells: Sequence[At]) -> int:
        """Count the decimals at which what is given looks different: those written, and in a dump some more."""
        rows, written = values_of(own, cells), own.answer.read_as == TEXT
        halves = [float(own.answer.half[at]) for at in cells]
        pairs = [(given, right) for given, right, _ in rows]
        pairs += [] if written else [(given, mine) for given, _, mine in rows]
        places = places_apart(pairs, halves, written)
        whole = all(right == round(right) for _, right, _ in rows)
        return places if whole or not written or any(halves) else max(places, OF_EXACT)

    def cells(self, own: Judged, cells: Sequence[At]) -> Listing:
        """Set the worst cells beside the right numbers, and beside those that follow where they are others."""
        numbers = self.numbers(own, cells)
        far = led_away(own, cells)
        rows = [
            (place(at), Wrong(given), Right(right), *([mine] if far else []))
            for at, (given, right, mine) in zip(cells, numbers, strict=True)
        ]
        keys = ("cell", "given", "right", *(("own",) if far else ()))
        return Listing(columns(*keys), tuple(rows))

    def more(self, wrong: Sequence[Judged]) -> Listing:
        """List wrong steps in a line each: their worst cell and the reason."""
        rows: list[tuple[Entry, ...]] = []
        for own in wrong:
            reason = reasons_text(self.checked, own.step)
            cells = worst_cells(own, 1)
            if not cells:
                rows.append((own.step, say("where.sum"), "", "", reason))
                continue
            given, right, _ = self.numbers(own, cells)[0]
            rows.append((own.step, place(cells[0]), Wrong(given), Right(right), reason))
        return Listing(columns("step", "cell", "given", "right", "reason"), tuple(rows))

    def line(self, number: int, at: At, places: int) -> Worked:
        """Work a cell from the numbers that were given before it."""
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
        """Name a step in the field's words."""
        number = self.carried.index.get(name)
        if number is None:
            return say("check.input")
        step = Step(number, self.own.program.equations[number], (), self.own.arrays[name])
        return self.explains(self.spec, self.own, Depth(digits=6)).step_title(step)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
