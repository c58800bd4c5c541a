"""Judged answers that show themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from blockcalc.check import run
from blockcalc.messages import say
from blockcalc.notebook.shown import Shown, in_one_line, steps
from blockcalc.notebook.trace import Trace

if TYPE_CHECKING:
    from blockcalc.explain.document import Piece


class Checked(run.Checked, Shown):
    """What was found in the answers of one person; a notebook shows the report of ``check``."""

    def __repr__(self) -> str:
        """Say in one line what it is: the answers, how many steps, the first wrong one."""
        wrong = self.first_wrong
        if wrong is not None:
            found = say("repr.wrong", n=len(self.wrong), name=wrong)
        else:
            found = say("repr.ok" if self.ok else "repr.unread")
        source = in_one_line(self.answers.source)
        return say("repr.checked", source=source, steps=steps(len(self.steps)), found=found)

    def _pieces(self) -> Iterator[Piece]:
        from blockcalc.check.explain import check_document
        from blockcalc.gradients.explained import explainer_of

        trace = self.judgement.trace
        assert isinstance(trace, Trace)
        yield from check_document(trace.spec, [self], explains=explainer_of(trace)).pieces()
