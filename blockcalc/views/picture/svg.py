"""Panels and signs as SVG: drawn by us, so that every number and label has its place.

All text is set in a monospaced font, and given the length that its cells take: a Chinese character
two, as in a terminal. A viewer whose font is narrower or wider spreads the text to this length.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rich.cells import cell_len

from blockcalc.explain.document import Operand, Panel, Sign
from blockcalc.messages import say
from blockcalc.notation.alphabets import Text
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import Expr
from blockcalc.records import dataclass
from blockcalc.views.layout import point_aligned, shortened

CELL = 8.4  # the width of a character of the font, 0.6 of its size
BASE = 5.0  # from the middle of a line down to its base line
LINE = 22.0
ROW, HEAD, BREAK = 24.0, 20.0, 18.0  # the heights of rows, column labels, and marks of a gap
PAD = 6.0  # beside a number
APART = 8.0  # between row labels and numbers
AROUND = 10.0  # a sign
MOST_LABEL = 32  # cells of a label
ALPHABET = Text()
SIGNS = {"@": "×", "*": "×", ".": "⊙", "->": "→"}
LABELS = {"sqrt": "√", "sum": "Σ"}


@dataclass(frozen=True)
class Drawn:
    """A part of a picture, and its size; ``middle`` is the height at which neighbours are in line.

    ``above`` and ``below`` are the distances from there to its ends.
    """

    width: float
    above: float
    below: float
    elements: tuple[str, ...]


def shown(text: str | Expr) -> str:
    """Write a text or an expression as it stands in a picture, without markup."""
    return clean(text if isinstance(text, str) else ALPHABET.render(text))


def width_of(text: str) -> float:
    """Measure a text.

    Examples
    --------
    >>> width_of("ab") == width_of("远") == 16.8
    True
    """
    return round(cell_len(text) * CELL, 2)


def write(x: float, y: float, text: str, kind: str = "") -> str:
    """Write a text whose first cell begins at ``x``, in the middle of a line at ``y``."""
    if not text.strip():
        return ""
    own = f' class="bc-{kind}"' if kind else ""
    length = f' textLength="{_n(width_of(text))}"' if cell_len(text) > 1 else ""
    place = f'x="{_n(x)}" y="{_n(y + BASE)}"'
    return f"<text {place}{own}{length}>{escape(text)}</text>"


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Draw a rectangle."""
    size = f'width="{_n(width)}" height="{_n(height)}"'
    return f'<rect x="{_n(x)}" y="{_n(y)}" {size} class="bc-{kind}"/>'


def moved(x: float, y: float, elements: Sequence[str]) -> str:
    """Move what was drawn."""
    inside = "".join(elements)
    return f'<g transform="translate({_n(x)},{_n(y)})">{inside}</g>'


def _n(x: float) -> str:
    return f"{x:.2f}".rstrip("0").rstrip(".")


def sign(part: Sign) -> Drawn:
    """Draw what stands between two panels: an operator, or an arrow under what it does."""
    text, above = SIGNS.get(part.op, part.op), ""
    body = LABELS.get(part.body, part.body) if isinstance(part.body, str) else part.body
    if body is not None and part.op == "->":
        above = shown(body)
    elif body is not None:
        text = f"{text} {shown(body)}"
    inner = max(width_of(text), width_of(above))
    width = inner + 2 * AROUND
    elements = [write((width - width_of(text)) / 2, 0.0, text, "sign")]
    if above:
        elements.append(write((width - width_of(above)) / 2, -LINE * 0.8, above, "sign"))
    height = LINE / 2 + (LINE * 0.8 if above else 0.0)
    return Drawn(width, height, LINE / 2, tuple(elements))


def panel(part: Panel, operand: Operand | None) -> Drawn:
    """Draw a matrix with its symbol, shape and labels.

    Parameters
    ----------
    part : Panel
    operand : Operand, optional
        The matrix, for its shape.
    """
    return _Drawing(part, operand).drawn()


class _Drawing:
    """Draws one panel; its numbers begin at (left, 0)."""

    def __init__(self, part: Panel, operand: Operand | None) -> None:
        self.part = part
        self.labels = shortened([clean(label) for label in part.row_labels], MOST_LABEL)
        self.heads = shortened([clean(label) for label in part.column_labels], MOST_LABEL)
        self.dots = say("grid.gap.mark")
        columns = range(len(part.rows[0]))
        self.texts = [point_aligned([shown(row[j]) for row in part.rows]) for j in columns]
        named = max(map(width_of, self.labels), default=0.0)
        self.left = named + APART if named else 0.0
        if part.row_breaks:
            self.left = max(self.left, width_of(self.dots) + APART)
        self.widths = [
            max(width_of(texts[0]), width_of(head)) + 2 * PAD
            for texts, head in zip(self.texts, self.heads or [""] * len(columns), strict=True)
        ]
        gap = width_of(self.dots) + 2 * PAD
        self.xs = _starts(self.widths, part.column_breaks, gap, self.left)
        self.ys = _starts([ROW] * len(part.rows), part.row_breaks, BREAK, 0.0)
        self.title = shown(part.symbol)
        self.about = ", ".join(filter(None, (clean(part.caption), self.shape(operand))))

    def shape(self, operand: Operand | None) -> str:
        """Write rows and columns: ``3 × 2``."""
        if operand is None:
            return ""
        sizes = list(operand.shape[-2:])
        return " × ".join(map(str, reversed(sizes) if self.part.key[2] else sizes))

    def drawn(self) -> Drawn:
        """Draw the panel, with the middle of its numbers at 0."""
        right, bottom = self.xs[-1], self.ys[-1]
        top = LINE + (HEAD if self.heads else 0.0)
        titled = width_of(self.title) + (width_of(" " + self.about) if self.about else 0.0)
        elements = [
            *self.entries(),
            box(self.left, 0.0, right - self.left, bottom, "frame"),
            *self.named(),
            write(self.left, LINE / 2 - top, self.title, "symbol"),
            write(self.left + width_of(self.title + " "), LINE / 2 - top, self.about, "quiet"),
        ]
        width = max(right, self.left + titled)
        middle = bottom / 2
        return Drawn(
            width, middle + top, middle, (moved(0.0, -middle, list(filter(None, elements))),)
        )

    def entries(self) -> list[str]:
        """Draw the numbers; those that are lit or shaded on their ground."""
        part, found = self.part, []
        for i, j in ((i, j) for i in range(len(part.rows)) for j in range(len(self.texts))):
            x, y, width = self.xs[j], self.ys[i], self.widths[j]
            ground, ink = "", ""
            if part.shades:
                shade = part.shades[i][j]
                ground = "" if shade is None else f"shade{shade}"
                ink = "quiet" if shade is None else f"ink{shade}"
            elif (i, j) == part.worked:
                ground, ink = "cell", "worked"
            elif (i, j) in part.lit:
                ground, ink = "lit", "source"
            if ground:
                found.append(box(x + 1, y + 1, width - 2, ROW - 2, ground))
            text = self.texts[j][i]
            bare = text.strip()
            before = width - PAD - width_of(text) + width_of(text[: text.index(bare)])
            found.append(write(x + before, y + ROW / 2, bare, ink))
        return found

    def named(self) -> list[str]:
        """Write the labels of rows and columns, and the marks where some are left out."""
        part, found = self.part, []
        for i, label in enumerate(self.labels):
            x = self.left - APART - width_of(label)
            found.append(write(x, self.ys[i] + ROW / 2, label, "name"))
        for j, head in enumerate(self.heads):
            x = self.xs[j] + self.widths[j] - PAD - width_of(head)
            found.append(write(x, -HEAD / 2, head, "name"))
        for i in part.row_breaks:
            y = self.ys[i - 1] + ROW + BREAK / 2
            found += [write(x + PAD, y, self.dots, "quiet") for x in self.xs[:-1]]
        for j in part.column_breaks:
            x = self.xs[j - 1] + self.widths[j - 1] + PAD
            found += [write(x, y + ROW / 2, self.dots, "quiet") for y in self.ys[:-1]]
        return found


def _starts(sizes: Sequence[float], breaks: Sequence[int], gap: float, first: float) -> list[float]:
    """Give where rows or columns begin, and where the last ends."""
    found = [first]
    for n, size in enumerate(sizes, 1):
        found.append(found[-1] + size + (gap if n in breaks else 0.0))
    return found
