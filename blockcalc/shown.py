"""How one matrix is shown: which rows and columns, and with which digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.decimals import column_places, figure, places_needed, plain_floats
from blockcalc.document import Grid, Operand
from blockcalc.expr import At, Figure
from blockcalc.ops import Ref

MOST_SHOWN = 32
KEPT_AT_END = 8
_EPS = float(np.finfo(float).eps)

Labels = Callable[[str, int], Sequence[str]]


@dataclass
class Shown:
    """The numbers of one matrix with their digits.

    Parameters
    ----------
    ref : Ref
    value : ndarray
    digits : int
        Significant digits of the largest number in a column.
    whole : bool
        Whether long matrices are shown whole.
    magnitude : float
        What round-off in it is measured by.
    """

    ref: Ref
    value: NDArray[Any]
    digits: int
    whole: bool = False
    magnitude: float = 0.0

    def __post_init__(self) -> None:
        self._places: dict[At, int] = {}

    @property
    def operand(self) -> Operand:
        """Name it, with axes and shape."""
        return Operand(self.ref.symbol, self.ref.name, self.ref.axes, self.ref.shape)

    @property
    def upright(self) -> bool:
        """A vector of results has one number a token and stands; one of weights lies."""
        return self.value.ndim == 1 and self.ref.role != "weight"

    def number(self, at: At) -> float:
        """Give one number as Python's own."""
        return plain_floats(self.value[at].reshape(1))[0]

    @cached_property
    def noise(self) -> float:
        """A number no larger is round-off."""
        finite = self.value[np.isfinite(self.value)]
        largest = float(np.max(np.abs(finite), initial=0.0))
        eps = float(np.finfo(self.value.dtype).eps)
        signed = largest * 16 * eps if np.any(finite < 0) else 0.0
        return max(signed, 8 * eps * self.magnitude)

    def figure(self, at: At) -> Figure:
        """Decide the digits of one number, as its table shows it."""
        return figure(self.number(at), self._places_at(at), self.digits, self.noise)

    def operand_figure(self, at: At, extra: int = 0) -> Figure:
        """Decide the digits of one number in a line; ``extra`` more where it needs them.

        A number that is exact with fewer decimals than its table shows gets no more: 1, not
        1.000.
        """
        x = self.number(at)
        if not math.isfinite(x):
            return figure(x, 0, self.digits)
        noise = 0.0 if extra else self.noise
        needed = 0 if abs(x) <= noise else places_needed(x)
        return figure(x, min(self._places_at(at) + extra, needed), self.digits + extra, noise)

    def _places_at(self, at: At) -> int:
        if self.value.ndim == 1:
            column: At = () if self.upright else at
            entries: Any = self.value if self.upright else self.value[at].reshape(1)
        else:
            column = (*at[:-2], at[-1])
            entries = self.value[(*at[:-2], slice(None), at[-1])]
        if column not in self._places:
            rows, _ = self._indices(len(entries))
            values = plain_floats(entries[rows])
            quiet = [v for v in values if abs(v) > self.noise]
            self._places[column] = column_places(quiet, self.digits)
        return self._places[column]

    def _indices(self, n: int) -> tuple[list[int], tuple[int, int] | None]:
        """Choose which of n rows or columns are shown, and tell what is left out."""
        if self.whole or n <= MOST_SHOWN:
            return list(range(n)), None
        kept = KEPT_AT_END
        return [*range(kept), *range(n - kept, n)], (kept, n - 2 * kept)

    def grids(self, labels: Labels) -> Iterator[Grid]:
        """Give its tables: one for each index of the axes before the last two."""
        if self.value.ndim == 1:
            yield self._grid((), labels)
            return
        for lead in product(*(range(n) for n in self.value.shape[:-2])):
            yield self._grid(lead, labels)

    def _grid(self, lead: At, labels: Labels) -> Grid:
        axes, shape = self.ref.axes[len(lead) :], self.value.shape[len(lead) :]
        if len(shape) == 1:
            axes = (axes[0], "") if self.upright else ("", axes[0])
            shape = (shape[0], 1) if self.upright else (1, shape[0])
        rows, row_gap = self._indices(shape[0])
        columns, column_gap = self._indices(shape[1])

        def at(i: int, j: int) -> At:
            if self.value.ndim == 1:
                return (i,) if self.upright else (j,)
            return (*lead, i, j)

        row_labels = labels(axes[0], shape[0])
        column_labels = labels(axes[1], shape[1])
        return Grid(
            self.ref.symbol,
            *axes,
            tuple(row_labels[i] for i in rows),
            tuple(column_labels[j] for j in columns),
            tuple(tuple(self.figure(at(i, j)) for j in columns) for i in rows),
            None,
            row_gap,
            column_gap,
        )
