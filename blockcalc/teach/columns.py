"""A document in the form W x + b: tokens are columns, and every matrix is transposed.

A symbol then names the transposed matrix, so a product has its factors in the other order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from blockcalc.ops.expr import Binary, Call, Expr, Fold, Over

Part = Panel | Sign


def in_columns(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Write pieces with tokens as columns."""
    for piece in pieces:
        if isinstance(piece, Given):
            own = ((_operand(o), tuple(map(_grid, grids))) for o, grids in piece.matrices)
            yield Given(tuple(own))
        else:
            yield _step(piece) if isinstance(piece, StepPiece) else piece


def turned(formula: Expr) -> Expr:
    """Transpose a formula whose names become those of the transposed matrices.

    Examples
    --------
    >>> from blockcalc.notation.alphabets import Text
    >>> from blockcalc.ops.expr import Name, word
    >>> Text().render(turned(Binary("@", Name("Q"), word("transpose", Name("K")))))
    'Kᵀ Q'
    """
    match formula:
        case Binary(op="@", left=left, right=right):
            return Binary("@", turned(right), turned(left))
        case Binary(op=op, left=left, right=right):
            return Binary(op, turned(left), turned(right))
        case Call(function=function, args=args):
            return Call(function, tuple(map(turned, args)))
        case Fold(op=op, terms=terms):
            return Fold(op, tuple(map(turned, terms)))
        case Over(kind=kind, body=body):
            return Over(kind, turned(body))
    return formula


def at_column(left: Expr) -> Expr:
    """Exchange row and column of a cell: S[1,2] is S[2,1]."""
    match left:
        case Call("at", (name, *lead, i, j)):
            return Call("at", (name, *lead, j, i))
    return left


def _step(piece: StepPiece) -> StepPiece:
    product = _has_product(piece.formula)
    return replace(
        piece,
        formula=turned(piece.formula),
        operands=tuple(map(_operand, piece.operands)),
        result=_operand(piece.result),
        lines=tuple(_line(line, product) for line in piece.lines),
        grids=tuple(map(_grid, piece.grids)),
        picture=None if piece.picture is None else _picture(piece.picture),
    )


def _has_product(formula: Expr) -> bool:
    match formula:
        case Binary(op="@"):
            return True
        case Binary(left=left, right=right):
            return _has_product(left) or _has_product(right)
    return False


def _operand(operand: Operand) -> Operand:
    lead, own = operand.axes[:-2], operand.axes[-2:]
    sizes = operand.shape[:-2], operand.shape[-2:]
    return replace(operand, axes=(*lead, *own[::-1]), shape=(*sizes[0], *sizes[1][::-1]))


def _line(line: Line, product: bool) -> Line:
    middle = _exchanged(line.middle) if product and line.middle is not None else line.middle
    return replace(line, left=at_column(line.left), middle=middle)


def _exchanged(e: Expr) -> Expr:
    """Exchange the factors of the terms of a product of matrices: the weight comes first."""
    match e:
        case Binary(op="*", left=left, right=right):
            return Binary("*", right, left)
        case Binary(op="+", left=left, right=right):
            return Binary("+", _exchanged(left), right)
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


def _panel(panel: Panel) -> Panel:
    single = not any(panel.row_labels) and len(panel.rows) == 1
    return replace(
        panel,
        row_labels=panel.column_labels or ("",) * len(panel.rows[0]),
        column_labels=() if single else panel.row_labels,
        rows=tuple(zip(*panel.rows, strict=True)),
        row_breaks=panel.column_breaks,
        column_breaks=panel.row_breaks,
        lit=frozenset((j, i) for i, j in panel.lit),
        worked=panel.worked and (panel.worked[1], panel.worked[0]),
    )


def _picture(picture: Picture) -> Picture:
    parts: list[Part] = [_panel(p) if isinstance(p, Panel) else p for p in picture.parts]
    product = next((k for k, p in enumerate(parts) if isinstance(p, Sign) and p.op == "@"), None)
    if product is not None:
        parts = _reordered(parts, product)
    arrow = picture.arrow
    if isinstance(arrow.body, Expr) and arrow.op == "->":
        arrow = Sign(arrow.op, turned(arrow.body))
    others = tuple(map(_panel, picture.others))
    return Picture(tuple(parts), others, arrow, tuple(map(_operand, picture.new)))


def _reordered(parts: Sequence[Part], sign: int) -> list[Part]:
    """Exchange the matrices on both sides of a sign."""
    first, last = sign, sign + 1
    while first > 0 and isinstance(parts[first - 1], Panel):
        first -= 1
    while last < len(parts) and isinstance(parts[last], Panel):
        last += 1
    before, after = parts[first:sign], parts[sign + 1 : last]
    return [*parts[:first], *after, parts[sign], *before, *parts[last:]]
