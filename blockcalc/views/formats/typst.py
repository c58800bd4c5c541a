"""A Typst document, and the PDF that it makes: tagged, and the same bytes every time.

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
from blockcalc.messages import language, say
from blockcalc.messages.words import clauses
from blockcalc.notation.alphabets import Text, Typst
from blockcalc.ops.expr import Name
from blockcalc.views.layout import gap_sentences, shape_text
from blockcalc.views.panels import drawn_notes, drawn_parts, legend
from blockcalc.views.picture.panel import of_grid
from blockcalc.views.typst.definitions import DEFINITIONS, head
from blockcalc.views.typst.lists import listing
from blockcalc.views.typst.matrix import Matrices
from blockcalc.views.typst.text import (
    Written,
    array,
    breakable,
    code,
    formula,
    quoted,
    written,
)

SIGNS = {"*": "×", ".": "⊙", "/": r"\/"}  # others are shown as they are
ARROWS = {"sqrt": "√", "sum": "Σ"}


def typst(pieces: Iterable[Piece], fragment: bool = False) -> bytes:
    """Write pieces as the source of a page; with ``fragment`` without the settings of the page."""
    return _source(pieces, fragment).encode()


def pdf(pieces: Iterable[Piece], fragment: bool = False) -> bytes:
    """Write pieces as a tagged PDF.

    Raises
    ------
    UsageError
        Typst is not installed, or there is no font for Chinese text.
    """
    from blockcalc.views.typst.setting import set_pages

    every = list(pieces)
    return set_pages(lambda families: _source(every, False, families))


def _source(pieces: Iterable[Piece], fragment: bool, families: Sequence[str] = ()) -> str:
    every = list(pieces)
    titles = [
        p.title for p in every if isinstance(p, Head | Heading | Closing | Result) and p.title
    ]
    title = titles[0] if titles else say("typst.title")
    body = "\n".join(_Writer().body(every))
    if fragment:
        return f"// {say('typst.fragment')}\n{DEFINITIONS}\n{body}\n"
    return f"{head(title, language(), families, body)}{DEFINITIONS}\n{body}\n"


class _Writer:
    """Writes pieces as calls of the definitions; ``level`` is that of the last heading."""

    def __init__(self) -> None:
        self.alphabet, self.text = Typst(), Text()
        self.matrices = Matrices()
        self.level, self.inside, self.titled = 0, 0, False

    def body(self, pieces: Sequence[Piece]) -> Iterator[str]:
        """Write all pieces; steps that follow each other may share a line."""
        marked = legend(pieces, say("typst.legend"))
        for step, group in groupby(marked, key=lambda p: isinstance(p, StepPiece)):
            if step:
                yield "#block-steps("
                for piece in group:
                    yield from self.write(piece)
                yield ")"
            else:
                for piece in group:
                    yield from self.write(piece)

    def under(self, wanted: int) -> int:
        """Give the level of a heading; none is left out before it."""
        self.level = min(wanted, self.level + 1)
        return self.level

    @singledispatchmethod
    def write(self, piece: Piece) -> Iterator[str]:
        """Write one piece."""
        raise TypeError(type(piece).__name__)

    @write.register
    def _(self, piece: Head) -> Iterator[str]:
        if piece.title and not self.titled:
            yield f"#title({written(piece.title)})"
            self.titled = True
        elif piece.title:
            yield self.section(Heading(piece.title), 1)
        for line in (piece.notes or "").splitlines():
            yield f"#par({written(line)})"
        if piece.headline:
            yield f"#par(strong({written(piece.headline)}))"
        if piece.facts:
            pairs = (f"({written(name)}, {written(clauses(own))})" for name, own in piece.facts)
            yield "#block-facts(\n" + ",\n".join(pairs) + ")"
        for hint in piece.hints:
            yield f"#block-note({written(hint)})"

    @write.register
    def _(self, piece: Heading) -> Iterator[str]:
        if piece.level == 1:
            self.inside = 1
            yield self.section(piece, 1, large=True)
        else:
            yield self.section(piece, 1 + self.inside)

    def section(self, piece: Heading, level: int, large: bool = False) -> str:
        """Write the heading of a part, its name, and what it is about."""
        args = [str(self.under(level)), written(piece.title)]
        args += [f"name: {code(piece.name)}"] if piece.name else []
        args += [f"prose: {written(piece.prose)}"] if piece.prose else []
        args += ["size: 16pt"] if large else []
        return f"#block-section({', '.join(args)})"

    @write.register
    def _(self, piece: Given) -> Iterator[str]:
        yield "#block-flow("
        for operand, grids in piece.matrices:
            title = f"{formula(Name(operand.symbol))} + h(0.4em) + {code(operand.name)}"
            shape = f"text(size: 8pt, {quoted(shape_text(operand))})"
            yield f"{self.given(f'{title} + linebreak() + {shape}', grids)},"
        yield ")"

    def given(self, title: str, grids: Sequence[Grid]) -> str:
        """Write the tables of a matrix under its title."""
        parts, notes = list[str](), list[str]()
        for grid in grids:
            parts += self.matrices.write(of_grid(grid), named=bool(grid.caption))
            notes += [f"block-note({written(text)})" for text in gap_sentences(grid)]
        return f"block-given({title}, {array(parts)}, {array(notes)})"

    # steps --------------------------------------------------------------------------------

    @write.register
    def _(self, piece: StepPiece) -> Iterator[str]:
        title = f"{quoted(str(piece.number))} + h(0.5em) + {written(piece.title)}"
        level = min(2 + self.inside, self.level + 1)
        yield f"block-step({level}, {title}, {code(piece.name)},"
        yield f"  {self.formula(piece)}, {quoted(shape_text(piece.result))},"
        new = piece.operands if piece.picture is None else piece.picture.new
        if piece.operands and new:
            takes = ' + ", " + '.join(map(self.operand, new))
            yield f"  takes: {quoted(say('words.takes') + ' ')} + {takes},"
        yield f"  picture: {array(self.picture(piece))},"
        if piece.worked and len(piece.lines) > 1:
            yield f"  lead: {written(piece.worked + ':')},"
        yield f"  lines: {array(map(self.line, piece.lines))},"
        yield f"  notes: {array(map(written, drawn_notes(piece)))}),"

    def formula(self, piece: StepPiece) -> str:
        """Write the formula of a step, and what its parts are."""
        if not piece.operands:
            return formula(piece.left)
        formulas = [(piece.left, piece.formula), *filter(None, [piece.definition])]
        texts = (formula(left, "=", right) for left, right in formulas)
        return ' + "," + h(0.6em) + '.join(texts)

    def picture(self, piece: StepPiece) -> Iterator[str]:
        """Write operands, signs and result from left to right."""
        for part in drawn_parts(piece):
            if isinstance(part, Panel):
                yield from self.matrices.write(part)
            else:
                yield self.sign(part)

    def sign(self, sign: Sign) -> str:
        """Write what stands between two matrices."""
        body = sign.body
        if sign.op != "->":
            if sign.op == "@":
                return "[]"
            shown = SIGNS.get(sign.op, sign.op)
            more = [] if body is None else [body]
            more = [] if body is None else [body]
            return formula(Written(shown.strip("\\"), shown), *more)
        if body is None:
            return formula(Written("→", "⟶"))
        if isinstance(body, str):
            return formula(Written(f"→ {body}", f"stretch(→)^{quoted(ARROWS.get(body, body))}"))
        said, own = self.text.render(body), self.alphabet.render(body)
        return formula(Written(f"→ {said}", f"stretch(→)^({own})"))

    @write.register
    def _(self, piece: Worked) -> Iterator[str]:
        if piece.lead:
            yield f"#block-small({written(piece.lead + ':')})"
        if piece.lines:
            yield f"#block-lines({', '.join(map(self.line, piece.lines))})"

    def line(self, line: Line) -> str:
        """Write one line of arithmetic, its left side apart; it may break at its operators."""
        left = formula(line.left)
        if line.middle is None:
            right = formula("=", line.result) + f" + {written(f' ({line.words})')}" * bool(
                line.words
            )
        else:
            right = " + ".join(breakable(line.relation, line.middle, line.equals, line.result))
            right += f" + {quoted(' (' + say('words.shortened') + ')')}" * line.shortened
        return f"({left}, {right})"

    def operand(self, operand: Operand) -> str:
        """Write an operand: symbol, name, axes and shape."""
        symbol = formula(Name(operand.symbol))
        return f'{symbol} + " " + {code(operand.name)} + " " + box({quoted(shape_text(operand))})'

    # other parts --------------------------------------------------------------------------

    @write.register
    def _(self, piece: Closing) -> Iterator[str]:
        yield self.section(Heading(piece.title), 1 + self.inside)
        texts = (formula(left, "=", right) for left, right in piece.formulas)
        yield "#block-flow(\n" + ",\n".join(texts) + ")"

    @write.register
    def _(self, piece: Result) -> Iterator[str]:
        yield self.section(Heading(piece.title), 1 + self.inside)
        shape = f"text(size: 8pt, {quoted(shape_text(piece.operand))})"
        yield f"#{self.given(shape, piece.grids)}"

    @write.register
    def _(self, piece: Remark) -> Iterator[str]:
        yield f"#block-{'small' if piece.quiet else 'note'}({written(piece.text)})"

    @write.register
    def _(self, piece: Listing) -> Iterator[str]:
        yield from listing(piece)
