"""Wrong headers: every wrong number, type or length gives an error of ours."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from blockcalc.files.headers import MAX_NPY
from blockcalc.files.tensors import read, tensors
from tests.array_files import (
    MAGIC,
    W,
    described,
    entry,
    npy,
    packed,
    refused_bytes,
    safe,
    said,
)
from tests.helpers import cli

pytestmark = pytest.mark.usefixtures("little_memory")

# what may stand where a whole number belongs: as it would be typed
ODD = ["2147483648", "4294967296", "9223372036854775808", "1" + "0" * 40, "-1", "-9223372036854775809",
       "1.0", "1e3", "True", "'3'", "None", "(3,)", "0x" + "f" * 5000, "9" * 5000]  # fmt: skip
VERSIONS = [(1, 0), *(pytest.param((n, 0), marks=pytest.mark.slow) for n in (2, 3))]
DTYPES = ["|O", "<f3", "<i0", "<f16", ">c16", "<U4", "<U99999999999", "|S3", "<M8[s]", "<M8[zz]", "<m8[ns]",
          "|V8", "f8,i4", "(2,3)f8", "(99999999999,)f8", "?", "|b1", "T", "", "float64", "<f8 ", "é8"]  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("odd", ODD)
def test_sizes_of_arrays(odd: str, version: tuple[int, int], tmp_path: Path) -> None:
    for shape in (f"({odd}, 2)", f"(3, {odd})", f"({odd},)", odd, f"(0, {odd})", f"[3, {odd}]"):
        raw = npy(described(shape), version) + W.tobytes()
        refused_bytes(tmp_path / "w.npy", raw)
        refused_bytes(tmp_path / "w.npz", packed(raw))


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ("(39999999999999999999999999999999999, 2)", "which is more than the 9223372036854775807 bytes that a file can have"),
        ("(4294967296, 4294967296)", "its shape is (4294967296, 4294967296), which is more than"),
        ("(0, 9223372036854775808)", "its shape is (0, 9223372036854775808), which is more than"),
        ("(-1, 2)", "its shape is (-1, 2); sizes must be whole numbers, 0 or larger"),
        ("(3.0, 2)", "its shape is (3.0, 2); sizes must be whole numbers, 0 or larger"),
        ("(True, 2)", "its shape is (True, 2); sizes must be whole numbers, 0 or larger"),
        ("('3', 2)", "its shape is ('3', 2); sizes must be whole numbers, 0 or larger"),
        ("6", "its shape is 6; sizes must be whole numbers, 0 or larger"),
        ("(0x" + "f" * 5000 + ", 2)", "its shape is a number of very many digits, which is more than"),
        ("(30000, 2)", "it ends before the last number of w.npy"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_shape(shape: str, wanted: str, tmp_path: Path) -> None:
    raw = npy(described(shape)) + W.tobytes()
    assert wanted in refused_bytes(tmp_path / "w.npy", raw)
    assert wanted.replace("w.npy", "w") in refused_bytes(tmp_path / "w.npz", packed(raw))


@pytest.mark.parametrize("descr", [*map(repr, DTYPES), "8", "None", "[('a', '<f8')]", "('<f8', (2,))",
                                   "[('a', '<f8', (99999999999999999999,))]"])  # fmt: skip
def test_types_of_entries(descr: str, tmp_path: Path) -> None:
    for version in ((1, 0), (3, 0)):
        raw = npy(described(descr=descr), version, "utf-8") + W.tobytes()
        text = refused_bytes(tmp_path / "w.npy", raw)
        assert re.search(
            "the type of its entries, .*, is unknown|which cannot be converted to float64", text
        )
        refused_bytes(tmp_path / "w.npz", packed(raw))


@pytest.mark.parametrize(
    "descr", ["<f8", ">f8", "=f8", "<f4", ">f2", "<i8", ">i4", "|i1", "|u1", "<u8"]
)
@pytest.mark.parametrize("version", VERSIONS)
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
    assert "w.npy is a single number" in refused_bytes(tmp_path / "w.npy", raw)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b"", "it does not begin with the signature of such a file"),
        (b"\x93NUMPX\x01\x00", "it does not begin with the signature of such a file"),
        (MAGIC, "it does not begin with the signature of such a file"),
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
        (npy(described(fortran="1")), "fortran_order in its header is 1; True or False is expected"),
        (npy(described(fortran="'False'")), "fortran_order in its header is 'False'"),
        (npy(described()) + W.tobytes()[:-1], "it ends before the last number of w.npy"),
        (npy(described("(0, 2)")), "this list is empty"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_header(raw: bytes, wanted: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wanted in refused_bytes(tmp_path / "w.npy", raw)


def test_whole_numbers_as_python_2_wrote_them(tmp_path: Path) -> None:
    raw = npy(described("(3L, 2L)")) + W.tobytes()
    (tmp_path / "w.npy").write_bytes(raw)
    assert np.array_equal(read(tmp_path / "w.npy", tensors(tmp_path / "w.npy")[0]), W)


@pytest.mark.slow
def test_every_cut_of_a_file(tmp_path: Path) -> None:
    raw = npy(described()) + W.tobytes()
    for name, whole in (("w.npy", raw), ("w.npz", packed(raw)), ("w.npz", packed(raw, 8))):
        for n in range(0, len(whole), 2):
            refused_bytes(tmp_path / name, whole[:n])


# by chance ------------------------------------------------------------------------------


@pytest.mark.slow
def test_bytes_changed_by_chance(tmp_path: Path) -> None:
    """Change a few bytes of good files many times: the result is read, or an error of ours."""
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


@pytest.mark.slow
def test_every_command_refuses_the_size(tmp_path: Path) -> None:
    (tmp_path / "w.npy").write_bytes(npy(described(f"(3{'9' * 40}, 2)")) + W.tobytes())
    (tmp_path / "a.yaml").write_text("x: {file: w.npy}\nattn: {out: {zeros: [3, 2]}}\n")
    for args in (("run", "a.yaml"), ("shapes", "a.yaml"), ("weights", "w.npy")):
        done = cli(*args, cwd=tmp_path)
        assert done.returncode == 2
        assert b"which is more than the 9223372036854775807 bytes" in done.stderr
