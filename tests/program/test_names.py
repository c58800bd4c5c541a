"""Names of steps: found by their end, forward and backward, with suggestions."""

from __future__ import annotations

from typing import Any

import pytest

import blockcalc
from blockcalc.errors import LookupFault
from blockcalc.nn.block import build
from blockcalc.program.backward import with_gradients
from blockcalc.program.loss import LOSSES
from blockcalc.reading.load import load
from blockcalc.views.errors import report
from tests.blocks import ATTENTION, BLOCK, SQUARE
from tests.helpers import TINY_SPEC, refused

DATA: dict[str, Any] = {
    "x": [[1, 0], [0, 1]],
    "attn": {"w_q": {"eye": 2}, "w_k": {"eye": 2}, "w_v": {"eye": 2}},
    "norm": {"order": "pre"},
}


@pytest.mark.slow
def test_a_run_of_a_repeated_block_is_offered() -> None:
    spec = load(
        {"x": BLOCK["x"], "blocks": [{"attn": BLOCK["attn"]}, {"attn": BLOCK["attn"], "repeat": 2}]}
    )
    trace = blockcalc.run(spec)
    said = refused(lambda: trace["blocks.1.attn.q"])
    assert "did you mean 'blocks.1.0.attn.q'" in said


@pytest.mark.slow
def test_names_in_a_message_are_not_a_page() -> None:
    spec = blockcalc.load({"x": SQUARE, "blocks": [{"repeat": 20, "attn": ATTENTION}]})
    with pytest.raises(blockcalc.BlockcalcError) as error:
        blockcalc.run(spec).program.find("zzz")
    assert "and 264 more" in report(error.value)
    assert len(report(error.value)) < 2000


def test_a_step_may_be_found_by_its_end_unless_several_end_so() -> None:
    trace = blockcalc.run(TINY_SPEC)
    assert trace["scores"] is trace["attn.scores"]
    with pytest.raises(KeyError, match=r"matches several steps: norm1\.mean, norm2\.mean"):
        trace["mean"]
    with pytest.raises(blockcalc.BlockcalcError, match="there is no step 'zzz'"):
        trace["zzz"]
    assert "attn.scores" in trace
    assert "zzz" not in trace
    assert len(trace) == 24
    with pytest.raises(AttributeError):
        blockcalc.nothing  # noqa: B018
    assert blockcalc.__version__


def test_the_start_of_a_program() -> None:
    program = build(load(DATA))
    assert program.start() is program
    whole = with_gradients(program, LOSSES["sum"])
    assert whole.start() == program
    assert whole.find("grad.scores") == "grad.attn.scores"
    assert whole.find("scores") == "attn.scores"
    with pytest.raises(LookupFault) as caught:
        whole.find("grad.scored")
    assert "grad.attn.scores" in str(caught.value.faults[0].hint)
    stack = build(
        load(
            {
                **{k: v for k, v in DATA.items() if k != "attn"},
                "blocks": [{"attn": DATA["attn"]}] * 2,
            }
        )
    )
    with pytest.raises(LookupFault, match="several"):
        with_gradients(stack, LOSSES["sum"]).find("grad.scores")
