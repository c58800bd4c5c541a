"""JSON and npz: every step by name at full precision, for programs and tests."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import numpy as np

from blockcalc.explain.depth import Depth
from blockcalc.explain.document import StepPiece
from blockcalc.explain.steps import explain
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.ops.op import Array, Ref
from blockcalc.program.program import Section
from blockcalc.program.rounding import plain_floats
from blockcalc.program.trace import Trace

VERSION = 1


def _numbers(value: Array) -> Any:
    """Nest plain floats; minus infinity, where a mask blocks, is the text "-inf"."""
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
    """Give the conventions of a section; one that is given has no others."""
    if section.given:
        return {"given": True}
    facts: dict[str, Any] = section.settings.facts()
    return facts


def json_bytes(spec: Spec, trace: Trace, depth: Depth, fragment: bool = False) -> bytes:
    """Write a run as JSON.

    Keys: ``format``, ``version``, ``title``, ``tokens``, ``order``, ``rounding``, ``sections`` (with
    the conventions in force, eps among them), ``inputs``, ``steps`` and ``aliases``. A step has
    ``number``, ``title``, ``formula``, ``latex``, ``inputs``, ``axes``, ``shape``, ``value``, ``notes``.
    """
    text, latex = Text(), Latex()
    steps: dict[str, Any] = {}
    shallow = Depth("tables", depth.digits, False, False, depth.patterns)
    by_name = {eq.out.name: eq for eq in trace.program.equations}
    for piece in explain(spec, trace, shallow):
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
    data = {
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
    return (json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()


def npz_bytes(spec: Spec, trace: Trace, depth: Depth, fragment: bool = False) -> bytes:
    """Write the given matrices and every step as NumPy arrays; loads without pickle.

    ``aliases`` is an array of pairs: a name, and the recorded name it means.
    """
    from blockcalc.explain.depth import chosen_steps

    chosen = set(trace.arrays)
    if depth.patterns:
        chosen = chosen_steps(trace.program, depth.patterns)
    arrays = {name: value for name, value in trace.arrays.items() if name in chosen}
    pairs = list(trace.program.aliases.items())
    arrays["aliases"] = np.array(pairs, dtype=np.str_).reshape(len(pairs), 2)
    target = io.BytesIO()
    np.savez(target, **arrays)  # type: ignore[arg-type]
    return target.getvalue()
