"""Where a person is: the step, the selected cell of each, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from blockcalc.explain.document import Line, Panel, Sign
from blockcalc.explain.steps import Explainer
from blockcalc.messages import say
from blockcalc.ops.expr import At
from blockcalc.program.trace import Step
from blockcalc.stepper.scene import Extent, asked_line, leads_of, parts_of, shape_of


class Walk:
    """Goes through the steps of a run, and through the cells of each.

    Parameters
    ----------
    explainer : Explainer
        Of the run; its depth says which cell is selected at first.
    numbers : sequence of int
        The steps to go through, counted from 0 in the run.
    start : int
        Which of them is the first to be seen.
    """

    def __init__(self, explainer: Explainer, numbers: Sequence[int], start: int = 0) -> None:
        self.explainer, self.numbers = explainer, tuple(numbers)
        self.position = start
        self.cells: dict[int, At] = {}
        self.guessing = False
        self.known: dict[int, set[At]] = {}

    # where ------------------------------------------------------------------------------

    @property
    def step(self) -> Step:
        """Give the step that is looked at."""
        return self._step(self.numbers[self.position])

    def _step(self, number: int) -> Step:
        return next(self.explainer.trace.steps(number, number + 1))

    @property
    def at(self) -> At:
        """Give the selected cell of the step."""
        number = self.numbers[self.position]
        if number not in self.cells:
            self._choose(number)
        return self.cells[number]

    def _choose(self, number: int) -> None:
        """Select the telling cell of each step of a section up to one: their rows agree."""
        program = self.explainer.program
        section = program.top_section_of(number)
        first = number if section is None else section.first
        self.explainer.choice.begin()
        for n in (n for n in self.numbers if first <= n <= number):
            step = self._step(n)
            operands = [self.explainer.matrix(ref) for ref in step.equation.inputs]
            shown = self.explainer.matrix(step.equation.out)
            self.cells.setdefault(n, self.explainer.choice.of(step, operands, shown))

    def go(self, by: int) -> bool:
        """Go some steps on, or back; tell whether there was one."""
        return self.jump(self.position + by)

    def jump(self, position: int) -> bool:
        """Go to one of the steps, at most to the last; tell whether it is another."""
        before = self.position
        self.position = min(max(position, 0), len(self.numbers) - 1)
        return self.position != before

    def move(self, down: int, right: int) -> bool:
        """Select another cell of the same table; tell whether there was one."""
        shown = self.explainer.matrix(self.step.equation.out)
        (row, column), (rows, columns) = shown.place(self.at), shape_of(shown)
        row, column = min(max(row + down, 0), rows - 1), min(max(column + right, 0), columns - 1)
        return self._select(shown.at(self.at[:-2], row, column))

    def turn(self, by: int) -> bool:
        """Select the same cell of another head or sequence; after the last comes the first."""
        leads = leads_of(self.explainer.matrix(self.step.equation.out))
        if len(leads) < 2:
            return False
        at = self.at
        lead = leads[(leads.index(at[:-2]) + by) % len(leads)]
        return self._select((*lead, *at[-2:]))

    def _select(self, at: At) -> bool:
        changed = at != self.at
        self.cells[self.numbers[self.position]] = at
        return changed

    @property
    def leads(self) -> int:
        """Count the heads and sequences of the result."""
        return len(leads_of(self.explainer.matrix(self.step.equation.out)))

    @property
    def lead_axis(self) -> str:
        """Name what the result has several matrices of; empty if it has one."""
        return "".join(self.step.equation.out.axes[-3:-2])

    # what is known ----------------------------------------------------------------------

    @property
    def hidden(self) -> bool:
        """Tell whether the number of the selected cell is hidden."""
        return self.guessing and self.at not in self._known

    @property
    def _known(self) -> set[At]:
        return self.known.setdefault(self.numbers[self.position], set())

    @property
    def any_hidden(self) -> bool:
        """Tell whether any number of the result is hidden."""
        return self.guessing and len(self._known) < self.step.value.size

    def reveal(self) -> None:
        """Show the selected cell, or, if it is shown already, the whole step."""
        if self.hidden:
            self._known.add(self.at)
        else:
            self._known.update(product(*map(range, self.step.value.shape)))

    # what is seen -----------------------------------------------------------------------

    def parts(self, extent: Extent) -> list[Panel | Sign]:
        """Make the picture of the step."""
        known = frozenset(self._known) if self.guessing else None
        return parts_of(self.explainer, self.step, self.at, extent, known)

    def line(self) -> Line:
        """Work the selected cell; if it is hidden, with names in place of numbers."""
        step = self.step
        if self.hidden:
            return asked_line(step, self.at)
        return self.explainer.line(step, self.explainer.matrix(step.equation.out), self.at)

    def notes(self) -> list[str]:
        """Give the notes on the step."""
        return list(self.explainer.notes(self.step))

    def section(self) -> tuple[str, str]:
        """Give the title of the section that the step is in, and its explanation."""
        explainer, step = self.explainer, self.step
        section = explainer.program.top_section_of(step.index)
        name = section.name if section else step.equation.out.name
        heading = explainer.heading(section, name)
        title = heading.title
        if block := explainer.program.block_of(step.index):
            total = len(explainer.spec.blocks)
            own = say("section.block", n=explainer.blocks[block.name] + 1, total=total)
            title = say("stepper.within", outer=own, inner=title)
        return title, heading.prose or ""
