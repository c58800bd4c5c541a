"""The first fault of a text in every reader and encoding, and the names of characters."""

from __future__ import annotations

import io
import sys
import unicodedata
from pathlib import Path

import pytest

import blockcalc
from blockcalc.errors import BlockcalcError, Fault, InputError
from blockcalc.files.decode import read_text
from blockcalc.files.tensors import tensors

OWN_NAMES = {"\x85": "next line", "\ufeff": "byte order mark"}
SCRIPTS = {"arabic": "Arabic", "devanagari": "Devanagari", "latin": "Latin"}
ENCODINGS = {
    "utf-8": "", "utf-8-sig": "", "utf-16-le": "\ufeff", "utf-16-be": "\ufeff", "utf-32-le": "\ufeff", "utf-32-be": "\ufeff",
    "utf-16-le without": "", "utf-16-be without": "", "utf-32-le without": "", "utf-32-be without": "",
}  # fmt: skip
TWO_ROWS = "x: [[1], [2]]\nattn: {out: [[1], [2]]}\n"


def named(sign: str) -> str:
    name = OWN_NAMES.get(sign) or unicodedata.name(sign).lower()
    name = name.replace("fullwidth", "full-width").replace("zero width", "zero-width")
    name = " ".join(
        "-".join(SCRIPTS.get(part, part) for part in word.split("-")) for word in name.split(" ")
    )
    return f"{name} U+{ord(sign):04X}"


def advice(meant: str, json: bool = False) -> str:
    if json and meant == '"\'"':
        meant = "'\"'"
    return f"write {meant} instead" if meant else "delete it"


class Stdin:
    """Standard input that holds some bytes."""

    def __init__(self, raw: bytes) -> None:
        self.buffer = io.BytesIO(raw)


def fault_of(reader: str, text: str, folder: Path, encoding: str = "utf-8") -> Fault:
    """Read a text with a reader, and give the first fault."""
    raw = (ENCODINGS[encoding] + text).encode(encoding.removesuffix(" without"))
    path = folder / f"a.{reader}"
    path.write_bytes(raw)
    kept, sys.stdin = sys.stdin, Stdin(raw)
    read = tensors if reader == "csv" else blockcalc.load
    try:
        with pytest.raises(BlockcalcError) as caught:
            read(Path("-") if reader == "stdin" else path)
    finally:
        sys.stdin = kept
    return caught.value.faults[0]


def place_of(fault: Fault) -> tuple[int | None, int | None]:
    assert fault.place is not None
    return fault.place.line, fault.place.column


def refused_text(content: str, name: str = "a.yaml") -> tuple[str, int | None, int | None]:
    """Read what must be refused; give its first message, line and column."""
    with pytest.raises(InputError) as caught:
        read_text(content, name)
    fault = caught.value.faults[0]
    assert fault.place is not None
    assert fault.place.file == name
    return fault.message, fault.place.line, fault.place.column
