"""The explanation of a run, independent of the format: digits are fixed, layout is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from blockcalc.messages import say
from blockcalc.ops.expr import Expr, Figure
from blockcalc.ops.op import Array
from blockcalc.records import dataclass


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Heading:
    """The heading of a part, with an explanatory sentence; level 1 contains level 2."""

    title: str
    name: str = ""
    prose: str | None = None
    level: int = 2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Head:
    """The head of a document, before the first step.

    ``headline`` is what people came for, in one line; a head without a title continues another.
    """

    title: str
    notes: str | None
    facts: tuple[tuple[str, tuple[str, ...]], ...]
    hints: tuple[str, ...]
    headline: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operand:
    """An operand of a step: its symbol, name, axes and shape."""

    symbol: str
    name: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Panel:
    """A matrix in the picture of a step.

    Attributes
    ----------
    symbol, caption : str
        ``S``, and which head or sequence it is of, if any.
    key : tuple
        Which matrix it is: its name, the head or sequence, and whether it is transposed.
    row_labels, column_labels : tuple of str
        Without column labels it is a vector, shown as a column.
    rows : tuple of tuple of Figure
    row_breaks, column_breaks : tuple of int
        After which of the rows and columns shown some are left out.
    lit : frozenset of (int, int)
        The entries, counted among those shown, that the worked cell is computed from.
    worked : (int, int), optional
        The worked cell.
    shades : tuple of tuple of int or None
        In a heat map the shade of each number, from 0; None for one that is infinite.
    """

    symbol: Expr | str
    caption: str
    key: tuple[str, tuple[int, ...], bool]
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    rows: tuple[tuple[Figure, ...], ...]
    row_breaks: tuple[int, ...] = ()
    column_breaks: tuple[int, ...] = ()
    lit: frozenset[tuple[int, int]] = frozenset()
    worked: tuple[int, int] | None = None
    shades: tuple[tuple[int | None, ...], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sign:
    """What stands between two panels: an operator of a formula, ``=``, or an arrow, ``->``.

    ``body`` is the constant after an operator, or what the arrow does: a function or a formula.
    """

    op: str
    body: Expr | str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Picture:
    """A step as a picture of its equation.

    Attributes
    ----------
    parts : tuple of Panel and Sign
        The operands, the signs between them and the result, from left to right.
    others : tuple of Panel
        The result of the other heads and sequences.
    arrow : Sign
        What leads to the result from operands that are shown already.
    new : tuple of Operand
        The operands that were not shown before.
    """

    parts: tuple[Panel | Sign, ...]
    others: tuple[Panel, ...]
    arrow: Sign
    new: tuple[Operand, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Given:
    """The matrices of the file, shown before the first step."""

    matrices: tuple[tuple[Operand, tuple[Grid, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
    picture: Picture | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Closing:
    """The block as a few composed formulas."""

    title: str
    formulas: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Remark:
    """A sentence of its own; a quiet one says what is good to know and no more."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result:
    """The result of the block, repeated at the end."""

    title: str
    operand: Operand
    grids: tuple[Grid, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Worked:
    """Worked cells by themselves; ``lead`` says what they are worked from."""

    lines: tuple[Line, ...]
    lead: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Overview:
    """All steps of two runs, each on one line."""

    matches: tuple[Match, ...]


Labelled = tuple[str, Grid]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairPiece:
    """A step of two runs: formulas, each with its run, and rows of matrices side by side."""

    match: Match
    formulas: tuple[tuple[str, Expr, Expr], ...]
    rows: tuple[tuple[Labelled, ...], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """A column of a list: its heading, and its kind: name, text, number, formula or bar."""

    title: str
    kind: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, eq=False, repr=False)
class Document:
    """A document in the forms that formats write; each is made on demand.

    Attributes
    ----------
    pieces : callable
        The pieces, in the order of reading.
    data : callable or None
        Nested plain data with full precision, for JSON; matrices may be arrays.
    arrays : callable or None
        Every matrix by name, for npz.
    rows : callable or None
        Rows of plain values under the same keys, for csv.
    tables : callable or None
        Every matrix by name as rows with labels, for one file of csv each.
    pictures : callable or None
        Every step by name with its picture, for svg.
    drawn : callable or None
        The pieces with steps as pictures of their equations.
    live : callable or None
        What a page is made from: a ``Rerun``, or the pieces of a comparison or a worksheet.
    """

    pieces: Callable[[], Iterable[Piece]]
    data: Callable[[], dict[str, Any] | list[Any]] | None = None
    arrays: Callable[[], Mapping[str, Array]] | None = None
    rows: Callable[[], Iterable[Mapping[str, Any]]] | None = None
    tables: Callable[[], Mapping[str, Sequence[Sequence[Any]]]] | None = None
    pictures: Callable[[], Mapping[str, StepPiece]] | None = None
    drawn: Callable[[], Iterable[Piece]] | None = None
    live: Callable[[], Any] | None = None
