"""Files that cannot be read: none, a folder, standard input that is closed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from blockcalc.files.decode import decode
from blockcalc.limits import MAX_BYTES
from blockcalc.reading.load import read_file
from tests.helpers import refused


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such file" in refused(lambda: read_file(str(tmp_path / "none.yaml")))
    assert "this is a folder" in refused(lambda: read_file(str(tmp_path)))
    assert "no such file" in refused(lambda: read_file("a\0b"))
    (tmp_path / "large.yaml").write_bytes(b" " * (MAX_BYTES + 1))
    said = refused(lambda: read_file(str(tmp_path / "large.yaml")))
    assert "larger than the limit" in said
    assert "{file: weights.npz, key: name}" in said
    assert "2:1: this is not UTF-8 text" in refused(lambda: decode(b"a\n\xff", "a"))
    assert "1:1: this is not UTF-16 text" in refused(lambda: decode(b"\xff\xfe\x00\xd8", "a"))
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refused(lambda: read_file("-"))

    class Stdin:
        buffer = io.BytesIO(b'{"x": 1}')

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert read_file("-").data == {"x": 1}
