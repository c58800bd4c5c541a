"""Find a step by its name, another name, the end of one, its number or its title."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from blockcalc.errors import LookupFault
from blockcalc.explain.steps import Explainer


class Index:
    """The steps that can be found, by all that is said of them."""

    def __init__(self, explainer: Explainer, numbers: Sequence[int]) -> None:
        self.program = explainer.program
        self.names: list[str] = []
        self.titles: list[str] = []
        self.numbers = [str(number + 1) for number in numbers]
        for step in explainer.trace.steps():
            if step.index in numbers:
                self.names.append(step.equation.out.name)
                self.titles.append(explainer.step_title(step))
        self.others: dict[str, list[str]] = {}
        for alias, name in self.program.aliases.items():
            self.others.setdefault(name, []).append(alias)

    def find(self, text: str) -> list[int]:
        """Give the positions of the steps that match, the best first; all if nothing is typed."""
        wanted = text.strip().casefold()
        if not wanted:
            return list(range(len(self.names)))
        ranked = [(rank, i) for i in range(len(self.names)) if (rank := self._rank(i, wanted)) < 9]
        found = [i for _, i in sorted(ranked)]
        with suppress(LookupFault):  # the names that the program itself knows come first
            name = self.program.find(text.strip())
            if name in self.names:
                best = self.names.index(name)
                found = [best, *(i for i in found if i != best)]
        return found

    def _rank(self, i: int, wanted: str) -> int:
        name, title = self.names[i].casefold(), self.titles[i].casefold()
        if wanted in (self.numbers[i], name):
            return 0
        if name.rpartition(".")[2].startswith(wanted):
            return 1
        if wanted in name:
            return 2
        if any(wanted in other.casefold() for other in self.others.get(self.names[i], ())):
            return 3
        return 4 if wanted in title else 9
