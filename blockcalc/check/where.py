"""Where the wrong cells of a step lie, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from blockcalc.messages import say
from blockcalc.ops.op import Array

TILES = (128, 64, 32, 16)


def where(bad: Array, judged: Array, axes: tuple[str, ...], apart: Array) -> str:
    """Say where wrong cells lie.

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
    """Yield the patterns that the wrong cells make, the plainest first."""
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
    """Yield patterns of whole columns."""
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
    """Yield patterns along the tokens."""
    rows = [bool(bad[..., i, :].any()) for i in range(bad.shape[-2])]
    n = bad.shape[-2]
    if n > 2 and not rows[0] and all(rows[1:]):
        yield say("where.later")
    if n > 3 and all(rows):
        with np.errstate(all="ignore"):
            size = np.where(bad, np.nan_to_num(apart), 0.0).max(axis=-1).reshape(-1, n).max(axis=0)
        if np.all(np.diff(size) > 0) and size[-1] > 4 * size[0]:
            yield say("where.growing")
