"""The headers of npy and safetensors files: dtype and shape of tensors without their numbers.

A header is untrusted: every number in it is checked against the limits of a file before it is used.
"""

from __future__ import annotations

import ast
import json
import math
import re
from typing import IO, Any

import numpy as np

from blockcalc.files.source import short
from blockcalc.messages import say
from blockcalc.records import dataclass

MAGIC = b"\x93NUMPY"
# for each version: the size of the length field in bytes, and the encoding of the header
VERSIONS = {(1, 0): (2, "latin-1"), (2, 0): (4, "latin-1"), (3, 0): (4, "utf-8")}
MAX_NPY = 2**16  # bytes of a header
MAX_SAFETENSORS = 100_000_000  # the limit of the format itself
MOST_BYTES = 2**63 - 1  # of an array
_KEYS = {"descr", "fortran_order", "shape"}
_LONG = re.compile(r"(?<=[0-9])L(?=[,)])")  # whole numbers as written by Python 2
_DESCR = re.compile(r"[<>|=]?[A-Za-z?][0-9]*(\[[0-9A-Za-z/]+\])?")
_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16,
         "I16": 16, "U16": 16, "I8": 8, "U8": 8, "BOOL": 8}  # fmt: skip


class Broken(Exception):
    """A file does not have the format of its name; the text says why."""


@dataclass(frozen=True)
class Npy:
    """The header of an npy array: shape, order and dtype of its numbers, and their offset.

    ``dtype`` is None for a structured dtype.
    """

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any] | None
    start: int

    @property
    def name(self) -> str:
        """The NumPy name of the dtype."""
        return "structured" if self.dtype is None else self.dtype.name


def read_npy(stream: IO[bytes]) -> Npy:
    """Read the header of an npy file, version 1, 2 or 3; the stream ends at the first number.

    Raises
    ------
    Broken
        The header is invalid, or its sizes are impossible.
    """
    magic = stream.read(len(MAGIC) + 2)
    if magic[:-2] != MAGIC:
        raise Broken(say("header.magic"))
    version = (magic[-2], magic[-1])
    if version not in VERSIONS:
        raise Broken(say("header.version", version=f"{version[0]}.{version[1]}"))
    width, encoding = VERSIONS[version]
    length = int.from_bytes(_all(stream, width), "little")
    if length > MAX_NPY:
        raise Broken(say("header.long", n=length, most=MAX_NPY))
    raw = _all(stream, length)
    try:
        fields = _literal(raw.decode(encoding))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise Broken(say("header.syntax")) from None
    if not isinstance(fields, dict) or set(fields) != _KEYS:
        raise Broken(say("header.fields"))
    if not isinstance(fields["fortran_order"], bool):
        raise Broken(say("header.order", got=_shown(fields["fortran_order"])))
    dtype = _dtype(fields["descr"])
    shape = sizes(fields["shape"], 8 * (dtype.itemsize if dtype else 1))
    return Npy(shape, fields["fortran_order"], dtype, len(magic) + width + length)


def _all(stream: IO[bytes], count: int) -> bytes:
    raw = stream.read(count)
    if len(raw) < count:
        raise Broken(say("header.cut"))
    return raw


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except SyntaxError:
        return ast.literal_eval(_LONG.sub("", text))


def _dtype(descr: Any) -> np.dtype[Any] | None:
    """Read the dtype of the entries; None for a structured dtype."""
    if isinstance(descr, list | tuple):
        return None
    if isinstance(descr, str) and _DESCR.fullmatch(descr):
        try:
            return np.dtype(descr)
        except (TypeError, ValueError, OverflowError):
            pass
    raise Broken(say("header.dtype", got=_shown(descr)))


def sizes(shape: Any, bits: int) -> tuple[int, ...]:
    """Check a list of sizes as a shape with entries of ``bits`` bits, within the limits of a file.

    Raises
    ------
    Broken
        A size is not a whole number from 0, or the product is too large.
    """
    known = isinstance(shape, list | tuple)
    if not known or not all(type(n) is int and n >= 0 for n in shape):
        raise Broken(say("header.shape", shape=_shown(shape)))
    total = 1
    for n in shape:
        total *= max(n, 1)  # an axis of length 0 does not allow another to be arbitrarily long
        if total * max(bits, 8) > 8 * MOST_BYTES:
            raise Broken(say("header.size", shape=_shown(shape), most=MOST_BYTES))
    return tuple(shape)


def _shown(value: Any) -> str:
    """Write a value of a header, shortened if it is long."""
    try:
        return short(repr(value))
    except ValueError:  # Python does not convert numbers of more than 4300 digits
        return say("kind.huge")


def read_safetensors(stream: IO[bytes], length: int) -> dict[str, tuple[tuple[int, ...], str]]:
    """Read the header of a safetensors file of ``length`` bytes: shape and dtype of each tensor.

    Raises
    ------
    Broken
        The header is invalid, or does not fit the length of the file.
    """
    size = int.from_bytes(_all(stream, 8), "little")
    if size > MAX_SAFETENSORS:
        raise Broken(say("header.long", n=size, most=MAX_SAFETENSORS))
    if size > length - 8:
        raise Broken(say("header.cut"))
    try:
        fields = json.loads(_all(stream, size), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise Broken(say("header.json")) from None
    if not isinstance(fields, dict):
        raise Broken(say("header.json"))
    room = length - 8 - size
    return {name: _entry(name, own, room) for name, own in fields.items() if name != "__metadata__"}


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) < len(items):
        raise ValueError
    return found


def _entry(name: str, own: Any, room: int) -> tuple[tuple[int, ...], str]:
    """Check the entry of one tensor; ``room`` is the size of the data in bytes."""
    if not isinstance(own, dict) or set(own) != {"dtype", "shape", "data_offsets"}:
        raise Broken(say("header.entry", name=short(name)))
    dtype, ends = own["dtype"], own["data_offsets"]
    if not isinstance(dtype, str):
        raise Broken(say("header.dtype", got=_shown(dtype)))
    shape = sizes(own["shape"], _BITS.get(dtype, 8))
    whole = isinstance(ends, list) and len(ends) == 2 and all(type(n) is int for n in ends)
    if not whole or not 0 <= ends[0] <= ends[1]:
        raise Broken(say("header.offsets", name=short(name), got=_shown(ends)))
    if ends[1] > room:
        raise Broken(say("header.short", name=short(name)))
    wanted = math.prod(shape) * _BITS.get(dtype, 0)
    if dtype in _BITS and wanted != 8 * (ends[1] - ends[0]):
        raise Broken(say("header.length", name=short(name), shape=_shown(list(shape)), dtype=dtype,
                         has=ends[1] - ends[0]))  # fmt: skip
    return shape, dtype
