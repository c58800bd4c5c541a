"""Matrices that live in other files, or are made by a rule."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.steps import explain
from blockcalc.files.tensors import Tensor, read, tensors
from tests import helpers
from tests.helpers import cli, text, yaml_file

RNG = np.random.RandomState(0)
W = RNG.normal(0, 1, (4, 6))
EYE = np.eye(4).tolist()


def block(x: Any) -> dict[str, Any]:
    return {"x": x, "attn": {"out": np.zeros((3, 4)).tolist()}}


def load(folder: Path, body: str) -> blockcalc.Spec:
    return blockcalc.load(yaml_file(folder, body))


def refused(folder: Path, body: str) -> str:
    return helpers.refused(lambda: load(folder, body))


def weight(folder: Path, form: str, stop: str = "attn.q") -> Any:
    """Read a w_q in some form, for an x with four features."""
    body = f"x: [[1, 0, 0, 0]]\nstop: {stop}\nattn: {{w_q: {form}, w_k: {form}, w_v: {EYE}}}\n"
    return load(folder, body).arrays["attn.w_q"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "矩阵 [1]"
    inner.mkdir()
    np.savez(inner / "w.npz", w=W, half=W.astype(np.float16), whole=np.arange(24).reshape(4, 6),
             b=W[0], tall=np.arange(40).reshape(10, 4), f=np.asfortranarray(W), text=np.array(["a"]), pickled=np.array([None, 1]), deep=np.zeros((2, 2, 2, 2, 2)),
             holes=np.array([[1, np.inf]]))  # fmt: skip
    np.savez_compressed(inner / "packed.npz", w=W)
    np.save(inner / "w.npy", W.astype(">f4"))
    np.save(inner / "columns.npy", np.asfortranarray(W))
    for name, sign in (("w.csv", ","), ("semi.csv", ";"), ("tab.csv", "\t")):
        rows = (sign.join(f"{v:.4f}" for v in row) for row in W)
        (inner / name).write_text("\ufeff" + "\r\n".join(rows) + "\r\n\r\n", encoding="utf-8")
    return inner


@pytest.mark.parametrize(
    ("form", "want"),
    [
        ("{file: w.npz, key: w}", W),
        ("{file: packed.npz}", W),
        ("{file: w.npz, key: half}", W.astype(np.float16).astype(float)),
        ("{file: w.npz, key: whole}", np.arange(24.0).reshape(4, 6)),
        ("{file: w.npy}", W.astype(np.float32).astype(float)),
        ("{file: columns.npy}", W),
        ("{file: w.csv}", W.round(4)),
        ("{file: semi.csv}", W.round(4)),
        ("{file: tab.csv}", W.round(4)),
        ("{file: w.npz, key: w, cols: '1:3'}", W[:, 1:3]),
        ("{file: w.npz, key: w, cols: '4:'}", W[:, 4:]),
        ("{file: w.npz, key: w, transpose: true, cols: ':4'}", W[:, :4].T),
        ("{file: w.npy, rows: '0:4', cols: '0:2'}", W[:, :2].astype(np.float32).astype(float)),
        ("{file: w.npz, key: tall, rows: '2:6'}", np.arange(40.0).reshape(10, 4)[2:6]),
        ("{file: w.npz, key: f, cols: '0:2'}", W[:, :2]),
        ("{eye: 4}", np.eye(4)),
        ("{ones: [4, 2]}", np.ones((4, 2))),
        ("{zeros: [4, 2]}", np.zeros((4, 2))),
        ("{random: [4, 2], seed: 3, std: 0.02}", np.random.RandomState(3).normal(0, 0.02, (4, 2))),
        ("{random: [4, 2]}", np.random.RandomState(0).normal(0, 1, (4, 2))),
    ],
)
def test_every_form(folder: Path, form: str, want: Any) -> None:
    got = weight(folder, form)
    assert got.dtype == np.float64
    assert np.array_equal(got, want)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("{file: w.npz, key: v}", "it has w, half, whole, b"),
        ("{file: w.npz, key: haf}", "did you mean 'half'?"),
        ("{file: w.npz}", "the file has several tensors"),
        ("{file: w.npz, key: 3}", "there is no '3'"),
        ("{file: w.npz, key: text}", "text holds str32"),
        ("{file: w.npz, key: pickled}", "pickled holds object"),
        ("{file: w.npz, key: deep}", "deep is 2×2×2×2×2; 2 sizes are expected"),
        ("{file: w.npz, key: b}", "b is 6; 2 sizes are expected"),
        ("{file: w.npz, key: holes}", "holes[0][1] is inf; a finite number is expected"),
        ("{file: none.npz, key: w}", "none.npz: no such file"),
        ("{file: ., key: w}", "this is a folder"),
        (
            "{file: a.yaml}",
            "'.yaml' files are not read; .npz, .npy, .safetensors, .csv, .tsv, .txt, .dat are",
        ),
        ("{file: w.npy, key: w}", "holds one matrix, so there is no key"),
        ("{file: 3}", "the name of a file is expected"),
        ("{file: ''}", "the name of a file is expected"),
        ("{file: w.npz, key: w, rows: 3}", 'such as "0:4"'),
        ("{file: w.npz, key: w, rows: '2:9'}", "2:9 is not within the 4 available"),
        ("{file: w.npz, key: w, rows: '3:3'}", "3:3 is not within"),
        ("{file: w.npz, key: w, transpose: 1}", "true or false is expected"),
        ("{file: w.npz, kee: w}", "did you mean 'key'?"),
        ("{rows: '0:3'}", "unknown key 'rows'"),
        ("{}", "a mapping with one of value, file, random, eye, zeros, ones"),
        ("{eye: 3.5}", "eye takes the number of rows"),
        ("{zeros: [4, 0]}", "a list of 2 sizes is expected"),
        ("{ones: [4]}", "a list of 2 sizes is expected"),
        ("{random: [4, 2], seed: 1.5}", "a whole number from 0 to 4294967295"),
        ("{random: [4, 2], std: -1}", "std must not be negative"),
        ("{random: [4, 2], std: x}", "a number is expected"),
        ("{random: [99999, 99999]}", "is more than the limit of 134217728 numbers in all"),
        ("{eye: 2, zeros: [4]}", "unknown key 'zeros'"),
    ],
)
def test_what_is_refused(folder: Path, form: str, said: str) -> None:
    body = f"x: [[1, 0, 0, 0]]\nattn:\n  w_q: {form}\n  w_k: {EYE}\n  w_v: {EYE}\n"
    message = refused(folder, body)
    assert said in message
    assert "a.yaml:3:" in message


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("e.npz", b"", "not a npz file"),
        ("e.npz", b"PK\x03\x04 cut", "not a npz file"),
        ("e.npy", b"\x93NUMPY\x01\x00", "not a npy file"),
        ("e.npy", b"hello", "not a npy file"),
        ("e.csv", b"", "the file is empty"),
        ("e.csv", b"1,2\n3\n", "e.csv:2:1: this row has 1 number, the first has 2 numbers"),
        ("e.csv", b"1,x\n", "e.csv:1:3: a number is expected; this is the text 'x'"),
        ("e.csv", b"1;0,5\n", "decimals use a point"),
        ("e.csv", b"1,nan\n", "a number is expected; this is the text 'nan'"),
        ("e.csv", b"1,true\n", "a number is expected"),
        ("e.csv", b"1,\xff\n", "e.csv:1:3: this is not UTF-8 text"),
        ("e.safetensors", b"", "not a safetensors file"),
        ("e.safetensors", b"\x20" + b"\x00" * 19, "not a safetensors file"),
        ("e.safetensors", b"x: [[1, 2]]\nattn: {out: [[1, 2]]}\n", "not a safetensors file"),
    ],
)
def test_broken_files_are_one_line(folder: Path, name: str, raw: bytes, said: str) -> None:
    if name.endswith(".safetensors"):
        pytest.importorskip("safetensors", reason="safetensors is an extra")
    (folder / name).write_bytes(raw)
    message = refused(folder, f"x: {{file: {name}}}\nattn: {{out: {EYE}}}\n")
    assert said in message
    assert message.startswith(str(folder / "a.yaml") + ":1:")
    assert "Traceback" not in message


def test_a_lying_header_is_refused_before_memory_is_asked_for(folder: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999), }\n"
    npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 64
    (folder / "lie.npy").write_bytes(npy)
    with zipfile.ZipFile(folder / "lie.npz", "w") as archive:
        archive.writestr("w.npy", npy)
    for name in ("lie.npy", "lie.npz"):
        body = f"x: {{file: {name}}}\nattn: {{out: {EYE}}}\n"
        assert "is more than the limit of" in refused(folder, body)
    short = header.replace(b"99999999, 99999", b"    40,      4")
    (folder / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(short)) + short)
    assert "not a npy file" in refused(folder, f"x: {{file: cut.npy}}\nattn: {{out: {EYE}}}\n")


def test_bfloat16_is_widened_exactly(folder: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    header = b'{"w":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}'
    raw = struct.pack("<Q", len(header)) + header + bytes([0x80, 0x3F, 0x49, 0x40])
    (folder / "b.safetensors").write_bytes(raw)
    body = "x: {file: b.safetensors, key: w}\nattn: {out: [[0, 0]]}\n"
    assert load(folder, body).arrays["x"].tolist() == [[1.0, 3.140625]]
    assert tensors(folder / "b.safetensors") == [Tensor("w", (1, 2), "BF16")]
    for dtype, said in (("F8_E4M3", "holds F8_E4M3"), ("BOOL", "holds BOOL")):
        header = f'{{"w":{{"dtype":"{dtype}","shape":[1,2],"data_offsets":[0,2]}}}}'.encode()
        (folder / "b.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\1\0")
        assert said in refused(folder, body)


def test_safetensors_are_read_in_windows(folder: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is an extra")
    numpy.save_file({"a.weight": W, "n": np.arange(4)}, folder / "m.safetensors")
    assert np.array_equal(
        weight(folder, "{file: m.safetensors, key: a.weight, cols: '2:4'}"), W[:, 2:4]
    )
    assert "it has a.weight, n" in refused(folder, f"x: {{file: m.safetensors, key: q}}\nattn: {{out: {EYE}}}")  # fmt: skip


def test_without_the_extra_a_person_is_told_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "safetensors", None)
    (folder / "m.safetensors").write_bytes(b"")
    message = refused(folder, f"x: {{file: m.safetensors, key: w}}\nattn: {{out: {EYE}}}\n")
    assert "pip install 'blockcalc[weights]'" in message


def test_where_a_weight_came_from_is_said(folder: Path) -> None:
    body = (f"x: {{random: [3, 4], seed: 7, std: 0.5}}\nattn: {{w_q: {{file: w.npz, key: w, cols: '0:4', transpose: true}},"
            f" w_k: {EYE}, w_v: {{eye: 4}}}}\n")  # fmt: skip
    spec = load(folder, body)
    head: Any = next(explain(spec, blockcalc.run(spec)))
    assert dict(head.facts)["from elsewhere"] == (
        "x: random 3×4, seed 7, std 0.5",
        "attn.w_q: w.npz, w, cols 0:4, transposed",
        "attn.w_v: eye 4×4",
    )


def test_names_are_relative_to_the_file_that_has_them(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert weight(folder, "{file: w.npz, key: w}").shape == (4, 6)
    np.save(tmp_path / "here.npy", np.ones((3, 4)))
    path = folder / "b.yaml"
    path.write_text(f"x: {EYE}\nattn: {{out: {EYE}}}\n")
    spec = blockcalc.load(path, [("x", "{file: here.npy}"), ("attn.out", "{file: here.npy}")])
    assert spec.arrays["x"].tolist() == np.ones((3, 4)).tolist()
    data = block({"file": "here.npy"})
    assert blockcalc.load(data).arrays["x"].shape == (3, 4)


def test_the_command_lists_tensors(folder: Path) -> None:
    out = text(cli("weights", str(folder / "w.npz")))
    assert out.splitlines()[0].split() == ["w", "4×6", "float64"]
    assert "pickled" in out
    assert text(cli("weights", str(folder / "w.csv"))).split() == [
        "(the",
        "matrix)",
        "4×6",
        "float64",
    ]
    (folder / "a.md").write_text("1 2")
    done = cli("weights", str(folder / "a.md"))
    assert done.returncode == 2
    assert "files are not read" in done.stderr.decode()


def test_a_file_that_changes_under_us_is_refused(folder: Path) -> None:
    found = tensors(folder / "w.npz")[0]
    (folder / "w.npz").write_bytes(b"")
    with pytest.raises(blockcalc.BlockcalcError, match="not a npz file"):
        read(folder / "w.npz", found)


def test_a_vector_of_an_archive(folder: Path) -> None:
    body = (
        "x: {ones: [3, 6]}\nattn: {out: {zeros: [3, 6]}}\nnorm1: {gamma: {file: w.npz, key: b}}\n"
    )
    assert np.array_equal(load(folder, body).arrays["norm1.gamma"], W[0])


def test_an_archive_that_ends_early_is_refused(folder: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (40, 4), }\n"
    raw = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 64
    with zipfile.ZipFile(folder / "cut.npz", "w") as archive:
        archive.writestr("w.npy", raw)
    body = f"x: {{file: cut.npz, rows: '30:33'}}\nattn: {{out: {EYE}}}\n"
    assert "not a npz file" in refused(folder, body)


def test_patterns_and_expectations_may_live_elsewhere(folder: Path) -> None:
    np.save(folder / "keep.npy", np.array([[1, 0, 1, 1]] * 3))
    body = ("x: {ones: [3, 4]}\nattn: {out: {zeros: [3, 4]}}\nexpect: {residual1: {ones: [3, 4]}}\n"
            "norm1: {gamma: {ones: [4]}}\n"
            "dropout: {p: 0.5, training: true, keep: {attn.out: {file: keep.npy}}}\n")  # fmt: skip
    spec = load(folder, body)
    assert spec.expect["residual1"].tolist() == [[1] * 4] * 3
    assert blockcalc.run(spec)["attn.out_keep"].tolist() == [[1, 0, 1, 1]] * 3


def test_names_of_full_width_line_up(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", 权重=np.ones((2, 3)), w=np.ones((20, 3)))
    out = text(cli("weights", str(tmp_path / "w.npz"))).splitlines()
    assert out == ["权重   2×3  float64", "w     20×3  float64"]
