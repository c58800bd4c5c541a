"""Files listed by their tensors, and names near those that are not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import blockcalc
from blockcalc.files.source import nearby
from blockcalc.files.tensors import Tensor, listed_tensors


@pytest.mark.parametrize(
    ("body", "shape", "remarks"),
    [
        ("1,2\n3,4\n5,6\n", (3, 2), []),
        (",a,b\n0,1,2\n", (1, 2), ["with header: true, index: true"]),
        ("t1,1,2\nt2,3,4\n", (2, 2), ["with index: true"]),
    ],
)
def test_a_table_is_listed_without_the_names_it_has(
    body: str, shape: tuple[int, ...], remarks: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "m.csv"
    path.write_text(body)
    (found,) = listed_tensors(path)
    assert found == Tensor("", shape, "float64", None, remarks)
    assert found.numbers is None


def test_a_file_of_another_kind_is_listed_as_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.ones((2, 3), dtype=np.float32))
    assert listed_tensors(tmp_path / "w.npy") == [Tensor("", (2, 3), "float32")]


def test_a_file_in_a_folder_that_is_not_there_has_no_name_near_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: [[1]]\n")
    assert nearby(tmp_path / "a.yml") == "did you mean 'a.yaml'?"
    assert nearby(tmp_path / "none" / "a.yml") is None
    with pytest.raises(blockcalc.BlockcalcError, match="no such file"):
        blockcalc.load(tmp_path / "none" / "a.yml")
