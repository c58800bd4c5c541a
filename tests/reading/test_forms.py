"""Matrices that live elsewhere or are made by a rule: every fault of theirs with its exact message.

``pytest tests/reading/test_forms.py --write-goldens`` writes the messages anew; read the difference
before committing it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import InputError, Place
from blockcalc.files import sheets
from blockcalc.files import tensors as weights
from blockcalc.files.decode import read_text
from blockcalc.files.source import Source
from blockcalc.reading import matrices as forms
from blockcalc.reading.checker import Checker
from blockcalc.reading.keys import schema
from blockcalc.reading.load import load
from blockcalc.reading.matrices import hollow
from blockcalc.views.errors import report
from tests.helpers import HERE

CASES = [
    "{file: two.npz}",
    "{file: two.npz, key: d}",
    "{file: two.npz, key: 3}",
    "{file: two.npz, key: aa}",
    "{file: one.npz, key: a, rows: '0'}",
    "{file: one.npz, rows: '0:3'}",
    "{file: one.npz, rows: 1}",
    "{file: one.npz, cols: '1:1'}",
    "{file: w.npy, key: a}",
    "{file: w.csv, key: a}",
    "{file: two.npz, key: c}",
    "{file: two.npz, key: e}",
    "{file: two.npz, key: s}",
    "{file: none.npz}",
    "{file: nan.npy}",
    "{file: text.npy}",
    "{file: no.npz}",
    "{file: ''}",
    "{file: 3}",
    "{file: x.txt}",
    "{file: .}",
    "{file: ragged.csv}",
    "{file: empty.csv}",
    "{file: word.csv}",
    "{file: two.npz, key: v, cols: '0:1'}",
    "{file: w.npy, transpose: yes}",
    "{files: a.npz}",
    "{random: [2], seed: 0}",
    "{random: [2, 2], seed: -1}",
    "{random: [2, 2], seed: 4294967296}",
    "{random: [2, 2], std: -1}",
    "{random: [2, 2], std: a}",
    "{random: 2}",
    "{random: []}",
    "{random: [2, 2.0]}",
    "{random: [2, 1000000]}",
    "{zeros: [2, 0]}",
    "{eye: 0}",
    "{eye: [2]}",
    "{ones: [1, 1, 1, 1]}",
    "{zeros: [2, 2], seed: 1}",
    "{zeros: [99999, 99999]}",
    "{value: [[1, 2], [3]]}",
    "{}",
    "{value: 3}",
]
GOLDEN = HERE / "golden" / "forms.txt"


def files(folder: Path) -> None:
    """Write the files that the cases name."""
    np.savez(
        folder / "two.npz", a=np.ones((2, 2)), b=np.ones((3, 2)), v=np.ones(2), c=np.ones((2, 2, 2, 2)),
        e=np.ones((0, 2)), s=np.array(["x"]),
    )  # fmt: skip
    np.savez(folder / "one.npz", a=np.ones((2, 2)))
    np.savez(folder / "none.npz")
    np.save(folder / "w.npy", np.ones((2, 2)))
    np.save(folder / "nan.npy", np.array([[1, np.nan], [1, 1]]))
    np.save(folder / "text.npy", np.array([["x"]]))
    for name, text in (
        ("w", "1,2\n3,4\n"),
        ("ragged", "1,2\n3\n"),
        ("empty", "\n"),
        ("word", "1,two\n"),
    ):
        (folder / f"{name}.csv").write_text(text)


def said(case: str) -> str:
    """Read a case; give what was read, or the message."""
    Path("a.yaml").write_text(f"x: {case}\nattn: {{out: [[1, 2], [3, 4]]}}\n")
    try:
        spec = load("a.yaml")
    except blockcalc.BlockcalcError as error:
        return report(error)
    return f"{spec.arrays['x'].tolist()} {dict(spec.origins)}"


def test_every_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_goldens: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    got = "".join(f"{case}\n{said(case)}\n\n" for case in CASES)
    if write_goldens:
        GOLDEN.write_text(got, encoding="utf-8")
    assert got == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("case", "value", "origin"),
    [
        ("{file: two.npz, key: b, rows: '1:3'}", [[1, 1], [1, 1]], "two.npz, b, rows 1:3"),
        ("{file: w.csv}", [[1, 2], [3, 4]], "w.csv"),
        ("{file: w.csv, transpose: true}", [[1, 3], [2, 4]], "w.csv, transposed"),
        ("{file: w.csv, transpose: false}", [[1, 2], [3, 4]], "w.csv"),
        ("{file: w.csv, rows: ':1', cols: '1:'}", [[2]], "w.csv, rows :1, cols 1:"),
        ("{eye: 1}", [[1]], "eye 1×1"),
        ("{zeros: [1, 2]}", [[0, 0]], "zeros 1×2"),
        ("{ones: [1, 2]}", [[1, 1]], "ones 1×2"),
        ("{random: [1, 2], seed: 3, std: 0}", [[0, 0]], "random 1×2, seed 3, std 0"),
        ("{value: [[1, 2]]}", [[1, 2]], None),
    ],
)
def test_what_forms_give(case: str, value: Any, origin: str | None, tmp_path: Path) -> None:
    files(tmp_path)
    rows = len(value)
    path = tmp_path / "a.yaml"
    path.write_text(f"x: {case}\nattn: {{out: {[[1] * len(value[0])] * rows}}}\n")
    spec = load(str(path))
    assert spec.arrays["x"].tolist() == value
    assert spec.origins.get("x") == origin


def test_drawn_numbers_are_numpys() -> None:
    spec = load(
        {"x": {"random": [2, 3], "seed": 2**32 - 1, "std": 0.5}, "attn": {"out": {"ones": [2, 3]}}}
    )
    wanted = np.random.RandomState(2**32 - 1).normal(0, 0.5, (2, 3))
    assert np.array_equal(spec.arrays["x"], wanted)
    assert load({"x": {"eye": 3}, "attn": {"out": {"eye": 3}}}).arrays["x"].shape == (3, 3)
    fresh = load({"x": {"random": [2, 2]}, "attn": {"out": {"eye": 2}}}).arrays["x"]
    assert np.array_equal(fresh, np.random.RandomState(0).normal(0, 1, (2, 2)))


def test_vectors_from_files(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("1,2\n")
    (tmp_path / "c.csv").write_text("1\n2\n")
    (tmp_path / "d.csv").write_text("1,2\n3,4\n")
    np.save(tmp_path / "b.npy", np.array([5, 6], dtype=np.int64))

    def gamma(name: str) -> Any:
        own = {"file": str(tmp_path / name)}
        data = {"x": [[1, 2]], "attn": {"out": [[1, 2]]}, "norm1": {"gamma": own}}
        return load(data).arrays["norm1.gamma"].tolist()

    assert gamma("b.csv") == gamma("c.csv") == [1, 2]
    assert gamma("b.npy") == [5, 6]
    with pytest.raises(InputError, match="is 2×2; 1 size"):
        gamma("d.csv")


def test_the_count_of_numbers_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "MOST_NUMBERS", 8)
    whole = {"x": {"ones": [2, 2]}, "attn": {"out": {"ones": [2, 2]}}}
    assert load(whole)
    with pytest.raises(InputError, match="2 is more than the limit of 8 numbers"):
        load({**whole, "norm1": {"gamma": {"ones": [2]}}, "ffn": {"w_1": {"ones": [1, 1]}}})
    np.savez(tmp_path / "a.npz", a=np.ones((9, 2)), b=np.ones((2, 9)))
    own = str(tmp_path / "a.npz")
    assert load({"x": {"file": own, "key": "a", "rows": "7:9"}, "attn": {"out": [[1, 1], [1, 1]]}})
    with pytest.raises(InputError, match="2×9 is more"):
        load({"x": {"file": own, "key": "b", "cols": "0:2"}, "attn": {"out": [[1, 1], [1, 1]]}})


def test_the_size_of_a_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MAX_SHEET", 4)
    path = tmp_path / "a.csv"
    path.write_text("1,2\n")
    assert weights.tensors(path)[0].shape == (1, 2)
    path.write_text("1,23\n")
    with pytest.raises(InputError) as caught:
        weights.tensors(path)
    (fault,) = caught.value.faults
    assert fault.message == "the file is larger than the limit of 4 bytes"
    assert fault.place == Place(str(path))
    assert "npz" in str(fault.hint)


def test_a_list_of_tensors(tmp_path: Path) -> None:
    files(tmp_path)
    assert weights.tensors(tmp_path / "w.npy")[0].name == ""
    assert weights.tensors(tmp_path / "w.csv")[0].name == ""
    assert [t.name for t in weights.tensors(tmp_path / "two.npz")] == ["a", "b", "v", "c", "e", "s"]
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "o.npz", o=np.array([{}], dtype=object))
    for name in ("o.npy", "o.npz"):
        (tensor,) = weights.tensors(tmp_path / name)
        with pytest.raises(InputError):
            weights.read(tmp_path / name, tensor)


def test_hollow_matrices_have_a_shape_and_one_number() -> None:
    array = hollow((10**6, 10**6))
    assert array.shape == (10**6, 10**6)
    assert array.strides == (0, 0)
    checker = Checker(Source("a", ""), shapes_only=True)
    assert checker.shapes_only
    assert read_text("x: 1", "a").data == {"x": 1}


def test_the_schema_is_the_one_that_was_reviewed(write_goldens: bool) -> None:
    import json

    golden = HERE / "golden" / "schema.json"
    got = json.dumps(schema(), indent=1) + "\n"
    if write_goldens:
        golden.write_text(got, encoding="utf-8")
    assert got == golden.read_text(encoding="utf-8")
