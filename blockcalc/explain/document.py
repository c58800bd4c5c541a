"""The explanation of a run, independent of the format. Digits are fixed here; views do the layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blockcalc.messages import say
from blockcalc.ops.expr import Expr, Figure
from blockcalc.ops.op import Array


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a part, with an explanatory sentence; level 1 contains level 2."""

    title: str
    name: str = ""
    prose: str | None = None
    facts: tuple[str, ...] = ()
    level: int = 2


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a document, before the first step."""

    title: str
    notes: str | None
    facts: tuple[tuple[str, tuple[str, ...]], ...]
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a step: its symbol, name, axes and shape."""

    symbol: str
    name: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One worked cell: ``left relation middle equals result``.

    ``relation`` and ``equals`` are ``=`` or ``≈``; in a shortened line terms are left out. A line
    without a middle has words instead that say why there is no arithmetic.
    """

    left: Expr
    relation: str
    middle: Expr | None
    equals: str
    result: Figure
    shortened: bool = False
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """The numbers of a matrix as rows, with gaps in the middle of a long one.

    ``row_gap`` and ``column_gap`` are how many rows or columns are left out, and
    after which shown one.
    """

    symbol: str
    row_axis: str
    column_axis: str
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    rows: tuple[tuple[Figure, ...], ...]
    caption: str | None = None
    row_gap: tuple[int, int] | None = None
    column_gap: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """The matrices of the file, shown before the first step."""

    matrices: tuple[tuple[Operand, tuple[Grid, ...]], ...]


@dataclass(frozen=True, slots=True)
class StepPiece:
    """One step with formula, operands, arithmetic, values and notes."""

    number: int
    title: str
    name: str
    left: Expr
    formula: Expr
    operands: tuple[Operand, ...]
    result: Operand
    lines: tuple[Line, ...]
    worked: str | None
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]
    definition: tuple[Expr, Expr] | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """The block as a few composed formulas."""

    title: str
    formulas: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence of its own; a quiet one says what is good to know and no more."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The result of the block, repeated at the end."""

    title: str
    operand: Operand
    grids: tuple[Grid, ...]


@dataclass(frozen=True, slots=True)
class Worked:
    """Worked cells by themselves; ``lead`` says what they are worked from."""

    lines: tuple[Line, ...]
    lead: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A step of two runs on one line: its number in each, and the difference.

    ``largest`` is the largest difference; if there is none, ``words`` say why.
    """

    name: str
    first: int | None
    second: int | None
    largest: Figure | None
    words: str
    same: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """All steps of two runs, each on one line."""

    matches: tuple[Match, ...]


Labelled = tuple[str, Grid]


@dataclass(frozen=True, slots=True)
class PairPiece:
    """A step of two runs: formulas, each with its run, and rows of matrices to show side by side."""

    match: Match
    formulas: tuple[tuple[str, Expr, Expr], ...]
    rows: tuple[tuple[Labelled, ...], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A fraction from 0 to 1, drawn as a bar and written in per cent."""

    share: float


class Wrong(str):
    """A text of a list that names what is wrong."""

    __slots__ = ()


class Right(str):
    """A text of a list that names what is right."""

    __slots__ = ()


Entry = str | Expr | Bar


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list: its heading, and its kind of entry: name, text, number, formula or bar."""

    title: str
    kind: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows of entries under headings; ``totals`` are the indices of the rows with sums."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    totals: tuple[int, ...] = ()


Piece = (
    Heading
    | Head
    | Given
    | StepPiece
    | Closing
    | Result
    | Remark
    | Worked
    | Overview
    | PairPiece
    | Listing
)

KINDS = {
    "name": "name", "step": "name", "what": "text", "shape": "text", "form": "formula", "rule": "text", "axes": "text",
    "kept": "text", "share": "bar",
}  # fmt: skip


def listing(
    columns: Sequence[str], rows: Sequence[tuple[Entry, ...]], totals: Sequence[int]
) -> Listing:
    """Make a Listing from the keys of its columns and its rows."""
    heads = tuple(Column(say(f"column.{key}"), KINDS.get(key, "number")) for key in columns)
    return Listing(heads, tuple(rows), tuple(totals))


@dataclass(frozen=True)
class Document:
    """A document in the three forms that formats write; each is made on demand.

    Attributes
    ----------
    pieces : callable
        The pieces, in the order of reading.
    data : callable or None
        Nested plain data with full precision, for JSON.
    arrays : callable or None
        Every matrix by name, for npz.
    rows : callable or None
        Rows of plain values under the same keys, for csv.
    """

    pieces: Callable[[], Iterable[Piece]]
    data: Callable[[], dict[str, Any] | list[Any]] | None = None
    arrays: Callable[[], Mapping[str, Array]] | None = None
    rows: Callable[[], Sequence[Mapping[str, Any]]] | None = None
