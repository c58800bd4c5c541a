"""The page of two runs: every step of A beside that of B, and the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blockcalc.explain.document import Head, Heading, Match, Overview, PairPiece, Piece, Remark
from blockcalc.messages import say
from blockcalc.notation.alphabets import Text
from blockcalc.views.html.mathml import MathMl
from blockcalc.views.html.tables import grid_table
from blockcalc.views.html.text import safe
from blockcalc.views.page.frames import head_html, heading_html

_TEXT, _MATH = Text(), MathMl()


def pair_html(pieces: Iterable[Piece]) -> Iterator[str]:
    """Write the pieces of a comparison."""
    for piece in pieces:
        match piece:
            case Head(headline=headline):
                yield f"<p><strong>{safe(headline)}</strong></p>\n" if headline else ""
                yield head_html(piece) + "\n" if piece.facts else ""
            case Heading():
                yield f'<div class="heading">{heading_html(piece, most=2)}</div>\n'
            case Remark(text=text):
                yield f'<p class="note">{safe(text)}</p>\n'
            case Overview(matches=matches):
                yield from _overview(matches)
            case PairPiece():
                yield from _pair(piece)


def _said(match: Match) -> str:
    """Say how two steps differ."""
    if match.largest is None:
        return safe(match.words)
    return safe(_TEXT.figure(match.largest))


def _place(match: Match) -> str:
    """Name the place of a pair: one step may stand at two places."""
    return f"pair-{match.first or 0}-{match.second or 0}"


def _overview(matches: Iterable[Match]) -> Iterator[str]:
    titles = ("A", "B", say("compare.step"), say("compare.largest"))
    heads = "".join(f'<th scope="col">{safe(title)}</th>' for title in titles)
    yield '<div class="matrix" tabindex="0" role="group" '
    yield f'aria-label="{safe(say("compare.overview"))}"><table class="overview"><thead><tr>{heads}</tr></thead><tbody>\n'
    for match in matches:
        numbers = "".join(f"<td>{n or ''}</td>" for n in (match.first, match.second))
        own = ' class="changed"' if match.largest and not match.same else ""
        name = f'<a href="#{_place(match)}">{safe(match.name)}</a>'
        yield f'<tr>{numbers}<th scope="row">{name}</th><td{own}>{_said(match)}</td></tr>\n'
    yield "</tbody></table></div>\n"


def _pair(piece: PairPiece) -> Iterator[str]:
    match = piece.match
    sides = (("A", match.first), ("B", match.second))
    numbers = ", ".join(f"{side} {n}" for side, n in sides if n is not None)
    label = f"{safe(say('compare.largest'))} " if match.largest else ""
    own = "" if match.same else " changed"
    # the outputs come once more as the last steps, which their names lead to
    name = f' id="{_place(match)}"' if piece.formulas else ""
    yield f'<section class="step"{name}><h3 class="small">{numbers} <code>{safe(match.name)}</code> '
    yield f'<span class="shape{own}">{label}{_said(match)}</span></h3>\n'
    for side, left, right in piece.formulas:
        before = f'<span class="word">{safe(side)}</span> ' if side else ""
        yield f'<div class="formula">{before}{_MATH.equation(left, right)}</div>\n'
    for row in piece.rows:
        tables = "".join(grid_table(grid, safe(side)) for side, grid in row)
        # without a script nothing tells which rows scroll, and these must be reached by keys
        yield f'<div class="row wide" tabindex="0" role="group" aria-label="{safe(match.name)}">'
        yield f"{tables}</div>\n"
    yield "</section>\n"
