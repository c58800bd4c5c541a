"""JSON: the data of a document, written piece by piece, a row of numbers on one line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.program.rounding import plain_floats

CHUNK = 1 << 16  # characters that are written at once, at least
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def json_bytes(data: Any, fragment: bool = False) -> bytes:
    r"""Write plain data as JSON; an array is a list of rows, minus infinity in it a text.

    Examples
    --------
    >>> json_bytes({"a": [1, 2], "b": np.array([[0.5, -np.inf]])})
    b'{\n "a": [1, 2],\n "b": [\n  [0.5, "-inf"]\n ]\n}\n'
    """
    return b"".join(json_chunks(data, fragment))


def json_chunks(data: Any, fragment: bool = False) -> Iterator[bytes]:
    """Write the same in parts, so that a long document needs little memory."""
    parts: list[str] = []
    size = 0
    for part in _written(data, "\n"):
        parts.append(part)
        size += len(part)
        if size >= CHUNK:
            yield "".join(parts).encode()
            parts, size = [], 0
    yield ("".join(parts) + "\n").encode()


def _written(value: Any, line: str) -> Iterator[str]:
    """Write a value; ``line`` is the end of a line with the indent of the next."""
    deeper = line + " "
    if isinstance(value, np.ndarray):
        yield from _array(value, line)
    elif isinstance(value, dict) and value:
        keys = (f"{_encode(str(key))}: " for key in value)
        yield from _several("{}", zip(keys, value.values(), strict=True), line, deeper)
    elif isinstance(value, list | tuple) and any(map(_nested, value)):
        yield from _several("[]", (("", own) for own in value), line, deeper)
    else:
        yield _encode(value)


def _nested(value: Any) -> bool:
    return isinstance(value, dict | list | tuple | np.ndarray)


def _several(
    brackets: str, entries: Iterable[tuple[str, Any]], line: str, deeper: str
) -> Iterator[str]:
    start = brackets[0] + deeper
    for before, value in entries:
        yield start + before
        yield from _written(value, deeper)
        start = "," + deeper
    yield line + brackets[1]


def _array(value: NDArray[Any], line: str) -> Iterator[str]:
    """Write an array: its last axis on one line, the others one under another."""
    if value.ndim < 2:
        numbers = plain_floats(value.ravel())
        if not np.isfinite(value).all():
            numbers = [x if np.isfinite(x) else str(x) for x in numbers]  # type: ignore[misc]
        yield _encode(numbers if value.ndim else numbers[0])
        return
    if not len(value):
        yield "[]"
        return
    deeper = line + " "
    start = "[" + deeper
    for row in value:
        yield start
        yield from _array(row, deeper)
        start = "," + deeper
    yield line + "]"
