"""Choosing what is shown: by name, alias, end and pattern."""

from __future__ import annotations

import pytest

import blockcalc
from blockcalc.errors import UsageError
from blockcalc.explain.depth import Depth, chosen_steps
from blockcalc.explain.document import (
    Closing,
    Given,
    Head,
    Heading,
    Remark,
    Result,
    StepPiece,
)
from blockcalc.explain.steps import explain
from blockcalc.nn.block import build
from tests.blocks import ATTENTION, SQUARE
from tests.helpers import TINY_SPEC, pieces


def test_steps_are_chosen_by_name_alias_end_and_pattern() -> None:
    program = blockcalc.run(TINY_SPEC).program
    assert chosen_steps(program, ["out"]) == {"norm2"}
    assert chosen_steps(program, ["scores"]) == {"attn.scores"}
    assert chosen_steps(program, ["norm?.mean"]) == {"norm1.mean", "norm2.mean"}
    assert chosen_steps(program, ["attn.out", "ffn"]) == {"attn.z", "ffn.out"}
    assert chosen_steps(program, ["x"]) == {"x"}
    for pattern, said in (
        ("mean", "matches several"),
        ("norm7.*", "no step is named"),
        ("y", "there is no step 'y'"),
    ):
        with pytest.raises(UsageError, match=said):
            chosen_steps(program, [pattern])


def test_a_few_chosen_steps_come_without_head_and_closing() -> None:
    kinds = {type(p) for p in pieces(TINY_SPEC, patterns=("norm1.*",))}
    assert kinds == {Heading, Remark, StepPiece}
    everything = pieces(TINY_SPEC)
    assert isinstance(everything[0], Head)
    assert [type(p) for p in everything[-2:]] == [Closing, Result]
    assert isinstance(pieces(TINY_SPEC.with_order("pre"))[-1], Remark)


def test_patterns_find_names_that_are_not_written_and_given_matrices() -> None:
    data = {
        "x": SQUARE,
        "blocks": [{"attn": {"w_q": SQUARE, "w_k": SQUARE, "w_v": SQUARE, "causal": True}}] * 2,
    }
    program = build(blockcalc.load(data))
    assert chosen_steps(program, ["blocks.*.attn.allowed"]) == {
        "blocks.0.attn.causal",
        "blocks.1.attn.causal",
    }
    assert chosen_steps(program, ["blocks.*.attn.w_q"]) == {
        "blocks.0.attn.w_q",
        "blocks.1.attn.w_q",
    }
    assert chosen_steps(program, ["attn.sc*"]) == {
        f"blocks.{i}.attn.{s}" for i in (0, 1) for s in ("scores", "scaled")
    }


@pytest.mark.slow
def test_a_given_matrix_can_be_asked_for() -> None:
    spec = blockcalc.load({"x": SQUARE, "attn": {**ATTENTION, "mask": {"add": [[0, 1], [1, 0]]}}})
    trace = blockcalc.run(spec)
    for name in ("attn.bias", "x"):
        pieces = list(explain(spec, trace, Depth(patterns=(name,))))
        assert isinstance(pieces[2], Given)
        assert pieces[2].matrices[0][0].name == trace.program.find(name)
