"""Answers typed into tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blockcalc.answers.answer import Answers
from blockcalc.answers.read import read_answers
from blockcalc.errors import InputError


def _read(folder: Path, text: str, name: str = "attn.q.csv") -> Answers:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_answers(path)


def test_one_matrix_has_the_name_of_its_file(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, "0.170,2\n?,1/3\n1.5e-3,\nnan,-inf\n").given
    assert answer.name == "attn.q"
    assert answer.judged.tolist() == [[True, True], [False, True], [True, False], [True, True]]
    assert answer.half[0] == pytest.approx([0.0005, 0])
    assert answer.half[2, 0] == pytest.approx(0.00005)
    assert answer.values[3, 1] == -np.inf
    assert np.isnan(answer.values[3, 0])
    assert answer.values[1, 1] == 1 / 3


@pytest.mark.parametrize(
    "text",
    [
        "# attn.q\n1,2\n3,4\n# attn.k\n5,6\n",
        "attn.q\n1,2\n3,4\n\nattn.k\n5,6\n",
        "attn.q:\n1;2\n3;4\n\nattn.k:\n5;6\n",
        "attn.q,\n1,2\n3,4\nattn.k,\n5,6\n",
        "# attn.q\n1\t2\n3\t4\n# attn.k\n5 6\n",
    ],
)
def test_sections(tmp_path: Path, text: str) -> None:
    q, k = _read(tmp_path, text, "all.csv").given
    assert (q.name, q.values.tolist()) == ("attn.q", [[1, 2], [3, 4]])
    assert (k.name, k.values.tolist()) == ("attn.k", [[5, 6]])
    assert k.place is not None
    assert k.place.line in (5, 6)


def test_a_comment_of_several_words_is_no_name(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, "# worked by hand\n1,2 # the first\n").given
    assert (answer.name, answer.values.tolist()) == ("attn.q", [[1, 2]])


def test_a_name_before_no_row_is_left_out(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, "# draft\n# attn.k\n1,2\n").given
    assert answer.name == "attn.k"


@pytest.mark.parametrize(
    "text", [",0,1,2\n0,0.5,1.5,2.5\n1,3.5,?,5.5\n2,6.5,7.5,\n", ",a,b\nr,0.5,1.5\ns,3.5,?\n"]
)
def test_names_of_rows_and_columns_are_left_out(tmp_path: Path, text: str) -> None:
    found = _read(tmp_path, text)
    assert found.given[0].values[0, :2].tolist() == [0.5, 1.5]
    assert [("header" in remark, "named for" in remark) for remark in found.remarks] == [
        (True, False),
        (False, True),
    ]


def test_an_open_corner_is_no_header(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, ",0.5\n0.25,0.75\n").given
    assert answer.judged.tolist() == [[False, True], [True, True]]
    (answer,) = _read(tmp_path, "?,?\n0.25,0.75\n").given
    assert answer.judged.tolist() == [[False, False], [True, True]]


def test_what_cannot_be_read_has_its_place(tmp_path: Path) -> None:
    found = _read(tmp_path, "# a\n1,2\n3\n# b\n1,2x\n# c\n0,5;0,25\n# d\n1.5\n", "all.csv")
    why = {u.name: u for u in found.unreadable}
    assert why["a"].why.startswith("this row has 1 number")
    assert "2x" in why["b"].why
    assert (why["b"].place.line, why["b"].place.column) == (5, 3)  # type: ignore[union-attr]
    assert "point" in why["c"].text()
    assert [a.name for a in found.given] == ["d"]


def test_a_text_file_may_be_a_table(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, "0.5 1\n2 3\n", "attn.k.txt").given
    assert (answer.name, answer.values.shape) == ("attn.k", (2, 2))


@pytest.mark.parametrize("text", ["", "\n", "# attn.q\n", "# one two\n"])
def test_a_table_without_a_row_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"empty|no answers"):
        _read(tmp_path, text)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_answers(tmp_path / "no.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="folder"):
        read_answers(tmp_path / "folder.csv")


def test_a_header_alone(tmp_path: Path) -> None:
    found = _read(tmp_path, "a b,c d\nx,y\n")
    assert len(found.unreadable) == 1


def test_a_text_without_numbers_is_not_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for text, said in (("words", "there are no answers in it"), (" \n", "the file is empty")):
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            read_answers(path)
        assert said in str(caught.value)
