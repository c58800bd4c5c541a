"""The answers to the steps of a block, as they were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.errors import Place
from blockcalc.reading.checks import alike
from blockcalc.records import dataclass

Array = NDArray[Any]
Sizes = tuple[int, ...]


TEXT = "text"


@dataclass(frozen=True)
class Answer:
    """The answer to one step: the numbers of a person or a program.

    Attributes
    ----------
    name : str
        As it is written in the answers.
    values : ndarray
        float64, in the shape that was given.
    judged : ndarray of bool
        Which cells are given; a blank, ``?`` or null is not.
    half : ndarray
        Half a unit of the last digit written, for each cell; 0 if the number is exact, such as
        a whole number or 1/3, and for numbers of a storage format.
    read_as : str
        ``text``, or the storage format: a key of ``NUMBERS``.
    place : Place, optional
        Its place in the file.
    op : str
        The operation that gave it, if the answers name it, as llama.cpp does: ``MUL_MAT``.
    total : (float, float), optional
        The sum over all cells as given, and half a unit of its last digit.
    nth : int
        How many of this name and operation stand before it, where a program prints one name for
        several.
    """

    name: str
    values: Array
    judged: Array
    half: Array
    read_as: str = TEXT
    place: Place | None = None
    total: tuple[float, float] | None = None
    op: str = ""
    nth: int = 0


@dataclass(frozen=True)
class Unreadable:
    """An answer that could not be read: its name, why, its place, and what to write instead.

    ``step`` is the recorded name of its step, where it is known.
    """

    name: str
    why: str
    place: Place | None = None
    hint: str | None = None
    step: str | None = None

    def text(self, longest: int | None = None) -> str:
        """Say why, with the hint unless that is longer than ``longest``."""
        if not self.hint or (longest is not None and len(self.hint) > longest):
            return self.why
        return f"{self.why} ({self.hint})"


@dataclass(frozen=True)
class Answers:
    """All answers of one source: a file, or the ``expect`` of the block's own file.

    Attributes
    ----------
    source : str
        The name of the file.
    given : tuple of Answer
        In the order of the file.
    unreadable : tuple of Unreadable
    points : tuple of (str, float)
        Points of a step by name, where the file gives them.
    remarks : tuple of str
        Notes of the reader, such as which names were recognized.
    dump : bool
        Whether a program wrote it: then a name that is no step is no mistake.
    left_open : tuple of str
        Names that stand before a single blank or ``?``.
    """

    source: str
    given: tuple[Answer, ...]
    unreadable: tuple[Unreadable, ...] = ()
    points: tuple[tuple[str, float], ...] = ()
    remarks: tuple[str, ...] = ()
    dump: bool = False
    left_open: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matched:
    """Answers by step.

    Attributes
    ----------
    steps : mapping
        Each answer by the recorded name of its step; in the shape of the step if only axes of
        length 1, or the known axis order of another program, differed.
    unreadable : tuple of Unreadable
        What could not be read, and names that are not steps.
    unmatched : tuple of str
        Names of a dump that are not steps.
    points : mapping
        Points by step.
    remarks : tuple of str
        Which names were recognized, which layer was taken.
    named : frozenset of str
        Every step that has a name in the answers, also one left open or not readable.
    handed_in : frozenset of str
        Those of them that are not left open.
    warnings : tuple of str
        What in the map of names has no use.
    """

    steps: Mapping[str, Answer]
    unreadable: tuple[Unreadable, ...] = ()
    unmatched: tuple[str, ...] = ()
    points: Mapping[str, float] | None = None
    remarks: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    handed_in: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def written(
    name: str,
    values: Array,
    half: Array | float = 0.0,
    judged: Array | bool = True,
    **more: Any,
) -> Answer:
    """Make an answer of numbers; by default every cell is given, nan too.

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


def changed(answer: Answer, change: Change) -> Answer:
    """Apply a function to values, given cells and halves; a shared half stays one number."""
    values = change(answer.values)
    half = answer.half
    if half.size and not any(half.strides):
        half = np.broadcast_to(half.ravel()[:1].reshape(()), values.shape)
    else:
        half = change(half)
    return replace(answer, values=values, judged=change(answer.judged), half=half)


def fitted(answer: Answer, shape: Sizes) -> Answer:
    """Remove or add axes of length 1; any other shape is left as it is."""
    if answer.values.shape == shape or not alike(answer.values.shape, shape):
        return answer
    return changed(answer, lambda a: a.reshape(shape))


def unstacked(answer: Answer, shape: Sizes) -> list[Answer]:
    """Split an answer along its first axis if each part has the shape of a step; else give none."""
    own = answer.values.shape
    if len(own) < 2 or own[0] < 2 or alike(own, shape) or not alike(own[1:], shape):
        return []
    parts = [changed(answer, lambda a, i=i: a[i]) for i in range(own[0])]  # type: ignore[misc]
    return [replace(part, name=f"{answer.name}.{i}") for i, part in enumerate(parts)]


def heads_fitted(answer: Answer, shape: Sizes) -> Answer:
    """Move axes token, head, feature to those of a step: heads first, or heads joined."""
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
    """Drop keys past the last token; the sum over all cells is kept only if they are ``zeros``."""
    own, n = answer.values.shape, shape[-1] if shape else 0
    if axes[-1:] != ("key",) or len(own) < 2 or own[-1] <= n:
        return answer
    if not alike((*own[:-1], n), shape):
        return answer
    total = answer.total if zeros else None
    return replace(changed(answer, lambda a: a[..., :n]), total=total)


def last_token(answer: Answer, shape: Sizes) -> Answer:
    """Place a single row at the last token: a model may compute only that one in its last layer."""
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


def same_numbers(answer: Answer, other: Answer) -> bool:
    """Tell whether two answers give the same cells the same numbers."""
    return np.array_equal(answer.judged, other.judged) and np.array_equal(
        answer.values, other.values, equal_nan=True
    )
