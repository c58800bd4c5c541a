"""The blanks of a worksheet as a file of answers, which ``check`` reads and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blockcalc.messages import say
from blockcalc.messages.words import axis_word
from blockcalc.notation.quantities import significant
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import At
from blockcalc.ops.op import Ref, Shape
from blockcalc.program.program import Program
from blockcalc.teach.blanks import Gap

OPEN, SHOWN = "?", "~"  # a blank, and a number that is not asked for


def answers_text(
    program: Program,
    steps: Mapping[str, Sequence[Gap]],
    points: Mapping[str, float],
    file: str,
    own: str,
) -> str:
    """Write YAML with ``?`` for each blank, one row a line.

    Parameters
    ----------
    program : Program
    steps : mapping
        The blanks by step.
    points : mapping
        What each step counts; none if the block's own file says so.
    file, own : str
        The names of the block's own file and of this one, for the head.
    """
    refs = {eq.out.name: eq.out for eq in program.equations}
    lines = say("teach.answers", file=clean(file), own=clean(own)).splitlines()
    text = "".join(f"# {line}\n" for line in lines)
    if points:
        each = ", ".join(f"{name}: {significant(n, 6)}" for name, n in points.items())
        text += f"\npoints: {{{each}}}\n"
    return text + "".join(f"\n{_step(refs[name], gaps)}" for name, gaps in steps.items())


def _step(ref: Ref, gaps: Sequence[Gap]) -> str:
    axes = zip(map(axis_word, ref.axes), ref.shape, strict=True)
    shape = " × ".join(f"{axis} {n}" for axis, n in axes)
    comment = f"# [{shape}] {', '.join(f'({gap.number}) {_place(gap.at)}' for gap in gaps)}"
    return f"{comment}\n{ref.name}:{_cells(ref.shape, {gap.at for gap in gaps}, (), 2)}"


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
