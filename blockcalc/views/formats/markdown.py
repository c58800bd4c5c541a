"""Markdown for GitHub, pandoc and Quarto: formulas that KaTeX reads, and matrices as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatchmethod

from blockcalc.explain.document import (
    Bar,
    Closing,
    Column,
    Entry,
    Given,
    Grid,
    Head,
    Heading,
    Line,
    Listing,
    Operand,
    Piece,
    Remark,
    Result,
    StepPiece,
    Worked,
    Wrong,
)
from blockcalc.messages import say
from blockcalc.messages.words import clauses
from blockcalc.notation.alphabets import Text
from blockcalc.ops.expr import Expr
from blockcalc.views.formats.markdown_text import Math, code, escape
from blockcalc.views.layout import gap_sentences, shape_text

BAR = 12  # blocks of a full bar
DOTS = "…"
RIGHT, LEFT = "--:", ":--"
RELATIONS = {"=": "=", "≈": r"\approx"}


def markdown(pieces: Iterable[Piece], fragment: bool = False) -> Iterator[bytes]:
    """Write pieces as Markdown, piece by piece."""
    writer, between = _Writer(), ""
    for piece in pieces:
        for block in writer.write(piece):
            yield f"{between}{block}\n".encode()
            between = "\n"


class _Writer:
    """Writes pieces as blocks of Markdown, between which a line is empty."""

    def __init__(self) -> None:
        self.math, self.text = Math(), Text()
        self.inside = 0  # 1 within a block of a stack

    @singledispatchmethod
    def write(self, piece: Piece) -> Iterator[str]:
        """Write one piece."""
        raise TypeError(type(piece).__name__)

    @write.register
    def _(self, piece: Head) -> Iterator[str]:
        if piece.title:
            yield f"# {escape(piece.title)}"
        if piece.headline:
            yield f"**{escape(piece.headline)}**"
        for line in (piece.notes or "").splitlines():
            if line.strip():
                yield escape(line)
        facts = (f"- **{escape(name)}**: {escape(clauses(own))}" for name, own in piece.facts)
        if piece.facts:
            yield "\n".join(facts)
        for hint in piece.hints:
            yield f"*{escape(hint)}*"

    @write.register
    def _(self, piece: Heading) -> Iterator[str]:
        if piece.level == 1:
            self.inside = 1
        sign = "##" if piece.level == 1 else "##" + "#" * self.inside
        yield f"{sign} {escape(piece.title)}" + (f" {code(piece.name)}" if piece.name else "")
        if piece.prose:
            yield escape(piece.prose)

    @write.register
    def _(self, piece: Given) -> Iterator[str]:
        for operand, grids in piece.matrices:
            yield self.operand(operand)
            yield from self.grids(grids)

    @write.register
    def _(self, piece: StepPiece) -> Iterator[str]:
        sign = "###" + "#" * self.inside
        yield f"{sign} {piece.number} {escape(piece.title)} {code(piece.name)}"
        if piece.operands:
            own = [(piece.left, piece.formula), *filter(None, [piece.definition])]
            yield from self.displayed(own)
            takes = ", ".join(self.operand(o) for o in piece.operands)
            yield f"{escape(say('words.takes'))} {takes}"
        yield from self.write(Worked(piece.lines, piece.worked))
        yield from self.grids(piece.grids)
        yield from (f"*{escape(note)}*" for note in piece.notes)

    @write.register
    def _(self, piece: Worked) -> Iterator[str]:
        if piece.lead:
            yield escape(say("words.lead", text=piece.lead))
        if piece.lines:
            yield "\n".join(f"- {self.line(line)}" for line in piece.lines)

    @write.register
    def _(self, piece: Closing) -> Iterator[str]:
        yield f"## {escape(piece.title)}"
        yield from self.displayed(piece.formulas)

    @write.register
    def _(self, piece: Result) -> Iterator[str]:
        yield f"**{escape(piece.title)}**"
        yield from self.grids(piece.grids)

    @write.register
    def _(self, piece: Remark) -> Iterator[str]:
        yield escape(piece.text) if piece.quiet else f"*{escape(piece.text)}*"

    @write.register
    def _(self, piece: Listing) -> Iterator[str]:
        rows = []
        for i, row in enumerate(piece.rows):
            pairs = zip(row, piece.columns, strict=True)
            cells = [self.entry(entry, column) for entry, column in pairs]
            strong = i in piece.totals
            rows.append([f"**{cell}**" if strong and cell else cell for cell in cells])
        sides = [RIGHT if column.kind == "number" else LEFT for column in piece.columns]
        yield _table([escape(column.title) for column in piece.columns], sides, rows)

    def entry(self, entry: Entry, column: Column) -> str:
        """Write one entry of a list."""
        if isinstance(entry, Bar):
            return f"{100 * entry.share:.1f} % {'█' * round(entry.share * BAR)}".rstrip()
        if isinstance(entry, str):
            text = code(entry) if column.kind == "name" else escape(entry)
            return f"**{text}**" if isinstance(entry, Wrong) and entry else text
        return f"${self.math.render(entry)}$"

    def displayed(self, formulas: Iterable[tuple[Expr, Expr]]) -> Iterator[str]:
        """Write displayed formulas, each by itself: no sign that ends a line is read by all."""
        render = self.math.render
        for left, right in formulas:
            yield f"$$\n{render(left)} = {render(right)}\n$$"

    def operand(self, operand: Operand) -> str:
        """Write an operand: symbol, name, axes and shape."""
        symbol = self.math.symbol(operand.symbol)
        return f"${symbol}$ {code(operand.name)} {escape(shape_text(operand))}"

    def line(self, line: Line) -> str:
        """Write one line of arithmetic."""
        render = self.math.render
        left, result = render(line.left), render(line.result)
        if line.middle is None:
            return f"${left} = {result}$ ({escape(line.words or '')})"
        middle = render(line.middle)
        signs = RELATIONS[line.relation], RELATIONS[line.equals]
        text = f"${left} {signs[0]} {middle} {signs[1]} {result}$"
        return text + (f" ({escape(say('words.shortened'))})" if line.shortened else "")

    def grids(self, grids: Sequence[Grid]) -> Iterator[str]:
        """Write matrices as tables with their labels."""
        for grid in grids:
            if grid.caption:
                yield f"*{escape(grid.caption)}*"
            yield self.grid(grid)
            yield from (f"*{escape(sentence)}*" for sentence in gap_sentences(grid))

    def grid(self, grid: Grid) -> str:
        """Write one table: its symbol in the corner, a mark where rows or columns are left out."""
        gap = grid.column_gap[0] if grid.column_gap else None
        labels = grid.column_labels if grid.column_axis else [""] * len(grid.column_labels)
        heads = [f"${self.math.symbol(grid.symbol)}$", *_with_gap(list(map(escape, labels)), gap)]
        names = grid.row_labels if grid.row_axis else [""] * len(grid.row_labels)
        rows = [
            [escape(name), *_with_gap([self.text.figure(f) for f in row], gap)]
            for name, row in zip(names, grid.rows, strict=True)
        ]
        if grid.row_gap:
            rows.insert(grid.row_gap[0], [DOTS] * len(heads))
        return _table(heads, [LEFT, *[RIGHT] * (len(heads) - 1)], rows)


def _with_gap(cells: list[str], gap: int | None) -> list[str]:
    return cells if gap is None else [*cells[:gap], DOTS, *cells[gap:]]


def _table(heads: Sequence[str], sides: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table, each row on one line."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows))
