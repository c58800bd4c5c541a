"""Show one matrix: choose its rows, columns and digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.explain.document import Grid, Operand
from blockcalc.messages import say
from blockcalc.messages.words import axis_word
from blockcalc.notation.digits import ALL_DIGITS, column_places, figure, places_needed
from blockcalc.ops.expr import At, Blank, Figure
from blockcalc.ops.op import Ref
from blockcalc.records import dataclass

MOST_SHOWN = 32
KEPT_AT_END = 8

Labels = Callable[[str, int, int | None], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the numbers of a table: the axes, the labels, and of which head it is."""

    axes: tuple[str, str]
    rows: Sequence[str]
    columns: Sequence[str]
    caption: str


@dataclass
class Shown:
    """The numbers of one matrix and how they are shown.

    Parameters
    ----------
    ref : Ref
    value : ndarray
    digits : int
        Significant digits of the largest number in a column.
    whole : bool
        Whether long matrices are shown completely.
    magnitude : ndarray, optional
        The size to which the round-off of each number is relative.
    certain : callable, optional
        Tells whether a number that could be round-off is exact.
    inherited : callable, optional
        Gives the round-off that a number inherits from its operands, if it has no magnitude.
    blanks : mapping, optional
        The entries that its tables leave open.
    """

    ref: Ref
    value: NDArray[Any]
    digits: int
    whole: bool = False
    magnitude: NDArray[Any] | None = None
    certain: Callable[[At], bool] | None = None
    inherited: Callable[[At], float] | None = None
    blanks: Mapping[At, Blank] | None = None

    def __post_init__(self) -> None:
        self._places: dict[At, int] = {}
        self._noises: dict[At, float] = {}
        self._double = self.value.dtype == np.float64
        self._noise = 8 * float(np.finfo(self.value.dtype).eps)

    @property
    def operand(self) -> Operand:
        """Give the operand: symbol, name, axes and shape."""
        return Operand(self.ref.symbol, self.ref.name, self.ref.axes, self.ref.shape)

    @property
    def upright(self) -> bool:
        """Tell whether a vector is shown as a column: computed ones are, weights are rows."""
        return self.value.ndim == 1 and self.ref.role != "weight"

    def number(self, at: At) -> float:
        """Give one number as a Python float."""
        x = self.value[at]
        return float(x) if self._double else float(str(x))

    def noise(self, at: At) -> float:
        """Give the size below which a number is round-off."""
        if at not in self._noises:
            self._noises[at] = self._noise_at(at)
        return self._noises[at]

    def _noise_at(self, at: At) -> float:
        if self.magnitude is None:
            size = self.inherited(at) if self.inherited and self.value[at] else 0.0
            return size if 0 < abs(self.value[at]) <= size else 0.0
        size = self._noise * float(self.magnitude[at])
        if not math.isfinite(size) or not 0 < abs(self.value[at]) <= size:
            return 0.0
        return 0.0 if self.certain and self.certain(at) else size

    def figure(self, at: At) -> Figure:
        """Choose the digits of one number in its table; one that is left open has none."""
        if self.blanks and at in self.blanks:
            return self.blanks[at]
        return figure(self.number(at), self._places_at(at), self.digits, self.noise(at))

    def operand_figure(self, at: At, extra: int = 0) -> Figure:
        """Choose the digits of one number in a line, with ``extra`` more digits if needed.

        A number that is exact with fewer decimals than its table has is shown with those: 1, not
        1.000.
        """
        x = self.number(at)
        if not math.isfinite(x):
            return figure(x, 0, self.digits)
        noise = 0.0 if extra else self.noise(at)
        exact = self.digits + extra >= ALL_DIGITS
        needed = 0 if abs(x) <= noise else places_needed(x, exact)
        return figure(x, min(self._places_at(at) + extra, needed), self.digits + extra, noise)

    def _places_at(self, at: At) -> int:
        """Give the number of decimals in the column of a number."""
        lead, j = at[:-2], at[-1]
        if self.value.ndim > 1:
            column: At = (*lead, j)
            entries = [(*lead, i, j) for i in self.indices(self.value.shape[-2])[0]]
        elif self.upright:
            column, entries = (), [(i,) for i in self.indices(self.value.shape[0])[0]]
        else:
            column, entries = at, [at]
        if column not in self._places:
            loud = [x for e in entries if abs(x := self.number(e)) > self.noise(e)]
            self._places[column] = column_places(loud, self.digits)
        return self._places[column]

    def indices(self, n: int) -> tuple[list[int], tuple[int, int] | None]:
        """Choose which of ``n`` rows or columns are shown, and give the gap."""
        if self.whole or n <= MOST_SHOWN:
            return list(range(n)), None
        kept = KEPT_AT_END
        return [*range(kept), *range(n - kept, n)], (kept, n - 2 * kept)

    def places(self) -> Iterator[At]:
        """Give the places of the numbers that its tables show."""
        *lead, rows, columns = (1, *self.value.shape)
        each = [range(n) for n in lead]
        for at in product(*each, self.indices(rows)[0], self.indices(columns)[0]):
            yield at[1:] if self.value.ndim > 1 else at[-1:]

    def grids(self, labels: Labels) -> Iterator[Grid]:
        """Make its tables: one for each index of the axes before the last two."""
        if self.value.ndim == 1:
            yield self._grid((), labels)
            return
        for lead in product(*(range(n) for n in self.value.shape[:-2])):
            yield self._grid(lead, labels)

    def frame(self, lead: At, labels: Labels) -> Frame:
        """Give the labels and the places of one of its tables."""
        axes, shape = self.ref.axes[len(lead) :], self.value.shape[len(lead) :]
        if len(shape) == 1:
            axes = (axes[0], "") if self.upright else ("", axes[0])
            shape = (shape[0], 1) if self.upright else (1, shape[0])
        named = dict(zip(self.ref.axes, lead, strict=False))
        batch = named.get("batch", None if "batch" in axes else 0)
        where = (say("grid.lead", axis=axis_word(axis), n=i + 1) for axis, i in named.items())
        row_labels, column_labels = (
            labels(axis, n, batch) for axis, n in zip(axes, shape, strict=True)
        )
        return Frame((axes[0], axes[1]), row_labels, column_labels, ", ".join(where))

    def at(self, lead: At, i: int, j: int) -> At:
        """Give the place in the matrix of row ``i`` and column ``j`` of one of its tables."""
        if self.value.ndim == 1:
            return (i,) if self.upright else (j,)
        return (*lead, i, j)

    def place(self, at: At) -> tuple[int, int]:
        """Give the row and the column, in one of its tables, of a place in the matrix."""
        if self.value.ndim == 1:
            return (at[0], 0) if self.upright else (0, at[0])
        return at[-2], at[-1]

    def _grid(self, lead: At, labels: Labels) -> Grid:
        frame = self.frame(lead, labels)
        rows, row_gap = self.indices(len(frame.rows))
        columns, column_gap = self.indices(len(frame.columns))
        return Grid(
            self.ref.symbol,
            *frame.axes,
            tuple(frame.rows[i] for i in rows),
            tuple(frame.columns[j] for j in columns),
            tuple(tuple(self.figure(self.at(lead, i, j)) for j in columns) for i in rows),
            frame.caption or None,
            row_gap,
            column_gap,
        )
