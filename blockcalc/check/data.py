"""What was found, as plain data for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT
from blockcalc.check.judge import NOT_GIVEN, UNREADABLE, Judged, Judgement, Total
from blockcalc.check.reasons import Reason
from blockcalc.check.run import Checked
from blockcalc.check.where import where
from blockcalc.messages import known, say
from blockcalc.notation.quantities import significant
from blockcalc.ops.expr import At, Cell, walk
from blockcalc.ops.op import Array
from blockcalc.program.bounds import NUMBERS
from blockcalc.program.program import Equation

VERSION = 1


def check_data(checked: Checked, scored: bool = False) -> dict[str, Any]:
    """Give what was found in one person's answers as plain data; numbers that JSON has no word for are texts.

    Keys: ``format``, ``version``, ``answers``, ``ok``, ``read_as``, ``tolerance``, ``first_wrong``, ``steps``, ``reasons``,
    ``frame``, ``next``, ``score``; and ``remarks``, ``unmatched``.
    """
    judgement = checked.judgement
    steps: dict[str, Any] = {name: _step(judgement, own) for name, own in checked.steps.items()}
    steps |= {
        one.name: {"verdict": UNREADABLE, "why": one.why}
        for one in checked.unreadable
        if one.name not in steps
    }
    for eq in judgement.trace.program.equations:
        steps.setdefault(eq.out.name, {"verdict": NOT_GIVEN})
    reached, possible = checked.score()
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
        "score": {"points": reached, "of": possible} if scored else None,
        "infinite": judgement.infinite,
        "remarks": list(checked.matched.remarks),
        "unmatched": list(checked.matched.unmatched),
    }


def read_as(checked: Checked) -> str:
    """Name the format of most of the answers."""
    formats = [own.answer.read_as for own in checked.steps.values()]
    return max(dict.fromkeys(formats), key=formats.count) if formats else TEXT


def tolerance_text(checked: Checked) -> str:
    """Say which rule tells right from wrong."""
    tolerance = checked.judgement.tolerance
    if tolerance is not None:
        return say(
            "tolerance.chosen",
            absolute=f"{tolerance.absolute:g}",
            relative=f"{tolerance.relative:g}",
        )
    form = read_as(checked)
    return say("tolerance.text") if form == TEXT else say("tolerance.bound", dtype=form)


def infinite_text(own: Judged) -> str:
    """Say where the first nan or infinity is, and where it may come from."""
    bad = own.answer.judged & ~np.isfinite(own.answer.values)
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    form = NUMBERS.get(own.answer.read_as)
    right = float(own.true.numbers[at])
    key = "nan" if np.isnan(own.answer.values[at]) else "inf"
    if form and abs(right) > form.largest:
        key = "range"
    elif own.step.endswith(".exp"):
        key = "exp"
    most = f"{form.largest:g}" if form else ""
    return say(f"check.infinite.{key}", step=own.step, at=place(at), n=int(bad.sum()), most=most)


def plain(x: float) -> float | str:
    """Give a number as JSON has it."""
    return float(x) if math.isfinite(x) else str(float(x))


def differences(own: Judged) -> tuple[Array, Array, Array]:
    """Give how far each cell is from the right number, absolute and relative, and over what it may be off.

    The last is the smaller one of two: from its true value, and from that which follows from earlier numbers; it is above
    1 where a cell is wrong by itself, and nowhere else.
    """
    given = own.answer.judged
    with np.errstate(all="ignore"):
        apart = np.abs(own.answer.values - own.true.numbers)
        apart = np.where(given & (own.answer.values != own.true.numbers), apart, 0.0)
        relative = np.where(apart > 0, apart / np.abs(own.true.numbers), 0.0)
        mine = np.abs(own.answer.values - own.own.numbers)
        mine = np.where(given & (own.answer.values != own.own.numbers), mine, 0.0)
        over = [
            np.where(size == 0, 0.0, size / value.error)
            for size, value in ((apart, own.true), (mine, own.own))
        ]
    return apart, relative, np.fmin(*over)


def wrong_place(own: Judged, axes: tuple[str, ...]) -> str:
    """Say where the wrong cells of a step lie, or that only the sum over all is wrong."""
    bad = own.bad if own.bad.any() else own.wrong
    if not bad.any() and own.total and own.total.wrong:
        return say("where.sum")
    return where(bad, own.answer.judged, axes, differences(own)[0])


def total_text(own: Judged) -> str:
    """Say how the sum over all cells is given and what it is, where it is wrong."""
    if own.total is None or not own.total.wrong:
        return ""
    given, right = (significant(x, 8) for x in (own.total.given, own.total.own))
    return say("check.total", given=given, right=right)


def led_away(own: Judged, cells: Sequence[At]) -> bool:
    """Tell whether earlier numbers that are not right lead elsewhere than to the right number."""
    with np.errstate(all="ignore"):
        near = np.abs(own.own.numbers - own.true.numbers) <= own.own.error
    return any(not near[at] for at in cells)


def workable(eq: Equation, at: At, values: Mapping[str, Array]) -> bool:
    """Tell whether a cell can be worked on paper: nothing in it is nan or plus infinity."""
    cells = (e for e in walk(eq.op.cell(at, eq.inputs)) if isinstance(e, Cell))
    numbers = (float(values[eq.inputs[e.operand].name][e.at]) for e in cells)
    return all(x < math.inf for x in numbers)


def worst(own: Judged) -> tuple[int, ...] | None:
    """Find the cell that is furthest off: of the wrong ones, by what it may be off."""
    apart, _, over = differences(own)
    return next(iter(_furthest(own, np.where(np.isnan(over), apart, over), 1)), None)


def worst_cells(own: Judged, most: int) -> list[At]:
    """Give the cells to show, the furthest off first; of a dump by what they may be off."""
    apart, _, over = differences(own)
    return _furthest(own, apart if own.answer.read_as == TEXT else over, most)


def _furthest(own: Judged, size: Array, most: int) -> list[At]:
    cells = own.bad if own.bad.any() else own.wrong
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
    """Give the sum over all cells that a dump prints, beside the right one."""
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
    """Give a reason as plain data: one entry for each mistake that it takes."""
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


def reason_text(name: str, reason: Reason) -> str:
    """Say what was found: the sentence of a mistake with what it names."""
    words = {key: _or(value) for key, value in reason.words.items()}
    key = f"mistake.{name}"
    return say(key, **words) if known(key) else name


def reasons_text(checked: Checked, step: str) -> str:
    """Say the reasons of a step: all that fit, and of slips in several cells each with its cell."""
    found = [r for r in checked.reasons if r.step == step]
    if not found:
        return say("check.no_reason")
    cells: dict[At | None, list[str]] = {}
    for reason in found:
        cells.setdefault(reason.at, []).append(_together(reason))
    said = []
    for at, texts in cells.items():
        text = say("words.alternatives").join(dict.fromkeys(texts))
        alone = at is None or len(cells) == 1
        said.append(text if alone or at is None else say("check.slip", at=place(at), text=text))
    return "; ".join(said)


def _together(reason: Reason) -> str:
    """Say a reason, of one mistake or of two together."""
    return say("words.and").join(reason_text(name, reason) for name in reason.names)


def _or(value: Any) -> str:
    """Join several forms with "or"."""
    return say("words.or").join(map(str, value)) if isinstance(value, list) else str(value)


def class_rows(all_checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """Give one row for each of several answers: the first wrong step, its reasons, the score."""
    rows = []
    for checked in all_checked:
        first = checked.judgement.first_wrong
        names = [n for r in checked.reasons if r.step == first for n in r.names]
        reached, possible = checked.score()
        rows.append(
            {
                "answers": checked.answers.source,
                "ok": checked.ok,
                "judged": len(checked.steps),
                "wrong": len(checked.wrong),
                "first_wrong": first or "",
                "reasons": " ".join(dict.fromkeys(names)),
                "points": reached,
                "of": possible,
            }
        )
    return rows


def step_rows(checked: Checked) -> list[dict[str, object]]:
    """Give one row for each step that was judged."""
    rows = []
    data = check_data(checked)["steps"]
    for name, own in data.items():
        if own["verdict"] == NOT_GIVEN:
            continue
        names = [n for r in checked.reasons if r.step == name for n in r.names]
        keys = ("verdict", "judged", "wrong", "own_wrong", "max_abs", "max_rel", "where")
        rows.append({"step": name, **{k: own.get(k, "") for k in keys}, "reasons": " ".join(names)})
    return rows


def place(at: Sequence[int]) -> str:
    """Write a place as people count."""
    return "[" + ", ".join(str(i + 1) for i in at) + "]"


def values_of(own: Judged, cells: Sequence[At]) -> list[tuple[float, ...]]:
    """Give for some cells what is given, what is right, and what follows from earlier numbers."""
    arrays = (own.answer.values, own.true.numbers, own.own.numbers)
    return [tuple(float(a[at]) for a in arrays) for at in cells]
