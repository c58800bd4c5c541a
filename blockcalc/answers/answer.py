"""A person's numbers for the steps of a block, as they were read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.errors import Place

Array = NDArray[Any]
Sizes = tuple[int, ...]


TEXT = "text"


@dataclass(frozen=True)
class Answer:
    """A person's numbers for one step.

    Attributes
    ----------
    name : str
        As it is written in the answers.
    values : ndarray
        float64, in the shape that was given.
    judged : ndarray of bool
        Which cells are given; a blank, ``?`` or null is not.
    half : ndarray
        Half a unit of the last digit written of each cell; 0 where a number is exact, such as a whole number or 1/3,
        and for numbers of a storage format.
    read_as : str
        ``text``, or the storage format: a key of ``NUMBERS``.
    place : Place, optional
        Where it stands.
    op : str
        The operation that gave it, where the answers name it, as llama.cpp does: ``MUL_MAT``.
    total : (float, float), optional
        The sum over all cells as given, and half a unit of its last digit.
    """

    name: str
    values: Array
    judged: Array
    half: Array
    read_as: str = TEXT
    place: Place | None = None
    total: tuple[float, float] | None = None
    op: str = ""


@dataclass(frozen=True)
class Unreadable:
    """An answer that could not be read: its name, and why."""

    name: str
    why: str
    place: Place | None = None


@dataclass(frozen=True)
class Answers:
    """All that one person gave: a file, or the ``expect`` of the block's own file.

    Attributes
    ----------
    source : str
        The name of the file.
    given : tuple of Answer
        In the order of the file.
    unreadable : tuple of Unreadable
    points : mapping
        Points of a step by name, where the file gives them.
    remarks : tuple of str
        What the reading has to say, such as which names were recognized.
    dump : bool
        Whether a program wrote it: then a name that is no step is no mistake.
    """

    source: str
    given: tuple[Answer, ...]
    unreadable: tuple[Unreadable, ...] = ()
    points: tuple[tuple[str, float], ...] = ()
    remarks: tuple[str, ...] = ()
    dump: bool = False


def written(
    name: str,
    values: Array,
    half: Array | float = 0.0,
    judged: Array | bool = True,
    **more: Any,
) -> Answer:
    """Make an answer of numbers, every cell given if nothing else is said; nan is a number that is given.

    Examples
    --------
    >>> written("attn.q", np.array([[1.0, np.nan]])).judged
    array([[ True,  True]])
    """
    numbers = np.asarray(values, dtype=np.float64)
    each = np.broadcast_to(np.asarray(half, dtype=np.float64), numbers.shape)
    given = np.broadcast_to(np.asarray(judged, dtype=bool), numbers.shape)
    return Answer(name, numbers, given, each, **more)


# in the shape of a step ------------------------------------------------------------------------

Change = Callable[[Array], Array]


def alike(shape: Sizes, other: Sizes) -> bool:
    """Tell whether two shapes are one, axes of length 1 aside."""
    return [n for n in shape if n > 1] == [n for n in other if n > 1]


def changed(answer: Answer, change: Change) -> Answer:
    """Change values, what is given and halves in one way; a half that all share stays one number."""
    values = change(answer.values)
    half = answer.half
    if half.size and not any(half.strides):
        half = np.broadcast_to(half.ravel()[:1].reshape(()), values.shape)
    else:
        half = change(half)
    return replace(answer, values=values, judged=change(answer.judged), half=half)


def fitted(answer: Answer, shape: Sizes) -> Answer:
    """Leave out or add axes of length 1; another shape stays as it was given."""
    if answer.values.shape == shape or not alike(answer.values.shape, shape):
        return answer
    return changed(answer, lambda a: a.reshape(shape))


def heads_fitted(answer: Answer, shape: Sizes) -> Answer:
    """Bring axes token, head, feature into those of a step: heads before tokens, or heads joined."""
    own = answer.values.shape
    if len(own) < 3:
        return answer
    *lead, t, h, d = own
    if alike((*lead, t, h * d), shape):
        return changed(answer, lambda a: a.reshape(shape))
    if alike((*lead, h, t, d), shape):
        return changed(answer, lambda a: a.swapaxes(-3, -2).reshape(shape))
    return answer


def without_padding(answer: Answer, axes: tuple[str, ...], shape: Sizes, zeros: bool) -> Answer:
    """Leave out keys past the last token; the sum over all stays only where those are ``zeros``."""
    own, n = answer.values.shape, shape[-1] if shape else 0
    if axes[-1:] != ("key",) or len(own) < 2 or own[-1] <= n:
        return answer
    if not alike((*own[:-1], n), shape):
        return answer
    total = answer.total if zeros else None
    return replace(changed(answer, lambda a: a[..., :n]), total=total)


def last_token(answer: Answer, shape: Sizes) -> Answer:
    """Take a single row for that of the last token, the only one that a model may work in its last layer."""
    own = answer.values.shape
    if len(shape) < 2 or shape[-2] < 2 or alike(own, shape):
        return answer
    if not alike(own, shape[-1:]) or len(shape) > 2:
        return answer

    def put(a: Array) -> Array:
        whole = np.zeros(shape, a.dtype)
        whole[-1] = a.reshape(shape[-1:])
        return whole

    return replace(changed(answer, put), total=None)
