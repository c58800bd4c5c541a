"""A run as plain data, as arrays and as tables: every step by name with full precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from blockcalc.explain.depth import Depth, Detail, chosen_steps, labels_of
from blockcalc.explain.document import Document, Piece, StepPiece
from blockcalc.explain.grids import Labels, Shown
from blockcalc.explain.picture.heat import Explained, heat
from blockcalc.explain.steps import explain
from blockcalc.nn.run import run
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.ops.expr import At
from blockcalc.ops.op import Array, Ref
from blockcalc.program.program import Section
from blockcalc.program.rounding import plain_floats
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass

VERSION = 1
HEADS = ("head", "kv_head")


def plain(data: Any) -> Any:
    """Convert arrays in data to nested lists of floats; minus infinity becomes the text "-inf"."""
    if isinstance(data, np.ndarray):
        return _numbers(data)
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, list) else data


def _numbers(value: Array) -> Any:
    if value.ndim == 0:
        return _numbers(value.reshape(1))[0]
    if value.ndim > 1:
        return [_numbers(row) for row in value]
    return [x if math.isfinite(x) else str(x) for x in plain_floats(value)]


def _entry(ref: Ref, value: Array) -> dict[str, Any]:
    return {
        "symbol": ref.symbol,
        "axes": list(ref.axes),
        "shape": list(ref.shape),
        "dtype": value.dtype.name,
        "value": value,
    }


def _facts(section: Section) -> dict[str, Any]:
    """Give the conventions of a section; a given section has none of its own."""
    if section.given:
        return {"given": True}
    facts: dict[str, Any] = section.settings.facts()
    return facts


@dataclass(frozen=True, eq=False)
class Rerun:
    """A run, and what works and explains another form of its block in the same way."""

    spec: Spec
    trace: Trace
    depth: Depth
    explained: Explained = explain
    again: Callable[[Spec], Trace] = run


def run_document(
    spec: Spec,
    trace: Trace,
    depth: Depth | None = None,
    explained: Explained = explain,
    shaded: bool = False,
    again: Callable[[Spec], Trace] = run,
) -> Document:
    """Make the document of a run.

    Parameters
    ----------
    spec : Spec
    trace : Trace
    depth : Depth, optional
    explained : callable
        Makes the pieces: ``explain``, or ``explain_gradient`` for a backward pass.
    shaded : bool
        Whether its pictures are heat maps.
    again : callable
        Computes another form of the block in the same way.
    """
    own = depth or Depth()
    shallow = replace(own, detail=Detail.tables, prose=False, whole=False, pictures=False)
    return Document(
        lambda: explained(spec, trace, own),
        lambda: run_data(spec, trace, explained(spec, trace, shallow)),
        lambda: run_arrays(trace, own.patterns),
        lambda: run_rows(spec, trace, own.patterns),
        lambda: run_tables(spec, trace, own.patterns),
        lambda: run_pictures(spec, trace, own, explained, shaded),
        lambda: drawn(spec, trace, own, explained, shaded),
        lambda: Rerun(spec, trace, own, explained, again),
    )


def drawn(
    spec: Spec, trace: Trace, depth: Depth, explained: Explained = explain, shaded: bool = False
) -> Iterable[Piece]:
    """Give the pieces with steps as pictures; if ``shaded``, the heat maps alone."""
    own = replace(depth, pictures=True)
    return heat(spec, trace, own, explained) if shaded else explained(spec, trace, own)


def run_pictures(
    spec: Spec, trace: Trace, depth: Depth, explained: Explained = explain, shaded: bool = False
) -> dict[str, StepPiece]:
    """Give each step, or the chosen ones, by name with its picture."""
    pieces = drawn(spec, trace, replace(depth, prose=False), explained, shaded)
    return {piece.name: piece for piece in pieces if isinstance(piece, StepPiece)}


def run_data(spec: Spec, trace: Trace, pieces: Iterable[Piece]) -> dict[str, Any]:
    """Give a run as plain data, with its matrices as arrays: ``plain`` makes lists of them.

    Keys: ``format``, ``version``, ``title``, ``tokens``, ``order``, ``rounding``, ``sections``
    (with their conventions, such as eps), ``inputs``, ``steps`` and ``aliases``. A step has
    ``number``, ``title``, ``formula``, ``latex``, ``inputs``, ``axes``, ``shape``, ``value``,
    ``notes``.
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


def run_rows(spec: Spec, trace: Trace, patterns: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Give one row for each number: of the inputs and every step, or of the chosen ones.

    Keys: ``step`` (its number; empty for an input), ``name``, ``batch``, ``head``, then of the row
    and of the column the axis, the number from 1 and the label, and ``value``. A key that a matrix
    has no use for is empty: a vector has a row or a column, weights a column.
    """
    labels = labels_of(spec)
    for step, ref in _refs(trace, patterns):
        shown = Shown(ref, trace.arrays[ref.name], digits=0)
        for lead in _leads(ref):
            frame = shown.frame(lead, labels)
            named = dict(zip(ref.axes, lead, strict=False))
            head = next((named[axis] + 1 for axis in HEADS if axis in named), "")
            where = {"batch": named["batch"] + 1 if "batch" in named else "", "head": head}
            rows = _places("row", frame.axes[0], frame.rows)
            columns = _places("column", frame.axes[1], frame.columns)
            numbers = iter(plain_floats(shown.value[lead].ravel()))
            for row in rows:
                begun = {"step": step, "name": ref.name, **where, **row}
                for column in columns:
                    yield {**begun, **column, "value": next(numbers)}


def run_tables(
    spec: Spec, trace: Trace, patterns: Sequence[str] = ()
) -> dict[str, list[list[Any]]]:
    """Give each matrix by name as rows with its labels, of the inputs and steps or the chosen ones.

    The first row has the axis of the rows, then the label of each column; before them the axes of
    heads and sequences, if there are any. A vector is one column under its name. Rows and columns
    without labels are called after their axis, ``d_model 1``, so that none is read as a number.
    """
    labels = labels_of(spec)
    return {ref.name: _table(ref, trace, labels) for _, ref in _refs(trace, patterns)}


def _table(ref: Ref, trace: Trace, labels: Labels) -> list[list[Any]]:
    shown = Shown(ref, trace.arrays[ref.name], digits=0)
    if len(ref.shape) == 1:
        frame = shown.frame((), labels)
        names = frame.rows if frame.axes[0] else frame.columns
        named = _named(ref.axes[0], names)
        return [
            [ref.axes[0], ref.name],
            *([name, shown.number((i,))] for i, name in enumerate(named)),
        ]
    table: list[list[Any]] = []
    for lead in _leads(ref):
        frame = shown.frame(lead, labels)
        if not table:
            table.append([*ref.axes[:-1], *_named(frame.axes[1], frame.columns)])
        for i, name in enumerate(_named(frame.axes[0], frame.rows)):
            numbers = [shown.number((*lead, i, j)) for j in range(len(frame.columns))]
            table.append([*(n + 1 for n in lead), name, *numbers])
    return table


def _named(axis: str, labels: Sequence[str]) -> Sequence[str]:
    """Put the axis before labels that are only numbers."""
    numbers = [str(i + 1) for i in range(len(labels))]
    return [f"{axis} {n}" for n in numbers] if list(labels) == numbers else labels


def _places(side: str, axis: str, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Give the axis, the number and the label of rows or columns; empty without an axis."""
    keys = (f"{side}_axis", side, f"{side}_label")
    if not axis:
        return [dict.fromkeys(keys, "")]
    return [dict(zip(keys, (axis, i, label), strict=True)) for i, label in enumerate(labels, 1)]


def _refs(trace: Trace, patterns: Sequence[str]) -> Iterator[tuple[int | str, Ref]]:
    """Give the inputs and the steps, or the chosen ones, each with its number."""
    program = trace.program
    chosen = chosen_steps(program, patterns) if patterns else None
    numbered: list[tuple[int | str, Ref]] = [("", ref) for ref in program.inputs]
    numbered += [(i, eq.out) for i, eq in enumerate(program.equations, 1)]
    for number, ref in numbered:
        if chosen is None or ref.name in chosen:
            yield number, ref


def _leads(ref: Ref) -> list[At]:
    """Give the indices of the axes before the last two."""
    return list(product(*(range(n) for n in ref.shape[:-2])))
