"""Files of arrays: headers and archives that are not what they seem, and what is no file."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.files.tensors import tensors
from blockcalc.reading.load import load
from tests.array_files import npy
from tests.helpers import refused


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.mark.slow
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_of_another_compression_is_refused(method: int, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(tmp_path / "b.npz", a=np.ones((2, 2)))
    with zipfile.ZipFile(tmp_path / "b.npz") as from_, zipfile.ZipFile(path, "w", method) as to:
        to.writestr("a.npy", from_.read("a.npy"))
    assert "compressed in a way" in refused(lambda: tensors(path))
    np.savez_compressed(path, a=np.ones((2, 2)))
    assert tensors(path)[0].shape == (2, 2)


@pytest.mark.slow
def test_a_file_without_tensors_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path)
    assert "holds no tensor" in refused(
        lambda: load({"x": {"file": str(path)}, "attn": {"out": [[1]]}})
    )


@pytest.mark.parametrize("ending", ["npz", "npy", "csv", "safetensors"])
def test_what_is_no_regular_file_is_not_waited_for(ending: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"pipe.{ending}")
    (tmp_path / f"zero.{ending}").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        said = refused(lambda name=name: tensors(tmp_path / f"{name}.{ending}"))
        assert "this is not a regular file" in said


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            b"\x93NUMPY\x02\x00" + (900 << 20).to_bytes(4, "little"),
            "its header has 943718400 bytes",
        ),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }\n"),
            "its shape is (-1, 2)",
        ),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }\n"),
            "this list is empty",
        ),
    ],
)
def test_headers_that_lie(raw: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(raw)
    path = tmp_path / "a.yaml"
    path.write_text("x: {file: a.npy}\nattn: {out: {zeros: [2, 2]}}\n")
    assert said in refused(lambda: blockcalc.load(path))


def test_a_header_of_python_2_is_read_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1L, 2L), }\n") + bytes(16))  # fmt: skip
    path = tmp_path / "a.yaml"
    path.write_text("x: {file: a.npy}\nattn: {out: [[0, 0]]}\n")
    assert blockcalc.load(path).arrays["x"].tolist() == [[0, 0]]


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", b"")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.npy", b"")
    assert "two of its entries have the same name" in refused(lambda: tensors(tmp_path / "a.npz"))


def test_giants_of_a_file_are_noted(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[2**53 + 1, 1], [0, 1]]))
    path = tmp_path / "a.yaml"
    path.write_text("x: {file: a.npy}\nattn: {out: {zeros: [2, 2]}}\n")
    assert "x has whole numbers" in blockcalc.load(path).remarks[0]


def test_what_is_not_there_is_said_first(tmp_path: Path) -> None:
    assert "no such file" in refused(lambda: open_checkpoint(str(tmp_path / "nodir")))
    assert "no such file" in refused(lambda: tensors(tmp_path / "none.txt"))
    assert "this is a folder" in refused(lambda: tensors(tmp_path))


def test_sizes_that_have_no_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.arange(4.0))
    np.savez(tmp_path / "w.npz", v=np.arange(4.0))
    with (tmp_path / "old.npy").open("wb") as stream:
        np.lib.format.write_array(stream, np.ones((2, 2)), version=(2, 0))
    path = tmp_path / "a.yaml"
    body = "x: [[1, 0], [0, 1]]\nattn: {out: [[1, 0], [0, 1]]}\nnorm1: {gamma: {file: v.npy, %s}}\n"
    path.write_text(body % "rows: '1:3'")
    assert blockcalc.load(path).arrays["norm1.gamma"].tolist() == [1, 2]
    path.write_text(body % "cols: '1:3'")
    assert "a range of rows or columns is expected" in refused(lambda: blockcalc.load(path))
    assert tensors(tmp_path / "old.npy")[0].shape == (2, 2)
    assert "this is a folder" in refused(lambda: tensors(_folder(tmp_path / "f.npz")))


def test_troubles_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2)))
    for error, said in ((PermissionError(13, "Permission denied"), "cannot be read: Permission denied"),
                        (MemoryError(), "too large for the memory")):  # fmt: skip

        def fail(*_: Any, error: BaseException = error, **__: Any) -> Any:
            raise error

        monkeypatch.setattr(Path, "open", fail)
        assert said in refused(lambda: tensors(tmp_path / "v.npy"))


def test_entries_of_an_archive_that_are_no_arrays(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert tensors(tmp_path / "a.npz") == []
