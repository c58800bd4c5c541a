"""The live page as one file: readable as it is, computed again by its own script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from blockcalc.explain.data import Rerun
from blockcalc.explain.document import Given, Head, Heading, Overview, PairPiece, Piece, StepPiece
from blockcalc.messages import language, say
from blockcalc.views.html.tables import grid_table
from blockcalc.views.html.text import safe
from blockcalc.views.page.controls import settings_html, strip_html
from blockcalc.views.page.data import after, page_data
from blockcalc.views.page.forms import Live, live
from blockcalc.views.page.frames import (
    ROOM,
    closing_html,
    frame_html,
    given_html,
    head_html,
    heading_html,
    line_html,
)
from blockcalc.views.page.pair import pair_html
from blockcalc.views.page.plain import plain_html
from blockcalc.views.page.script import policy, script, style


def html_bytes(content: Rerun | Iterable[Piece], fragment: bool = False) -> bytes:
    """Write the page of a block, of a comparison, or of a worksheet.

    Parameters
    ----------
    content : Rerun or iterable of Piece
        A run, which the page computes again; or pieces that it only shows: of two runs, or others.
    fragment : bool
        Has no effect: a page is always whole.
    """
    parts = _page(live(content)) if isinstance(content, Rerun) else _still_page(list(content))
    return "".join(parts).encode()


def _begin(title: str, scripted: bool) -> str:
    lang = {"zh": "zh-CN"}.get(language(), language())
    return (
        f'<!doctype html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripted)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style()}</style>\n</head>\n<body>\n"
    )


def _still_page(pieces: Sequence[Piece]) -> Iterator[str]:
    head = next((piece for piece in pieces if isinstance(piece, Head)), None)
    title = safe(head.title) if head else "blockcalc"
    yield _begin(title, scripted=False)
    yield f'<header>\n<h1>{title}</h1>\n</header>\n<main id="steps">\n'
    paired = any(isinstance(piece, Overview | PairPiece) for piece in pieces)
    yield from pair_html(pieces) if paired else plain_html(pieces)
    yield "</main>\n</body>\n</html>\n"


def _page(own: Live) -> Iterator[str]:
    pieces = own.variants[0].pieces
    head = next((piece for piece in pieces if isinstance(piece, Head)), None)
    title = safe(head.title) if head else "blockcalc"
    yield _begin(title, scripted=True)
    yield f'<header>\n<h1>{title}</h1>\n<div id="head">{head_html(head) if head else ""}</div>\n'
    yield f"<noscript><p>{safe(say('page.no_script'))}</p></noscript>\n"
    yield f"{settings_html(own)}</header>\n{strip_html()}"
    yield '<main id="steps">\n'
    yield from _steps(own)
    yield "</main>\n"
    yield f'<aside id="cell" aria-label="{safe(say("page.cell"))}" hidden></aside>\n'
    data = json.dumps(page_data(own), ensure_ascii=False, separators=(",", ":"))
    escaped = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    yield f'<script type="application/json" id="data">{escaped}</script>\n'
    yield f"<script>{script()}</script>\n</body>\n</html>\n"


def _steps(own: Live) -> Iterator[str]:
    """Write every step of the first form, for readers without a script and for print."""
    pieces = own.variants[0].pieces
    for piece in pieces[: len(pieces) - len(after(pieces))]:
        if isinstance(piece, Heading):
            yield f'<div class="heading">{heading_html(piece)}</div>\n'
        elif isinstance(piece, Given):
            matrices = (
                given_html(operand, map(grid_table, own)) for operand, own in piece.matrices
            )
            yield f'<section class="given">{"".join(matrices)}</section>\n'
        elif isinstance(piece, StepPiece):
            tables = "".join(map(grid_table, piece.grids))
            frame = frame_html(piece).replace(ROOM, f'<div class="row">{tables}</div>', 1)
            frame = frame.replace("></span>", f">{piece.number}</span>", 1)
            lines = "".join(map(line_html, piece.lines))
            yield f'<section class="step">{frame}{lines}</section>\n'
    yield f'<div id="closing">{closing_html(after(pieces))}</div>\n'
