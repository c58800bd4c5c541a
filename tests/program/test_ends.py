"""Runs that end early: what has a name then, and what has none."""

from __future__ import annotations

import pytest

import blockcalc
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Closing
from blockcalc.explain.steps import explain
from blockcalc.nn.block import build
from blockcalc.nn.layers import residual
from blockcalc.notation.alphabets import Text
from blockcalc.program.backward import with_gradients
from blockcalc.program.builder import Builder, Finished
from blockcalc.program.loss import LOSSES
from blockcalc.program.trace import Trace
from blockcalc.reading.load import load
from tests.blocks import ATTENTION, SQUARE, changed_block
from tests.helpers import refused_run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "unnamed"),
    [
        ("attn.weights", ("attn.out", "attn")),
        ("attn.weights.sum", ("attn.weights", "attn.out")),
        ("ffn.act", ("ffn.out", "ffn")),
        ("norm1.var", ("norm1", "norm1.out", "norm1.normalized")),
    ],
)
def test_a_part_that_stop_ends_has_no_name(stop: str, unnamed: tuple[str, ...]) -> None:
    trace = blockcalc.run(changed_block(stop=stop))
    names = {*trace, *trace.program.aliases}
    assert not names & set(unnamed)
    assert trace.program.find("out") == stop
    closing = next(
        p for p in explain(changed_block(stop=stop), trace, Depth()) if isinstance(p, Closing)
    )
    written = Text().render(closing.formulas[-1][1])
    if stop == "attn.weights.sum":
        assert written == "Σ exp(Q Kᵀ / √d_head)"
    elif stop == "norm1.var":
        assert written.startswith("Σ (")


@pytest.mark.slow
def test_stop_at_the_end_of_a_part_names_it() -> None:
    for stop in ("attn.out", "norm1", "ffn"):
        trace: Trace = blockcalc.run(changed_block(stop=stop))
        assert trace.program.find(stop) == list(trace)[-1]


@pytest.mark.slow
def test_stop_is_found_by_its_end_and_within_a_repeated_block() -> None:
    assert list(blockcalc.run(blockcalc.load({"x": SQUARE, "attn": ATTENTION, "stop": "scores"})))[-1] == "attn.scores"  # fmt: skip
    wide = {**ATTENTION, "w_o": [[1, 2, 3], [1, 2, 3]]}
    data = {"x": SQUARE, "blocks": [{"repeat": 2, "attn": wide}]}
    for stop in ("blocks.0.0.attn.z", "blocks.0.0.attn.out"):
        assert list(blockcalc.run(blockcalc.load({**data, "stop": stop})))[-1] == stop
    assert "w_o has 3 columns" in refused_run({**data, "stop": "blocks.0.1.attn.z"})


def test_a_builder_stops_where_it_is_told() -> None:
    b = Builder({"x": (1, 2), "y": (1, 2)}, stop="s")
    x = b.given("x", "X", ("token", "d_model"), role="data")
    assert b.given("x", "X", ("token", "d_model")) is x
    with b.section("part", "ffn", x):
        s = residual(b, "s", "1", x, x)
    assert b.aliases == {"part": "s", "part.out": "s"}
    with pytest.raises(Finished), b.section("late", "ffn", s):
        b.given("y", "Y", ("token", "d_model"))
    with pytest.raises(Finished):
        residual(b, "t", "2", s, s)
    assert [section.name for section in b.program().sections] == ["part"]


def test_a_norm_that_leads_nowhere_has_no_gradient() -> None:
    data = {
        "x": [[1.0, 2.0, 4.0]],
        "attn": {"out": [[1, 1, 1]]},
        "norm": {"order": "pre"},
        "stop": "residual1",
    }
    program = with_gradients(build(load(data)), LOSSES["sum"])
    assert program.find("grad.x") == "grad.residual1"
    assert "grad.norm1" not in program.refs()
