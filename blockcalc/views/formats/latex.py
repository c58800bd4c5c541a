"""A LaTeX document for pdflatex, or for xelatex if it contains Chinese or Japanese.

Each step is a picture of its equation, with the worked cell marked, and its arithmetic below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatchmethod
from itertools import groupby

from blockcalc.explain.document import (
    Closing,
    Given,
    Grid,
    Head,
    Heading,
    Line,
    Listing,
    Operand,
    Panel,
    Piece,
    Remark,
    Result,
    Sign,
    StepPiece,
    Worked,
)
from blockcalc.messages import say
from blockcalc.messages.words import clauses
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.ops.expr import Expr
from blockcalc.views.layout import gap_sentences, shape_text
from blockcalc.views.panels import MOST_ROWS, drawn_notes, drawn_parts, legend
from blockcalc.views.picture.panel import of_grid
from blockcalc.views.tex.legends import noted
from blockcalc.views.tex.lists import long_list, short_lists
from blockcalc.views.tex.macros import Kind, macros, preamble
from blockcalc.views.tex.matrix import Matrices
from blockcalc.views.tex.text import east_asian, escape

SLIDE_ROWS = 12  # rows of one matrix that fit on a slide
MOST_PARTS = 32  # matrices and signs on the slides of one frame: a higher box TeX cannot measure
TITLED = 1  # high matrices with names on a frame, which does not break between them
SHORT_FACT = 60  # characters of a fact that shares a line with others
PARTS = {Head: "head", Given: "given", Listing: "table", Closing: "short", Result: "result"}
SIGNS = {"@": "", "*": r"\times", ".": r"\odot", "=": "=", "/": "/", "+": "+", "-": "-"}
UPRIGHT = r"\mathrm"
ARROWS = {"sqrt": r"\sqrt{\phantom{x}}", "sum": r"\Sigma"}


def latex(pieces: Iterable[Piece], fragment: bool = False) -> bytes:
    """Write pieces as a page of LaTeX; with ``fragment`` only the body of the document."""
    return _document(pieces, fragment, slides=False)


def beamer(pieces: Iterable[Piece], fragment: bool = False) -> bytes:
    """Write pieces as slides, one a step; with ``fragment`` only the frames."""
    return _document(pieces, fragment, slides=True)


def _document(pieces: Iterable[Piece], fragment: bool, slides: bool) -> bytes:
    body = "\n".join(_Writer(slides).body(pieces))
    chinese = any(map(east_asian, set(body)))
    lists, heat = r"\begin{longtable}" in body, r"\blockheat{" in body
    kind = Kind(slides, chinese, lists, heat, r"\blockblank{" in body)
    if fragment:
        packages = say("latex.needs", packages=kind.packages)
        return f"% {packages}\n{macros(kind)}{body}\n".encode()
    return f"{preamble(kind)}{body}\n\\end{{document}}\n".encode()


class _Writer:
    """Writes pieces as calls of the macros.

    Parameters
    ----------
    slides : bool
        Whether they are for slides, on which no table breaks.
    """

    def __init__(self, slides: bool) -> None:
        self.slides = slides
        self.alphabet, self.measure = Latex(), Text()
        self.matrices = Matrices(SLIDE_ROWS if slides else MOST_ROWS)
        self.title = ""

    def body(self, pieces: Iterable[Piece]) -> Iterator[str]:
        """Write all pieces; steps that follow each other may share a line."""
        own = legend(noted(pieces) if self.slides else pieces, say("latex.legend"))
        for step, group in groupby(own, key=lambda p: isinstance(p, StepPiece)):
            if step:
                yield r"\begin{blocksteps}"
                for piece in group:
                    yield from self.write(piece)
                yield r"\end{blocksteps}"
            else:
                yield from self.parts(group)
        yield r"\blockend"

    def parts(self, pieces: Iterable[Piece]) -> Iterator[str]:
        """Write headings, and parts between them; remarks belong to the part before."""
        name, content = "", list[str]()
        for piece in pieces:
            if content and not isinstance(piece, Remark | Worked):
                yield self.part(name, content)
                content = []
            if isinstance(piece, Heading):
                yield from self.write(piece)
                continue
            if isinstance(piece, Head | Result | Closing):
                self.title = escape(piece.title) or self.title
            if isinstance(piece, Head | Closing):
                yield rf"\blocksection{{{self.title}}}{{}}{{}}"
            name = name if content else PARTS.get(type(piece), "text")
            *whole, last = self.contents(piece)
            yield from (self.part(name, [one]) for one in whole)
            content.append(last)
        if content:
            yield self.part(name, content)

    def part(self, name: str, contents: Sequence[str]) -> str:
        """Write what stands between headings and steps."""
        text = "\n".join(contents)
        return rf"\blockpart{{{name}}}{{{self.title}}}{{%{chr(10)}{text}}}"

    def contents(self, piece: Piece) -> list[str]:
        """Write what stands in a part; on slides a list or many matrices take several."""
        if self.slides and isinstance(piece, Listing):
            return ["\n".join(lines) for lines in short_lists(piece)] or [""]
        if self.slides and isinstance(piece, Given | Result):
            first, *matrices, last = self.write(piece)
            split = isinstance(piece, Given) and len(matrices) > sum(
                len(grids) for _, grids in piece.matrices
            )
            groups = _groups(matrices, TITLED if split else MOST_PARTS) or [[]]
            return ["\n".join([first, *group, last]) for group in groups]
        return ["\n".join(self.write(piece))]

    @singledispatchmethod
    def write(self, piece: Piece) -> Iterator[str]:
        """Write one piece."""
        raise TypeError(type(piece).__name__)

    @write.register
    def _(self, piece: Head) -> Iterator[str]:
        for line in (piece.notes or "").splitlines():
            yield escape(line) + r"\par"
        if piece.headline:
            yield rf"\textbf{{{escape(piece.headline)}}}\par"
        if piece.facts:
            yield r"{\small\raggedright"
            for name, lines in piece.facts:
                text = clauses(lines)
                macro = "blockfact" if len(text) < SHORT_FACT else "blocklongfact"
                yield rf"\{macro}{{{escape(name)}}}{{{escape(text)}}}"
            yield r"\par}"
        for hint in piece.hints:
            yield rf"\blocknote{{{escape(hint)}}}"

    @write.register
    def _(self, piece: Heading) -> Iterator[str]:
        self.title = escape(piece.title)
        name = rf"\blockname{{{escape(piece.name)}}}" if piece.name else ""
        size = r"\LARGE " if piece.level == 1 else ""
        large = self.slides and piece.level == 1  # a slide of its own, even with its title alone
        prose = escape(piece.prose or "") or (self.title if large else "")
        yield rf"\blocksection{{{size}{self.title}}}{{{name}}}{{{prose}}}"

    @write.register
    def _(self, piece: Given) -> Iterator[str]:
        yield r"\blockflow{%"
        for operand, grids in piece.matrices:
            symbol = self.alphabet.symbol(operand.symbol)
            title = rf"${symbol}$ \texttt{{{escape(operand.name)}}}"
            shape = rf"{{\footnotesize {escape(shape_text(operand))}}}"
            yield from self.given(rf"{title}\\{shape}", grids)
        yield "}"

    def given(self, title: str, grids: Sequence[Grid]) -> Iterator[str]:
        """Write the tables of a matrix; its title stands over the first."""
        for grid in grids:
            for matrix in self.matrices.write(of_grid(grid), named=bool(grid.caption)):
                yield rf"\blockgiven{{{title}}}{{{matrix}}}"
                title = ""
            for sentence in gap_sentences(grid):
                yield rf"\blocknote{{{escape(sentence)}}}"

    # steps --------------------------------------------------------------------------------

    @write.register
    def _(self, piece: StepPiece) -> Iterator[str]:
        name = "".join(c for c in piece.name if c.isascii() and (c.isalnum() or c in "._-"))
        title = rf"{piece.number}\enspace {escape(piece.title)}\blockname{{{escape(piece.name)}}}"
        every = list(self.picture(piece))
        parts, *rest = (_groups(every) if self.slides else []) or [every]
        yield rf"\blockstep{{{name}}}{{{title}}}{{%"
        yield "\n".join(self.formula(piece)) + "}{%"
        yield "%\n".join(parts) + "}{%"
        yield "\n".join(self.arithmetic(piece)) + "}"
        for more in map("%\n".join, rest):
            yield rf"\blockpart{{{name}}}{{{title}}}{{%{chr(10)}{more}}}"

    def formula(self, piece: StepPiece) -> Iterator[str]:
        """Write the formula of a step, the shape of its result, and what it takes."""
        shape = rf"{{\footnotesize {escape(shape_text(piece.result))}}}"
        if piece.operands:
            formulas = [(piece.left, piece.formula), *filter(None, [piece.definition])]
            render = self.alphabet.render
            texts = (f"${render(left)} = {render(right)}$" for left, right in formulas)
            yield r",\enspace ".join(texts) + r"\hfill "
        yield shape
        new = piece.operands if piece.picture is None else piece.picture.new
        if piece.operands and new:
            takes = ", ".join(self.operand(o) for o in new)
            yield rf"\blocksaid{{{escape(say('words.takes'))} {takes}}}"

    def picture(self, piece: StepPiece) -> Iterator[str]:
        """Write operands, signs and result from left to right."""
        before: Panel | Sign | None = None
        for part in drawn_parts(piece):
            if isinstance(part, Sign):
                yield rf"\blocksign{{{self.sign(part)}}}"
            else:
                for matrix in self.matrices.write(part):
                    if isinstance(before, Panel):
                        yield r"\blockapart"
                    yield matrix
                    before = part
            before = part

    def sign(self, sign: Sign) -> str:
        """Write what stands between two matrices."""
        body = sign.body
        if sign.op == "->":
            if body is None:
                return r"\longrightarrow"
            if isinstance(body, str):
                name = body.replace("_", r"\_")
                return rf"\xrightarrow{{{ARROWS.get(body, rf'{UPRIGHT}{{{name}}}')}}}"
            return rf"\xrightarrow{{{self.alphabet.render(body)}}}"
        text = SIGNS.get(sign.op, sign.op)
        if body is not None and not isinstance(body, str):
            text += rf"\;{self.alphabet.render(body)}"
        return text

    def arithmetic(self, piece: StepPiece) -> Iterator[str]:
        """Write the worked cells of a step, and its notes."""
        if piece.worked and len(piece.lines) > 1:
            yield rf"\blocksaid{{{escape(piece.worked)}:}}"
        yield from self.write(Worked(piece.lines))
        for note in drawn_notes(piece):
            yield rf"\blocknote{{{escape(note)}}}"

    @write.register
    def _(self, piece: Worked) -> Iterator[str]:
        if piece.lead:
            yield rf"\blocksaid{{{escape(piece.lead)}:}}"
        if piece.lines:
            widest = max((line.left for line in piece.lines), key=self.width)
            yield rf"\blocklines{{{self.alphabet.render(widest)}}}{{%"
            yield from map(self.line, piece.lines)
            yield "}"

    def width(self, left: Expr) -> int:
        """Measure a left side in characters."""
        return len(self.measure.render(left))

    def line(self, line: Line) -> str:
        """Write one line of arithmetic; it may break at its operators."""
        render = self.alphabet.render
        left, result = render(line.left), render(line.result)
        if line.middle is None:
            return rf"\blockline{{{left}}}{{= {result}}}{{ ({escape(line.words or '')})}}"
        signs = {"=": "=", "≈": r"\approx"}
        middle = render(line.middle).replace(", ", r", \allowbreak ")
        middle = middle.replace(r"\frac", r"\blockfrac").replace("e^{", r"\blockexp{")
        text = f"{signs[line.relation]} {middle} {signs[line.equals]} {result}"
        words = f" ({escape(say('words.shortened'))})" if line.shortened else ""
        return rf"\blockline{{{left}}}{{{text}}}{{{words}}}"

    def operand(self, operand: Operand) -> str:
        """Write an operand: symbol, name, axes and shape."""
        symbol = self.alphabet.symbol(operand.symbol)
        return (
            rf"${symbol}$ \texttt{{{escape(operand.name)}}} \mbox{{{escape(shape_text(operand))}}}"
        )

    # other parts --------------------------------------------------------------------------

    @write.register
    def _(self, piece: Closing) -> Iterator[str]:
        render = self.alphabet.render
        texts = [
            rf"\blockfit{{${render(left)} = {render(right)}$}}" for left, right in piece.formulas
        ]
        yield r"\blockflow{" + "\\blockapart\n".join(texts) + "}"

    @write.register
    def _(self, piece: Result) -> Iterator[str]:
        shape = rf"{{\footnotesize {escape(shape_text(piece.operand))}}}"
        title = "" if self.slides else rf"\textbf{{{escape(piece.title)}}} "  # a frame has its own
        yield rf"\blockflow{{{title}{shape}\par\noindent"
        for grid in piece.grids:
            yield from self.matrices.write(of_grid(grid), named=bool(grid.caption))
            yield from (rf"\blocknote{{{escape(text)}}}" for text in gap_sentences(grid))
            yield r"\blockapart"
        yield "}"

    @write.register
    def _(self, piece: Remark) -> Iterator[str]:
        text = escape(piece.text)
        yield rf"\blocksaid{{{text}}}" if piece.quiet else rf"\blocknote{{{text}}}"

    @write.register
    def _(self, piece: Listing) -> Iterator[str]:
        yield from long_list(piece)


def _groups(parts: Sequence[str], most: int = MOST_PARTS) -> list[Sequence[str]]:
    """Divide matrices and signs among frames."""
    return [parts[start : start + most] for start in range(0, len(parts), most)]
