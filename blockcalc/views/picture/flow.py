"""Lines of pictures: several small steps share one, and what does not fit goes to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from rich.cells import cell_len

from blockcalc.explain.document import Panel, Sign, StepPiece
from blockcalc.records import dataclass
from blockcalc.views.picture.panel import Box, Drawing, Span, of_grid

INDENT = 2
BESIDE = 4  # spaces between two pictures
MOST_PAD = 2  # spaces around a sign, where there is room
MOST_STEPS = 6  # that share a line
LONGEST_LABEL = 6  # of an arrow
SIGNS = {"@": "×", "*": "×", ".": "⊙", "->": "→"}
SHORT = {"sqrt": "√", "sum": "Σ"}

Item = Panel | Sign | None  # None: the beginning of another picture


@dataclass
class Line:
    """The steps that share a line, and what stands in it."""

    steps: list[StepPiece] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)


class Flow:
    """Collects steps until the line is full.

    Parameters
    ----------
    drawing : Drawing
    width, share : int
        The width of the screen, and how much of it several steps share.
    """

    def __init__(self, drawing: Drawing, width: int, share: int) -> None:
        self.drawing, self.alphabet, self.safe = drawing, drawing.alphabet, drawing.safe
        self.width, self.share = width, share
        self.line = Line()

    def add(self, piece: StepPiece) -> Line | None:
        """Add a step; give the line before if the step does not fit in it."""
        more = self._joined(piece)
        if more is not None:
            self.line.items = more
            self.line.steps.append(piece)
            return None
        full, self.line = self.line, Line([piece], list(self._items(piece)))
        return full if full.steps else None

    def end(self) -> Line | None:
        """Give the last line."""
        full, self.line = self.line, Line()
        return full if full.steps else None

    def _items(self, piece: StepPiece) -> list[Item]:
        items: list[Item] = []
        own = piece.picture
        tables = tuple(of_grid(grid) for grid in piece.grids)
        for part in tables if own is None else (*own.parts, *own.others):
            if items and isinstance(part, Panel) and isinstance(items[-1], Panel):
                items.append(None)
            items.append(part)
        return items

    def _joined(self, piece: StepPiece) -> list[Item] | None:
        """Give the line with one more step, if it fits; operands in it are not repeated."""
        own, picture = self.line, piece.picture
        if not own.steps or picture is None or len(own.steps) >= MOST_STEPS:
            return None
        if len(piece.lines) > 1 or any(len(step.lines) > 1 for step in own.steps):
            return None
        if any(step.notes for step in own.steps) or (picture.new and piece.operands):
            return None
        there = {item.key: n for n, item in enumerate(own.items) if isinstance(item, Panel)}
        *operands, last = (part for part in picture.parts if isinstance(part, Panel))
        if operands and all(panel.key in there for panel in operands):
            items = list(own.items)
            for panel in operands:
                before = items[there[panel.key]]
                assert isinstance(before, Panel)
                items[there[panel.key]] = _lit(before, panel)
            more: list[Item] = [*items, picture.arrow, last, *_apart(picture.others)]
            if self._fits(more):
                return more
        more = [*own.items, None, *self._items(piece)]
        return more if self._fits(more) else None

    def _fits(self, items: Sequence[Item]) -> bool:
        boxes = self.boxes(items)
        return INDENT + sum(box.width for box in boxes) <= self.share

    def boxes(self, items: Sequence[Item]) -> list[Box]:
        """Draw what stands in a line."""
        found: list[Box] = []
        for item in items:
            if isinstance(item, Panel):
                found += self.drawing.boxes(item, self.width - INDENT - 4)
            else:
                found.append(self.sign(item))
        return found

    def sign(self, sign: Sign | None, pad: int = 1) -> Box:
        """Write what stands between two panels, with ``pad`` spaces around it."""
        if sign is None:
            return Box(BESIDE, [[(" " * BESIDE, "")]])
        text = self.safe(SIGNS.get(sign.op, sign.op))
        if sign.op == "->":
            label = ""
            if isinstance(sign.body, str):
                label = self.safe(SHORT.get(sign.body, sign.body))
            elif sign.body is not None:
                label = self.safe(self.alphabet.render(sign.body))
            if cell_len(label) > LONGEST_LABEL:
                label = ""
            text = f"{label} {text}".strip()
        elif sign.body is not None and not isinstance(sign.body, str):
            text = f"{text} {self.safe(self.alphabet.render(sign.body))}"
        text = " " * pad + text + " " * pad
        return Box(cell_len(text), [[(text, "sign")]])

    def rows(self, items: Sequence[Item]) -> list[list[Box]]:
        """Break a line where the screen ends; a sign stays with the panel after it."""
        spare = self.share - INDENT - sum(box.width for box in self.boxes(items))
        signs = sum(isinstance(item, Sign) for item in items)
        pad = min(MOST_PAD, 1 + max(0, spare) // (2 * signs)) if signs else 1
        rows: list[list[Box]] = [[]]
        used, waiting = INDENT, list[Box]()
        for item in items:
            if not isinstance(item, Panel):
                waiting.append(self.sign(item, pad))
                continue
            for box in self.drawing.boxes(item, self.width - INDENT - 4):
                more = sum(b.width for b in waiting) + box.width
                if rows[-1] and used + more > self.width:
                    rows.append([])
                    used = INDENT
                    waiting = [b for b in waiting if b.lines[0][0][0].strip()]
                    more = sum(b.width for b in waiting) + box.width
                if waiting and not rows[-1] and used + more > self.width:
                    rows[-1:] = [waiting, []]
                    waiting, more = [], box.width
                rows[-1] += [*waiting, box]
                waiting, used = [], used + more
        rows[-1] += waiting
        return rows


def _apart(panels: Sequence[Panel]) -> list[Item]:
    return [item for panel in panels for item in (None, panel)]


def _lit(panel: Panel, more: Panel) -> Panel:
    """Light in a panel what is lit in another of the same matrix."""
    return replace(panel, lit=panel.lit | more.lit)


def merged(row: Sequence[Box]) -> list[list[Span]]:
    """Put boxes side by side, each in the middle of the height of the row."""
    height = max(len(box.lines) for box in row)
    lines: list[list[Span]] = [[] for _ in range(height)]
    for box in row:
        own = len(box.lines)
        sign = own == 1
        top = 1 + (height - 2) // 2 if sign and height > 1 else (height - own) // 2
        for k, line in enumerate(lines):
            inside = top <= k < top + own
            line += box.lines[k - top] if inside else [(" " * box.width, "")]
    return lines


def apart(row: Sequence[Box]) -> list[Box]:
    """Put space between boxes, all at the top."""
    height = max((len(box.lines) for box in row), default=0)
    out: list[Box] = []
    for n, box in enumerate(row):
        if n:
            out.append(Box(BESIDE, [[(" " * BESIDE, "")]]))
        missing = [[(" " * box.width, "")]] * (height - len(box.lines))
        out.append(Box(box.width, [*box.lines, *missing]))
    return out


def titled(box: Box, title: Sequence[Span], length: int) -> Box:
    """Put a title over a box."""
    width = max(box.width, length)
    lines = [[*line, (" " * (width - box.width), "")] for line in box.lines]
    return Box(width, [[*title, (" " * (width - length), "")], *lines])


def broken(boxes: Sequence[Box], width: int) -> list[list[Box]]:
    """Break a row of boxes where the screen ends."""
    rows: list[list[Box]] = [[]]
    used = 0
    for box in boxes:
        if rows[-1] and used + BESIDE + box.width > width:
            rows.append([])
            used = 0
        used += box.width + (BESIDE if rows[-1] else 0)
        rows[-1].append(box)
    return rows
