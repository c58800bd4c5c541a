"""The terminal: every piece of a document as text and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatchmethod

from rich.cells import cell_len
from rich.console import Console

from blockcalc.explain.document import (
    Closing,
    Given,
    Grid,
    Head,
    Heading,
    Line,
    Listing,
    Operand,
    Overview,
    PairPiece,
    Piece,
    Remark,
    Result,
    StepPiece,
    Worked,
)
from blockcalc.messages import say
from blockcalc.views.layout import Whole, gap_sentences, shape_text, sizes_text
from blockcalc.views.lists import Lists
from blockcalc.views.picture.flow import BESIDE, Flow, apart, broken, merged, titled
from blockcalc.views.picture.flow import INDENT as NARROW
from blockcalc.views.picture.flow import Line as Row
from blockcalc.views.picture.panel import Box, Drawing, Span, of_grid
from blockcalc.views.screen import INDENT, PIPE_WIDTH, Part

HEADING_GAP = 2
MANY_COLOURS = ("256", "truecolor")
SHARED = 100  # columns that steps share where lines are not wrapped
MOST_WIDE = 120  # columns of a heading with its sentence on one line


class Terminal(Lists):
    """Prints a document piece by piece."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.drawing = Drawing(self.alphabet, self.safe, console.color_system in MANY_COLOURS)
        self.share = self.width if self.width < PIPE_WIDTH else SHARED

    def print(self, pieces: Iterable[Piece]) -> None:
        """Print pieces as they come; small steps share a line."""
        flow = Flow(self.drawing, self.width, self.share)
        for piece in pieces:
            if isinstance(piece, StepPiece):
                self.pictures(flow, flow.add(piece))
            else:
                self.pictures(flow, flow.end())
                self.show(piece)
        self.pictures(flow, flow.end())

    def pictures(self, flow: Flow, line: Row | None) -> None:
        """Print the steps that share a line: their formulas, their pictures, their arithmetic."""
        if line is None:
            return
        self.blank()
        self.headings(line.steps)
        for step in line.steps:
            self.takes(step)
        for row in flow.rows(line.items):
            for spans in merged(row):
                self.put([self.styled(_trimmed(spans))], NARROW)
        for step in line.steps:
            if step.worked and len(step.lines) > 1:
                self.write((say("words.lead", text=step.worked), "quiet"), indent=NARROW)
        self.packed([self.worked(own) for step in line.steps for own in step.lines])
        for step in line.steps:
            for note in step.notes:
                self.write((note, "note"), indent=NARROW)

    def named(self, operand: Operand) -> list[Part]:
        """Write the name and the shape of a matrix."""
        return [(operand.name, "name"), " ", (shape_text(operand), "quiet")]

    def given(self, matrices: Iterable[tuple[list[Part], Sequence[Grid]]]) -> None:
        """Print matrices under their names, side by side where they fit."""
        row: list[Box] = []
        every = list(matrices)
        for title, grids in every:
            boxes = [
                box
                for grid in grids
                for box in self.drawing.boxes(of_grid(grid), self.width - NARROW)
            ]
            gaps = [text for grid in grids for text in gap_sentences(grid)]
            if len(boxes) == 1 and not gaps:
                box = self.titled(boxes[0], title, len(every) > 1)
                used = NARROW + sum(b.width + BESIDE for b in row)
                if row and used + box.width > self.share:
                    self.beside(row)
                    row = []
                row.append(box)
                continue
            self.beside(row)
            row = []
            self.blank()
            self.write(*title, indent=NARROW)
            for line in broken(boxes, self.width - NARROW):
                self.boxes(line)
            for text in gaps:
                self.write((text, "note"), indent=NARROW)
        self.beside(row)

    def titled(self, box: Box, title: Sequence[Part], shared: bool) -> Box:
        """Put a title over a box; where room is dear its last part, the shape, has its own line."""
        spans = [(part, "") if isinstance(part, str) else part for part in title]
        lines = [spans]
        length = sum(cell_len(self.safe(text)) for text, _ in spans)
        if (shared and self.share < SHARED) or length > self.width - NARROW:
            lines = [spans[:-2], spans[-1:]]
        for line in reversed(lines):
            box = titled(box, line, sum(cell_len(self.safe(text)) for text, _ in line))
        return box

    def beside(self, row: Sequence[Box]) -> None:
        """Print boxes side by side after an empty line, in as many rows as the width requires."""
        if row:
            self.blank()
            for line in broken(row, self.width - NARROW):
                self.boxes(line)

    def boxes(self, row: Sequence[Box]) -> None:
        """Print boxes side by side."""
        for spans in merged(apart(row)):
            self.put([self.styled(_trimmed(spans))], NARROW)

    def headings(self, steps: Sequence[StepPiece]) -> None:
        """Print number, title, name, formula and shape of some steps, in columns if they fit."""
        for short in (False, True):
            rows = [self.heading(step, short) for step in steps]
            columns = zip(*rows, strict=True)
            widths = [max(cell_len(self.safe(text)) for text, _ in column) for column in columns]
            aligned = NARROW + sum(widths) + HEADING_GAP * (len(widths) - 1) <= self.width
            if aligned:
                break
        for row in rows:
            parts: list[Part] = []
            length = sum(cell_len(self.safe(text)) for text, _ in row)
            whole = NARROW + length + HEADING_GAP * (len(row) - 1) <= self.width
            for j, (text, style) in enumerate(row):
                room = " " * (widths[j] - cell_len(self.safe(text)) + HEADING_GAP)
                last = j == len(row) - 1
                if aligned or whole:
                    cell: Part = (Whole(text), style)
                    gap = Whole(room if aligned else " " * HEADING_GAP)
                    parts += [cell] if last else [cell, gap]
                else:
                    parts += [(text, style), "" if last else " "]
            self.write(*parts, indent=NARROW, hang=4)

    def heading(self, piece: StepPiece, short: bool) -> list[tuple[str, str]]:
        """Give number, title, name, formula and shape of a step, each with its style."""
        shape = sizes_text if short else shape_text
        render = self.alphabet.render
        formula = render(piece.left)
        if piece.operands:
            formula += f" = {render(piece.formula)}"
            if piece.definition:
                name, body = piece.definition
                formula += f", {render(name)} = {render(body)}"
        return [
            (str(piece.number), "number"), (piece.title, "title"), (piece.name, "name"), (formula, ""),
            (shape(piece.result), "quiet"),
        ]  # fmt: skip

    def takes(self, piece: StepPiece) -> None:
        """Print the operands that were not shown before."""
        if piece.picture is not None and piece.picture.new and piece.operands:
            parts: list[Part] = [(say("words.takes") + " ", "quiet")]
            for i, operand in enumerate(piece.picture.new):
                parts += [", " if i else "", *self.operand(operand)]
            self.write(*parts, indent=NARROW, hang=4)

    def packed(self, items: Iterable[list[Part]]) -> None:
        """Print paragraphs, several on a line if they fit."""
        waiting: list[Part] = []
        used = NARROW
        for item in items:
            length = sum(cell_len(self.safe(p if isinstance(p, str) else p[0])) for p in item)
            if waiting and used + 3 + length > self.share:
                self.write(*waiting, indent=NARROW, hang=4)
                waiting, used = [], NARROW
            used += length + (3 if waiting else 0)
            waiting += ["   ", *item] if waiting else item
        if waiting:
            self.write(*waiting, indent=NARROW, hang=4)

    # pieces -----------------------------------------------------------------------------

    @singledispatchmethod
    def show(self, piece: Piece) -> None:
        """Print one piece."""
        raise TypeError(type(piece).__name__)

    @show.register
    def _(self, piece: Head) -> None:
        if piece.title:
            self.write((piece.title, "title"))
        if piece.headline:
            self.write((piece.headline, "result"), indent=NARROW)
            if piece.facts:
                self.blank()
        for line in (piece.notes or "").splitlines():
            self.write(line, indent=2)
        width = max((cell_len(name) for name, _ in piece.facts), default=0) + 2
        for name, lines in piece.facts:
            for i, line in enumerate(lines):
                label = name + " " * (width - cell_len(name)) if i == 0 else " " * width
                self.write((label, "quiet"), line, indent=2, hang=width)
        for hint in piece.hints:
            self.write((hint, "note"), indent=2)

    @show.register
    def _(self, piece: Heading) -> None:
        self.blank()
        rule = ("==" if self.plain else "══") * (4 if piece.level == 1 else 1)
        title = f"{rule} {piece.title} {rule}"
        name = f"  {piece.name}" if piece.name else ""
        prose = self.safe(piece.prose or "")
        if prose and cell_len(f"{title}{name}  {prose}") <= min(self.width, MOST_WIDE):
            name, prose = f"{name}  ", ""
            self.write((title, "section"), (name, "name"), piece.prose or "")
        else:
            self.write((title, "section"), (name, "name"))
        if prose:
            self.write(prose, indent=3)

    @show.register
    def _(self, piece: Given) -> None:
        self.given([(self.named(operand), grids) for operand, grids in piece.matrices])

    @show.register
    def _(self, piece: StepPiece) -> None:
        self.print([piece])

    @show.register
    def _(self, piece: Closing) -> None:
        self.show(Heading(piece.title))
        formulas: list[list[Part]] = []
        for left, right in piece.formulas:
            render = self.alphabet.render
            formulas.append([f"{render(left)} = {render(right)}"])
        self.packed(formulas)

    @show.register
    def _(self, piece: Result) -> None:
        title: list[Part] = [(piece.title, "title"), " ", (shape_text(piece.operand), "quiet")]
        self.given([(title, piece.grids)])

    @show.register
    def _(self, piece: Remark) -> None:
        self.blank()
        self.write((piece.text, "quiet" if piece.quiet else "note"))

    @show.register
    def _(self, piece: Worked) -> None:
        if piece.lead:
            self.write((say("words.lead", text=piece.lead), "quiet"), indent=INDENT)
        for line in piece.lines:
            self.line(line)

    @show.register
    def _(self, piece: Overview) -> None:
        self.blank()
        head = say("compare.step")
        name = max([cell_len(head), *(len(m.name) for m in piece.matches)])
        head += " " * (name - cell_len(head))
        self.write((f"  A    B  {head}  {say('compare.largest')}", "quiet"))
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
                (f"{side}: " if side else "", "quiet"), (text, "result"), indent=NARROW, hang=4
            )
        for row in piece.rows:
            panels = [of_grid(grid, side) for side, grid in row]
            room = self.width - NARROW
            for line in broken([b for p in panels for b in self.drawing.boxes(p, room)], room):
                self.boxes(line)
            for text in (text for _, grid in row for text in gap_sentences(grid)):
                self.write((text, "note"), indent=NARROW)

    @show.register
    def _(self, piece: Listing) -> None:
        self.blank()
        self.listing(piece)

    def line(self, line: Line) -> None:
        """Print one worked line."""
        self.write(*self.worked(line), indent=INDENT + 2, hang=4)

    def worked(self, line: Line) -> list[Part]:
        """Write one worked line."""
        render = self.alphabet.render
        left, result = render(line.left), render(line.result)
        if line.middle is None:
            return [f"{left} = ", (result, "result"), f"  ({line.words})"]
        return [
            f"{left} {line.relation} {render(line.middle)} {line.equals} ",
            (result, "result"),
            (f"  ({say('words.shortened')})" if line.shortened else "", "quiet"),
        ]


def _trimmed(spans: Sequence[Span]) -> list[Span]:
    """Leave out the spaces at the end of a line, also those within a style but the shaded ones."""
    kept = list(spans)
    while kept and not kept[-1][0].strip(" "):
        kept.pop()
    if kept and not kept[-1][1].startswith("shade"):
        text, style = kept[-1]
        kept[-1] = (text.rstrip(" "), style)
    return kept
