"""What explains a run: a backward pass has an explainer of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from blockcalc.explain.depth import Depth
    from blockcalc.explain.document import Piece
    from blockcalc.explain.steps import Explainer
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace


def explainer_of(trace: Trace) -> type[Explainer]:
    """Choose what names the steps of a run and works their lines."""
    if trace.program.forward is None:
        from blockcalc.explain.steps import Explainer

        return Explainer
    from blockcalc.gradients.explain import GradientExplainer

    return GradientExplainer


def explained(spec: Spec, trace: Trace, depth: Depth) -> Iterator[Piece]:
    """Explain a run, with its backward pass if it has one, piece by piece.

    Raises
    ------
    UsageError
        A pattern of ``depth`` matches no step.
    """
    return explainer_of(trace)(spec, trace, depth).pieces()
