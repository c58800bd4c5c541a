"""Archives of arrays: every number of their bytes changed, and entries that are not read."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

import blockcalc
from blockcalc.files.tensors import Tensor, read
from tests.array_files import (
    W,
    described,
    npy,
    packed,
    refused_bytes,
    said,
)

pytestmark = pytest.mark.usefixtures("little_memory")

# the whole numbers of an archive: in the header of an entry, in the directory, at the end
FIELDS = {
    b"PK\3\4": [(4, 2), (6, 2), (8, 2), (10, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)],
    b"PK\1\2": [(6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4)],
    b"PK\5\6": [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)],
}  # fmt: skip


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("sign", FIELDS)
def test_every_number_of_an_archive(how: int, sign: bytes, tmp_path: Path) -> None:
    whole = packed(npy(described()) + W.tobytes(), how)
    for offset, width in FIELDS[sign]:
        at = whole.find(sign) + offset
        for number in (0, 1, 2 ** (8 * width - 1), 2 ** (8 * width) - 1):
            own = whole[:at] + number.to_bytes(width, "little") + whole[at + width :]
            (tmp_path / "w.npz").write_bytes(own)
            said(tmp_path / "w.npz")


@pytest.mark.parametrize("number", [0, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("which", range(3))
def test_long_numbers_of_an_archive(number: int, which: int, tmp_path: Path) -> None:
    raw = npy(described()) + W.tobytes()
    whole = packed(raw)
    start = whole.find(b"PK\1\2")
    numbers = [len(raw), len(raw), 0]  # whole size, packed size, where the entry begins
    numbers[which] = number
    more = struct.pack("<HHQQQ", 1, 24, *numbers)
    line = bytearray(whole[start : start + 46])
    line[20:28], line[42:46] = b"\xff" * 8, b"\xff" * 4
    line[30:32] = len(more).to_bytes(2, "little")
    directory = bytes(line) + b"w.npy" + more
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(directory), start, 0)
    (tmp_path / "w.npz").write_bytes(whole[:start] + directory + end)
    assert bool(said(tmp_path / "w.npz")) == ((number, which) != (0, 2))


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_sizes_of_an_entry_that_lie(how: int, tmp_path: Path) -> None:
    raw = npy(described("(99, 9)")) + W.tobytes()
    whole = packed(raw, how)
    at = whole.find(b"PK\1\2") + 20  # the packed and the whole size stand there
    for sizes in ((len(raw), 2**31), (2**31, 2**31), (2**32 - 2, 2**32 - 2), (len(raw), 9999)):
        lie = whole[:at] + struct.pack("<II", *sizes) + whole[at + 8 :]
        text = refused_bytes(tmp_path / "w.npz", lie)
        assert text.endswith(("it is damaged or cut short", "it ends before the last number of w"))


def test_entries_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    whole = bytearray(packed(npy(described()) + W.tobytes()))
    central = whole.find(b"PK\1\2")
    whole[central + 8] |= 1
    assert "w.npy is encrypted" in refused_bytes(path, bytes(whole))
    path.write_bytes(packed(b"1", zipfile.ZIP_BZIP2))
    assert "w.npy is compressed in a way that NumPy does not write" in said(path)
    damaged = bytearray(packed(npy(described()) + W.tobytes()))
    damaged[len(damaged) // 2 - 40] ^= 255
    assert "it is damaged or cut short" in refused_bytes(path, bytes(damaged))


def test_a_file_that_changes_between_header_and_numbers(tmp_path: Path) -> None:
    for name in ("w.npy", "w.npz"):
        path = tmp_path / name
        for shape, dtype in (((2, 3), "float64"), ((3, 2), "int64")):
            raw = npy(described()) + W.tobytes()
            path.write_bytes(raw if name == "w.npy" else packed(raw))
            own = Tensor("" if name == "w.npy" else "w", shape, dtype)
            with pytest.raises(
                blockcalc.BlockcalcError, match="it has changed since its header was read"
            ):
                read(path, own)
    with pytest.raises(
        blockcalc.BlockcalcError, match="v holds object, which cannot be converted to float64"
    ):
        read(path, Tensor("v", (3, 2), "object"))
