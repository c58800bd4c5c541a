"""A checked file that shows itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from blockcalc.messages import say
from blockcalc.nn import spec as plain
from blockcalc.notebook.shown import Shown, in_one_line, tokens

if TYPE_CHECKING:
    from blockcalc.explain.document import Piece


class Spec(plain.Spec, Shown):
    """A checked file; in a notebook it shows its conventions and its matrices."""

    def __repr__(self) -> str:
        """Say in one line what it is: title, order, sizes."""
        from blockcalc.explain.head import sizes
        from blockcalc.nn.block import build

        title, order = in_one_line(self.title), say(f"word.{self.order}")
        return say(
            "repr.spec",
            title=title,
            order=order,
            tokens=tokens(self.shapes["x"]),
            sizes=sizes(build(self)),
        )

    def _pieces(self) -> Iterator[Piece]:
        from blockcalc.explain.depth import Depth
        from blockcalc.explain.document import Heading
        from blockcalc.explain.head import head
        from blockcalc.explain.steps import Explainer
        from blockcalc.nn.block import build
        from blockcalc.program.trace import Trace

        trace = Trace(build(self), self.arrays, self.rounding)
        yield head(self, trace)
        yield Heading(say("heading.given"))
        yield Explainer(self, trace, Depth()).given(trace.program.inputs)
