"""One panel on the screen: a matrix with its symbol and labels in the rule above it.

It is laid out by hand, because a Rich table of the same size takes many times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.cells import cell_len

from blockcalc.explain.document import Grid, Panel
from blockcalc.messages import say
from blockcalc.notation.alphabets import Alphabet
from blockcalc.ops.expr import Name
from blockcalc.records import dataclass
from blockcalc.views.layout import full_ends, point_aligned, shortened

GAP = 2  # spaces between columns; the brackets of the worked cell stand in them

FEWEST = 8  # cells that a label may always have

BAR = " │"
BLOCKS, PLAIN_BLOCKS = " ░▒▓█", " .-+#"  # the shades without colours, light to dark

Span = tuple[str, str]  # a text and its style


@dataclass(frozen=True)
class Box:
    """Lines of styled text, all of one width."""

    width: int
    lines: list[list[Span]]


def of_grid(grid: Grid, title: str | None = None) -> Panel:
    """Make the panel of a table, under its symbol or another title."""
    upright = not grid.column_axis
    return Panel(
        Name(grid.symbol) if title is None else title,
        grid.caption or "",
        (grid.symbol, (), False),
        grid.row_labels if grid.row_axis else ("",) * len(grid.rows),
        () if upright else grid.column_labels,
        grid.rows,
        (grid.row_gap[0],) if grid.row_gap else (),
        (grid.column_gap[0],) if grid.column_gap else (),
    )


class Drawing:
    """Draws panels with the signs of one screen.

    Parameters
    ----------
    alphabet : Alphabet
    safe : callable
        Replaces what the screen cannot show.
    shaded : bool
        Whether the screen has colours for the shades of a heat map; else they are characters.
    """

    def __init__(
        self, alphabet: Alphabet, safe: Callable[[str], str], shaded: bool = False
    ) -> None:
        self.alphabet, self.safe, self.shaded = alphabet, safe, shaded
        self.blocks = BLOCKS if safe(BLOCKS) == BLOCKS else PLAIN_BLOCKS
        self.dots = safe(say("grid.gap.mark"))
        self.rule, self.bar = safe("─"), safe("│")

    def boxes(self, panel: Panel, room: int) -> list[Box]:
        """Draw a panel, in as many blocks of columns as the room requires.

        No number is cut: a block has at least one column, even if it does not fit.
        """
        columns = [
            point_aligned([self.safe(self.alphabet.figure(row[j])) for row in panel.rows])
            for j in range(len(panel.rows[0]))
        ]
        if panel.shades and not self.shaded:
            columns = [
                [
                    f"{text} {self.blocks[shade or 0]}"
                    for text, shade in zip(column, own, strict=True)
                ]
                for column, own in zip(columns, zip(*panel.shades, strict=True), strict=True)
            ]
        most = max(FEWEST, room // 3)
        heads = self.labels(panel.column_labels, most) or [""] * len(columns)
        widths = [
            max(cell_len(head), len(column[0])) for head, column in zip(heads, columns, strict=True)
        ]
        symbol = panel.symbol
        title = symbol if isinstance(symbol, str) else self.alphabet.render(symbol)
        title = self.safe(f"{title} {panel.caption}".strip() if panel.caption else title)
        labels = self.labels(panel.row_labels, most)
        dots = len(self.dots)
        left = max(*map(cell_len, labels), dots if panel.row_breaks else 0, 0)
        room_of_title = left + len(BAR) + widths[0] - cell_len(heads[0])
        left += max(0, cell_len(title) + (1 if heads[0] else 0) - room_of_title)
        taken = [GAP + w + (GAP + dots) * (j + 1 in panel.column_breaks)
                 for j, w in enumerate(widths)]  # fmt: skip
        found, start = [], 0
        for end in full_ends(taken, room - left - len(BAR)):
            block = _Block(panel, title, labels, left, range(start, end), heads, columns, widths)
            found.append(self._box(block))
            start = end
        return found

    def labels(self, labels: Sequence[str], most: int) -> list[str]:
        """Write labels; long ones are shortened, for the sake of the numbers beside them."""
        return [self.safe(label) for label in shortened([self.safe(t) for t in labels], most)]

    def _box(self, block: _Block) -> Box:
        """Draw one block of columns."""
        panel = block.panel
        marks = len(self.dots) + GAP
        rule: list[Span] = []
        for n, j in enumerate(block.of):
            head = block.heads[j]
            rule.append(
                (self.rule * ((GAP if n else 1) + block.widths[j] - cell_len(head)), "quiet")
            )
            rule.append((head, "name"))
            if j + 1 in panel.column_breaks:
                rule.append((self.rule * marks, "quiet"))
        before = block.left + len(BAR) - cell_len(block.title)
        top = _after(rule, block.title, before, self.rule)
        slot = panel.worked is not None or bool(panel.shades)
        width = block.left + len(BAR) + sum(cell_len(text) for text, _ in rule) + slot
        lines = [[*top, (" " * slot, "")]]
        bar = BAR[0] + self.bar
        for i, label in enumerate(block.labels):
            begun: list[Span] = [
                (" " * (block.left - cell_len(label)) + label, "name"), (bar, "quiet")
            ]  # fmt: skip
            entries = self._shaded(block, i) if panel.shades else self._entries(block, i)
            lines.append([*begun, *entries])
            if i + 1 in panel.row_breaks:
                mark = " " * (block.left - len(self.dots)) + self.dots
                rest = " " * (width - block.left - len(BAR))
                lines.append([(mark, "quiet"), (bar, "quiet"), (rest, "")])
        return Box(width, lines)

    def _shaded(self, block: _Block, i: int) -> Iterator[Span]:
        """Write the entries of a row of a heat map; a shade is as wide as its column."""
        panel = block.panel
        for n, j in enumerate(block.of):
            yield " " * (GAP - 2 if n else 0), ""
            shade = panel.shades[i][j]
            coloured = f"shade{shade}" if self.shaded else ""
            style = "quiet" if shade is None else coloured
            yield " " + block.columns[j][i].rjust(block.widths[j]) + " ", style
            if j + 1 in panel.column_breaks:
                yield " " * (GAP - 1) + self.dots + " ", "quiet"

    def _entries(self, block: _Block, i: int) -> Iterator[Span]:
        """Write the entries of a row; the brackets of the worked cell stand between columns."""
        panel = block.panel
        closing = False
        for n, j in enumerate(block.of):
            text = block.columns[j][i].rjust(block.widths[j])
            bare = text.strip(" ")
            before = text.index(bare) if bare else 0
            after = len(text) - before - len(bare)
            worked = panel.worked == (i, j)
            style = "cell" if worked else "lit" if (i, j) in panel.lit else ""
            yield "]" if closing else "", "cell"
            yield " " * ((GAP if n else 1) + before - worked - closing), ""
            yield f"[{bare}" if worked else bare, style
            closing = worked and not after
            yield "]" if worked and after else "", "cell"
            yield " " * (after - (worked and after > 0)), ""
            if j + 1 in panel.column_breaks:
                yield "]" if closing else "", "cell"
                yield " " * (GAP - closing) + self.dots, "quiet"
                closing = False
        if panel.worked is not None:
            yield "]" if closing else " ", "cell"


@dataclass(frozen=True)
class _Block:
    """Some columns of a panel, as text."""

    panel: Panel
    title: str
    labels: Sequence[str]
    left: int
    of: range
    heads: Sequence[str]
    columns: Sequence[Sequence[str]]
    widths: Sequence[int]


def _after(rule: list[Span], title: str, before: int, sign: str) -> list[Span]:
    """Write a title into the rule above a panel; the labels of columns stand after it."""
    (first, style), *rest = rule
    length = before + len(first)
    if title:
        return [(title, "symbol"), (" ", ""), (sign * (length - 1), style), *rest]
    return [(sign * length, style), *rest]
