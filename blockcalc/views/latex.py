"""A LaTeX document for pdflatex, or for xelatex if it contains Chinese or Japanese."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import singledispatchmethod

from rich.cells import cell_len

from blockcalc.explain.document import (
    Bar,
    Closing,
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
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.ops.expr import Expr
from blockcalc.views.latex_text import LONG_WORD, _east_asian, composed, escape, printed_width
from blockcalc.views.layout import column_blocks, gap_sentences, shape_text

PAGE = 76  # digits that fit on a line
LONG_FORMULA = 70  # characters that fit on a line
MOST_ROWS = 36  # rows of one array that fit on a page
TOKEN_AXES = ("token", "query", "key")

ROOM = r"""% start a new page where little room is left, so that no heading stands alone
\providecommand{\blockroom}[1]{\par\vskip 0pt plus #1\baselineskip\penalty-200
  \vskip 0pt plus -#1\baselineskip}
"""

PREAMBLE = r"""% !TEX program = {engine}
% set with: {engine} FILE{twice}
{document_class}
\usepackage{{amsmath}}
\usepackage{{textcomp}}
\usepackage[a4paper,margin=25mm]{{geometry}}
\setlength{{\parindent}}{{0pt}}
\relpenalty=0 \binoppenalty=0 % long sums may break at their signs
\raggedbottom
\sloppy
\allowdisplaybreaks
\begin{{document}}
"""
_PDFLATEX = r"""\documentclass[11pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{lmodern}"""
_LISTS = "\n" + r"\usepackage{longtable}"
_XELATEX = r"\documentclass[UTF8,fontset=fandol,zihao=-4]{ctexart}"


def latex(pieces: Iterable[Piece], fragment: bool = False) -> bytes:
    """Write pieces as LaTeX; with ``fragment`` only the body of the document."""
    body = "\n".join(_Writer().body(pieces))
    chinese = any(_east_asian(c) for c in body)
    lists = r"\begin{longtable}" in body
    if fragment:
        needs = "amsmath, textcomp" + (", longtable" if lists else "")
        needs += ", ctex (xelatex)" if chinese else ""
        return f"% needs the packages {needs}\n{ROOM}{body}\n".encode()
    head = PREAMBLE.format(
        engine="xelatex" if chinese else "pdflatex",
        twice=", twice: the first time measures the columns of lists" if lists else "",
        document_class=(_XELATEX if chinese else _PDFLATEX) + (_LISTS if lists else ""),
    )
    return f"{head}{ROOM}{body}\n\\end{{document}}\n".encode()


class _Writer:
    """Writes pieces as lines of LaTeX."""

    def __init__(self) -> None:
        self.alphabet = Latex()
        self.measure = Text()

    def body(self, pieces: Iterable[Piece]) -> Iterator[str]:
        """Write all pieces."""
        for piece in pieces:
            yield from self.write(piece)

    @singledispatchmethod
    def write(self, piece: Piece) -> Iterator[str]:
        """Write one piece."""
        raise TypeError(type(piece).__name__)

    @write.register
    def _(self, piece: Head) -> Iterator[str]:
        yield rf"\section*{{{escape(piece.title)}}}"
        for line in (piece.notes or "").splitlines():
            yield escape(line) + r"\par"
        yield r"\begin{description}\setlength{\itemsep}{0pt}"
        for name, lines in piece.facts:
            yield rf"\item[{escape(name)}] {escape('; '.join(lines))}"
        yield r"\end{description}"
        for hint in piece.hints:
            yield rf"\emph{{{escape(hint)}}}\par"

    @write.register
    def _(self, piece: Heading) -> Iterator[str]:
        name = rf"\quad{{\normalfont\small\texttt{{{escape(piece.name)}}}}}" if piece.name else ""
        size = r"\LARGE " if piece.level == 1 else ""
        yield rf"\blockroom{{14}}\section*{{{size}{escape(piece.title)}{name}}}"
        if piece.prose:
            yield escape(piece.prose) + r"\par\nopagebreak"

    @write.register
    def _(self, piece: Given) -> Iterator[str]:
        for operand, grids in piece.matrices:
            yield self.operand(operand) + r"\nopagebreak"
            yield from self.grids(grids)

    @write.register
    def _(self, piece: StepPiece) -> Iterator[str]:
        name = rf"\quad{{\normalfont\small\texttt{{{escape(piece.name)}}}}}"
        yield rf"\blockroom{{9}}\subsection*{{{piece.number}\quad {escape(piece.title)}{name}}}"
        if piece.operands:
            yield self.displayed(piece.left, piece.formula)
            if piece.definition:
                yield self.displayed(*piece.definition)
            takes = ", ".join(self.operand(o) for o in piece.operands)
            yield rf"{{\small\raggedright {escape(say('words.takes'))} {takes}\par}}"
        if piece.worked:
            yield rf"{{\small {escape(piece.worked)}:\par}}"
        yield from self.write(Worked(piece.lines))
        yield from self.grids(piece.grids)
        for note in piece.notes:
            yield rf"\emph{{{escape(note)}}}\par"

    @write.register
    def _(self, piece: Worked) -> Iterator[str]:
        if piece.lead:
            yield rf"{{\small {escape(piece.lead)}:\par}}"
        if piece.lines:
            yield r"\begingroup\raggedright\lineskiplimit=3pt \lineskip=4pt"
            for line in piece.lines:
                yield rf"\hangindent=3em {self.line(line)}\par"
            yield r"\endgroup"

    @write.register
    def _(self, piece: Closing) -> Iterator[str]:
        yield rf"\section*{{{escape(piece.title)}}}"
        render = self.alphabet.render
        yield r"\begin{align*}"
        rows = [f"{render(left)} &= {render(right)}" for left, right in piece.formulas]
        yield " \\\\\n".join(rows)
        yield r"\end{align*}"

    @write.register
    def _(self, piece: Result) -> Iterator[str]:
        yield rf"\textbf{{{escape(piece.title)}}}\nopagebreak"
        yield from self.grids(piece.grids)

    @write.register
    def _(self, piece: Remark) -> Iterator[str]:
        text = escape(piece.text)
        yield rf"\medskip{{\small {text}\par}}" if piece.quiet else rf"\emph{{{text}}}\par"

    @write.register
    def _(self, piece: Listing) -> Iterator[str]:
        letters = {"number": "r", "bar": "r@{\\;}l"}
        columns = "".join(letters.get(column.kind, "l") for column in piece.columns)
        heads = [
            rf"\multicolumn{{2}}{{l}}{{{escape(c.title)}}}" if c.kind == "bar" else escape(c.title)
            for c in piece.columns
        ]
        if piece.columns[-1].kind == "text":
            columns = columns[:-1] + r"p{\hsize}"
            columns = columns.replace(r"\hsize", f"{_rest(piece)}mm")
        yield r"\par{\small\setlength{\tabcolsep}{4pt}\setlength{\LTleft}{0pt}\setlength{\LTpre}{4pt}"
        yield rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}"
        yield " & ".join(heads) + r" \\[2pt] \hline \endhead"
        for i, row in enumerate(piece.rows):
            ruled = i in piece.totals and i - 1 not in piece.totals
            entries = zip(row, piece.columns, strict=True)
            cells = " & ".join(self.entry(entry, column.kind) for entry, column in entries)
            strut = r"\rule{0pt}{2.6ex}" if ruled or i == 0 else ""
            yield (r"\hline " if ruled else "") + strut + cells + r" \\"
        yield r"\end{longtable}}"

    def entry(self, entry: Entry, kind: str) -> str:
        """Write one entry of a list."""
        if isinstance(entry, Bar):
            return rf"{100 * entry.share:.1f}\,\% & \rule{{{entry.share * 15:.2f}mm}}{{1.2ex}}"
        if isinstance(entry, str):
            name = kind == "name" and " " not in entry
            text = rf"\texttt{{{escape(entry)}}}" if name else escape(entry)
            minus = kind == "number" and entry[:1] == "-"
            text = r"\textminus " + text.removeprefix("{-}") if minus else text
            text = rf"\textbf{{{text}}}" if isinstance(entry, Wrong) and entry else text
            return text + (" &" if kind == "bar" else "")
        return f"${self.alphabet.render(entry)}$"

    def displayed(self, left: Expr, right: Expr) -> str:
        """Write a displayed formula; a long one so that it can break."""
        text = f"{self.alphabet.render(left)} = {self.alphabet.render(right)}"
        if len(self.measure.render(right)) < LONG_FORMULA:
            return rf"\[ {text} \]"
        return rf"{{\raggedright\hangindent=3em ${text}$\par}}"

    def operand(self, operand: Operand) -> str:
        """Write an operand: symbol, name, axes and shape."""
        symbol = self.alphabet.symbol(operand.symbol)
        return (
            rf"${symbol}$ \texttt{{{escape(operand.name)}}} \mbox{{{escape(shape_text(operand))}}}"
        )

    def line(self, line: Line) -> str:
        """Write one line of arithmetic; it may break at its operators."""
        render = self.alphabet.render
        left, result = render(line.left), render(line.result)
        if line.middle is None:
            return f"${left} = {result}$ ({escape(line.words or '')})"
        signs = {"=": "=", "≈": r"\approx"}
        middle = render(line.middle).replace(", ", r", \allowbreak ").replace(r"\frac", r"\dfrac")
        text = f"${left} {signs[line.relation]} {middle} {signs[line.equals]} {result}$"
        return text + (f" ({escape(say('words.shortened'))})" if line.shortened else "")

    def grids(self, grids: Sequence[Grid]) -> Iterator[str]:
        """Write tables, each in blocks that fit the page."""
        for grid in grids:
            label = max(map(_label_width, grid.row_labels))
            room = PAGE - label - len(grid.symbol) - 4
            widths = [
                max(
                    _label_width(head),
                    max(len(self.measure.figure(row[j])) for row in grid.rows),
                )
                + 2
                for j, head in enumerate(grid.column_labels)
            ]
            for block in column_blocks(grid, widths, room):
                for part in _row_blocks(block):
                    yield from self.block(part)
            for sentence in gap_sentences(grid):
                yield rf"\par\emph{{{escape(sentence)}}}\par"

    def block(self, grid: Grid) -> Iterator[str]:
        """Write one block as an array."""
        if grid.caption:
            yield rf"\par{{\small {escape(grid.caption)}\par\nopagebreak}}"
        gap = grid.column_gap[0] if grid.column_gap else None
        columns = "r" * (len(grid.column_labels) + (gap is not None))
        labels = [_label(text) for text in grid.row_labels]
        rows = [
            " & ".join(_with_gap([self.alphabet.figure(f) for f in row], gap)) for row in grid.rows
        ]
        if grid.row_gap:
            labels.insert(grid.row_gap[0], r"\vdots")
            rows.insert(grid.row_gap[0], " & ".join([r"\vdots"] * len(columns)))
        yield rf"\[ {self.alphabet.symbol(grid.symbol)} ="
        if grid.column_axis in TOKEN_AXES:
            heads = [_label(text) for text in grid.column_labels]
            yield rf"\begin{{array}}{{r|{columns}}}"
            yield "& " + " & ".join(_with_gap(heads, gap)) + r" \\ \hline"
            yield from (f"{label} & {row} \\\\" for label, row in zip(labels, rows, strict=True))
            yield r"\end{array} \]"
            return
        if grid.row_axis in TOKEN_AXES:
            yield r"\begin{array}{r}"
            yield from (rf"{label} \\" for label in labels)
            yield r"\end{array}"
        yield rf"\left[\begin{{array}}{{{columns}}}"
        yield from (rf"{row} \\" for row in rows)
        yield r"\end{array}\right] \]"


def _rest(piece: Listing) -> int:
    """Give the width in millimetres left for the last column, which is a text that wraps."""
    widths = [
        max(cell_len(column.title), *(cell_len(str(row[j])) for row in piece.rows))
        for j, column in enumerate(piece.columns[:-1])
    ]
    return max(25, 155 - round(1.95 * sum(widths)) - 3 * len(widths))


def _label_width(text: str) -> int:
    """Estimate the width of a label in digits; a long one is wrapped."""
    return min(round(sum(map(printed_width, composed(text)))), LONG_WORD)


def _label(text: str) -> str:
    """Write a label; a long one is wrapped."""
    if _label_width(text) < LONG_WORD:
        return rf"\text{{{escape(text)}}}"
    return rf"\parbox{{42mm}}{{\raggedright\small {escape(text)}}}"


def _with_gap(cells: list[str], gap: int | None) -> list[str]:
    return cells if gap is None else [*cells[:gap], r"\cdots", *cells[gap:]]


def _row_blocks(grid: Grid) -> Iterator[Grid]:
    """Split a table that is taller than a page; each part names its rows."""
    total = len(grid.rows)
    if total <= MOST_ROWS:
        yield grid
        return
    for start in range(0, total, MOST_ROWS):
        end = min(start + MOST_ROWS, total)
        caption = say("grid.rows", first=start + 1, last=end, total=total)
        yield replace(
            grid,
            row_labels=grid.row_labels[start:end],
            rows=grid.rows[start:end],
            caption=f"{grid.caption}, {caption}" if grid.caption else caption,
        )
