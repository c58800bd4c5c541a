"""What shades mean: said once in a document, or on each slide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from blockcalc.explain.document import Panel, Piece, Remark, StepPiece
from blockcalc.messages import say


def noted(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Say what shades mean on the slide of each heat map, and not on one of its own."""
    text = say("heat.legend")
    for piece in pieces:
        if isinstance(piece, StepPiece) and piece.picture is not None:
            parts = (part for part in piece.picture.parts if isinstance(part, Panel))
            shaded = any(part.shades for part in parts)
            yield replace(piece, notes=(*piece.notes, text)) if shaded else piece
        elif not (isinstance(piece, Remark) and piece.text == text):
            yield piece
