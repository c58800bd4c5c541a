"""The blanks of a worksheet as a file of answers, which ``check`` reads and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from blockcalc.messages import say
from blockcalc.messages.words import axis_word
from blockcalc.notation.quantities import significant
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import At
from blockcalc.ops.op import Ref, Shape
from blockcalc.program.program import Program
from blockcalc.teach.blanks import Gap

T = TypeVar("T")
OPEN, SHOWN = "?", "~"  # a blank, and a number that is not asked for


def answers_text(
    program: Program,
    steps: Mapping[str, Sequence[Gap]],
    points: Mapping[str, float],
    words: str,
    columns: bool = False,
) -> str:
    """Write YAML with ``?`` for each blank, one row a line.

    Parameters
    ----------
    program : Program
    steps : mapping
        The blanks by step.
    points : mapping
        What each step counts; none if the block's own file says so.
    words : str
        What ``check`` is called with, for the head: the two files, and options.
    columns : bool
        Whether tokens are columns, as on the worksheet.
    """
    refs = {eq.out.name: eq.out for eq in program.equations}
    lines = say("teach.answers", words=clean(words)).splitlines()
    text = "".join(f"# {clean(line)}\n" for line in lines)
    if points:
        each = ", ".join(f"{name}: {significant(n, 6)}" for name, n in points.items())
        text += f"\npoints: {{{each}}}\n"
    return text + "".join(f"\n{_step(refs[name], gaps, columns)}" for name, gaps in steps.items())


def _step(ref: Ref, gaps: Sequence[Gap], columns: bool) -> str:
    turned = columns and len(ref.shape) > 1
    named = [(axis_word(axis), n) for axis, n in zip(ref.axes, ref.shape, strict=True)]
    pairs = _turned(named) if turned else named
    asked = {_turned(gap.at) if turned else gap.at: gap.number for gap in gaps}
    shape = " × ".join(f"{axis} {n}" for axis, n in pairs)
    comment = f"# [{shape}] {', '.join(f'({n}) {_place(at)}' for at, n in asked.items())}"
    sizes = tuple(n for _, n in pairs)
    if turned:
        cells = _cells(sizes, set(asked), (), 4)
        return f"{comment}\n{ref.name}:\n  transpose: true\n  value:{cells}"
    return f"{comment}\n{ref.name}:{_cells(sizes, set(asked), (), 2)}"


def _turned(parts: Sequence[T]) -> tuple[T, ...]:
    """Exchange the last two."""
    return (*parts[:-2], parts[-1], parts[-2])


def _place(at: At) -> str:
    return f"[{','.join(str(i + 1) for i in at)}]"


def _cells(shape: Shape, asked: set[At], lead: At, inset: int) -> str:
    """Write the cells of a shape under a name or a dash."""
    if len(shape) == 1:
        row = ", ".join(OPEN if (*lead, j) in asked else SHOWN for j in range(shape[0]))
        return f" [{row}]\n"
    return "\n" + "".join(
        f"{' ' * inset}-{_cells(shape[1:], asked, (*lead, i), inset + 2)}" for i in range(shape[0])
    )
