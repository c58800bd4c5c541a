"""Headers that lie: every whole number of every header, every type, every length is refused in our words."""

from __future__ import annotations

import io
import json
import re
import struct
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.files.headers import MAX_NPY, MAX_SAFETENSORS
from blockcalc.files.tensors import Tensor, read, tensors
from blockcalc.messages.en import TEXTS
from blockcalc.reading.load import load
from tests.helpers import cli

MAGIC = b"\x93NUMPY"
W = np.arange(6.0).reshape(3, 2)
# what may stand where a whole number belongs: as it would be typed
ODD = ["2147483648", "4294967296", "9223372036854775808", "1" + "0" * 40, "-1", "-9223372036854775809",
       "1.0", "1e3", "True", "'3'", "None", "(3,)", "0x" + "f" * 5000, "9" * 5000]  # fmt: skip
DTYPES = ["|O", "<f3", "<i0", "<f16", ">c16", "<U4", "<U99999999999", "|S3", "<M8[s]", "<M8[zz]", "<m8[ns]",
          "|V8", "f8,i4", "(2,3)f8", "(99999999999,)f8", "?", "|b1", "T", "", "float64", "<f8 ", "é8"]  # fmt: skip


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
                assert re.search("has .* rows?, but|wanted is", own) or OURS.fullmatch(own), own  # fmt: skip
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


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """Hold every test to a few MiB: nothing is allocated because a header says so."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * 2**20


def refused(path: Path, raw: bytes) -> str:
    path.write_bytes(raw)
    text = said(path)
    assert text
    return text


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("odd", ODD)
def test_sizes_of_arrays(odd: str, version: tuple[int, int], tmp_path: Path) -> None:
    for shape in (f"({odd}, 2)", f"(3, {odd})", f"({odd},)", odd, f"(0, {odd})", f"[3, {odd}]"):
        raw = npy(described(shape), version) + W.tobytes()
        refused(tmp_path / "w.npy", raw)
        refused(tmp_path / "w.npz", packed(raw))


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ("(39999999999999999999999999999999999, 2)", "which is more than the 9223372036854775807 bytes that a file can have"),
        ("(4294967296, 4294967296)", "its shape is (4294967296, 4294967296), which is more than"),
        ("(0, 9223372036854775808)", "its shape is (0, 9223372036854775808), which is more than"),
        ("(-1, 2)", "its shape is (-1, 2); sizes are whole numbers from 0"),
        ("(3.0, 2)", "its shape is (3.0, 2); sizes are whole numbers from 0"),
        ("(True, 2)", "its shape is (True, 2); sizes are whole numbers from 0"),
        ("('3', 2)", "its shape is ('3', 2); sizes are whole numbers from 0"),
        ("6", "its shape is 6; sizes are whole numbers from 0"),
        ("(0x" + "f" * 5000 + ", 2)", "its shape is a number of very many digits, which is more than"),
        ("(30000, 2)", "it ends before the last number of w.npy"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_shape(shape: str, wanted: str, tmp_path: Path) -> None:
    raw = npy(described(shape)) + W.tobytes()
    assert wanted in refused(tmp_path / "w.npy", raw)
    assert wanted.replace("w.npy", "w") in refused(tmp_path / "w.npz", packed(raw))


@pytest.mark.parametrize("descr", [*map(repr, DTYPES), "8", "None", "[('a', '<f8')]", "('<f8', (2,))",
                                   "[('a', '<f8', (99999999999999999999,))]"])  # fmt: skip
def test_types_of_entries(descr: str, tmp_path: Path) -> None:
    for version in ((1, 0), (3, 0)):
        raw = npy(described(descr=descr), version, "utf-8") + W.tobytes()
        text = refused(tmp_path / "w.npy", raw)
        assert re.search(
            "the type of its entries, .*, is unknown|which does not become float64", text
        )
        refused(tmp_path / "w.npz", packed(raw))


@pytest.mark.parametrize(
    "descr", ["<f8", ">f8", "=f8", "<f4", ">f2", "<i8", ">i4", "|i1", "|u1", "<u8"]
)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("fortran", [False, True])
def test_what_is_read(descr: str, version: tuple[int, int], fortran: bool, tmp_path: Path) -> None:
    raw = npy(described(descr=repr(descr), fortran=str(fortran)), version)
    raw += W.astype(descr).tobytes("F" if fortran else "C")
    for name, whole in (("w.npy", raw), ("w.npz", packed(raw)), ("p.npz", packed(raw, 8))):
        (tmp_path / name).write_bytes(whole)
        assert said(tmp_path / name) == ""
        (tensor,) = tensors(tmp_path / name)
        assert np.array_equal(read(tmp_path / name, tensor), W)
        part = (slice(1, 3), slice(0, 1))
        assert read(tmp_path / name, tensor, part).tolist() == [[2], [4]]


def test_a_vector_and_a_number_alone(tmp_path: Path) -> None:
    for shape, wanted in (("(3,)", [7, 8, 9]), ("()", 7)):
        raw = npy(described(shape, "'|i1'")) + bytes([7, 8, 9])
        for name, whole in (("w.npy", raw), ("w.npz", packed(raw))):
            (tmp_path / name).write_bytes(whole)
            assert read(tmp_path / name, tensors(tmp_path / name)[0]).tolist() == wanted
    assert "w.npy is a single number" in refused(tmp_path / "w.npy", raw)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b"", "it does not begin as such a file does"),
        (b"\x93NUMPX\x01\x00", "it does not begin as such a file does"),
        (MAGIC, "it does not begin as such a file does"),
        (MAGIC + b"\x01\x00", "it ends within its header"),
        (MAGIC + b"\x01\x00\x05\x00{}", "it ends within its header"),
        (MAGIC + b"\x02\x00" + (2**31).to_bytes(4, "little"), f"its header has 2147483648 bytes, and at most {MAX_NPY}"),
        (MAGIC + b"\x04\x00" + bytes(20), "its format has version 4.0; 1.0, 2.0 and 3.0 are read"),
        (MAGIC + b"\x01\x01" + bytes(20), "its format has version 1.1"),
        (MAGIC + b"\x00\xff" + bytes(20), "its format has version 0.255"),
        (npy("{'descr'"), "its header cannot be read"),
        (npy("[" * 60000), "its header cannot be read"),
        (npy("-" * 60000 + "1"), "its header cannot be read"),
        (npy("1" + "+1" * 30000), "its header cannot be read"),
        (npy("{'shape': \0}"), "its header cannot be read"),
        (npy("{[]: 1}"), "its header cannot be read"),
        (npy("open('x')"), "its header cannot be read"),
        (npy("é", (3, 0)), "its header cannot be read"),
        (npy("[1, 2]"), "its header must have descr, fortran_order and shape, and nothing else"),
        (npy("{'descr': '<f8', 'shape': (3, 2)}"), "its header must have descr"),
        (npy(described()[:-3] + "'more': 1}"), "its header must have descr"),
        (npy(described(fortran="1")), "fortran_order in its header is 1; True or False is wanted"),
        (npy(described(fortran="'False'")), "fortran_order in its header is 'False'"),
        (npy(described()) + W.tobytes()[:-1], "it ends before the last number of w.npy"),
        (npy(described("(0, 2)")), "this list is empty"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_header(raw: bytes, wanted: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wanted in refused(tmp_path / "w.npy", raw)


def test_whole_numbers_as_python_2_wrote_them(tmp_path: Path) -> None:
    raw = npy(described("(3L, 2L)")) + W.tobytes()
    (tmp_path / "w.npy").write_bytes(raw)
    assert np.array_equal(read(tmp_path / "w.npy", tensors(tmp_path / "w.npy")[0]), W)


def test_every_cut_of_a_file(tmp_path: Path) -> None:
    raw = npy(described()) + W.tobytes()
    for name, whole in (("w.npy", raw), ("w.npz", packed(raw)), ("w.npz", packed(raw, 8))):
        for n in range(0, len(whole), 2):
            refused(tmp_path / name, whole[:n])


# archives -------------------------------------------------------------------------------


# where the whole numbers of an archive stand: in the head of an entry, in its line of the directory, at the end
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
        text = refused(tmp_path / "w.npz", lie)
        assert text.endswith(("it is damaged or cut short", "it ends before the last number of w"))


def test_entries_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    whole = bytearray(packed(npy(described()) + W.tobytes()))
    central = whole.find(b"PK\1\2")
    whole[central + 8] |= 1
    assert "w.npy is encrypted" in refused(path, bytes(whole))
    path.write_bytes(packed(b"1", zipfile.ZIP_BZIP2))
    assert "w.npy is compressed in a way that NumPy does not write" in said(path)
    damaged = bytearray(packed(npy(described()) + W.tobytes()))
    damaged[len(damaged) // 2 - 40] ^= 255
    assert "it is damaged or cut short" in refused(path, bytes(damaged))


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
        blockcalc.BlockcalcError, match="v holds object, which does not become float64"
    ):
        read(path, Tensor("v", (3, 2), "object"))


# safetensors ----------------------------------------------------------------------------


def safe(header: Any, data: bytes = W.tobytes(), length: int | None = None) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def entry(**own: Any) -> dict[str, Any]:
    return {"w": {"dtype": "F64", "shape": [3, 2], "data_offsets": [0, 48], **own}}


def test_numbers_of_safetensors(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    path = tmp_path / "w.safetensors"
    odd = [2**31, 2**63, 2**64, 10**40, -1, 1.5, 3.0, True, "3", None, [3], {}]
    for value in odd:
        for own in (entry(shape=[value, 2]), entry(shape=[3, value]), entry(shape=value), entry(dtype=value),
                    entry(data_offsets=[value, 48]), entry(data_offsets=[0, value]), entry(data_offsets=value),
                    {"w": value}, {"w": {**entry()["w"], "more": value}}):  # fmt: skip
            refused(path, safe(own))
    for length in (0, 1, 2**31, 2**63, 2**64 - 1):
        refused(path, safe(entry(), length=length))


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b"", "it ends within its header"),
        (safe(entry(), length=10**9), f"its header has 1000000000 bytes, and at most {MAX_SAFETENSORS}"),
        (safe(entry(), length=10**6), "it ends within its header"),
        (safe(b"[1, 2]"), "its header is not a JSON object with each key once"),
        (safe(b"[" * 50000), "its header is not a JSON object"),
        (safe(b'{"w": 1, "w": 2}'), "its header is not a JSON object with each key once"),
        (safe(b'{"w": \xff}'), "its header is not a JSON object"),
        (safe(b'{"w": %s}' % (b"9" * 5000)), "its header is not a JSON object"),
        (safe({"w": 1}), "'w' in its header must have dtype, shape and data_offsets"),
        (safe(entry(dtype=8)), "the type of its entries, 8, is unknown"),
        (safe(entry(shape=[3, -2])), "its shape is [3, -2]; sizes are whole numbers from 0"),
        (safe(entry(shape=[2**32, 2**32])), "which is more than the 9223372036854775807 bytes"),
        (safe(entry(data_offsets=[48, 0])), "the data_offsets of 'w' are [48, 0]; two whole numbers from 0"),
        (safe(entry(data_offsets=[0, 49])), "it ends before the last number of w"),
        (safe(entry(shape=[2, 2])), "'w' is [2, 2] of F64, and has 48 bytes"),
        (safe(entry(dtype="F99")), "it is damaged or cut short"),
        (safe(entry(dtype="BOOL", data_offsets=[0, 6]), bytes(6)), "w holds BOOL, which does not become float64"),
    ],
)  # fmt: skip
def test_what_is_said_of_safetensors(raw: bytes, wanted: str, tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    assert wanted in refused(tmp_path / "w.safetensors", raw)


# by chance ------------------------------------------------------------------------------


def test_bytes_changed_by_chance(tmp_path: Path) -> None:
    """Change a few bytes of good files many times: what comes out is read, or refused in our words."""
    raw = npy(described()) + W.tobytes()
    good = {"a.npy": raw, "b.npz": packed(raw), "c.npz": packed(raw, 8)}
    if pytest.importorskip("safetensors", reason="safetensors is an extra"):
        good["d.safetensors"] = safe(entry())
    rng = np.random.RandomState(11)
    for name, whole in good.items():
        path = tmp_path / name
        for _ in range(100):
            own = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                own[rng.randint(len(own))] = rng.choice([0, 1, 127, 128, 255, rng.randint(256)])
            path.write_bytes(bytes(own[: rng.choice([len(own), rng.randint(1, len(own) + 1)])]))
            said(path)


def test_every_command_refuses_the_size(tmp_path: Path) -> None:
    (tmp_path / "w.npy").write_bytes(npy(described(f"(3{'9' * 40}, 2)")) + W.tobytes())
    (tmp_path / "a.yaml").write_text("x: {file: w.npy}\nattn: {out: {zeros: [3, 2]}}\n")
    for args in (("run", "a.yaml"), ("shapes", "a.yaml"), ("weights", "w.npy")):
        done = cli(*args, cwd=tmp_path)
        assert done.returncode == 2
        assert b"which is more than the 9223372036854775807 bytes" in done.stderr
