"""The terminal: every piece of a document as text and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import singledispatchmethod

from rich.cells import cell_len

from blockcalc.explain.document import (
    Closing,
    Given,
    Grid,
    Head,
    Heading,
    Line,
    Listing,
    Overview,
    PairPiece,
    Piece,
    Remark,
    Result,
    StepPiece,
    Worked,
)
from blockcalc.messages import say
from blockcalc.views.layout import shape_text
from blockcalc.views.lists import Lists
from blockcalc.views.screen import INDENT, Part


class Terminal(Lists):
    """Prints a document piece by piece."""

    def print(self, pieces: Iterable[Piece]) -> None:
        """Print pieces as they come."""
        for piece in pieces:
            self.show(piece)

    # pieces -----------------------------------------------------------------------------

    @singledispatchmethod
    def show(self, piece: Piece) -> None:
        """Print one piece."""
        raise TypeError(type(piece).__name__)

    @show.register
    def _(self, piece: Head) -> None:
        self.write((piece.title, "title"))
        for line in (piece.notes or "").splitlines():
            self.write(line, indent=2)
        self.blank()
        width = max(cell_len(name) for name, _ in piece.facts) + 2
        for name, lines in piece.facts:
            for i, line in enumerate(lines):
                label = name.ljust(width) if i == 0 else " " * width
                self.write((label, "quiet"), line, indent=2, hang=width)
        for hint in piece.hints:
            self.write((hint, "note"), indent=2)

    @show.register
    def _(self, piece: Heading) -> None:
        self.blank()
        rule = ("==" if self.plain else "══") * (4 if piece.level == 1 else 1)
        name = f"  {piece.name}" if piece.name else ""
        self.write((f"{rule} {piece.title} {rule}", "section"), (name, "name"))
        if piece.prose:
            self.write(piece.prose, indent=3)

    @show.register
    def _(self, piece: Given) -> None:
        self.side_by_side([(self.operand(operand), grids) for operand, grids in piece.matrices])

    @show.register
    def _(self, piece: StepPiece) -> None:
        self.blank()
        self.write(
            (f"{piece.number:>3}", "number"),
            "  ",
            (piece.title, "title"),
            "  ",
            (piece.name, "name"),
        )
        if piece.operands:
            render = self.alphabet.render
            self.write(
                (f"{render(piece.left)} = {render(piece.formula)}", "result"), indent=INDENT, hang=4
            )
            if piece.definition:
                name, body = piece.definition
                self.write(f"{render(name)} = {render(body)}", indent=INDENT, hang=4)
            takes: list[Part] = [(say("words.takes") + " ", "quiet")]
            for i, operand in enumerate(piece.operands):
                takes += [", " if i else "", *self.operand(operand)]
            self.write(*takes, indent=INDENT, hang=4)
        if piece.worked:
            self.write((piece.worked + ":", "quiet"), indent=INDENT)
        for line in piece.lines:
            self.line(line)
        symbol = self.alphabet.symbol(piece.result.symbol)
        self.write(f"{symbol} ", (shape_text(piece.result), "quiet"), indent=INDENT)
        for grid in piece.grids:
            self.grid(grid)
        for note in piece.notes:
            self.write((note, "note"), indent=INDENT)

    @show.register
    def _(self, piece: Closing) -> None:
        self.show(Heading(piece.title))
        for left, right in piece.formulas:
            render = self.alphabet.render
            self.write(f"{render(left)} = {render(right)}", indent=INDENT, hang=4)

    @show.register
    def _(self, piece: Result) -> None:
        self.blank()
        self.write((piece.title, "title"), indent=INDENT)
        self.write(*self.operand(piece.operand), indent=INDENT)
        for grid in piece.grids:
            self.grid(grid)

    @show.register
    def _(self, piece: Remark) -> None:
        self.blank()
        self.write((piece.text, "quiet" if piece.quiet else "note"))

    @show.register
    def _(self, piece: Worked) -> None:
        if piece.lead:
            self.write((piece.lead + ":", "quiet"), indent=INDENT)
        for line in piece.lines:
            self.line(line)

    @show.register
    def _(self, piece: Overview) -> None:
        self.blank()
        name = max((len(m.name) for m in piece.matches), default=0)
        self.write((f"  A    B  {say('compare.step'):{name}}  {say('compare.largest')}", "quiet"))
        for m in piece.matches:
            first, second = ("" if n is None else str(n) for n in (m.first, m.second))
            how = self.alphabet.render(m.largest) if m.largest else m.words
            style = "quiet" if m.same or not m.largest else "result"
            numbers = (f"{first:>3}  {second:>3}  ", "number")
            self.write(numbers, (f"{m.name:{name}}", "name"), "  ", (how, style), hang=12)

    @show.register
    def _(self, piece: PairPiece) -> None:
        m = piece.match
        numbers = [f"{side} {n}" for side, n in (("A", m.first), ("B", m.second)) if n is not None]
        how = self.alphabet.render(m.largest) if m.largest else m.words
        label = f"{say('compare.largest')} " if m.largest else ""
        self.blank()
        self.write(
            (", ".join(numbers), "number"), "  ", (m.name, "name"), "  ", (label + how, "quiet")
        )
        for side, left, right in piece.formulas:
            text = f"{self.alphabet.render(left)} = {self.alphabet.render(right)}"
            self.write(
                (f"{side}: " if side else "", "quiet"), (text, "result"), indent=INDENT, hang=4
            )
        for row in piece.rows:
            matrices: list[tuple[list[Part], Sequence[Grid]]] = []
            for side, grid in row:
                caption = f"{side}, {grid.caption}" if grid.caption else side
                matrices.append(([(caption, "name")], [replace(grid, caption=None)]))
            self.side_by_side(matrices)

    @show.register
    def _(self, piece: Listing) -> None:
        self.blank()
        self.listing(piece)

    def line(self, line: Line) -> None:
        """Print one worked line."""
        render = self.alphabet.render
        left, result = render(line.left), render(line.result)
        if line.middle is None:
            self.write(
                f"{left} = ", (result, "result"), f"  ({line.words})", indent=INDENT + 2, hang=4
            )
            return
        self.write(
            f"{left} {line.relation} {render(line.middle)} {line.equals} ",
            (result, "result"),
            (f"  ({say('words.shortened')})" if line.shortened else "", "quiet"),
            indent=INDENT + 2,
            hang=4,
        )
