"""Files of arrays written byte by byte, and what is said of them."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import blockcalc
from blockcalc.files.tensors import read, tensors
from blockcalc.messages.en import TEXTS
from blockcalc.reading.load import load

MAGIC = b"\x93NUMPY"
W = np.arange(6.0).reshape(3, 2)


def ours() -> re.Pattern[str]:
    """Match what is said in texts of the package, with nothing quoted from a library."""
    own = [text for key, text in TEXTS.items() if key.startswith(("header.", "archive.", "weights.", "file."))]  # fmt: skip
    own = [text for text in own if "{problem}" not in text] + [TEXTS["array.empty"], TEXTS["kind.huge"]]  # fmt: skip
    parts = (re.sub(r"\\\{\w+\\\}", ".*", re.escape(text)) for text in own)
    return re.compile(f"(.*: )?({'|'.join(parts)})", re.DOTALL)


OURS = ours()


def said(path: Path) -> str:
    """Read a file in every way; give the refusal, or what was read."""
    found = ""
    body = {"x": {"file": str(path)}, "attn": {"out": {"zeros": [3, 2]}}}
    for call in (
        lambda: [read(path, tensor) for tensor in tensors(path)],
        lambda: load(body),
        lambda: load(body, shapes_only=True),
    ):
        error = refusal(call)
        if error is not None:
            assert error.exit_code == 2
            for fault in error.faults:
                own = fault.message
                assert re.search("has .* rows?, but|; expected", own) or OURS.fullmatch(own), own  # fmt: skip
            found = found or error.faults[0].message
    return found


def refusal(call: Callable[[], object]) -> blockcalc.BlockcalcError | None:
    try:
        call()
    except blockcalc.BlockcalcError as error:
        return error
    return None


def npy(header: str, version: tuple[int, int] = (1, 0), encoding: str = "latin-1") -> bytes:
    raw = header.encode(encoding)
    size = 2 if version == (1, 0) else 4
    return MAGIC + bytes(version) + len(raw).to_bytes(size, "little") + raw


def described(shape: str = "(3, 2)", descr: str = "'<f8'", fortran: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"


def packed(raw: bytes, how: int = zipfile.ZIP_STORED) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", how) as archive:
        archive.writestr("w.npy", raw)
    return whole.getvalue()


def refused_bytes(path: Path, raw: bytes) -> str:
    path.write_bytes(raw)
    text = said(path)
    assert text
    return text


def safe(header: Any, data: bytes = W.tobytes(), length: int | None = None) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def entry(**own: Any) -> dict[str, Any]:
    return {"w": {"dtype": "F64", "shape": [3, 2], "data_offsets": [0, 48], **own}}
