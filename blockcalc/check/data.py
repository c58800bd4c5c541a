"""The result of a check as plain data for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT, Unreadable
from blockcalc.check.judge import NOT_GIVEN, RIGHT, UNREADABLE, Judged, Judgement, Total
from blockcalc.check.reasons.fit import Reason
from blockcalc.check.reasons.sentences import reason_text
from blockcalc.check.run import CREDITED, Checked
from blockcalc.check.where import differences, untold_text, wrong_cells, wrong_place
from blockcalc.explain.document import Column
from blockcalc.messages import say
from blockcalc.messages.words import listed, say_count, sentences
from blockcalc.notation.quantities import in_column, places_apart, significant
from blockcalc.ops.expr import At, Cell, walk
from blockcalc.ops.op import Array
from blockcalc.program.bounds import NUMBERS
from blockcalc.program.program import Equation

VERSION = 1
OF_EXACT = 4  # decimals of a right number beside one that is given exactly


def check_data(checked: Checked, points: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Give the result of a check as plain data; nan and infinities are texts, as JSON has none.

    Keys: ``format``, ``version``, ``answers``, ``ok``, ``read_as``, ``tolerance``, ``first_wrong``,
    ``steps``, ``reasons``, ``frame``, ``next``, ``score``; and ``unreadable``, ``untold``,
    ``not_handed_in``, ``infinite``, ``remarks``, ``blind``, ``unmatched``. ``points`` is what each
    step counts, if a score is asked for.
    """
    judgement = checked.judgement
    steps: dict[str, Any] = {name: _step(judgement, own) for name, own in checked.steps.items()}
    steps |= {
        one.step or one.name: {"verdict": UNREADABLE, "why": one.text()}
        for one in checked.unreadable
        if (one.step or one.name) not in steps
    }
    for name in judgement.untold:
        own = steps.setdefault(name, {"verdict": UNREADABLE})
        own["why"] = untold_text(judgement, name)
    for eq in judgement.trace.program.equations:
        steps.setdefault(eq.out.name, {"verdict": NOT_GIVEN})
    return {
        "format": "blockcalc-check",
        "version": VERSION,
        "answers": checked.answers.source,
        "ok": checked.ok,
        "read_as": read_as(checked),
        "tolerance": tolerance_text(checked),
        "first_wrong": judgement.first_wrong,
        "steps": steps,
        "reasons": [entry for r in checked.reasons for entry in reason_data(checked, r)],
        "frame": [
            {"step": f.step, "name": f.name, "text": say(f"frame.{f.name}", **f.words)}
            for f in checked.frames
        ],
        "next": checked.next,
        "score": _score(checked, points),
        "not_handed_in": None if points is None else not_handed_in(checked, points),
        "unreadable": [{"name": one.name, "why": one.text()} for one in checked.unreadable],
        "untold": {name: {"cells": n, "of": of} for name, (n, of) in judgement.untold.items()},
        "infinite": judgement.infinite,
        "remarks": [*checked.matched.warnings, *checked.matched.remarks],
        "blind": {name: {"hidden": n, "of": of} for name, (n, of) in checked.blind.items()},
        "unmatched": list(checked.matched.unmatched),
    }


def _score(checked: Checked, points: Mapping[str, float] | None) -> dict[str, float] | None:
    """Give the points reached and those there are, where a score is asked for."""
    if points is None:
        return None
    reached, of = checked.score(points)
    return {"points": reached, "of": of}


def not_handed_in(checked: Checked, points: Mapping[str, float]) -> list[str]:
    """Name the steps that count and that a person left open or did not name."""
    return [name for name in points if name not in checked.matched.handed_in]


def read_as(checked: Checked) -> str:
    """Name the format of most of the answers."""
    formats = [own.answer.read_as for own in checked.steps.values()]
    return max(dict.fromkeys(formats), key=formats.count) if formats else TEXT


def tolerance_text(checked: Checked) -> str:
    """State the tolerance in force."""
    tolerance = checked.judgement.tolerance
    if tolerance is not None:
        return say(
            "tolerance.chosen",
            absolute=f"{tolerance.absolute:g}",
            relative=f"{tolerance.relative:g}",
        )
    form = read_as(checked)
    return say("tolerance.text") if form == TEXT else say("tolerance.bound", dtype=form)


def right_text(checked: Checked) -> str:
    """State that nothing that could be read is wrong, or that no bound tells."""
    if checked.blind:
        parts = (say("check.blind.of", step=s, n=m, of=of) for s, (m, of) in checked.blind.items())
        return say("check.blind", names=listed(parts))
    text, n = _right_text(checked), len(checked.steps)
    if others := len(checked.matched.unmatched):
        return sentences([say_count("check.some", n, of=n + others), text])
    return text


def _right_text(checked: Checked) -> str:
    steps, n, chosen = checked.steps.values(), len(checked.steps), checked.judgement.tolerance
    formats = {s.answer.read_as for s in steps if s.verdict != RIGHT} & NUMBERS.keys()
    if checked.judgement.untold:
        return say_count("check.told_right", n)
    if checked.unreadable:
        return say_count("check.read_right", n)
    if formats and chosen is None:
        coarsest = max(formats, key=lambda f: NUMBERS[f].unit)
        return say_count("check.within", n, dtype=coarsest)
    exact = all(s.verdict == RIGHT for s in steps) or chosen is not None
    return say_count("check.all_right" if exact else "check.all_rounded", n)


def plain(x: float) -> float | str:
    """Give a number as JSON can hold it."""
    return float(x) if math.isfinite(x) else str(float(x))


def led_away(own: Judged, cells: Sequence[At]) -> bool:
    """Tell whether earlier wrong answers lead to another number than the right one."""
    with np.errstate(all="ignore"):
        near = np.abs(own.own.numbers - own.true.numbers) <= own.own.error
    return any(not near[at] for at in cells)


def workable(eq: Equation, at: At, values: Mapping[str, Array], result: Array) -> bool:
    """Tell whether a cell can be computed on paper.

    Nothing in it is nan or plus infinity; its result is a number, or minus infinity from a mask.
    """
    cells = (e for e in walk(eq.op.cell(at, eq.inputs)) if isinstance(e, Cell))
    numbers = [float(values[eq.inputs[e.operand].name][e.at]) for e in cells]
    masked = result[at] == -math.inf and -math.inf in numbers
    return (math.isfinite(result[at]) or masked) and all(x < math.inf for x in numbers)


def worst(own: Judged) -> tuple[int, ...] | None:
    """Find the wrong cell with the largest difference over its tolerance."""
    apart, _, over = differences(own)
    return next(iter(_furthest(own, np.where(np.isnan(over), apart, over), 1)), None)


def worst_cells(own: Judged, most: int) -> list[At]:
    """Give the cells to show, the furthest off first; in a dump relative to the tolerance."""
    apart, _, over = differences(own)
    return _furthest(own, apart if own.answer.read_as == TEXT else over, most)


def _furthest(own: Judged, size: Array, most: int) -> list[At]:
    cells = wrong_cells(own)
    size = np.where(cells, np.nan_to_num(size, nan=np.inf, posinf=1e300), -1.0)
    n = min(int(cells.sum()), most)
    flat = np.argsort(-size, axis=None, kind="stable")[:n]
    return [tuple(int(i) for i in np.unravel_index(int(j), size.shape)) for j in flat]


def _step(judgement: Judgement, own: Judged) -> dict[str, Any]:
    apart, relative, over = differences(own)
    at = worst(own)
    form = own.answer.read_as
    ref = judgement.trace.program.refs()[own.step]
    return {
        "verdict": own.verdict,
        "judged": int(own.answer.judged.sum()),
        "wrong": int(own.wrong.sum()),
        "own_wrong": int(own.own_wrong.sum()),
        "max_abs": plain(np.max(apart, initial=0.0)),
        "max_rel": plain(np.max(relative, initial=0.0)),
        "max_ulp": plain(_ulps(own, apart)) if form in NUMBERS else None,
        "bound_ratio": plain(np.max(over, initial=0.0))
        if form in NUMBERS and judgement.tolerance is None
        else None,
        "where": wrong_place(own, ref.axes),
        "worst": None
        if at is None
        else {
            "at": list(at),
            "given": plain(own.answer.values[at]),
            "right": plain(own.true.numbers[at]),
            "own": plain(own.own.numbers[at]),
        },
        **({"sum": _sum(own.total)} if own.total else {}),
    }


def _sum(total: Total) -> dict[str, Any]:
    """Give the printed sum over all cells and the right one."""
    return {
        "given": plain(total.given),
        "right": plain(total.true),
        "own": plain(total.own),
        "wrong": total.wrong,
        "own_wrong": total.own_wrong,
    }


def _ulps(own: Judged, apart: Array) -> float:
    """Give the largest difference in units of the last place of the format."""
    number = NUMBERS[own.answer.read_as]
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(own.true.numbers)
        ulp = np.maximum(np.ldexp(number.unit, exponent), number.tiny)
        return float(np.nan_to_num(apart / ulp, nan=0.0, posinf=np.inf).max(initial=0.0))


def reason_data(checked: Checked, reason: Reason) -> list[dict[str, Any]]:
    """Give a reason as plain data: one entry for each of its mistakes."""
    return [
        {
            "step": reason.step,
            "name": name,
            "text": reason_text(name, reason),
            "cells": reason.cells,
            **({"at": list(reason.at)} if reason.at is not None else {}),
            **({"with": [n for n in reason.names if n != name]} if len(reason.names) > 1 else {}),
        }
        for name in reason.names
    ]


def step_rows(
    checked: Checked, points: Mapping[str, float] | None = None
) -> list[dict[str, object]]:
    """Give one row for each step that was judged or unreadable; with ``points``, that counts."""
    rows = []
    data = check_data(checked)["steps"]
    keys = ("verdict", "judged", "wrong", "own_wrong", "max_abs", "max_rel", "where", "why")
    for name, own in data.items():
        counted = points is not None and name in points
        if own["verdict"] == NOT_GIVEN and not counted:
            continue
        names = [n for r in checked.reasons if r.step == name for n in r.names]
        row = {"step": name, **{k: own.get(k, "") for k in keys}, "reasons": " ".join(names)}
        if points is not None:
            of = points.get(name, 0.0)
            row |= {"points": of if checked.verdict(name) in CREDITED else 0.0, "of": of}
        rows.append(row)
    return rows


def unread_text(key: str, one: Unreadable, longest: int | None = None) -> str:
    """State that an answer could not be read, where it is, and why; a long hint is left out."""
    line = one.place.line if one.place else None
    at = "" if line is None else say("check.line_at", line=line)
    return say(key, name=one.name, place=at, why=one.text(longest))


def sentence(text: str) -> str:
    """Write a text as a sentence."""
    stop = say("words.stop")
    return text[:1].upper() + text[1:].removesuffix(stop) + stop


def values_of(own: Judged, cells: Sequence[At]) -> list[tuple[float, ...]]:
    """Give for some cells the number given, the right one, and the one that follows."""
    arrays = (own.answer.values, own.true.numbers, own.own.numbers)
    return [tuple(float(a[at]) for a in arrays) for at in cells]


def columns(*keys: str) -> tuple[Column, ...]:
    """Make the columns of a list by their keys."""
    kinds = {"step": "name", "name": "name", "cell": "name", "first": "name"}
    kinds |= dict.fromkeys(("verdict", "where", "reason"), "text")
    return tuple(Column(say(f"column.check.{k}"), kinds.get(k, "number")) for k in keys)


def numbers_of(own: Judged, cells: Sequence[At]) -> list[tuple[str, str, str]]:
    """Write the numbers given, right and following of some cells with the same decimals."""
    rows = values_of(own, cells)
    flat = in_column([x for row in rows for x in row], places_of(own, cells))
    exact = [own.answer.read_as == TEXT and not own.answer.half[at] for at in cells]
    return [
        (significant(row[0], 17) if whole else flat[3 * i], flat[3 * i + 1], flat[3 * i + 2])
        for i, (row, whole) in enumerate(zip(rows, exact, strict=True))
    ]


def places_of(own: Judged, cells: Sequence[At]) -> int:
    """Count the decimals to show: those written, and in a dump enough to see a difference."""
    rows, written = values_of(own, cells), own.answer.read_as == TEXT
    halves = [float(own.answer.half[at]) for at in cells]
    pairs = [(given, right) for given, right, _ in rows]
    pairs += [] if written else [(given, mine) for given, _, mine in rows]
    places = places_apart(pairs, halves, written)
    whole = all(not math.isfinite(right) or right.is_integer() for _, right, _ in rows)
    return places if whole or not written or any(halves) else max(places, OF_EXACT)
