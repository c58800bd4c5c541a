"""The catalogue for one block: what each mistake makes of it, at every place and at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from blockcalc.mistakes.alternative import Alternative, Block, Mistake, everywhere
from blockcalc.mistakes.solved import FAMILIES, Family
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Tried:
    """An alternative at one place, or at every place where its mistake can be made."""

    mistake: Mistake
    change: Alternative


@dataclass
class Catalogue:
    """What each mistake makes of a block; worked out once for all answers."""

    block: Block
    mistakes: Sequence[Mistake]

    @cached_property
    def tried(self) -> list[Tried]:
        """List every alternative of every mistake."""
        found = []
        for mistake in self.mistakes:
            places = list(mistake.alternatives(self.block))
            found += [Tried(mistake, change) for change in (*places, *everywhere(places))]
        return found

    @cached_property
    def families(self) -> list[tuple[Mistake, Family]]:
        """List the mistakes with a number that can be solved, by their places."""
        known = [m for m in self.mistakes if m.name in FAMILIES]
        return [(m, family) for m in known for family in FAMILIES[m.name](self.block)]


def in_form(words: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Tell whether a mistake has a form that it had before, such as the same eps."""
    return all(word in earlier.get(key, [word]) for key, word in words.items())
