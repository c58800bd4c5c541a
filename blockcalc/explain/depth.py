"""Choose how much is shown, and which steps."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean, listed
from blockcalc.records import dataclass

if TYPE_CHECKING:  # the command line reads the words, and needs no NumPy for it
    from blockcalc.explain.grids import Labels
    from blockcalc.nn.spec import Spec
    from blockcalc.program.program import Program


class Detail(StrEnum):
    """How much of the arithmetic is shown: none, one row or every cell."""

    tables = "tables"
    normal = "normal"
    cells = "cells"


@dataclass(frozen=True)
class Depth:
    """The level of detail.

    Attributes
    ----------
    detail : Detail
    digits : int
        Significant digits of what is shown.
    prose : bool
        Whether sections begin with an explanatory sentence.
    whole : bool
        Whether long matrices and sums are shown completely.
    patterns : tuple of str
        The selected steps; all if empty.
    verify : bool
        Whether the number of certain digits is stated at the end.
    pictures : bool
        Whether each step is a picture with one worked cell, in place of tables with a worked row.
    row : str, optional
        The row that is worked: the label of a token, or a number from 1.
    cell : tuple of int, optional
        The cell that is worked, in numbers from 1: row and column, before them head or sequence.
    brief : bool
        Whether only the results are shown.
    """

    detail: Detail = Detail.normal
    digits: int = 4
    prose: bool = True
    whole: bool = False
    patterns: tuple[str, ...] = ()
    verify: bool = False
    pictures: bool = False
    row: str | None = None
    cell: tuple[int, ...] | None = None
    brief: bool = False


def chosen_steps(program: Program, patterns: Sequence[str]) -> set[str]:
    """Find the steps that match patterns such as ``attn.*``, by name or by alias.

    A pattern that matches no full name is tried on the ends of names: in a stack, every block. A
    name without a star may also be a given matrix.
    """
    names = {eq.out.name: eq.out.name for eq in program.equations}
    names.update(program.aliases)
    chosen: set[str] = set()
    for pattern in patterns:
        hits = {t for name, t in names.items() if fnmatchcase(name, pattern)}
        if not hits and not any(c in pattern for c in "*?["):
            hits = {program.find(pattern)}
        elif not hits:
            given = {ref.name: ref.name for ref in program.inputs}
            end = f"grad.*.{pattern[5:]}" if pattern.startswith("grad.") else f"*.{pattern}"
            ends = [(name, t) for name, t in names.items() if fnmatchcase(name, end)]
            hits = {t for _, t in ends} or {t for t in given if fnmatchcase(t, pattern)}
        if not hits:
            hint = did_you_mean(pattern, names) or say("step.list", names=listed(names))
            raise UsageError(Fault(say("steps.none", pattern=pattern), hint=hint))
        chosen |= hits
    return chosen


def labels_of(spec: Spec) -> Labels:
    """Make the function that labels the entries of an axis: tokens by label, others by number."""

    def labels(axis: str, n: int, batch: int | None) -> Sequence[str]:
        alike = len(set(spec.tokens)) == 1
        if axis in ("token", "query", "key") and (batch is not None or alike):
            return spec.tokens[batch or 0]
        return [str(i + 1) for i in range(n)]

    return labels
