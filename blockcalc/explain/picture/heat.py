"""Heat maps: the attention weights, or other matrices, shaded by the size of their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from blockcalc.errors import Fault, UsageError
from blockcalc.explain.arithmetic import as_float
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Panel, Piece, Remark, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.messages import say
from blockcalc.nn.spec import Spec
from blockcalc.program.trace import Trace

Explained = Callable[[Spec, Trace, Depth], Iterator[Piece]]
SHADES = 5  # levels, from 0 for a number near 0 to 4 for one near the largest


def heat(spec: Spec, trace: Trace, depth: Depth, explained: Explained = explain) -> Iterator[Piece]:
    """Shade the chosen steps, or the attention weights if none are chosen.

    Parameters
    ----------
    spec : Spec
    trace : Trace
    depth : Depth
    explained : callable
        Makes the pieces: ``explain``, or ``explain_gradient`` for a backward pass.

    Raises
    ------
    UsageError
        No steps are chosen and there are no attention weights; or a pattern matches no step.
    """
    program = trace.program
    weights = [section.out.name for section in program.sections if section.kind == "softmax"]
    patterns = depth.patterns or tuple(weights)
    if not patterns:
        raise UsageError(Fault(say("heat.none"), hint=say("heat.none.hint")))
    chosen = replace(
        depth, detail=Detail.tables, brief=True, pictures=True, patterns=patterns, prose=False
    )
    steps = (piece for piece in explained(spec, trace, chosen) if isinstance(piece, StepPiece))
    for step, picture in ((step, step.picture) for step in steps if step.picture is not None):
        panels = [part for part in picture.parts if isinstance(part, Panel)]
        largest = max(map(_largest, panels), default=0.0)
        parts = tuple(replace(panel, shades=_shades(panel, largest)) for panel in panels)
        yield replace(step, picture=replace(picture, parts=parts), notes=())
    yield Remark(say("heat.legend"), quiet=True)


def _largest(panel: Panel) -> float:
    sizes = [abs(as_float(figure)) for row in panel.rows for figure in row]
    return max((x for x in sizes if math.isfinite(x)), default=0.0)


def _shades(panel: Panel, largest: float) -> tuple[tuple[int | None, ...], ...]:
    """Give the shade of each number; None for one that is infinite."""

    def shade(x: float) -> int | None:
        if not math.isfinite(x):
            return None
        return min(SHADES - 1, int(SHADES * abs(x) / largest)) if largest else 0

    return tuple(tuple(shade(as_float(figure)) for figure in row) for row in panel.rows)
