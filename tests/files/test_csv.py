"""csv files: quoted cells, and vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import blockcalc
from blockcalc.files.tensors import tensors
from blockcalc.reading.load import load
from tests.helpers import refused, yaml_file


@pytest.mark.slow
def test_a_csv_of_quoted_cells(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    own = {"file": str(path)}

    def x(text: str) -> Any:
        path.write_text(text)
        return load({"x": own, "attn": {"out": own}}).arrays["x"].tolist()

    assert x('"1", "2.5"\n3,4\n') == [[1, 2.5], [3, 4]]
    assert x("1;2\n3;4\n") == [[1, 2], [3, 4]]
    for text, column in (('"0,5"\n"0,1"', 1), ("1,2,\n1,2,3", 5), ("1,,2", 3), ('1,"1,000"', 3),
                         ('"1,2\n', 1), ('""1"",2', 1), ("1,2\n1,a", 3)):  # fmt: skip
        said = refused(lambda text=text: x(text))
        assert (
            f"x.csv:{text.count(chr(10), 0, -1) + 1 if 'a' in text else 1}:{column}: a number"
            in said
        )
    path.write_text("9007199254740993\n")
    spec = load({"x": own, "attn": {"out": own}})
    assert "x has whole numbers" in spec.remarks[0]


@pytest.mark.parametrize("rows", ["1,2\n", "1\n2\n"])
def test_a_vector_of_a_csv_file(rows: str, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(rows)
    path = yaml_file(
        tmp_path, "x: [[1, 0]]\nattn: {out: [[0, 0]]}\nnorm1: {gamma: {file: v.csv}}\n"
    )
    assert blockcalc.load(path).arrays["norm1.gamma"].tolist() == [1, 2]


def test_a_csv_beyond_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    monkeypatch.setattr("blockcalc.files.sheets.MAX_SHEET", 2)
    assert "npz or safetensors" in refused(lambda: tensors(tmp_path / "a.csv"))
