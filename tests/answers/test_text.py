"""Answers typed into YAML and JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockcalc import load, loads, run
from blockcalc.answers.answer import Answers
from blockcalc.answers.numbers import Typed, half_unit
from blockcalc.answers.read import answers_of, read_answers, read_map
from blockcalc.answers.text import answers_in
from blockcalc.errors import InputError, UsageError
from blockcalc.explain.data import run_data
from blockcalc.explain.steps import explain
from blockcalc.files.decode import read_text
from blockcalc.views.formats.json import json_bytes
from tests.helpers import sample_specs


def _read(folder: Path, text: str, name: str = "a.yaml") -> Answers:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_answers(path)


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("0.17", 0.005),
        ("0.170", 0.0005),
        ("-0.2", 0.05),
        ("1.5e-3", 0.00005),
        ("2", 0.0),
        ("-3", 0.0),
        ("1e3", 0.0),
        ("1E3", 0.0),
        ("1e-3", 0.0005),
        ("1.2346e+04", 0.5),
        ("1.5e3", 50.0),
        ("2.", 0.0),
        (".5", 0.05),
        ("0.0", 0.05),
        ("0.0e300", 0.05),
        ("0e9", 0.0),
        ("12.50", 0.005),
    ],
)
def test_half_a_unit_of_the_last_digit(text: str, half: float) -> None:
    assert half_unit(text) == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize("name", ["a.yaml", "a.json", "a"])
def test_both_forms_keep_the_digits(tmp_path: Path, name: str) -> None:
    text = '{"attn.q": [[0.170, 2], [1.50e-3, "1/3"]], "norm1.mean": [-0.10, 1e3]}'
    q, mean = _read(tmp_path, text, name).given
    assert q.values.tolist() == [[0.17, 2.0], [0.0015, 1 / 3]]
    assert q.half == pytest.approx(np.array([[0.0005, 0], [0.000005, 0]]))
    assert q.judged.all()
    assert mean.half == pytest.approx(np.array([0.005, 0]))


def test_block_sequences_and_aliases_keep_the_digits(tmp_path: Path) -> None:
    text = "a: &q\n  - - 0.10\n    - 2\n  - [0.3, +.25]\nb: *q\nc: &n 1.50\nd: [*n, 7]\n"
    a, b, c, d = _read(tmp_path, text).given
    assert a.half == pytest.approx(np.array([[0.005, 0], [0.05, 0.005]]))
    assert np.array_equal(a.half, b.half)
    assert c.values.shape == ()
    assert c.half == pytest.approx(0.005)
    assert d.half == pytest.approx(np.array([0.005, 0]))


def test_blanks_are_not_judged(tmp_path: Path) -> None:
    text = "a: [[1, ?], [null, ~], ?]\nb: ?\nc:\nd: [[[1, ?]], ?]\n"
    a, d = _read(tmp_path, text).given
    assert a.judged.tolist() == [[True, False], [False, False], [False, False]]
    assert d.judged.tolist() == [[[True, False]], [[False, False]]]


def test_nan_and_inf_are_judged(tmp_path: Path) -> None:
    text = "a: [.nan, .inf, -.inf]\nb: [nan, inf, -inf]\nc: ['NaN', '+Infinity', 1]\n"
    for answer in _read(tmp_path, text).given:
        assert answer.judged.all()
        assert not answer.half.any()
    values = [answer.values.tolist() for answer in _read(tmp_path, text).given]
    assert values[0][1:] == values[1][1:] == [math.inf, -math.inf]
    assert all(math.isnan(v[0]) for v in values)


def test_json_of_python_has_nan_as_a_word(tmp_path: Path) -> None:
    text = json.dumps({"attn.masked": [[1.5, -math.inf], [math.nan, 2]]})
    (answer,) = _read(tmp_path, text, "a.json").given
    assert answer.values[0].tolist() == [1.5, -math.inf]
    assert answer.judged.all()


def test_an_entry_that_cannot_be_read_stops_no_other(tmp_path: Path) -> None:
    text = "a: [[1, 2], [3]]\nb: [1, x]\nc: [[[[[1]]]]]\nd: [1e-400]\ne: []\nf: [1.0]\ng: [0,5]\nh: [1e999]\n"
    found = _read(tmp_path, text)
    assert [a.name for a in found.given] == ["f", "g"]
    why = {u.name: u for u in found.unreadable}
    assert why["a"].why == "a: row 2 has 1 number, row 1 has 2"
    assert (why["a"].place.line, why["a"].place.column) == (1, 13)  # type: ignore[union-attr]
    assert why["b"].why.startswith("a number is expected; this is the text 'x'")
    assert why["c"].why == "this is nested too deep"
    assert set(why) == {"a", "b", "c", "d", "e", "h"}


@pytest.mark.parametrize("number", ["1e-400", "1e999"])
def test_a_number_beyond_float64_in_json(tmp_path: Path, number: str) -> None:
    found = _read(tmp_path, f'{{"a": [{number}], "b": [1]}}', "a.json")
    assert [u.name for u in found.unreadable] == ["a"]


def test_names_may_be_nested(tmp_path: Path) -> None:
    text = "attn: {q: [[1, 2]], weights: {sum: [2.5]}}\nblocks.0: {norm1: [[3]]}\n"
    names = [a.name for a in _read(tmp_path, text).given]
    assert names == ["attn.q", "attn.weights.sum", "blocks.0.norm1"]


def test_points(tmp_path: Path) -> None:
    found = _read(tmp_path, "points: {attn.q: 2, scores: 0.5, x: y}\nattn.q: [[1]]\n")
    assert found.points == (("attn.q", 2.0), ("scores", 0.5))
    assert [u.name for u in found.unreadable] == ["points.x"]
    (line,) = _read(tmp_path, "points: 3\nx: [1]\n").unreadable
    assert line.why.startswith("points are a mapping")


def test_a_transposed_sheet(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, "a: {value: [[1.0, ?], [3, 4]], transpose: true}\n").given
    assert answer.values[0].tolist() == [1.0, 3.0]
    assert answer.judged.tolist() == [[True, True], [False, True]]
    assert answer.half[0] == pytest.approx([0.05, 0])


def test_a_named_file(tmp_path: Path) -> None:
    single = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 7
    np.savez(tmp_path / "w.npz", q=single, k=np.eye(2))
    (tmp_path / "t.csv").write_text("0.25,2\n")
    text = "q: {file: w.npz, key: q, transpose: true}\nt: {file: t.csv}\nn: {file: no.npz}\nz: {zeros: [2]}\nb: {value: [[1]], transpose: 3}\n"
    found = _read(tmp_path, text)
    q, t, z = found.given
    assert (q.read_as, q.values.shape) == ("float32", (3, 2))
    assert not q.half.any()
    assert t.half == pytest.approx(np.array([[0.005, 0.05]]))
    assert z.values.tolist() == [0, 0]
    assert not z.half.any()  # what a rule makes is exact
    assert [u.name for u in found.unreadable] == ["n", "b"]


def test_the_file_alone_is_one_matrix(tmp_path: Path) -> None:
    found = _read(tmp_path, "[[0.5, 1]]", "attn.q.json")
    assert found.given[0].name == "attn.q"
    assert found.remarks == (
        "Numbers without a name are those of the step that the file is named for: attn.q.",
    )


def test_a_list_without_a_file_has_no_name() -> None:
    with pytest.raises(InputError, match="this list has no name of a step"):
        answers_in(read_text("[[0.5, 1]]", "<stdin>", Typed))


NUMBERS = [
    ("1.414", 0.0005), ("1e-3", 0.0005), ("1.5e-3", 5e-5), ("1.2E+02", 5), ("-.5", 0.05), ("-7", 0), ("1e3", 0),
    ("1/3", 0), ("-1/3", 0), ("+2/4", 0),
    ("5/1.732", 5 / 1.7315 - 5 / 1.732), ("-5/1.732", 5 / 1.7315 - 5 / 1.732), ("0.5/3", 0.05 / 3), ("1/3.0", 1 / 2.95 - 1 / 3),
]  # fmt: skip


@pytest.mark.parametrize(("text", "half"), NUMBERS)
@pytest.mark.parametrize("name", ["a.yaml", "a.json", "a.csv"])
def test_how_exact_a_number_is(tmp_path: Path, text: str, half: float, name: str) -> None:
    """Only whole numbers and fractions of them are exact: a decimal in a fraction is rounded."""
    plain = text if "/" not in text else f'"{text}"'
    plain = plain.replace("+", "").replace("-.", "-0.") if name == "a.json" else plain
    content = f"{text},0.25\n" if name == "a.csv" else f'{{"a": [{plain}, 0.25]}}'
    (answer,) = _read(tmp_path, content, name).given
    assert answer.half.ravel()[0] == pytest.approx(half, rel=1e-9)


REFUSED = {
    "√2": "write a decimal", "sqrt(2)": "write a decimal", "50%": "write a decimal", "2/√2": "write a decimal",
    "1_000": "write a decimal", "1'000": "write a decimal", "1 / 3": "write a decimal", "~0.17": "write a decimal",
    "1 000": "with commas", "−0.5": "minus sign", "１.５": "full-width", "½": "'1/2'", "1½": "3/2 for 1 1/2",
    "1 1/2": "3/2 for 1 1/2", "1.5×10⁻³": "1.5e-3", "1.5*10^-3": "1.5e-3", "1e400": "float64",
}  # fmt: skip


@pytest.mark.parametrize(("text", "hint"), REFUSED.items())
def test_what_is_no_number_is_refused_with_what_to_write(
    tmp_path: Path, text: str, hint: str
) -> None:
    (line,) = _read(tmp_path, f"a: [1.5, {text}, 2]\n").unreadable
    assert hint in line.text()
    assert text in line.why


def test_a_row_without_brackets_is_refused_with_them(tmp_path: Path) -> None:
    (line,) = _read(tmp_path, "norm1.mean: 1.5, 1.63, 2.15\n").unreadable
    assert "write a row as [1, 2, 3]" in line.text()


def test_signs_of_infinity(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, "a: [-∞, -inf, -.inf, ∞]\n").given
    assert answer.values.tolist() == [-np.inf, -np.inf, -np.inf, np.inf]


@pytest.mark.parametrize("points", ["-1", ".nan", ".inf", "1e9", "two", "[1]", "true"])
def test_points_that_are_refused(tmp_path: Path, points: str) -> None:
    found = _read(tmp_path, f"a: [1]\npoints: {{a: {points}, b: 2.5}}\n")
    assert found.points == (("b", 2.5),)
    assert [line.name for line in found.unreadable] == ["points.a"]


@pytest.mark.parametrize("text", ["3", "word", "[1, 2", "a: 1\na: 2\n", ""])
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text)
    assert caught.value.faults[0].message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_answers(tmp_path / "no.yaml")


def test_the_precision_may_be_said(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("q: [[0.17, ?]]")
    (answer,) = read_answers(tmp_path / "a.yaml", "bfloat16").given
    assert answer.read_as == "bfloat16"
    assert answer.half[0, 0] == 0.005  # it was printed, and so rounded once more
    assert answer.judged.tolist() == [[True, False]]
    with pytest.raises(UsageError, match="--dtype is one of"):
        read_answers(tmp_path / "a.yaml", "float8")


def test_many_faults_of_one_answer_are_one_line(tmp_path: Path) -> None:
    words = ", ".join(["a"] * 50)
    found = _read(tmp_path, f"a: [{words}]\nb: [1]\n")
    assert [u.name for u in found.unreadable] == ["a"]
    words = ", ".join(['"a"'] * 50)
    text = f'{{"format": "blockcalc", "steps": {{"a": {{"value": [{words}]}}, "b": {{"value": 1.5}}}}}}'
    found = _read(tmp_path, text, "a.json")
    assert [u.name for u in found.unreadable] == ["a"]
    assert found.given[0].values.shape == ()


def test_other_forms(tmp_path: Path) -> None:
    text = "a: {value: [1, 2], transpose: true}\nb: {}\nc: {value: [[1, x]], transpose: true}\nd: {eye: 2}\ne: {value: 2.5}\n"
    found = _read(tmp_path, text)
    assert [a.name for a in found.given] == ["a", "d", "e"]
    assert [u.name for u in found.unreadable] == ["b", "c"]


# the block's own file -----------------------------------------------------------------------------

BLOCK = "x: [[1, 2], [3, 4]]\nattn: {out: [[0, 1], [1, 0]]}\n"


def test_answers_of_the_file_itself() -> None:
    found = answers_of(
        loads(BLOCK + "expect: {residual1: [[1.00, 3], [?, -.inf]], norm1.mean: [2.0, 4]}")
    )
    residual, mean = found.given
    assert residual.half[0] == pytest.approx([0.005, 0])
    assert residual.judged.tolist() == [[True, True], [False, True]]
    assert residual.place is not None
    assert residual.place.line == 3
    assert mean.half == pytest.approx(np.array([0.05, 0]))


def test_a_file_without_answers_gives_none() -> None:
    assert answers_of(loads(BLOCK)).given == ()


def test_answers_of_a_spec_without_a_source() -> None:
    spec = loads(BLOCK + "expect: {norm1.mean: [2.0, ?]}")
    (mean,) = answers_of(replace(spec, source=None)).given
    assert mean.judged.tolist() == [True, False]
    assert mean.values[0] == 2


def test_answers_of_a_mapping_are_as_python_writes_them() -> None:
    spec = load(
        {
            "x": np.array([[1.0, 2]]),
            "attn": {"out": [[0, 1]]},
            "expect": {"residual1": [[1.5, None]], "norm1.mean": [np.float64(2.25)]},
        }
    )
    residual, mean = answers_of(spec).given
    assert residual.half[0, 0] == pytest.approx(0.05)
    assert residual.judged.tolist() == [[True, False]]
    assert mean.half == pytest.approx(np.array([0.005]))


def test_answers_that_are_set_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "b.yaml"
    path.write_text(BLOCK + "expect: {norm1.mean: [2.0, 4]}")
    spec = load(path, [("expect.norm1.mean", "[2.25, 4]")])
    (mean,) = answers_of(spec).given
    assert mean.half == pytest.approx(np.array([0.005, 0]))


def test_a_block_file_as_answers_gives_its_own(tmp_path: Path) -> None:
    (answer,) = _read(tmp_path, BLOCK + "expect: {norm1.mean: [2.0, 4]}").given
    assert answer.name == "norm1.mean"


# our own export -----------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", sample_specs()[:4], ids=lambda s: f"{s.title}-{s.order}")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_our_own_json(tmp_path: Path, spec: Any, dtype: str) -> None:
    trace = run(spec, dtype)
    path = tmp_path / "a.json"
    path.write_bytes(json_bytes(run_data(spec, trace, explain(spec, trace))))
    found = read_answers(path)
    assert not found.unreadable
    assert found.dump
    assert {a.name for a in found.given} == set(trace.arrays)
    for answer in found.given:
        assert answer.read_as == trace.arrays[answer.name].dtype.name
        assert np.array_equal(answer.values, trace.arrays[answer.name].astype(np.float64))
        assert answer.judged.all()


def test_a_damaged_export(tmp_path: Path) -> None:
    text = '{"format": "blockcalc", "inputs": 3, "steps": {"a": {"value": [[1], [2, 3]]}, "b": {"value": [1.5]}, "c": [2]}}'
    found = _read(tmp_path, text, "a.json")
    assert [u.name for u in found.unreadable] == ["a"]
    assert [(a.name, a.read_as) for a in found.given] == [("b", "float64"), ("c", "float64")]


# a map of names -----------------------------------------------------------------------------------


def test_a_map_of_names(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text("my_q: attn.q\nlayer0/k: k\n")
    assert read_map(path) == {"my_q": "attn.q", "layer0/k": "k"}


@pytest.mark.parametrize("text", ["[a]", "a: 3", "a: [b]"])
def test_a_map_of_something_else(tmp_path: Path, text: str) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        read_map(path)
