"""The page: every piece of a document as HTML, steps and sections collapsible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatchmethod

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
from blockcalc.ops.expr import Expr
from blockcalc.views.html.style import STYLE
from blockcalc.views.html.tables import HTML, cells, grid_table, listing_table
from blockcalc.views.html.text import safe, tag
from blockcalc.views.layout import shape_text

MOST_CELLS = 8_000  # numbers in one page; further tables are counted, not shown
MOST_OF_ONE = 2_048  # numbers of one matrix: 8 heads with gaps
WEIGHTS = ("query", "key")  # the last axes of attention weights


def page(pieces: Iterable[Piece], opened: bool = False) -> str:
    """Write pieces as a self-contained fragment of HTML.

    Parameters
    ----------
    pieces : iterable of Piece
    opened : bool
        Whether the details of steps are visible at once.
    """
    return Page(opened).write(pieces)


class Page:
    """Writes a document piece by piece; headings hold what follows them."""

    def __init__(self, opened: bool) -> None:
        self.opened = opened
        self.parts: list[str] = []
        self.levels: list[int] = []
        self.room = MOST_CELLS

    def write(self, pieces: Iterable[Piece]) -> str:
        """Write all pieces."""
        for piece in pieces:
            self.show(piece)
        self.close(0)
        return f'<div class="blockcalc"><style>{STYLE}</style>{"".join(self.parts)}</div>'

    def close(self, level: int) -> None:
        """Close the headings of this level and below."""
        while self.levels and self.levels[-1] >= level:
            self.levels.pop()
            self.parts.append("</details>")

    def put(self, *parts: str) -> None:
        """Add finished HTML."""
        self.parts += parts

    # pieces -----------------------------------------------------------------------------

    @singledispatchmethod
    def show(self, piece: Piece) -> None:
        """Write one piece."""
        raise TypeError(type(piece).__name__)

    @show.register
    def _(self, piece: Head) -> None:
        self.put(tag("div", safe(piece.title), "title") if piece.title else "")
        self.put(tag("div", safe(piece.headline)) if piece.headline else "")
        for line in (piece.notes or "").splitlines():
            self.put(tag("div", safe(line)))
        rows = []
        for name, lines in piece.facts:
            text = "<br>".join(map(safe, lines))
            rows.append(tag("tr", tag("th", safe(name)) + tag("td", text, "wrap")))
        self.put(tag("table", tag("tbody", "".join(rows)), "facts") if rows else "")
        self.put(*(tag("div", safe(hint), "note") for hint in piece.hints))

    @show.register
    def _(self, piece: Heading) -> None:
        self.close(piece.level)
        # of a stack every block is closed: it has as many steps as a whole block
        state = "" if piece.level == 1 and not self.opened else " open"
        name = " " + tag("span", safe(piece.name), "name") if piece.name else ""
        self.put(f'<details class="bc-section"{state}>', tag("summary", safe(piece.title) + name))
        self.put(tag("div", safe(piece.prose), "quiet") if piece.prose else "")
        self.levels.append(piece.level)

    @show.register
    def _(self, piece: Given) -> None:
        tables = (self.tables(operand, grids, True) for operand, grids in piece.matrices)
        inside = tag("div", "".join(tables), "row")
        n = len(piece.matrices)
        state = " open" if self.opened else ""
        self.put(f"<details{state}>", tag("summary", safe(say("html.matrices", n=n))), inside)
        self.put("</details>")

    @show.register
    def _(self, piece: StepPiece) -> None:
        state = " open" if self.opened else ""
        formula = f"{HTML.render(piece.left)} = {HTML.render(piece.formula)}"
        head = (
            tag("span", str(piece.number), "quiet"),
            safe(piece.title),
            tag("span", safe(piece.name), "name"),
            tag("span", formula if piece.operands else HTML.render(piece.left), "math"),
            tag("span", safe(shape_text(piece.result)), "quiet"),
        )
        self.put(f"<details{state}>", tag("summary", " ".join(head)))
        if piece.definition:
            name, body = piece.definition
            self.put(tag("div", f"{HTML.render(name)} = {HTML.render(body)}", "math"))
        if piece.operands:
            takes = ", ".join(map(self.operand, piece.operands))
            self.put(tag("div", f"{tag('span', safe(say('words.takes')), 'quiet')} {takes}"))
        self.lines(piece.lines, piece.worked)
        self.put(tag("div", self.tables(piece.result, piece.grids, False, piece.name), "row"))
        self.put(*(tag("div", safe(note), "note") for note in piece.notes), "</details>")

    @show.register
    def _(self, piece: Closing) -> None:
        self.show(Heading(piece.title))
        self.formulas(("", left, right) for left, right in piece.formulas)

    @show.register
    def _(self, piece: Result) -> None:
        self.close(1)
        self.put(tag("div", safe(piece.title), "title"))
        self.put(tag("div", self.tables(piece.operand, piece.grids, True), "row"))

    @show.register
    def _(self, piece: Remark) -> None:
        self.put(tag("div", safe(piece.text), "quiet" if piece.quiet else "note"))

    @show.register
    def _(self, piece: Worked) -> None:
        self.lines(piece.lines, piece.lead)

    @show.register
    def _(self, piece: Overview) -> None:
        titles = ("A", "B", say("compare.step"), say("compare.largest"))
        heads = "".join(tag("th", safe(title), scope="col") for title in titles)
        rows = []
        for m in piece.matches:
            numbers = "".join(tag("td", str(n or ""), "n") for n in (m.first, m.second))
            how = HTML.render(m.largest) if m.largest else safe(m.words)
            own = "quiet" if m.same or not m.largest else ""
            rows.append(tag("tr", numbers + tag("td", safe(m.name), "name") + tag("td", how, own)))
        self.put(tag("table", tag("thead", tag("tr", heads)) + tag("tbody", "".join(rows))))

    @show.register
    def _(self, piece: PairPiece) -> None:
        m = piece.match
        numbers = [f"{side} {n}" for side, n in (("A", m.first), ("B", m.second)) if n is not None]
        how = HTML.render(m.largest) if m.largest else safe(m.words)
        label = f"{safe(say('compare.largest'))} " if m.largest else ""
        head = (
            tag("span", ", ".join(numbers), "quiet"),
            tag("span", safe(m.name), "name"),
            tag("span", label + how, "quiet"),
        )
        self.put("<details>", tag("summary", " ".join(head)))
        self.formulas(piece.formulas)
        for row in piece.rows:
            tables = (self.grids([grid], m.name, safe(side)) for side, grid in row)
            self.put(tag("div", "".join(tables), "row"))
        self.put("</details>")

    @show.register
    def _(self, piece: Listing) -> None:
        self.put(tag("div", listing_table(piece), "row"))

    # parts ------------------------------------------------------------------------------

    def formulas(self, formulas: Iterable[tuple[str, Expr, Expr]]) -> None:
        """Write equations, each after the run that it is of."""
        for side, left, right in formulas:
            before = tag("span", safe(f"{side}: "), "quiet") if side else ""
            self.put(tag("div", f"{before}{HTML.render(left)} = {HTML.render(right)}", "math"))

    def lines(self, lines: Sequence[Line], lead: str | None) -> None:
        """Write worked lines under what leads to them."""
        self.put(tag("div", safe(say("words.lead", text=lead)), "quiet") if lead else "")
        self.put(*(tag("div", line_text(line), "line") for line in lines))

    def operand(self, operand: Operand) -> str:
        """Write an operand: symbol, name, axes and shape."""
        name = tag("span", safe(operand.name), "name")
        shape = tag("span", safe(shape_text(operand)), "quiet")
        return f"{tag('span', HTML.symbol(operand.symbol), 'math')} {name} {shape}"

    def tables(self, operand: Operand, grids: Sequence[Grid], named: bool, step: str = "") -> str:
        """Write the tables of a matrix, as far as there is room."""
        label = self.operand(operand) if named else tag("span", HTML.symbol(operand.symbol), "math")
        shown, room = 0, min(self.room, MOST_OF_ONE)
        while shown < len(grids) and cells(grids[shown]) <= room:
            room -= cells(grids[shown])
            shown += 1
        made = self.grids(grids[:shown], step or operand.name, label)
        if shown == len(grids):
            return made
        text = say("html.more", n=len(grids) - shown, name=operand.name)
        return made + tag("div", f"{'' if shown else label} {tag('span', safe(text), 'note')}")

    def grids(self, grids: Sequence[Grid], name: str, label: str) -> str:
        """Write tables with a common label; attention weights are shaded."""
        self.room -= sum(map(cells, grids))
        return "".join(grid_table(grid, label, is_weights(name, grid)) for grid in grids)


def is_weights(name: str, grid: Grid) -> bool:
    """Tell whether a matrix has attention weights: by its name, and its axes query and key.

    Examples
    --------
    >>> scores = Grid("S", "query", "key", ("a",), ("a",), ())
    >>> is_weights("blocks.0.attn.weights", scores), is_weights("attn.scores", scores)
    (True, False)
    """
    last = name.rpartition(".")[2]
    return last == "weights" and (grid.row_axis, grid.column_axis) == WEIGHTS


def line_text(line: Line) -> str:
    """Write one worked line."""
    left, result = HTML.render(line.left), tag("b", HTML.render(line.result))
    if line.middle is None:
        return f"{left} = {result}  ({safe(line.words or '')})"
    short = f"  ({safe(say('words.shortened'))})" if line.shortened else ""
    return f"{left} {line.relation} {HTML.render(line.middle)} {line.equals} {result}{short}"
