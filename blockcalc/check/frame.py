"""The same numbers in another order, found before any mistake is tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT, Answer, Unreadable
from blockcalc.messages import say
from blockcalc.messages.words import dims
from blockcalc.ops.op import Array, Ref
from blockcalc.program.bounds import NUMBERS
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Frame:
    """A step whose numbers are right, but in another order.

    Attributes
    ----------
    step : str
    name : str
        ``transposed``, ``axes_exchanged``, ``batch_exchanged``, ``rows_permuted``,
        ``columns_permuted``, ``layer_off_by_one`` or ``final_norm_included``.
    words : mapping
        The fields of its sentence.
    """

    step: str
    name: str
    words: Mapping[str, Any]


def framed(
    trace: Trace, answers: Mapping[str, Answer]
) -> tuple[dict[str, Answer], list[Frame], list[Unreadable]]:
    """Bring each answer into the shape of its step.

    An answer that is right only in another order is reordered and reported; one of another
    shape that no order fits is not judged.

    Returns
    -------
    (dict, list of Frame, list of Unreadable)
    """
    found: dict[str, Answer] = {}
    frames: list[Frame] = []
    lost: list[Unreadable] = []
    refs = trace.program.refs()
    for step, answer in answers.items():
        right = np.asarray(trace.arrays[step], dtype=np.float64)
        own = _ordered(refs[step], answer, right)
        if own is None:
            why = _misshapen(step, answer, refs)
            lost.append(Unreadable(answer.name, why, answer.place, step=step))
            continue
        found[step], name, words = own
        if name:
            frames.append(Frame(step, name, words))
    frames += _elsewhere(trace, found, {f.step for f in frames})
    return found, frames, lost


def _misshapen(step: str, answer: Answer, refs: Mapping[str, Ref]) -> str:
    """State both shapes, and the form of the step that has the shape of the answer, if one has."""
    has = answer.values.shape
    shapes = {"has": dims(has), "shape": dims(refs[step].shape)}
    form = next((n for n, r in refs.items() if n.startswith(f"{step}_") and r.shape == has), None)
    return say("check.shape.other", other=form, **shapes) if form else say("check.shape", **shapes)


def _ordered(ref: Ref, answer: Answer, right: Array) -> tuple[Answer, str, dict[str, Any]] | None:
    """Give an answer in the shape of its step, and the name of its order if it was another."""
    sizes = [n for n in answer.values.shape if n != 1]
    if sizes == [n for n in right.shape if n != 1]:
        plain = _reshaped(answer, right.shape)
        if near(plain, right):
            return plain, "", {}
        for order in _orders(plain.values.ndim):
            turned = _turned(plain, order)
            if turned.values.shape == right.shape and near(turned, right) and not _even(turned):
                return turned, _named(order), {"axes": _axes(ref, order)}
        return _permuted(ref, plain, right)
    squeezed = _reshaped(answer, tuple(sizes))
    wanted = [n for n in right.shape if n != 1]
    fitting = [o for o in permutations(range(len(sizes))) if [sizes[i] for i in o] == wanted]
    for order in sorted(
        fitting, key=lambda o: not near(_reshaped(_turned(squeezed, o), right.shape), right)
    ):
        turned = _reshaped(_turned(squeezed, order), right.shape)
        return turned, _named(order), {"axes": _axes(ref, order)}
    return None


def _axes(ref: Ref, order: tuple[int, ...]) -> str:
    names = ref.axes if len(order) == len(ref.axes) else ()
    return ", ".join(names[order.index(i)] for i in range(len(order))) if names else ""


def _orders(rank: int) -> Iterator[tuple[int, ...]]:
    plain = tuple(range(rank))
    return (o for o in permutations(plain) if o != plain) if rank <= 4 else iter(())


def _named(order: tuple[int, ...]) -> str:
    plain = tuple(range(len(order)))
    return "transposed" if order == (*plain[:-2], *plain[-2:][::-1]) else "axes_exchanged"


def _turned(answer: Answer, order: tuple[int, ...]) -> Answer:
    values, judged, half = (a.transpose(order) for a in (answer.values, answer.judged, answer.half))
    return replace(answer, values=values, judged=judged, half=half)


def _reshaped(answer: Answer, shape: tuple[int, ...]) -> Answer:
    values, judged, half = (a.reshape(shape) for a in (answer.values, answer.judged, answer.half))
    return replace(answer, values=values, judged=judged, half=half)


def _even(answer: Answer) -> bool:
    """Tell whether all given numbers are equal, so that every order fits."""
    given = answer.values[answer.judged]
    return given.size < 3 or bool(np.all(given == given[0]))


def near(answer: Answer, right: Array) -> bool:
    """Tell whether every given number is right to its digits, or to a few roundings."""
    if not answer.judged.any():
        return True
    with np.errstate(all="ignore"):
        apart = np.abs(answer.values - right)
        room = answer.half + 1e-12 * np.abs(right)
        if answer.read_as != TEXT:
            scale = np.abs(right[np.isfinite(right)]).max(initial=0.0)
            room = 16 * NUMBERS[answer.read_as].unit * (np.abs(right) + scale)
        ok = (answer.values == right) | (apart <= room)
    return bool(ok[answer.judged].all())


def _permuted(ref: Ref, answer: Answer, right: Array) -> tuple[Answer, str, dict[str, Any]]:
    """Reorder permuted rows, columns or batch entries; else leave them as they are."""
    kinds = [(-1, "columns_permuted"), (-2, "rows_permuted")]
    kinds += [(0, "batch_exchanged")] if right.ndim > 2 and ref.axes[0] == "batch" else []
    for axis, name in kinds:
        if right.ndim >= -axis and right.ndim > 1 and answer.judged.all():
            order = _matched(answer, right, axis)
            if order is not None:
                values, half = (np.take(a, order, axis=axis) for a in (answer.values, answer.half))
                words = {"order": ", ".join(str(i + 1) for i in order)}
                return replace(answer, values=values, half=half), name, words
    return answer, "", {}


def _matched(answer: Answer, right: Array, axis: int) -> list[int] | None:
    """Match each slice of the right numbers with the one equal slice of the answer, or None."""
    n = right.shape[axis]
    found: list[int] = []
    for i in range(n):
        hits = [
            j
            for j in range(n)
            if j not in found
            and near(
                replace(
                    answer,
                    values=np.take(answer.values, j, axis=axis),
                    half=np.take(answer.half, j, axis=axis),
                    judged=np.take(answer.judged, j, axis=axis),
                ),
                np.take(right, i, axis=axis),
            )
        ]
        if not hits:
            return None
        found.append(hits[0])
    return found if found != list(range(n)) else None


def _elsewhere(trace: Trace, answers: Mapping[str, Answer], done: set[str]) -> Iterator[Frame]:
    """Find dumps that hold the numbers of a neighbouring layer, or of the final norm."""
    blocks = trace.program.blocks
    outs = [trace.program.inputs[0].name, *(b.out.name for b in blocks)]
    final = trace.program.equations[-1].out.name if trace.program.equations else ""
    for step, answer in answers.items():
        if step in done or near(answer, np.asarray(trace.arrays[step], dtype=np.float64)):
            continue
        if step in outs:
            i = outs.index(step)
            for j in (i - 1, i + 1):
                if 0 <= j < len(outs) and _same(trace, outs[j], answer):
                    yield Frame(step, "layer_off_by_one", {"other": outs[j]})
        if step == final != outs[-1] and len(outs) > 1 and _same(trace, outs[-2], answer):
            yield Frame(step, "layer_off_by_one", {"other": outs[-2]})
        if step != final and step == outs[-1] and _same(trace, final, answer):
            yield Frame(step, "final_norm_included", {"other": final})


def _same(trace: Trace, name: str, answer: Answer) -> bool:
    other = np.asarray(trace.arrays[name], dtype=np.float64)
    return other.shape == answer.values.shape and not _even(answer) and near(answer, other)
