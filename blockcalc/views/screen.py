"""The screen: paragraphs that wrap with their styles, Rich tables, plain when piped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text as RichText

from blockcalc.explain.document import Grid, Operand
from blockcalc.messages import say
from blockcalc.notation.alphabets import Text
from blockcalc.notation.signs import PLAIN_SIGNS, clean, plain_signs
from blockcalc.views.layout import Whole, column_blocks, gap_sentences, point_aligned, shape_text

PIPE_WIDTH = 1_000_000
BESIDE_WIDTH = 100  # up to this width matrices are printed side by side
INDENT = 5
_STYLES = {
    "title": "bold",
    "section": "bold cyan",
    "number": "bold cyan",
    "name": "cyan",
    "quiet": "dim",
    "note": "yellow",
    "result": "bold",
    "wrong": "bold red",
    "right": "green",
}


class _Console(Console):
    """A console that leaves the handling of a closed pipe to the command line."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def make_console(color: str = "auto") -> Console:
    """Open the terminal: ``color`` is auto, always or never.

    Output to a pipe has no colour and is not wrapped unless COLUMNS is set.
    """
    environ = os.environ
    for name in ("COLUMNS", "LINES"):
        if not (environ.get(name, "1").isascii() and environ.get(name, "1").isdecimal()):
            del environ[name]
    never = color == "never" or (color == "auto" and bool(environ.get("NO_COLOR")))
    forced = color == "always" or (
        color == "auto" and not never and environ.get("FORCE_COLOR", "") not in ("", "0")
    )
    terminal = sys.stdout.isatty()
    width = None
    if not terminal:
        width = int(environ.get("COLUMNS", "0")) or PIPE_WIDTH
    return _Console(
        file=sys.stdout,
        width=width,
        force_terminal=forced or (terminal and not never),
        color_system=None if never else "auto" if not forced else "standard",
        no_color=True if never else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


Part = str | tuple[str, str]


class Screen:
    """Prints paragraphs and tables, wrapped to the width of the console."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.encoding = console.encoding or "utf-8"
        signs = "".join(PLAIN_SIGNS)
        self.plain = plain_signs(signs, self.encoding) != signs
        self.alphabet = Text(plain=self.plain)
        self.width = max(console.width, 20)
        console.width = PIPE_WIDTH  # lines are wrapped here, not by Rich, which would break numbers

    # text -------------------------------------------------------------------------------

    def write(self, *parts: Part, indent: int = 0, hang: int = 0) -> None:
        """Print one paragraph of styled parts, wrapped at spaces with a hanging indent."""
        runs: list[list[str]] = [[" " * indent, ""]]

        def add(text: str, style: str) -> None:
            if style == runs[-1][1]:
                runs[-1][0] += text
            else:
                runs.append([text, style])

        used = indent
        for i, word in enumerate(self.words(parts)):
            length = sum(cell_len(w) for w, _ in word)
            if i and used + 1 + length > self.width and used > indent + hang:
                add("\n" + " " * (indent + hang), "")
                used = indent + hang
            elif i:
                add(" ", runs[-1][1] if runs[-1][1] == word[0][1] else "")
                used += 1
            for text, style in word:
                add(text, style)
            used += length
        for text, style in runs:
            line_by_line = (self.styled([(line, style)]) for line in text.split("\n"))
            self.console.file.write("\n".join(line_by_line))
        self.console.file.write("\n")

    def words(self, parts: Sequence[Part]) -> list[list[tuple[str, str]]]:
        """Break styled parts at their spaces."""
        words: list[list[tuple[str, str]]] = [[]]
        for part in parts:
            text, style = (part, "") if isinstance(part, str) else part
            safe = self.safe(text)
            for i, word in enumerate([safe] if isinstance(text, Whole) else safe.split(" ")):
                if i:
                    words.append([])
                words[-1].append((word, style))
        return words

    def styled(self, parts: Sequence[Part]) -> str:
        """Join styled parts, with the codes of their styles if colour is on."""
        spans = [(part, "") if isinstance(part, str) else part for part in parts]
        if self.console.color_system is None:
            return "".join(self.safe(text) for text, _ in spans)
        out = RichText()
        for text, style in spans:
            out.append(self.safe(text), _STYLES.get(style, style))
        with self.console.capture() as captured:
            self.console.print(out, end="")
        return captured.get()

    def safe(self, text: str) -> str:
        """Escape control characters, and replace characters that the terminal cannot show."""
        if text.isascii() and text.isprintable():
            return text
        return plain_signs(clean(text), self.encoding)

    def blank(self) -> None:
        """Print an empty line."""
        self.console.file.write("\n")

    def operand(self, operand: Operand) -> list[Part]:
        """Write an operand: symbol, name, axes and shape."""
        symbol = self.alphabet.symbol(operand.symbol)
        return [symbol + " ", (operand.name, "name"), " ", (shape_text(operand), "quiet")]

    # tables -----------------------------------------------------------------------------

    def grid(self, grid: Grid) -> None:
        """Print the table of a matrix in as many blocks of columns as the width requires."""
        for block in self.fit(grid):
            self.block(*block)

    def fit(self, grid: Grid) -> list[tuple[Grid, list[str], list[str], list[list[str]]]]:
        """Split a table into blocks of columns that fit the width."""
        columns = [
            point_aligned([self.alphabet.figure(row[j]) for row in grid.rows])
            for j in range(len(grid.column_labels))
        ]
        labels = [self.safe(label) for label in grid.row_labels]
        heads = [self.safe(label) for label in grid.column_labels]
        widths = [
            max(cell_len(head), max(map(len, column))) + 3
            for head, column in zip(heads, columns, strict=True)
        ]
        room = self.width - INDENT - max(map(cell_len, labels)) - 4
        blocks = []
        start = 0
        for block in column_blocks(grid, widths, room):
            end = start + len(block.column_labels)
            blocks.append((block, labels, heads[start:end], columns[start:end]))
            start = end
        return blocks

    def block(
        self, grid: Grid, labels: list[str], heads: list[str], columns: list[list[str]]
    ) -> None:
        """Print one block of columns."""
        if grid.caption:
            self.write((grid.caption, "quiet"), indent=INDENT)
        self.put(self.lines(self.table(grid, labels, heads, columns)))
        for sentence in gap_sentences(grid):
            self.write((sentence, "note"), indent=INDENT)

    def lines(self, table: Table) -> list[str]:
        """Render a table; all its lines have its full width."""
        with self.console.capture() as captured:
            self.console.print(table, soft_wrap=False, crop=False, no_wrap=True)
        return captured.get().splitlines()

    def put(self, lines: Iterable[str]) -> None:
        """Print rendered lines with the indent."""
        for line in lines:
            self.console.file.write((" " * INDENT + line).rstrip() + "\n")

    def table(
        self, grid: Grid, labels: list[str], heads: list[str], columns: list[list[str]]
    ) -> Table:
        """Make the Rich table of one block of columns."""
        table = Table(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            show_header=bool(grid.column_axis),
            header_style="dim",
            border_style="dim",
        )
        dots = self.safe(say("grid.gap.mark"))
        table.add_column("", style="cyan", no_wrap=True)
        split = grid.column_gap[0] if grid.column_gap else None
        padded = []
        for j, (head, column) in enumerate(zip(heads, columns, strict=True)):
            width = max(cell_len(head), len(column[0]))
            padded.append([cell.rjust(width) for cell in column])
            table.add_column(RichText(" " * (width - cell_len(head)) + head), no_wrap=True)
            if split == j + 1:
                table.add_column(dots, no_wrap=True)
        for i, label in enumerate(labels):
            cells = [column[i] for column in padded]
            self.row(table, label, cells, split, dots)
            if grid.row_gap and grid.row_gap[0] == i + 1:
                self.row(table, dots, [dots] * len(cells), split, dots)
        return table

    @staticmethod
    def row(table: Table, label: str, cells: list[str], split: int | None, dots: str) -> None:
        """Add one row, with a mark where columns are left out."""
        if split is not None:
            cells = [*cells[:split], dots, *cells[split:]]
        table.add_row(RichText(label), *(RichText(cell) for cell in cells))

    def side_by_side(self, matrices: Sequence[tuple[Sequence[Part], Sequence[Grid]]]) -> None:
        """Print labelled matrices side by side if they fit, otherwise below each other."""
        row: list[tuple[int, list[str]]] = []
        for label, grids in matrices:
            blocks = [block for grid in grids for block in self.fit(grid)]
            if len(blocks) > 1 or any(list(gap_sentences(grid)) for grid in grids):
                self.beside(row)
                row = []
                self.blank()
                self.write(*label, indent=INDENT)
                for grid in grids:
                    self.grid(grid)
                continue
            _, labels, heads, columns = blocks[0]
            title = "".join(p if isinstance(p, str) else p[0] for p in label)
            cells = _width(labels, heads, columns)
            width = max(cell_len(title), cells)
            lines = [line + " " * (width - cells) for line in self.lines(self.table(*blocks[0]))]
            top = self.styled(label) + " " * (width - cell_len(title))
            taken = INDENT + sum(w + 4 for w, _ in row)
            if row and taken + width > min(self.width, BESIDE_WIDTH):
                self.beside(row)
                row = []
            row.append((width, [top, *lines]))
        self.beside(row)

    def beside(self, row: list[tuple[int, list[str]]]) -> None:
        """Print one row of rendered matrices."""
        if row:
            self.blank()
            for parts in zip_longest(*(lines for _, lines in row)):
                cells = zip(parts, row, strict=True)
                filled = [" " * w if part is None else part for part, (w, _) in cells]
                self.put(["    ".join(filled)])


def _width(labels: list[str], heads: list[str], columns: list[list[str]]) -> int:
    """Give the width of the table of a block."""
    cells = (max(cell_len(h), len(c[0])) + 3 for h, c in zip(heads, columns, strict=True))
    return max(map(cell_len, labels)) + sum(cells)
