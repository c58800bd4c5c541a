"""Reasons and orders in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from blockcalc.check.frame import Frame
from blockcalc.check.reasons.fit import Reason
from blockcalc.check.run import Checked
from blockcalc.check.where import place, sum_alone
from blockcalc.messages import known, say
from blockcalc.ops.expr import At

MOST_FORMS = 5  # of a mistake in a sentence


def reason_text(name: str, reason: Reason) -> str:
    """State a reason: the sentence of a mistake with its fields filled in."""
    words = {key: _or(value) for key, value in reason.words.items()}
    key = f"mistake.{name}"
    return say(key, **words) if known(key) else name


def frames_text(frames: Sequence[Frame]) -> Iterator[tuple[list[str], str]]:
    """State the order of numbers; steps with the same one, but for the last axis, together."""
    groups: dict[str, list[Frame]] = {}
    for frame in frames:
        axes = str(frame.words.get("axes", "")).rpartition(", ")[0]
        groups.setdefault(f"{frame.name} {axes or frame.words}", []).append(frame)
    for group in groups.values():
        said = list(dict.fromkeys(say(f"frame.{f.name}", **f.words) for f in group))
        if len(said) > 1:
            axes = str(group[0].words["axes"]).rpartition(", ")[0]
            said = [say(f"frame.{group[0].name}", axes=f"{axes}, …")]
        yield [frame.step for frame in group], said[0]


def reasons_text(checked: Checked, step: str) -> str:
    """State the reasons of a step: all that fit, and slips in several cells with their cells."""
    found = [r for r in checked.reasons if r.step == step]
    if not found:
        orders = [f for f in checked.frames if f.step == step]
        if orders:
            return say("words.or").join(say(f"frame.{f.name}", **f.words) for f in orders)
        alone = step in checked.steps and sum_alone(checked.steps[step])
        return say("check.sum_alone" if alone else "check.no_reason")
    cells: dict[At | None, list[str]] = {}
    for reason in found:
        cells.setdefault(reason.at, []).append(_together(reason))
    places: dict[str, list[str]] = {}
    for at, texts in cells.items():
        text = say("words.alternatives").join(dict.fromkeys(texts))
        places.setdefault(text, []).append("" if at is None else place(at))
    alone = len(cells) == 1 or None in cells
    return "; ".join(
        text if alone else say("check.slip", at=", ".join(ats), text=text)
        for text, ats in places.items()
    )


def _together(reason: Reason) -> str:
    """State a reason, of one mistake or of two together."""
    return say("words.and").join(reason_text(name, reason) for name in reason.names)


def _or(value: Any) -> str:
    """Join several forms with "or", the first of many."""
    forms = list(map(str, value)) if isinstance(value, list) else [str(value)]
    return say("words.or").join(forms[:MOST_FORMS] + ["…"] * (len(forms) > MOST_FORMS))
