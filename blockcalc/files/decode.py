"""Decode bytes to plain data: YAML or JSON, by the name of a file or by its content."""

from __future__ import annotations

import codecs
import re
from typing import Any

from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.json_text import is_json, read_json
from blockcalc.files.source import Path, Real, Source
from blockcalc.files.yaml_text import read_yaml
from blockcalc.limits import MAX_BYTES
from blockcalc.messages import say

_MARKS = (  # longer marks before shorter ones that are their prefix
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK = "\ufeff"
FEW = 8  # a text with fewer zero bytes is not taken for UTF-16
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1f]")


def decode(raw: bytes, name: str, most: int | None = None) -> str:
    """Decode bytes as UTF-8, UTF-16 or UTF-32, by the byte order mark or by the zero bytes.

    Parameters
    ----------
    raw : bytes
        The content of a file; readers read one byte more than ``most``, not a whole large file.
    name : str
        The name of the file, for errors.
    most : int, optional
        The largest length; ``MAX_BYTES`` by default.

    Raises
    ------
    InputError
        There are more bytes, or they are no text in the encoding.
    """
    limit = MAX_BYTES if most is None else most
    if len(raw) > limit:
        text = say("file.too_large", limit=limit)
        raise InputError(Fault(text, Place(name), say("file.too_large.hint")))
    encoding, start = _encoding(raw)
    try:
        text = raw[start:].decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecoded(raw[start:], error.start, encoding, name) from None
    return _lines(text)


def _encoding(raw: bytes) -> tuple[str, int]:
    """Detect the encoding of a text and the index where the text begins."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return encoding, len(mark)
    if b"\0" not in raw:
        return "utf-8", 0
    n = len(raw)
    zeros = [raw[i::4].count(0) for i in range(4)]
    for places, encoding in (((3, 2), "utf-32-le"), ((0, 1), "utf-32-be")):
        if n % 4 == 0 and zeros[places[0]] == n // 4 and zeros[places[1]] * 8 >= n:
            return encoding, 0
    even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
    # in UTF-16 an ASCII character has one zero byte, always the same one
    less, most = sorted((even, odd))
    if 2 * less < most and (4 * most >= n or (most >= FEW and 8 * most >= n)):
        return ("utf-16-le" if odd > even else "utf-16-be"), 0
    return "utf-8", 0


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _undecoded(raw: bytes, at: int, encoding: str, name: str) -> InputError:
    """Make the error for an undecodable byte, with the character it would be in Latin-1."""
    before = _lines(raw[:at].decode(encoding))
    column = len(before) - (before.rfind("\n") + 1)
    line = before.count("\n") + 1
    if encoding != "utf-8":
        known = encoding.removesuffix("-le").removesuffix("-be").upper()
        return InputError(Fault(say("encoding.not", encoding=known), Place(name, line, column + 1)))
    if _BINARY.search(raw):
        return InputError(Fault(say("encoding.binary"), Place(name)))
    rest = raw[at:].splitlines()[0].decode("utf-8", "surrogateescape")
    shown = "".join(_latin(c) for c in rest)
    text = before[len(before) - column :] + shown
    message = say("encoding.not", encoding="UTF-8")
    if shown[0] >= "\xa0":  # below are control characters
        from blockcalc.files.misread import lookalike  # imported only for errors

        blank = None if shown[0].isprintable() else lookalike(shown[0])
        sign = blank.named() if blank else f"'{shown[0]}'"
        message = say("encoding.latin", byte=f"0x{raw[at]:02X}", sign=sign)
    return InputError(Fault(message, Place(name, line, column + 1, text), say("encoding.save")))


def _latin(sign: str) -> str:
    """Read a byte as Windows-1252, or as Latin-1 if that does not define it."""
    if not "\udc80" <= sign <= "\udcff":
        return sign
    byte = bytes([ord(sign) - 0xDC00])
    return byte.decode("cp1252", "replace").replace("\ufffd", byte.decode("latin-1"))


def read_text(text: str, name: str, real: Real = None) -> Source:
    """Read a text as JSON or YAML, by its name or else by its first characters.

    ``real`` receives the text of each number that is not an integer, for callers that need more
    than its value.
    """
    lower, text = name.lower(), text.lstrip(_MARK)
    as_json = lower.endswith(".json")
    if not as_json and not lower.endswith((".yaml", ".yml")):
        as_json = text.lstrip()[:1] == "{" and is_json(text)
    source = Source(name, text)
    source.data = read_json(source, real) if as_json else read_yaml(source, real=real)
    return source


def read_value(text: str, name: str, at: Path = ()) -> Any:
    """Read a value of ``--set`` as in a file: ``true``, ``1e-5``, ``[[1, 0], [0, 1]]``.

    ``at`` is the path of its key.
    """
    return read_yaml(Source(name, text.lstrip(_MARK)), at)
