"""Round-off in worked lines: what is none, what is lost, and all digits on demand."""

from __future__ import annotations

import json
from typing import Any

import pytest

import blockcalc
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import StepPiece
from blockcalc.explain.steps import explain
from blockcalc.notation.alphabets import Text
from tests.blocks import changed_block
from tests.helpers import cli, every_line, text
from tests.read_back import check, from_text, printed

pytestmark = pytest.mark.slow


def run(data: dict[str, Any], *args: str) -> str:
    done = cli("run", "-", *args, stdin=json.dumps(data).encode())
    assert done.stderr == b""
    return text(done)


def attention(x: Any, w: Any, v: Any, **more: Any) -> dict[str, Any]:
    return {"x": x, "attn": {"w_q": w, "w_k": w, "w_v": v}, **more}


def test_small_numbers_beside_huge_ones_are_no_round_off() -> None:
    data = {"x": [[1, 3]], "attn": {"out": [[0, 0]]}, "norm1": {"gamma": [1e16, 1], "beta": [0, 3]}}
    assert "+ 3 = 4.000" in run(data, "--steps", "norm1")
    out = run(attention([[1e16, -1e16, 1]], [[1], [1], [1]], [[1, 0, 0]] * 3, stop="attn.q"))
    assert "1×1 = 1" in out
    out = run(attention([[1e16, 1, -1e16]], [[1], [1], [1]], [[1, 0, 0]] * 3, stop="attn.q"))
    assert "the terms cancel beyond floating-point precision" in out


def test_numbers_at_the_end_of_the_range() -> None:
    data = attention([[1.5e308, 1e308]], [[1], [-1]], [[1, 1], [1, 1]], stop="attn.q")
    assert "5×10³⁰⁷" in run(data)
    data = {"x": [[1, 2]], "attn": {"out": [[1.7e308, 1]]}, "stop": "residual1"}
    assert "×10³⁰⁸" in run(data, "--digits", "1")
    data = attention([[1e16, 1]], [[1], [1]], [[1, 0], [0, 1]])
    data["ffn"] = {"activation": "gelu_tanh", "w_1": [[-1e103], [0]], "w_2": [[1, 1]]}
    assert "ffn.act" in run(data, "--steps", "ffn.act")


def test_nearly_equal_rows_agree_with_themselves() -> None:
    data = {"x": [[1, 1.000000000000002]], "attn": {"out": [[0, 0]]}, "norm1": {"eps": 0}}
    for line in every_line(blockcalc.load(data)):
        if line.middle:
            check(printed(line, Text()), from_text)


@pytest.mark.parametrize("digits", [12, 13, 14, 15, 16, 17])
def test_lines_are_true_with_many_digits(digits: int) -> None:
    for data in (
        attention([[41.423]], [[1]], [[1]]),
        {"x": [[2, 0, 0]], "attn": {"out": [[0, 0, 0]]}},
    ):
        for line in every_line(blockcalc.load(data), digits=digits):
            assert line.middle or line.words


def test_all_digits_can_be_had() -> None:
    out = run(
        {"x": [[2, 1.000000000000009]], "attn": {"out": [[0, 0]]}},
        "--digits",
        "17",
        "--detail",
        "tables",
    )
    assert "1.000000000000009" in out


def test_round_off_is_no_number_after_a_function_of_it() -> None:
    spec = changed_block(stop="ffn.act")
    trace = blockcalc.run(spec)
    assert 0 < trace["ffn.act"][0, 2] < 1e-15
    found = explain(spec, trace, Depth(patterns=("ffn.act",)))
    piece = next(p for p in found if isinstance(p, StepPiece))
    assert piece.grids[0].rows[0][2].digits == "0"
    middle = piece.lines[2].middle
    assert middle is not None
    assert Text().render(middle) == "max(0, 0)"
