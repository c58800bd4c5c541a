"""The text of llama.cpp's evaluation callback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blockcalc.answers.answer import Answers
from blockcalc.answers.llama import read_llama
from blockcalc.answers.read import read_answers
from blockcalc.errors import InputError
from blockcalc.ops.op import Array
from tests.answers.llama_text import tensor_text

# as README of the example prints it: three values, then the rest is left out
README = """\
llama_new_context_with_model: graph splits = 2
ggml_debug:                 inp_embd = (f32)   GET_ROWS(token_embd.weight{2560, 51200, 1, 1}, inp_tokens{1, 1, 1, 1}}) = {2560, 1, 1, 1}
                                     [
                                      [
                                       [ -0.0181,   0.0272,   0.0272, ...],
                                      ],
                                     ]
ggml_debug:                   norm-0 = (f32)       NORM(CUDA0#inp_embd#0{2560, 1, 1, 1}, }) = {2560, 1, 1, 1}
                                     [
                                      [
                                       [ -0.6989,   1.0636,   1.0636, ...],
                                      ],
                                     ]
ggml_debug:        Qcur-0 (reshaped) = (f32)    RESHAPE(Qcur-0{2560, 1, 1, 1}, }) = {80, 32, 1, 1}
                                     [
                                      [
                                       [ -1.1135,   1.4604,  -1.9226, ...],
                                       ...
                                      ],
                                     ]
ggml_debug:                   Qcur-0 = (f32)       ROPE(Qcur-0 (reshaped){80, 32, 1, 1}, CUDA0#inp_pos#0{1, 1, 1, 1}}) = {80, 32, 1, 1}
                                     [
                                      [
                                       [ -1.1135,   1.4604,  -1.9226, ...],
                                       [ -0.3608,   0.5076,  -1.8866, ...],
                                       [  1.7643,   0.0273,  -2.1065, ...],
                                       ...
                                      ],
                                     ]
"""


def _read(folder: Path, text: str, name: str = "a.txt") -> Answers:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_answers(path)


def _array(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).normal(size=shape)


def _shown(n: int) -> list[int]:
    return list(range(n)) if n <= 6 else [0, 1, 2, n - 3, n - 2, n - 1]


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    "shape", [(5, 4), (5, 64), (9, 64), (2, 3, 4), (8, 7, 9), (7, 8, 9, 10), (2, 1, 1, 3), (6, 1)]
)
def test_every_shape_is_read_back(tmp_path: Path, old: bool, shape: tuple[int, ...]) -> None:
    array = _array(*shape)
    found = _read(tmp_path, tensor_text("l_out-0", array, "ADD", old))
    (answer,) = found.given
    assert not found.unreadable
    assert (answer.name, answer.op, answer.values.shape) == ("l_out-0", "ADD", shape)
    judged = np.ones(shape, dtype=bool)
    for axis in range(max(len(shape) - 3, 0), len(shape)):
        hidden = [i for i in range(shape[axis]) if i not in _shown(shape[axis])]
        np.moveaxis(judged, axis, 0)[hidden] = False
    assert np.array_equal(answer.judged, judged)
    assert np.abs(answer.values - array)[judged].max() <= 0.00005
    assert answer.half.shape == shape
    assert set(answer.half.ravel()) == {0.00005}


def test_the_sum_of_all(tmp_path: Path) -> None:
    array = _array(5, 64)
    (answer,) = _read(tmp_path, tensor_text("l_out-0", array)).given
    assert answer.total is not None
    assert answer.total[0] == pytest.approx(array.sum(), abs=1e-4)
    assert answer.total[1] == pytest.approx(0.0000005)


def test_old_sums_of_the_printed_numbers_are_ignored(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, tensor_text("l_out-0", _array(5, 64), old=True)).given
    assert answer.total is None
    (answer,) = _read(tmp_path, tensor_text("l_out-0", _array(5, 6), old=True)).given
    assert answer.total is not None


def test_the_readme_of_the_example(tmp_path: Path) -> None:
    embedding, norm, rope = _read(tmp_path, README, "a.log").given
    assert (embedding.name, embedding.values.shape) == ("inp_embd", (2560,))
    assert embedding.judged.sum() == 3
    assert norm.values[:3].tolist() == [-0.6989, 1.0636, 1.0636]
    assert (rope.op, rope.values.shape, rope.judged.sum()) == ("ROPE", (32, 80), 9)
    assert rope.total is None


def test_nan_and_infinity(tmp_path: Path) -> None:
    array = np.array([[1.0, -np.inf], [np.nan, 2]])
    (answer,) = _read(tmp_path, tensor_text("kq-0", array)).given
    assert answer.values[0].tolist() == [1.0, -np.inf]
    assert np.isnan(answer.values[1, 0])
    assert answer.judged.all()
    assert answer.total is not None
    text = tensor_text("kq-0", array).replace(" nan", "-nan")
    (answer,) = _read(tmp_path, text).given
    assert np.isnan(answer.values[1, 0])


def test_views_and_repeats_are_left_out(tmp_path: Path) -> None:
    one = _array(2, 4)
    text = (
        tensor_text("Qcur-0", one)
        + tensor_text("Qcur-0 (reshaped)", one, "RESHAPE")
        + tensor_text("cache_k_l0 (view) (permuted)", one, "PERMUTE")
        + tensor_text("Qcur-0", one, "ADD")
        + tensor_text("Qcur-0", one[:1], "ADD")
    )
    found = _read(tmp_path, text)
    assert [(a.name, a.op) for a in found.given] == [("Qcur-0", "MUL_MAT"), ("Qcur-0", "ADD")]
    assert ": 1;" in found.remarks[0]


def test_other_lines_stand_between(tmp_path: Path) -> None:
    text = tensor_text("l_out-0", _array(3, 4)).replace("\n", "\nllama_perf: 12 ms\n", 3)
    found = _read(tmp_path, "main: build = 1\n" + text + "llama_print_timings: total\n", "a.out")
    assert [a.name for a in found.given] == ["l_out-0"]
    assert not found.unreadable


def test_a_prefix_may_be_another(tmp_path: Path) -> None:
    text = tensor_text("l_out-0", _array(3, 4))
    for own in ("common_debug_cb_eval<true>:", "my_debug:", "0.00.512 I ggml_debug:"):
        (answer,) = _read(tmp_path, text.replace("common_debug_cb_eval:", own)).given
        assert answer.name == "l_out-0"


def test_a_cut_line_of_operands(tmp_path: Path) -> None:
    """A long second operand is cut at 128 signs, brackets and all."""
    text = tensor_text("l_out-0", _array(3, 4)).replace(
        ", other{4, 3, 1, 1}", ", " + "w" * 120 + "{4, 3"
    )
    (answer,) = _read(tmp_path, text).given
    assert answer.values.shape == (3, 4)


def test_a_quantized_tensor_has_no_numbers(tmp_path: Path) -> None:
    head = tensor_text("w", _array(3, 4)).splitlines()[0]
    found = _read(tmp_path, head + "\n" + tensor_text("l_out-0", _array(3, 4)))
    assert [a.name for a in found.given] == ["l_out-0"]


def test_a_dump_cut_anywhere(tmp_path: Path) -> None:
    """What was whole before the cut is read, the rest is a line of its own or nothing."""
    array = _array(3, 8)
    first, second = tensor_text("a-0", array), tensor_text("l_out-0", array)
    lines = (first + second).splitlines(keepends=True)
    n = len(first.splitlines())
    for k in range(1, len(lines) + 1):
        found = _read(tmp_path, "".join(lines[:k]))
        names = [a.name for a in found.given] + [u.name for u in found.unreadable]
        assert names in ([], ["a-0"], ["a-0", "l_out-0"])
        if k >= n - 1:
            assert found.given[0].name == "a-0"
        for answer in found.given:
            assert np.abs(answer.values - array)[answer.judged].max() <= 0.00005


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= {8, 3, 1, 1}", "= {7, 3, 1, 1}"),
        ("= {8, 3, 1, 1}", "= {2, 3, 1, 1}"),
        ("= {8, 3, 1, 1}", "= {8, 2, 1, 1}"),
        ("= {8, 3, 1, 1}", "= {999999999999, 3, 1, 1}"),
        ("= {8, 3, 1, 1}", "= {8, 3, 9, 1}"),
        ("= {8, 3, 1, 1}", "= {0, 3, 1, 1}"),
        ("        ],", "        ],]]]"),
        ("...", "..., ..."),
        ("            [", "            [[[["),
        ("            [", "            1"),
        ("        [\n            [", "        1\n            ["),
    ],
)
def test_numbers_that_do_not_fit_are_told(tmp_path: Path, old: str, new: str) -> None:
    text = tensor_text("l_out-0", _array(3, 8))
    assert old in text
    found = _read(tmp_path, text.replace(old, new))
    if "{7, " in new:  # three at each end of seven: nothing shows that there were eight
        assert found.given[0].values.shape == (3, 7)
    else:
        assert [u.name for u in found.unreadable] == ["l_out-0"]


@pytest.mark.parametrize(
    "sign", ["sum = 1.5...", "sum = 1.5.5", "sum = ", "sum = [", "sum = 1e999"]
)
def test_a_sum_that_is_none(tmp_path: Path, sign: str) -> None:
    lines = tensor_text("l_out-0", np.full((2, 9), np.inf)).splitlines()
    found = _read(tmp_path, "\n".join([*lines[:-1], sign]) + "\n")
    assert [a.name for a in found.given] + [u.name for u in found.unreadable] == ["l_out-0"]


def test_a_number_in_place_of_a_row(tmp_path: Path) -> None:
    lines = tensor_text("l_out-0", _array(3, 4)).splitlines()
    found = _read(tmp_path, "\n".join([*lines[:3], "            1.0,", *lines[4:]]))
    assert [u.name for u in found.unreadable] == ["l_out-0"]


def test_a_text_without_a_tensor(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tensor"):
        _read(tmp_path, tensor_text("a (view)", _array(2, 2)))
    with pytest.raises(InputError, match="no tensor"):
        read_llama("", "a.txt")
    with pytest.raises(InputError):
        _read(tmp_path, "hello\n", "a.log")
