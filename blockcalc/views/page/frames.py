"""The words and formulas of the live page as HTML, with room for the tables of each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blockcalc.explain.document import (
    Closing,
    Head,
    Heading,
    Line,
    Listing,
    Operand,
    Piece,
    Remark,
    StepPiece,
)
from blockcalc.messages import say
from blockcalc.notation.alphabets import Text
from blockcalc.ops.expr import Expr
from blockcalc.views.html.mathml import MathMl
from blockcalc.views.html.tables import listing_table
from blockcalc.views.html.text import safe
from blockcalc.views.layout import shape_text

ROOM = '<div class="row"></div>'  # where the tables of a step stand
_TEXT, _MATH = Text(), MathMl()


def head_html(head: Head) -> str:
    """Write what is said of the block as a whole."""
    notes = "".join(f"<p>{safe(line)}</p>" for line in (head.notes or "").splitlines())
    facts = "".join(
        f"<dt>{safe(name)}</dt><dd>{'<br>'.join(map(safe, lines))}</dd>"
        for name, lines in head.facts
    )
    hints = "".join(f'<p class="note">{safe(hint)}</p>' for hint in head.hints)
    edited = f'<p class="note when-edited">{safe(say("page.of_file"))}</p>'
    return f'{notes}{edited}<dl class="facts">{facts}</dl>{hints}'


def heading_html(piece: Heading, most: int = 3) -> str:
    """Write the heading of a section; ``most`` is the lowest level of headings."""
    level = min(piece.level + 1, most)
    prose = f"<p>{safe(piece.prose)}</p>" if piece.prose else ""
    return f"<h{level}>{safe(piece.title)}</h{level}>{prose}"


def frame_html(piece: StepPiece) -> str:
    """Write a step without its numbers; where ``ROOM`` is, its tables belong."""
    head = (
        f'<span class="number"></span> {safe(piece.title)} <code>{safe(piece.name)}</code> '
        f'<span class="shape">{safe(shape_text(piece.result))}</span>'
    )
    return f"<h4>{head}</h4>{formula_html(piece)}{ROOM}{''.join(map(_note, piece.notes))}"


def formula_html(piece: StepPiece) -> str:
    """Write the formula of a step, with the definition of a function in it."""
    own = _MATH.equation(piece.left, piece.formula) if piece.operands else _MATH.alone(piece.left)
    if piece.definition:
        own += f'<span class="definition">{_MATH.equation(*piece.definition)}</span>'
    return f'<div class="formula">{own}</div>'


def formula_of(left: Expr, right: Expr, definition: tuple[Expr, Expr] | None) -> str:
    """Write another formula of a step, as ``formula_html`` does."""
    own = _MATH.equation(left, right)
    if definition:
        own += f'<span class="definition">{_MATH.equation(*definition)}</span>'
    return own


def _note(note: str) -> str:
    return f'<p class="note of-file">{safe(note)}</p>'


def line_html(line: Line) -> str:
    """Write a worked cell, for readers without a script."""
    if line.middle is None:
        return ""
    left, middle, result = (_TEXT.render(e) for e in (line.left, line.middle, line.result))
    return f'<p class="line">{safe(f"{left} {line.relation} {middle} {line.equals} {result}")}</p>'


def given_html(operand: Operand, tables: Iterable[str]) -> str:
    """Write a given matrix."""
    return f'<div class="named"><code>{safe(operand.name)}</code>{"".join(tables)}</div>'


def closing_html(pieces: Iterable[Piece]) -> str:
    """Write what stands after the last step: composed formulas, remarks and lists."""
    parts: list[str] = []
    title = ""
    for piece in pieces:
        if isinstance(piece, Heading):
            title = piece.title
        parts += _closing(piece, title)
    return "".join(parts)


def _closing(piece: Piece, title: str) -> Iterator[str]:
    """Write a piece under the heading ``title``."""
    match piece:
        case Closing(formulas=formulas):
            yield f"<h2>{safe(piece.title)}</h2>"
            for left, right in formulas:
                yield f'<div class="formula">{_MATH.equation(left, right)}</div>'
        case Heading():
            yield heading_html(piece)
        case Remark(text=text):
            yield f'<p class="note">{safe(text)}</p>'
        case Listing():
            yield f'<p class="note">{safe(say("page.of_file"))}</p>'
            # a list may be wider than the window, and what scrolls must be reached by keys
            own = f'class="matrix list" tabindex="0" role="group" aria-label="{safe(title)}"'
            yield f"<div {own}>{listing_table(piece)}</div>"
