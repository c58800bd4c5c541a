"""A document in the form W x + b: tokens are columns, and every matrix is transposed.

A symbol then names the transposed matrix, so a product has its factors in the other order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from blockcalc.explain.document import (
    Given,
    Grid,
    Line,
    Operand,
    Panel,
    Picture,
    Piece,
    Sign,
    StepPiece,
)
from blockcalc.ops.expr import Binary, Call, Expr, Fold, Name, Over, walk
from blockcalc.program.program import Program

Part = Panel | Sign


def in_columns(pieces: Iterable[Piece], kept: Collection[str] = ()) -> Iterator[Piece]:
    """Write pieces with tokens as columns.

    Parameters
    ----------
    pieces : iterable of Piece
    kept : collection of str
        The symbols of weights that are stored as this form writes them, [out, in].
    """
    own = _Columns(kept)
    for piece in pieces:
        if isinstance(piece, Given):
            yield Given(tuple(own.given(operand, grids) for operand, grids in piece.matrices))
        else:
            yield own.step(piece) if isinstance(piece, StepPiece) else piece


def stored_turned(program: Program) -> set[str]:
    """Find the symbols of given matrices that formulas take transposed."""
    found = set()
    for eq in program.equations:
        symbols = {ref.symbol for ref in eq.inputs if ref in program.inputs}
        for e in walk(eq.op.formula([Name(ref.symbol) for ref in eq.inputs])):
            match e:
                case Call("transpose", (Name(symbol=symbol),)) if symbol in symbols:
                    found.add(symbol)
    return found


def turned(formula: Expr, kept: Collection[str] = ()) -> Expr:
    """Transpose a formula whose names become those of the transposed matrices.

    Examples
    --------
    >>> from blockcalc.notation.alphabets import Text
    >>> from blockcalc.ops.expr import word
    >>> Text().render(turned(Binary("@", Name("Q"), word("transpose", Name("K")))))
    'Kᵀ Q'
    """
    match formula:
        case Binary(op="@", left=left, right=right):
            return Binary("@", turned(right, kept), turned(left, kept))
        case Binary(op=op, left=left, right=right):
            return Binary(op, turned(left, kept), turned(right, kept))
        case Call("transpose", (Name(symbol=symbol) as name,)) if symbol in kept:
            return name
        case Call(function=function, args=args):
            return Call(function, tuple(turned(a, kept) for a in args))
        case Over(kind=kind, body=body):
            return Over(kind, turned(body, kept))
    return formula


def at_column(left: Expr) -> Expr:
    """Exchange row and column of a cell: S[1,2] is S[2,1]."""
    match left:
        case Call("at", (name, *lead, i, j)):
            return Call("at", (name, *lead, j, i))
    return left


class _Columns:
    """Transposes everything but what is stored so."""

    def __init__(self, kept: Collection[str]) -> None:
        self.kept = kept

    def given(self, operand: Operand, grids: Sequence[Grid]) -> tuple[Operand, tuple[Grid, ...]]:
        """Write a given matrix."""
        same = operand.symbol in self.kept
        return self.operand(operand), tuple(grids) if same else tuple(map(_grid, grids))

    def step(self, piece: StepPiece) -> StepPiece:
        """Write a step."""
        product = _has_product(piece.formula)
        return replace(
            piece,
            formula=turned(piece.formula, self.kept),
            operands=tuple(map(self.operand, piece.operands)),
            result=self.operand(piece.result),
            lines=tuple(_line(line, product) for line in piece.lines),
            grids=tuple(map(_grid, piece.grids)),
            picture=None if piece.picture is None else self.picture(piece.picture),
        )

    def operand(self, operand: Operand) -> Operand:
        """Write the axes and the shape of a matrix."""
        if operand.symbol in self.kept:
            return operand
        lead, own = operand.axes[:-2], operand.axes[-2:]
        sizes = operand.shape[:-2], operand.shape[-2:]
        return replace(operand, axes=(*lead, *own[::-1]), shape=(*sizes[0], *sizes[1][::-1]))

    def picture(self, picture: Picture) -> Picture:
        """Write the picture of a step: the factors of a product change places."""
        parts: list[Part] = [self.panel(p) if isinstance(p, Panel) else p for p in picture.parts]
        signs = (k for k, p in enumerate(parts) if isinstance(p, Sign) and p.op == "@")
        if (product := next(signs, None)) is not None:
            parts = _reordered(parts, product)
        arrow = picture.arrow
        if isinstance(arrow.body, Expr):
            arrow = Sign(arrow.op, turned(arrow.body, self.kept))
        others = tuple(map(self.panel, picture.others))
        return Picture(tuple(parts), others, arrow, tuple(map(self.operand, picture.new)))

    def panel(self, panel: Panel) -> Panel:
        """Write one matrix of a picture."""
        symbol = panel.symbol
        symbol = turned(symbol, self.kept) if isinstance(symbol, Expr) else symbol
        single = not any(panel.row_labels) and len(panel.rows) == 1
        return replace(
            panel,
            symbol=symbol,
            row_labels=panel.column_labels or ("",) * len(panel.rows[0]),
            column_labels=() if single else panel.row_labels,
            rows=tuple(zip(*panel.rows, strict=True)),
            row_breaks=panel.column_breaks,
            column_breaks=panel.row_breaks,
            lit=frozenset((j, i) for i, j in panel.lit),
            worked=panel.worked and (panel.worked[1], panel.worked[0]),
        )


def _has_product(formula: Expr) -> bool:
    match formula:
        case Binary(op="@"):
            return True
        case Binary(left=left, right=right):
            return _has_product(left) or _has_product(right)
    return False


def _line(line: Line, product: bool) -> Line:
    middle = _exchanged(line.middle) if product and line.middle is not None else line.middle
    return replace(line, left=at_column(line.left), middle=middle)


def _exchanged(e: Expr) -> Expr:
    """Exchange the factors of the terms of a product of matrices: the weight comes first."""
    match e:
        case Binary(op="*", left=left, right=right):
            return Binary("*", right, left)
        case Fold(op="+", terms=terms):
            return Fold("+", tuple(map(_exchanged, terms)))
    return e


def _grid(grid: Grid) -> Grid:
    return replace(
        grid,
        row_axis=grid.column_axis,
        column_axis=grid.row_axis,
        row_labels=grid.column_labels,
        column_labels=grid.row_labels,
        rows=tuple(zip(*grid.rows, strict=True)),
        row_gap=grid.column_gap,
        column_gap=grid.row_gap,
    )


def _reordered(parts: Sequence[Part], sign: int) -> list[Part]:
    """Exchange the matrices on both sides of a sign."""
    first, last = sign, sign + 1
    while first > 0 and isinstance(parts[first - 1], Panel):
        first -= 1
    while last < len(parts) and isinstance(parts[last], Panel):
        last += 1
    before, after = parts[first:sign], parts[sign + 1 : last]
    return [*parts[:first], *after, parts[sign], *before, *parts[last:]]
