"""What the live page carries: the programs of a block in each of its forms, numbers and texts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from blockcalc.explain.arithmetic import same_words, undefined_words
from blockcalc.explain.document import Head, Heading, Piece, StepPiece
from blockcalc.messages import say
from blockcalc.messages.words import AXES, axis_word
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.orders import ORDERS
from blockcalc.nn.run import PLAIN_LIMIT
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.notation.signs import clean
from blockcalc.ops.elementwise import Elementwise, Quotient
from blockcalc.ops.expr import Call, Expr, Name, fill
from blockcalc.ops.op import Array, Ref
from blockcalc.program.program import Equation, Section
from blockcalc.records import dataclass
from blockcalc.views.html.mathml import MathMl
from blockcalc.views.page.forms import MASKS, Live, Variant
from blockcalc.views.page.frames import (
    closing_html,
    formula_of,
    frame_html,
    head_html,
    heading_html,
)
from blockcalc.views.page.patterns import patterns

_TEXT, _LATEX, _MATH = Text(), Latex(), MathMl()
SPOKEN = (
    "hint", "before", "after", "given", "file", "was", "undo", "edits", "right", "carried", "wrong", "score",
    "guess.hint", "guess.field", "hide.one", "show.one", "whole", "cell", "from", "feeds",
    "changed", "copy", "copy.text", "copy.latex", "copy.python", "copy.link", "copied", "number",
    "undefined", "moved", "working", "gap", "close", "no_digits",
)  # fmt: skip


def page_data(live: Live) -> dict[str, Any]:
    """Write a block with all its forms as plain data for the script of the page."""
    given: dict[str, Any] = {}
    for variant in live.variants:
        for ref in variant.trace.program.inputs:
            given.setdefault(ref.name, _given(ref, variant.trace.arrays[ref.name]))
    rounding = live.spec.rounding
    pool, html = _Pool(), _Pool()
    variants = [_variant(variant, pool, html) for variant in live.variants]
    return {
        "digits": 12 if rounding else live.depth.digits,
        "plainLimit": PLAIN_LIMIT["float64"],
        "rounding": [rounding.kind, rounding.digits] if rounding else None,
        "tokens": [[clean(label) for label in labels] for labels in live.spec.tokens],
        "given": given,
        "steps": pool.entries,
        "html": html.entries,
        "variants": variants,
        "orders": {name: say(f"word.{name}") for name in ORDERS},
        "masks": {name: say(f"page.mask.{name}") for name in MASKS},
        "activations": {name: say(f"activation.{name}") for name in ACTIVATIONS},
        "texts": {
            **{key: say(f"page.{key}", n="{n}", right="{right}", what="{what}", file="{file}") for key in SPOKEN},
            "lead": say("grid.lead", axis="{axis}", n="{n}"),
        },
        "axes": {axis: axis_word(axis) for axis in AXES if axis_word(axis) != axis},
    }  # fmt: skip


@dataclass
class _Pool:
    """Entries that several forms share, each once."""

    entries: list[Any] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def add(self, entry: Any) -> int:
        key = json.dumps(entry)
        if key not in self.places:
            self.places[key] = len(self.entries)
            self.entries.append(entry)
        return self.places[key]


def _numbers(values: Array) -> list[Any]:
    """Write numbers; one that is not finite is a text, as JSON has none, in JavaScript's words."""
    return [
        x if math.isfinite(x) else str(x).replace("inf", "Infinity")
        for x in values.ravel().tolist()
    ]


def _given(ref: Ref, values: Array) -> dict[str, Any]:
    math = _MATH.alone(Name(ref.symbol))
    return {**_named(ref), "math": math, "values": _numbers(values)}


def _named(ref: Ref) -> dict[str, Any]:
    return {
        "name": ref.name,
        "symbol": _TEXT.symbol(ref.symbol),
        "latex": _LATEX.symbol(ref.symbol),
        "axes": list(ref.axes),
        "shape": list(ref.shape),
        "upright": ref.role != "weight",
    }


def _variant(variant: Variant, pool: _Pool, html: _Pool) -> dict[str, Any]:
    program = variant.trace.program
    steps: list[int] = []
    headings: list[dict[str, Any]] = []
    made = {eq.out.name: eq for eq in program.equations}
    for piece in variant.pieces:
        if isinstance(piece, Heading):
            text = html.add(heading_html(piece))
            headings.append({"name": piece.name, "html": text, "at": len(steps)})
        elif isinstance(piece, StepPiece):
            steps.append(pool.add(_step(piece, made[piece.name], variant)))
    first = next((piece for piece in variant.pieces if isinstance(piece, Head)), None)
    return {
        "order": variant.order,
        "mask": variant.mask,
        "shifted": variant.shifted,
        "watched": variant.watched,
        "given": [ref.name for ref in program.inputs],
        "steps": steps,
        "headings": [h for h in headings if h["at"] < len(steps) and h["name"]],
        "head": html.add(head_html(first) if first else ""),
        "closing": html.add(closing_html(after(variant.pieces))),
    }


def after(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Give the pieces after the last step."""
    last = max((i for i, piece in enumerate(pieces) if isinstance(piece, StepPiece)), default=-1)
    return pieces[last + 1 :]


def _step(piece: StepPiece, eq: Equation, variant: Variant) -> dict[str, Any]:
    found = {
        **_named(eq.out),
        "title": piece.title,
        "html": frame_html(piece),
        "inputs": [ref.name for ref in eq.inputs],
        "worked": eq.op.worked,
        "beyond": eq.op.beyond,
        "weights": eq.out.part == "weights",
        "words": _words(eq, variant.trace.program.section_of(piece.number - 1)),
    }
    if not eq.inputs:  # drawn numbers
        return {**found, "cells": None, "values": _numbers(variant.trace.arrays[piece.name])}
    found["cells"] = patterns(eq.op, eq.inputs)
    others = {key: own for key, own in _others(piece, eq, variant).items() if own}
    return {**found, "others": others} if others else found


def _words(eq: Equation, section: Section | None) -> dict[str, str]:
    """Say why a cell of a step may have no arithmetic."""
    found = {"same": same_words(eq), "over": say("words.over")}
    if isinstance(eq.op, Quotient):
        found["undefined"] = undefined_words(section)
    return found


def _others(piece: StepPiece, eq: Equation, variant: Variant) -> dict[str, Any]:
    """Write a step with other settings, where they change it."""
    found = {}
    for key, program in variant.others.items():
        own = next((o for o in program.equations if o.out.name == eq.out.name), None)
        if own is not None and own.op != eq.op and own.inputs == eq.inputs:
            names: list[Expr] = [Name(ref.symbol) for ref in own.inputs]
            definition = _definition(own) if piece.definition else None
            html = formula_of(piece.left, own.op.formula(names), definition)
            found[key] = {"cells": patterns(own.op, own.inputs), "html": html}
    return found


def _definition(eq: Equation) -> tuple[Expr, Expr] | None:
    """Give the definition of the function that a step applies."""
    op = eq.op
    if not isinstance(op, Elementwise) or not op.label:
        return None
    x = Name("x")
    return Call(op.label, (x,)), fill(op.body, [x])
