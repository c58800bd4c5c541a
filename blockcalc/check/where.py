"""How far the numbers of a step are off, and where the wrong ones are, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from blockcalc.check.carried import Carried
from blockcalc.check.judge import Judged, Judgement
from blockcalc.messages import say
from blockcalc.messages.words import say_count, sentences
from blockcalc.nn.settings import NormSettings, SoftmaxSettings
from blockcalc.notation.quantities import significant
from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import At, Binary, Call, Expr, Fold, walk
from blockcalc.ops.op import Array
from blockcalc.program.bounds import NUMBERS, Format

TILES = (128, 64, 32, 16)
LOOSE = 0.05  # of a number: from so large a bound on it is asked what stays within
HALF = 0.5
SAME = 4  # roundings
LITTLE = 0.01  # of what a sum is off by: so much is not worth a number more


def where(bad: Array, judged: Array, axes: tuple[str, ...], apart: Array) -> str:
    """Describe where wrong cells are.

    Parameters
    ----------
    bad, judged : ndarray of bool
        The wrong cells, and those that are given.
    axes : tuple of str
        The axes of the step.
    apart : ndarray
        How far each cell is from the right number.

    Examples
    --------
    >>> bad = np.array([[True, True], [False, False]])
    >>> where(bad, np.ones((2, 2), dtype=bool), ("token", "d_model"), bad * 1.0)
    'row 1: 2 of its 2 cells'
    """
    n, of = int(bad.sum()), int(judged.sum())
    if not n:
        return ""
    if n == of:
        return say("where.every", n=n) if n > 1 else say("where.only")
    if n == 1:
        at = tuple(int(i) + 1 for i in np.argwhere(bad)[0])
        return say("where.one", at=", ".join(map(str, at)), of=of)
    for text in _patterns(bad, judged, axes, apart):
        return text
    return say("where.some", n=n, of=of)


def _patterns(bad: Array, judged: Array, axes: tuple[str, ...], apart: Array) -> Iterator[str]:
    """Yield descriptions of the pattern of wrong cells, the simplest first."""
    for axis, name in enumerate(axes):
        hit = bad.any(axis=tuple(i for i in range(bad.ndim) if i != axis))
        (places,) = np.nonzero(hit)
        if bad.shape[axis] > 1 and len(places) == 1 and bad.sum() > 1:
            i = int(places[0])
            whole = int((np.take(judged, i, axis=axis)).sum())
            kind = (
                "head"
                if name in ("head", "kv_head")
                else "batch"
                if name == "batch"
                else "column"
                if axis == bad.ndim - 1
                else "row"
            )
            last = ".last" if kind == "row" and i == bad.shape[axis] - 1 else ""
            yield say(f"where.{kind}{last}", i=i + 1, n=int(bad.sum()), of=whole)
    if bad.ndim > 1 and axes[-2:] == ("query", "key"):
        upper = np.triu(np.ones(bad.shape[-2:], dtype=bool), 1)
        if not (bad & ~upper).any():
            yield say("where.upper", n=int(bad.sum()))
    if bad.ndim > 1:
        yield from _columns(bad, judged)
        yield from _rows(bad, judged, apart)


def _columns(bad: Array, judged: Array) -> Iterator[str]:
    """Yield descriptions by columns."""
    n = bad.shape[-1]
    hit = np.array([bool(bad[..., i].any()) for i in range(n)])
    (places,) = np.nonzero(hit)
    if n >= 4 and len(places) == len(range(int(places[0]) % 2, n, 2)) and len(set(places % 2)) == 1:
        yield say("where.second", first=int(places[0]) + 1)
    for tile in TILES:
        first = int(places[0])
        if first and first % tile == 0 and hit[first:].all() and not hit[:first].any():
            yield say("where.past", first=first + 1, tile=tile)
            return


def _rows(bad: Array, judged: Array, apart: Array) -> Iterator[str]:
    """Yield descriptions by rows."""
    rows = [bool(bad[..., i, :].any()) for i in range(bad.shape[-2])]
    n = bad.shape[-2]
    if n > 2 and not rows[0] and all(rows[1:]):
        yield say("where.later")
    if n > 3 and all(rows):
        with np.errstate(all="ignore"):
            size = np.where(bad, np.nan_to_num(apart), 0.0).max(axis=-1).reshape(-1, n).max(axis=0)
        if np.all(np.diff(size) > 0) and size[-1] > 4 * size[0]:
            yield say("where.growing")


# of a step that was judged ------------------------------------------------------------------------


def place(at: Sequence[int]) -> str:
    """Write a place as people count."""
    return "[" + ", ".join(str(i + 1) for i in at) + "]"


def differences(own: Judged) -> tuple[Array, Array, Array]:
    """Give the difference of each cell from the right number: absolute, relative, over tolerance.

    The last is the smaller one of two: from its true value, and from that which follows from
    earlier numbers; it is above 1 where a cell is wrong by itself, and nowhere else.
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


def loose(own: Judged) -> bool:
    """Tell whether the bound of a dump is no longer small beside its numbers, in most cells."""
    if own.answer.read_as not in NUMBERS or not own.answer.judged.any():
        return False
    with np.errstate(all="ignore"):
        wide = own.own.error > LOOSE * np.abs(own.own.numbers)
    return bool(wide[own.answer.judged].mean() > HALF)


def stays_within(own: Judged, numbers: Array) -> bool | None:
    """Tell whether other numbers are within the bound of a step; None if they round to the same."""
    right, unit = own.own.numbers, NUMBERS[own.answer.read_as].unit
    if numbers.shape != right.shape:
        return False
    with np.errstate(all="ignore"):
        apart = np.where(own.answer.judged & (numbers != right), np.abs(numbers - right), 0.0)
        if not (~(apart <= SAME * unit * np.abs(right))).any():
            return None
        return bool((apart <= own.own.error).all())


def wrong_cells(own: Judged) -> Array:
    """Tell which cells are to be explained: those wrong by themselves, or else all wrong ones."""
    return own.bad if own.bad.any() else own.wrong


def wrong_place(own: Judged, axes: tuple[str, ...]) -> str:
    """Say where the wrong cells of a step are, or that only the sum over all is wrong."""
    bad = wrong_cells(own)
    if not bad.any() and own.total and own.total.wrong:
        return say("where.sum")
    return where(bad, own.answer.judged, axes, differences(own)[0])


def sum_alone(own: Judged) -> bool:
    """Tell whether only the sum over all cells is wrong: every given cell is right, or follows."""
    return own.total is not None and own.total.wrong and not own.wrong.any()


def total_text(own: Judged) -> str:
    """State the sum over all cells as given, the right one, and the difference, if it is wrong."""
    if own.total is None or not own.total.wrong:
        return ""
    given, mine, right = (
        significant(x, 8) for x in (own.total.given, own.total.own, own.total.true)
    )
    size = abs(own.total.given - own.total.own)
    off, led = significant(size, 3), abs(own.total.own - own.total.true)
    key = "check.total" if led < LITTLE * size else "check.total.own"
    text = say(key, given=given, own=mine, right=right, off=off)
    if not sum_alone(own):
        return text
    n, shown = int(own.answer.judged.sum()), "all" if own.answer.judged.all() else "shown"
    return sentences([text, say(f"check.total.{shown}", n=n)])


def untold_text(judgement: Judgement, step: str) -> str:
    """Say how many numbers of a step are not judged, and why."""
    n, of = judgement.untold[step]
    return say_count("check.untold_cells", n, of=of)


# nan and infinity -------------------------------------------------------------------------------


def infinite_text(judgement: Judgement, own: Judged) -> str:
    """Say where the first nan or infinity of a step is, and where it comes from."""
    bad = own.lost
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    what = say("infinite.kind.nan" if np.isnan(own.answer.values[at]) else "infinite.kind.inf")
    form = NUMBERS[own.answer.read_as if own.answer.read_as in NUMBERS else "float64"]
    key, number = next(_origins(judgement.carried, own, at, form))
    shown = {"x": significant(number, 4), "dtype": form.name, "most": significant(form.largest, 5)}
    why = say(
        f"infinite.{key}",
        **shown,
        power=f"{np.log(form.largest):.4g}",
        row=at[-2] + 1 if len(at) > 1 else 1,
    )
    return say_count(
        "check.infinite", int(bad.sum()), what=what, step=own.step, at=place(at), why=why
    )


def _origins(carried: Carried, own: Judged, at: At, form: Format) -> Iterator[tuple[str, float]]:
    """Yield possible origins of a nan or infinity, each with its number, the surest first."""
    right, given = float(own.true.numbers[at]), own.answer.values[at]
    index = carried.index.get(own.step)
    if index is not None:
        yield from _of_section(carried, own, at, form)
    if abs(right) > form.largest:
        yield "range", right
    ref = carried.program.refs().get(own.step)
    if ref is not None and ref.axes[-2:] == ("query", "key") and np.isneginf(given):
        yield "mask", 0.0
    if index is not None:
        eq = carried.program.equations[index]
        values = [carried.carried[ref.name].numbers for ref in eq.inputs]
        if eq.op.worked:
            tree = eq.op.cell(at, eq.inputs)
            yield from _in_tree(tree, lambda e: float(values[e.operand][e.at]), form)
        for i in carried.cone(own.step)[:-1]:
            numbers = carried.own[carried.program.equations[i].out.name].numbers
            top = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
            if top > form.largest:
                yield "before", top
    yield ("nan" if np.isnan(given) else "inf"), right


def _of_section(carried: Carried, own: Judged, at: At, form: Format) -> Iterator[tuple[str, float]]:
    """Look at the row that a softmax or a norm is taken over."""
    section = carried.program.section_of(carried.index[own.step])
    if section is None or len(at) < len(section.inputs[0].shape) - 1:
        return
    rows = carried.carried[section.inputs[0].name].numbers
    row = rows[at[: rows.ndim - 1]]
    if section.kind == "softmax":
        top = float(row.max())
        if np.isneginf(top):
            yield "blind", top
        in_e = isinstance(section.settings, SoftmaxSettings) and not section.settings.base2
        if in_e and top > np.log(form.largest):
            yield "exp", top
        given = own.answer.values[at[:-1]]
        if given.ndim and np.isnan(given).all():
            yield "row", top
    elif isinstance(section.settings, NormSettings):
        if not (row - row.mean()).any() or not row.any():
            yield "sigma", 0.0
        if (top := float(np.abs(row).max())) * top > form.largest:
            yield "square", top


def _in_tree(tree: Expr, leaf: Callable[[Any], float], form: Format) -> Iterator[tuple[str, float]]:
    """Find the first operation of a cell that overflows, divides by 0 or takes ln of 0."""
    for node in reversed(list(walk(tree))):
        match node:
            case Call(function="ln", args=(x,)) if not evaluate(x, leaf):
                yield "log", 0.0
            case Call(function="sqrt", args=(x,)) if evaluate(x, leaf) < 0:
                yield "root", float(evaluate(x, leaf))
            case Call(function="exp", args=(x,)) if evaluate(x, leaf) > np.log(form.largest):
                yield "exp", float(evaluate(x, leaf))
            case Binary("/", x, y) | Call(function="ratio" | "over", args=(x, y)) if not evaluate(
                y, leaf
            ):
                yield "zero" if evaluate(x, leaf) else "none", float(evaluate(x, leaf))
            case Binary() | Fold():
                value = float(evaluate(node, leaf))
                if form.largest < abs(value) < np.inf:
                    yield "beyond", value
