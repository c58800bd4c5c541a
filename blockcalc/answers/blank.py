"""A blank file of answers: every step with a question mark in each cell."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import axis_word, dims
from blockcalc.notation.signs import clean
from blockcalc.ops.op import Ref, Shape
from blockcalc.program.program import Program

MOST_CELLS = 100_000


def blank_text(
    program: Program,
    names: Collection[str] | None = None,
    titles: Mapping[str, str] | None = None,
    file: str = "FILE",
    options: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Write YAML with ``?`` in each cell, one row a line.

    Parameters
    ----------
    program : Program
    names : collection of str, optional
        The steps to write, by recorded name; by default all.
    titles : mapping, optional
        The title of a step, for the comment above it.
    file : str
        The block's own file, for the head.
    options : str
        Options that the answers are to be judged with, for the head: `` --loss sum``.
    notes : sequence of str
        More lines of the head.

    Raises
    ------
    UsageError
        There would be too many cells to fill in.
    """
    refs = [eq.out for eq in program.equations if names is None or eq.out.name in names]
    cells = sum(math.prod(ref.shape) for ref in refs)
    if cells > MOST_CELLS:
        text = say("answers.blank.cells", n=cells, most=MOST_CELLS)
        raise UsageError(Fault(text, hint=say("answers.blank.cells.hint")))
    lines = say("answers.blank", file=clean(file), options=clean(options)).splitlines()
    head = "".join(f"# {clean(line)}\n" for line in (*lines, *notes))
    return head + "".join(f"\n{_step(ref, (titles or {}).get(ref.name))}" for ref in refs)


def _step(ref: Ref, title: str | None) -> str:
    axes = zip(map(axis_word, ref.axes), ref.shape, strict=True)
    shape = " × ".join(f"{axis} {n}" for axis, n in axes) or dims(ref.shape)
    own = say("answers.blank.step", title=clean(title), shape=shape) if title else shape
    return f"# {own}\n{ref.name}:{_cells(ref.shape, 2)}"


def _cells(shape: Shape, inset: int) -> str:
    """Write the cells of a shape under a name or a dash."""
    row = f"[{', '.join('?' * shape[-1])}]"
    if len(shape) == 1:
        return f" {row}\n"
    inner = f"{' ' * inset}-{_cells(shape[1:], inset + 2)}"
    return "\n" + inner * shape[0]
