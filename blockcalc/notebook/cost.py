"""The counts of a block or a model that show themselves."""

from __future__ import annotations

from blockcalc.costs import count
from blockcalc.messages import say
from blockcalc.notebook.shown import in_one_line, printed, tokens


class Cost(count.Cost):
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

    def _repr_html_(self) -> str:
        """Give the HTML for a notebook."""
        from blockcalc.costs.explain import cost_pieces
        from blockcalc.views.html.page import page

        return page(cost_pieces(self.plan))

    def show(self) -> None:
        """Print the tables, as the command line does."""
        from blockcalc.costs.explain import cost_pieces

        printed(cost_pieces(self.plan))
