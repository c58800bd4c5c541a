"""The counts of a block or a model that show themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from blockcalc.costs import count
from blockcalc.messages import say
from blockcalc.notebook.shown import Shown, in_one_line, tokens

if TYPE_CHECKING:
    from blockcalc.explain.document import Piece


class Cost(count.Cost, Shown):
    """The counts of a plan; a notebook shows them as tables."""

    def __repr__(self) -> str:
        """Say in one line what it is: parameters, operations, tokens."""
        from blockcalc.notation.quantities import grouped

        return say(
            "repr.cost",
            title=in_one_line(self.plan.title or self.plan.spec.title),
            parameters=grouped(self.parameters_of_all),
            operations=grouped(self.plan.layers * self.flops_of()),
            tokens=tokens(self.plan.shapes["x"]),
        )

    def _pieces(self) -> Iterator[Piece]:
        """Make its tables."""
        from blockcalc.costs.explain import cost_pieces

        return cost_pieces(self.plan)
