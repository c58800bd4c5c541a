"""Where a mistake in a norm is made: at which equation of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from blockcalc.mistakes.alternative import NORM_KINDS, Alternative, Block
from blockcalc.nn.settings import NormSettings
from blockcalc.ops.elementwise import Elementwise
from blockcalc.program.program import Equation, Section

Part = Callable[[Block, Section, Equation, NormSettings], Iterator[Alternative]]


def at(part: str) -> Callable[[Part], Callable[[Block], Iterator[Alternative]]]:
    """Make alternatives of each norm from its equation of a part: ``var``, or ``divisor``."""

    def of(make: Part) -> Callable[[Block], Iterator[Alternative]]:
        def every(block: Block) -> Iterator[Alternative]:
            for section in block.sections(*NORM_KINDS):
                own = block.equation(f"{section.name}.{part}")
                eq = divisor(block, section) if part == "divisor" else own
                if eq is not None:
                    yield from make(block, section, eq, section.settings)

        return every

    return of


def divisor(block: Block, norm: Section) -> Equation | None:
    """Give the equation of the divisor: one number per row that is not a sum over it."""
    rows = norm.inputs[0].axes[:-1]
    inside = (eq for eq in block.inside(norm) if eq.out.axes == rows)
    return next((eq for eq in inside if isinstance(eq.op, Elementwise)), None)


def with_(key: str) -> Callable[[Part], Callable[[Block], Iterator[Alternative]]]:
    """Make alternatives of each norm from its equation with gamma or beta."""

    def of(make: Part) -> Callable[[Block], Iterator[Alternative]]:
        def every(block: Block) -> Iterator[Alternative]:
            for section in block.sections(*NORM_KINDS):
                for eq in block.inside(section):
                    if eq.inputs[-1].part == key:
                        yield from make(block, section, eq, section.settings)

        return every

    return of
