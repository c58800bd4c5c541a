"""Lists on the screen: rows under headings, with bars for shares."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from blockcalc.explain.document import Bar, Entry, Listing, Right, Wrong
from blockcalc.views.screen import INDENT, Part, Screen

# length of a full bar, and space between columns: the first pair that fits the width is used
ROOMS = ((12, 3), (8, 3), (5, 3), (0, 3), (None, 3), (None, 2))


WRAPPED = 24  # the least width of a text that wraps


class Lists(Screen):
    """A screen that prints lists; bars shrink first if the width is small."""

    def listing(self, piece: Listing) -> None:
        """Print rows under headings."""
        heads = [self.safe(column.title) for column in piece.columns]
        for bar, gap in ROOMS:
            shown = [j for j, c in enumerate(piece.columns) if bar is not None or c.kind != "bar"]
            cells = [[self.entry(entry, bar or 0) for entry in row] for row in piece.rows]
            widths = [
                max([cell_len(head), *(cell_len(row[j]) for row in cells)])
                for j, head in enumerate(heads)
            ]
            wraps = piece.columns[-1].kind == "text"
            least = [
                min(w, WRAPPED) if wraps and j == len(heads) - 1 else w
                for j, w in enumerate(widths)
            ]
            whole = sum(least[j] for j in shown) + gap * (len(shown) - 1)
            if INDENT + whole <= self.width:
                break
        else:
            others = shown[:-1] if wraps else shown
            if INDENT + sum(widths[j] for j in others) + gap * (len(others) - 1) > self.width:
                self.stacked(piece, heads, cells, shown)
                return
        for i, row in enumerate([heads, *cells]):
            total = i - 1 in piece.totals
            if total and i - 2 not in piece.totals:
                long = min(
                    sum(widths[j] for j in shown) + gap * (len(shown) - 1), self.width - INDENT
                )
                self.write((("-" if self.plain else "─") * long, "quiet"), indent=INDENT)
            style = "quiet" if i == 0 else "result" if total else ""
            columns = [
                (row[j], piece.columns[j].kind, widths[j], style or _tone(piece, i - 1, j))
                for j in shown
            ]
            self.listed(columns, gap)

    def stacked(
        self, piece: Listing, heads: list[str], cells: list[list[str]], shown: Sequence[int]
    ) -> None:
        """Print rows that are too long for a line: the first entry, the others with headings."""
        for i, row in enumerate(cells):
            total = "result" if i in piece.totals else ""
            first, *others = shown
            self.write((row[first], total or "name"), indent=INDENT)
            parts: list[Part] = []
            for j in others:
                if not row[j]:
                    continue
                numeric = piece.columns[j].kind == "number"
                parts += [", "] if parts else []
                parts += [(f"{heads[j]} ", "quiet")] if numeric else []
                parts.append((row[j], total or _tone(piece, i, j)))
            if parts:
                self.write(*parts, indent=INDENT + 2)

    def listed(self, columns: list[tuple[str, str, int, str]], gap: int) -> None:
        """Print one row; a text in the last cell wraps in its column, or below without room."""
        parts: list[Part] = []
        used = INDENT
        for j, (text, kind, width, style) in enumerate(columns):
            room, last = " " * (width - cell_len(text)), j == len(columns) - 1
            if last and kind == "text" and used + cell_len(text) > self.width:
                under = INDENT + columns[0][2] + gap
                self.wrapped(parts, text, used, under, style)
                return
            own = "name" if kind == "name" and not style else "quiet" if kind == "bar" else style
            if own in ("wrong", "right"):
                parts += [room, (text, own)] if kind == "number" else [(text, own), room]
            else:
                shown = room + text if kind == "number" else text if last else text + room
                parts.append((shown, own))
            parts.append("" if last else " " * gap)
            used += width + gap
        self.console.file.write((" " * INDENT + self.styled(parts)).rstrip() + "\n")

    def wrapped(self, parts: list[Part], text: str, used: int, under: int, style: str) -> None:
        """Print a row whose last cell is a text that needs several lines."""
        if self.width - used < WRAPPED:
            self.console.file.write((" " * INDENT + self.styled(parts)).rstrip() + "\n")
            indent = under if self.width - under >= WRAPPED else INDENT + 2
            self.write((text, style), indent=indent)
            return
        first, *others = self.lines((text, style), indent=used)
        before = " " * INDENT + self.styled(parts)
        for line in [
            before + self.styled(first).removeprefix(" " * used),
            *map(self.styled, others),
        ]:
            self.console.file.write(line.rstrip() + "\n")

    def entry(self, entry: Entry, length: int) -> str:
        """Write one entry of a list: a text, a formula, or a share with its bar."""
        if isinstance(entry, str):
            return self.safe(entry)
        if isinstance(entry, Bar):
            filled = round(entry.share * length)
            full, empty = ("#", ".") if self.plain else ("█", "░")
            return f"{100 * entry.share:5.1f} % {full * filled}{empty * (length - filled)}".rstrip()
        return self.safe(self.alphabet.render(entry))


def _tone(piece: Listing, row: int, column: int) -> str:
    """Give the style of an entry that is right or wrong."""
    entry = piece.rows[row][column] if row >= 0 else ""
    return "wrong" if isinstance(entry, Wrong) else "right" if isinstance(entry, Right) else ""
