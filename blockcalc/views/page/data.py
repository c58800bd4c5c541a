"""What the live page carries: the programs of a block in each of its forms, numbers and texts."""

from __future__ import annotations

import math
from typing import Any

from blockcalc.explain.document import Heading, StepPiece
from blockcalc.messages import say
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.settings import NormSettings
from blockcalc.notation.alphabets import Text
from blockcalc.notation.signs import clean
from blockcalc.ops.op import Array, Ref
from blockcalc.program.program import Equation, Program
from blockcalc.views.html.mathml import MathMl
from blockcalc.views.page.forms import Live, Variant
from blockcalc.views.page.patterns import patterns, tree_data

_TEXT, _MATH = Text(), MathMl()
SPOKEN = (
    "hint", "before", "after", "settings", "order", "mask", "mask.given", "mask.causal",
    "mask.none", "eps", "scale", "activation", "file", "undo", "reset", "heat", "guess",
    "guess.hint", "score", "right", "carried", "wrong", "whole", "cell", "from", "feeds",
    "given", "changed", "copy", "copy.text", "copy.latex", "copy.python", "copied", "number",
    "undefined", "moved", "steps",
)  # fmt: skip


def page_data(live: Live) -> dict[str, Any]:
    """Write a block with all its forms as plain data for the script of the page."""
    given: dict[str, Any] = {}
    for variant in live.variants:
        for ref in variant.trace.program.inputs:
            given.setdefault(ref.name, _given(ref, variant.trace.arrays[ref.name]))
    rounding = live.spec.rounding
    return {
        "digits": 12 if rounding else live.depth.digits,
        "rounding": [rounding.kind, rounding.digits] if rounding else None,
        "tokens": [[clean(label) for label in labels] for labels in live.spec.tokens],
        "given": given,
        "variants": [_variant(variant) for variant in live.variants],
        "activations": {
            name: {"text": say(f"activation.{name}"), "tree": tree_data(own.op.body)}
            for name, own in ACTIVATIONS.items()
        },
        "texts": {key: say(f"page.{key}", n="{n}", right="{right}") for key in SPOKEN},
    }


def _given(ref: Ref, values: Array) -> dict[str, Any]:
    """Write a given matrix; minus infinity is a text, as JSON has none."""
    flat = [x if math.isfinite(x) else str(x) for x in values.ravel().tolist()]
    return {**_named(ref), "role": ref.role, "values": flat}


def _named(ref: Ref) -> dict[str, Any]:
    return {
        "name": ref.name,
        "symbol": _TEXT.symbol(ref.symbol),
        "axes": list(ref.axes),
        "shape": list(ref.shape),
        "upright": ref.role != "weight",
    }


def _variant(variant: Variant) -> dict[str, Any]:
    program, arrays = variant.trace.program, variant.trace.arrays
    steps: list[dict[str, Any]] = []
    headings: list[dict[str, Any]] = []
    equations = {eq.out.name: (i, eq) for i, eq in enumerate(program.equations)}
    for piece in variant.pieces:
        if isinstance(piece, Heading):
            headings.append({"title": piece.title, "prose": piece.prose or "", "at": len(steps)})
        elif isinstance(piece, StepPiece):
            steps.append(_step(piece, program, *equations[piece.name], arrays[piece.name]))
    return {
        "order": variant.order,
        "orderText": say(f"word.{variant.order}"),
        "mask": variant.mask,
        "given": [ref.name for ref in program.inputs],
        "steps": steps,
        "headings": [heading for heading in headings if heading["at"] < len(steps)],
        "out": program.aliases.get("out", program.equations[-1].out.name),
    }


def _step(
    piece: StepPiece, program: Program, index: int, eq: Equation, values: Array
) -> dict[str, Any]:
    section = program.section_of(index)
    norm = section is not None and isinstance(section.settings, NormSettings)
    found = {
        **_named(eq.out),
        "title": piece.title,
        "number": piece.number,
        "math": _MATH.equation(piece.left, piece.formula),
        "formula": f"{_TEXT.render(piece.left)} = {_TEXT.render(piece.formula)}",
        "inputs": [ref.name for ref in eq.inputs],
        "part": eq.out.part,
        "worked": eq.op.worked,
        "beyond": eq.op.beyond,
        "weights": eq.out.part == "weights",
        "norm": norm,
        "activation": _activation(eq),
        "cells": patterns(eq.op, eq.inputs) if eq.inputs else None,
    }
    if not eq.inputs:
        found["values"] = values.ravel().tolist()
    return found


def _activation(eq: Equation) -> str | None:
    """Name the activation that a step applies."""
    return next((name for name, own in ACTIVATIONS.items() if own.op == eq.op), None)
