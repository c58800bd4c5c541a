"""A page without a script, to read and to print: pieces one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blockcalc.explain.document import (
    Given,
    Head,
    Heading,
    Line,
    Listing,
    Piece,
    Remark,
    StepPiece,
    Worked,
)
from blockcalc.messages import say
from blockcalc.ops.expr import Name
from blockcalc.views.html.mathml import MathMl
from blockcalc.views.html.page import line_text
from blockcalc.views.html.tables import grid_table, listing_table
from blockcalc.views.html.text import safe
from blockcalc.views.layout import shape_text
from blockcalc.views.page.frames import ROOM, frame_html, heading_html

_MATH = MathMl()


def plain_html(pieces: Iterable[Piece]) -> Iterator[str]:
    """Write pieces; the title of a head stands above them."""
    for piece in pieces:
        match piece:
            case Head():
                yield _head(piece)
            case Heading():
                yield f'<div class="heading">{heading_html(piece, most=2)}</div>\n'
            case Given(matrices=matrices):
                yield '<section class="given">'
                for operand, grids in matrices:
                    math = _MATH.alone(Name(operand.symbol))
                    name = f"{math} <code>{safe(operand.name)}</code>"
                    shape = f'<span class="shape">{safe(shape_text(operand))}</span>'
                    tables = "".join(map(grid_table, grids))
                    yield f'<div class="named">{name} {shape}{tables}</div>'
                yield "</section>\n"
            case StepPiece():
                yield _step(piece)
            case Worked(lines=lines, lead=lead):
                yield "".join(_lines(lines, lead))
            case Remark(text=text):
                yield f'<p class="note">{safe(text)}</p>\n'
            case Listing():
                yield f'<div class="matrix list">{listing_table(piece)}</div>\n'


def _head(piece: Head) -> str:
    """Write a head: a line for a name, what is asked, and the conventions."""
    headline = f'<p class="headline">{safe(piece.headline)}</p>' if piece.headline else ""
    notes = "".join(f"<p>{safe(line)}</p>" for line in (piece.notes or "").splitlines())
    facts = "".join(
        f"<dt>{safe(name)}</dt><dd>{'<br>'.join(map(safe, lines))}</dd>"
        for name, lines in piece.facts
    )
    return f'{headline}{notes}<dl class="facts">{facts}</dl>\n'


def _step(piece: StepPiece) -> str:
    tables = "".join(map(grid_table, piece.grids))
    frame = frame_html(piece).replace(ROOM, f'<div class="row">{tables}</div>', 1)
    frame = frame.replace("></span>", f">{piece.number}</span>", 1).replace(" of-file", "")
    frame = frame.replace("<h4>", '<h3 class="small">', 1).replace("</h4>", "</h3>", 1)
    lines = "".join(_lines(piece.lines, piece.worked))
    return f'<section class="step whole">{frame}{lines}</section>\n'


def _lines(lines: Iterable[Line], lead: str | None) -> Iterator[str]:
    if lead:
        yield f'<p class="note">{safe(say("words.lead", text=lead))}</p>'
    yield from (f'<p class="line">{line_text(line)}</p>' for line in lines)
