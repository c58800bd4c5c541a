"""A run as plain data and as arrays: every step by name with full precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from blockcalc.explain.depth import Depth, Detail, chosen_steps
from blockcalc.explain.document import Document, Piece, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.ops.op import Array, Ref
from blockcalc.program.program import Section
from blockcalc.program.rounding import plain_floats
from blockcalc.program.trace import Trace

VERSION = 1
Explained = Callable[[Spec, Trace, Depth], Iterator[Piece]]


def _numbers(value: Array) -> Any:
    """Convert to nested lists of floats; minus infinity, from masks, becomes the text "-inf"."""
    flat = [x if math.isfinite(x) else str(x) for x in plain_floats(value.ravel())]

    def nest(shape: tuple[int, ...], start: int) -> Any:
        if not shape:
            return flat[start]
        size = math.prod(shape[1:])
        return [nest(shape[1:], start + i * size) for i in range(shape[0])]

    return nest(value.shape, 0)


def _entry(ref: Ref, value: Array) -> dict[str, Any]:
    return {
        "symbol": ref.symbol,
        "axes": list(ref.axes),
        "shape": list(ref.shape),
        "dtype": value.dtype.name,
        "value": _numbers(value),
    }


def _facts(section: Section) -> dict[str, Any]:
    """Give the conventions of a section; a given section has none of its own."""
    if section.given:
        return {"given": True}
    facts: dict[str, Any] = section.settings.facts()
    return facts


def run_document(
    spec: Spec, trace: Trace, depth: Depth | None = None, explained: Explained = explain
) -> Document:
    """Make the document of a run.

    Parameters
    ----------
    spec : Spec
    trace : Trace
    depth : Depth, optional
    explained : callable
        Makes the pieces: ``explain``, or ``explain_gradient`` for a backward pass.
    """
    own = depth or Depth()
    shallow = replace(own, detail=Detail.tables, prose=False, whole=False)
    return Document(
        lambda: explained(spec, trace, own),
        lambda: run_data(spec, trace, explained(spec, trace, shallow)),
        lambda: run_arrays(trace, own.patterns),
    )


def run_data(spec: Spec, trace: Trace, pieces: Iterable[Piece]) -> dict[str, Any]:
    """Give a run as plain data.

    Keys: ``format``, ``version``, ``title``, ``tokens``, ``order``, ``rounding``, ``sections`` (with
    their conventions, such as eps), ``inputs``, ``steps`` and ``aliases``. A step has
    ``number``, ``title``, ``formula``, ``latex``, ``inputs``, ``axes``, ``shape``, ``value``, ``notes``.
    """
    text, latex = Text(), Latex()
    steps: dict[str, Any] = {}
    by_name = {eq.out.name: eq for eq in trace.program.equations}
    for piece in pieces:
        if isinstance(piece, StepPiece):
            eq = by_name[piece.name]
            steps[piece.name] = {
                "number": piece.number,
                "title": piece.title,
                "formula": f"{text.render(piece.left)} = {text.render(piece.formula)}",
                "latex": f"{latex.render(piece.left)} = {latex.render(piece.formula)}",
                "inputs": [ref.name for ref in eq.inputs],
                **_entry(eq.out, trace.arrays[piece.name]),
                "notes": list(piece.notes),
            }
    rounding = trace.rounding
    sections = sorted(trace.program.sections, key=lambda s: (s.first, -s.last))
    return {
        "format": "blockcalc",
        "version": VERSION,
        "title": spec.title,
        "tokens": list(spec.tokens[0]) if len(spec.tokens) == 1 else [list(t) for t in spec.tokens],
        "order": spec.order,
        "rounding": {rounding.kind: rounding.digits} if rounding else None,
        "sections": [
            {"name": s.name, "kind": s.kind, "out": s.out.name, **_facts(s)} for s in sections
        ],
        "inputs": {r.name: _entry(r, trace.arrays[r.name]) for r in trace.program.inputs},
        "steps": steps,
        "aliases": dict(trace.program.aliases),
    }


def run_arrays(trace: Trace, patterns: Sequence[str] = ()) -> dict[str, Array]:
    """Give the inputs and every step by name, or those selected by patterns.

    ``aliases`` is an array of pairs: a name, and the recorded name it means.
    """
    chosen = chosen_steps(trace.program, patterns) if patterns else set(trace.arrays)
    arrays = {name: value for name, value in trace.arrays.items() if name in chosen}
    pairs = list(trace.program.aliases.items())
    arrays["aliases"] = np.array(pairs, dtype=np.str_).reshape(len(pairs), 2)
    return arrays
