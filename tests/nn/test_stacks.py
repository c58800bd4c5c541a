"""Stacks and dropout: properties, names, what is shared, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import LookupFault
from blockcalc.explain.data import run_document
from blockcalc.explain.depth import Depth, Detail, chosen_steps
from blockcalc.explain.document import Head, Heading, Remark, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.nn.block import build
from blockcalc.notation.alphabets import Text
from blockcalc.views import choose_format
from tests.blocks import block, stack
from tests.helpers import every_line, matrix, refused_run, work

pytestmark = pytest.mark.slow


X = matrix(np.random.RandomState(9), 3, 4)


# stacks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_batch_keeps_its_shape_through_a_stack(n: int, order: str) -> None:
    x = matrix(np.random.RandomState(0), 2, 8, 32)
    trace = work(stack(n, x, order))
    assert all(trace[f"blocks.{i}"].shape == (2, 8, 32) for i in range(n))
    assert trace["out"].shape == (2, 8, 32)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_a_stack_is_its_blocks_one_after_the_other(order: str) -> None:
    data = stack(3, X, order, final_norm={"gamma": [1, 2, 3, 4]})
    trace = work(data)
    x: Any = X
    for i, own in enumerate(data["blocks"]):
        alone = work({"x": x, "norm": order, **own})
        for name in alone:
            assert np.array_equal(alone[name], trace[f"blocks.{i}.{name}"])
        x = alone["out"]
    last = work(
        {"x": x, "norm": "pre", "attn": {"out": np.zeros((3, 4))}, "norm1": data["final_norm"]}
    )
    assert np.array_equal(trace["final_norm"], last["norm1"])  # fmt: skip
    assert trace.program.find("out") == "final_norm"


def test_a_repeated_block_shares_its_weights() -> None:
    own = block(5)
    repeated = {"x": X, "blocks": [{**own, "repeat": 3}, block(6)]}
    written = {"x": X, "blocks": [own, own, own, block(6)]}
    a, b = work(repeated), work(written)
    assert np.array_equal(a["out"], b["out"])
    assert [s.name for s in a.program.blocks] == ["blocks.0.0", "blocks.0.1", "blocks.0.2", "blocks.1"]  # fmt: skip
    assert sum(ref.name.startswith("blocks.0.") for ref in a.program.inputs) == 9
    assert np.array_equal(a["blocks.0.2.attn.q"], b["blocks.2.attn.q"])
    assert a.program.find("blocks.0") == a.program.find("blocks.0.2")
    stopped = work({**repeated, "stop": "blocks.0"})
    assert list(stopped)[-1] == a.program.find("blocks.0.2")


def test_every_block_has_its_heading_and_says_what_it_takes() -> None:
    spec = blockcalc.load({"x": X, "blocks": [{**block(5), "repeat": 2}, block(6)]})
    pieces = list(explain(spec, blockcalc.run(spec)))
    heads = [p for p in pieces if isinstance(p, Heading) and p.level == 1]
    assert [(p.title, p.name) for p in heads] == [
        ("Block 1 of 3", "blocks.0.0"), ("Block 2 of 3", "blocks.0.1"), ("Block 3 of 3", "blocks.1")
    ]  # fmt: skip
    assert (
        heads[1].prose == "Its input x is blocks.0.0.norm2. It shares its weights with blocks.0.0."
    )
    assert heads[2].prose == "Its input x is blocks.0.1.norm2."
    steps = {p.name: p for p in pieces if isinstance(p, StepPiece)}
    takes = steps["blocks.1.attn.q"].operands
    assert [(o.symbol, o.name) for o in takes] == [("X_3", "blocks.0.1.norm2"), ("W_Q", "blocks.1.attn.w_q")]  # fmt: skip


def test_without_prose_a_block_has_its_heading_alone() -> None:
    spec = blockcalc.load(stack(2, X))
    pieces = explain(spec, blockcalc.run(spec), Depth(prose=False))
    assert [p.prose for p in pieces if isinstance(p, Heading) and p.level == 1] == [None, None]


def test_a_stack_in_pre_norm_order_says_that_no_final_norm_was_applied() -> None:
    spec = blockcalc.load(stack(2, X))
    pieces = list(explain(spec, blockcalc.run(spec)))
    assert isinstance(pieces[-1], Remark)
    assert "final norm" in pieces[-1].text


def test_names_of_a_stack_are_found_by_their_ends() -> None:
    trace = work(stack(2, X, "post"))
    assert trace.program.find("1.attn.q") == "blocks.1.attn.q"
    assert trace.program.find("blocks.0") == trace.program.find("blocks.0.out") == "blocks.0.norm2"
    with pytest.raises(LookupFault, match=r"blocks\.0\.attn\.q, blocks\.1\.attn\.q"):
        trace.program.find("attn.q")


def test_a_pattern_means_every_block() -> None:
    program = build(blockcalc.load(stack(2, X)))
    assert chosen_steps(program, ["ffn.*"]) == {
        f"blocks.{i}.ffn.{part}" for i in range(2) for part in ("pre", "act", "out")
    }


def test_a_stack_may_stop_and_expect_within_a_block() -> None:
    spec = blockcalc.load(stack(2, X, stop="blocks.1.attn.scores", expect={"blocks.0": X}))
    assert list(blockcalc.run(spec))[-1] == "blocks.1.attn.scores"
    only_first = {"x": X, "norm": "pre", "blocks": [block(0), {}], "stop": "blocks.0"}
    assert list(work(only_first))[-1] == "blocks.0.residual2"


def test_what_a_stack_may_not_be() -> None:
    one = block(0)
    assert "blocks.0.attn.w_o has 3 rows, but" in refused_run(
        {"x": X, "blocks": [{**one, "attn": {**one["attn"], "w_o": matrix(np.random.RandomState(0), 3, 4)}}]}
    )  # fmt: skip
    assert "'attn' cannot be given with 'blocks'" in refused_run(
        {"x": X, "blocks": [one], "attn": one["attn"]}
    )
    assert "'blocks.1.attn.w_q' is required" in refused_run(
        {"x": X, "blocks": [one, {"ffn": one["ffn"]}]}
    )
    assert "this list is empty" in refused_run({"x": X, "blocks": []})
    assert "a list of blocks is expected" in refused_run({"x": X, "blocks": {"attn": one["attn"]}})
    assert "more than 1000 blocks" in refused_run({"x": X, "blocks": [{**one, "repeat": 1001}]})
    assert "a whole number of at least 1" in refused_run({"x": X, "blocks": [{**one, "repeat": 0}]})
    assert "unknown key 'blocks.0.x'" in refused_run({"x": X, "blocks": [{**one, "x": X}]})
    narrow = {key: one["attn"][key] for key in ("w_q", "w_k")}
    narrow["w_v"] = [[1, 0], [0, 1], [1, 1], [0, 0]]
    assert "give an output projection, blocks.0.attn.w_o [2, 4]" in refused_run(
        {"x": X, "blocks": [{**one, "attn": narrow, "repeat": 2}]}
    )


def test_a_stack_of_many_blocks_is_worked_and_told_at_once() -> None:
    import time

    spec = blockcalc.load({"x": X, "norm": "pre", "blocks": [{**block(1), "repeat": 200}]})
    start = time.process_time()
    trace = blockcalc.run(spec)
    count = sum(1 for _ in explain(spec, trace, Depth(detail=Detail.tables)))
    assert count > 200 * 25
    assert time.process_time() - start < 30


# dropout --------------------------------------------------------------------------------

ONE = {"x": X, "norm": "pre", **block(3)}
PLACES = ("attn.weights", "attn.out", "ffn.act", "ffn.out")


def trained(**keys: Any) -> dict[str, Any]:
    return {**ONE, "dropout": {"p": 0.5, "training": True, **keys}}


def test_evaluation_applies_no_dropout_and_says_so() -> None:
    plain = work(ONE)
    for dropout in (0.5, {"p": 0.5}, {"p": 0.5, "training": False, "seed": 1}):
        spec = blockcalc.load({**ONE, "dropout": dropout})
        trace = blockcalc.run(spec)
        assert list(trace) == list(plain)
        assert np.array_equal(trace["out"], plain["out"])
        head = next(explain(spec, trace))
        assert isinstance(head, Head)
        assert any("dropout not applied" in line for _, lines in head.facts for line in lines)


def test_training_varies_with_the_seed_and_repeats_with_the_same() -> None:
    outs = [work(trained(seed=seed))["out"] for seed in (1, 1, 2)]
    assert np.array_equal(outs[0], outs[1])
    assert not np.array_equal(outs[0], outs[2])


def test_patterns_are_drawn_in_step_order_from_one_stream() -> None:
    trace = work(trained(seed=7))
    rng = np.random.RandomState(7)
    for place in PLACES:
        keep = trace[f"{place}_keep"]
        assert np.array_equal(keep, rng.random_sample(keep.shape) >= 0.5)
        assert np.array_equal(trace[f"{place}_dropped"], trace[place] * keep / 0.5)
    given = {"attn.out": np.ones((3, 4), dtype=int)}
    mixed = work(trained(seed=7, keep=given))
    rng = np.random.RandomState(7)
    for place in PLACES:
        keep = mixed[f"{place}_keep"]
        if place not in given:
            assert np.array_equal(keep, rng.random_sample(keep.shape) >= 0.5)


def test_places_and_rates_may_be_chosen() -> None:
    trace = work({**ONE, "dropout": {"p": {"attn.out": 0.25, "ffn.out": 0.5}, "at": ["attn.out"],
                                     "training": True, "seed": 0}})  # fmt: skip
    assert [name for name in trace if "_" in name.rpartition(".")[2]] == ["attn.out_keep", "attn.out_dropped"]  # fmt: skip
    assert np.array_equal(trace["attn.out_dropped"], trace["attn.out"] * trace["attn.out_keep"] / 0.75)  # fmt: skip
    none = work({**ONE, "dropout": {"p": 0, "training": True}})
    assert list(none) == list(work(ONE))


def test_dropout_in_a_stack() -> None:
    data = stack(2, X, dropout={"p": 0.5, "at": ["blocks.1.attn.out", "ffn.out"], "training": True,
                                "seed": 4})  # fmt: skip
    trace = work(data)
    dropped = [name for name in trace if name.endswith("_dropped")]
    assert dropped == [f"blocks.{p}_dropped" for p in ("0.ffn.out", "1.attn.out", "1.ffn.out")]
    own = {**block(0), "repeat": 2}
    keep = {"blocks.0.attn.out": np.eye(3, 4, dtype=int)}
    both = work({"x": X, "blocks": [own], "dropout": {"p": 0.5, "at": ["attn.out"], "training": True,
                                                      "keep": keep}})  # fmt: skip
    for run in range(2):
        kept = both[f"blocks.0.{run}.attn.out"] * np.eye(3, 4) * 2
        assert np.array_equal(both[f"blocks.0.{run}.attn.out_dropped"], kept)


@pytest.mark.parametrize(
    "dropout", [{"seed": 5}, {"keep": {"attn.weights": np.eye(3, dtype=int)}, "seed": 1}]
)
def test_a_dropped_number_is_shown_as_arithmetic(dropout: dict[str, Any]) -> None:
    spec = blockcalc.load(trained(**dropout))
    assert len(every_line(spec)) > 100
    pieces = {p.name: p for p in explain(spec, blockcalc.run(spec)) if isinstance(p, StepPiece)}
    line = pieces["attn.out_dropped"].lines[0]
    assert "/ (1 - 0.5)" in Text().render(line.middle)  # type: ignore[arg-type]
    assert Text().render(pieces["ffn.act_dropped"].formula) == "A ⊙ M_A / (1 - p)"
    assert pieces["ffn.out_keep"].lines == ()
    assert pieces["ffn.out_keep"].title == "Dropout mask: 1 = kept, 0 = dropped"


def test_float32_and_every_export_hold_dropout() -> None:
    spec = blockcalc.load(trained(seed=5))
    assert {v.dtype.name for v in blockcalc.run(spec, dtype="float32").arrays.values()} == {
        "float32"
    }
    for name in ("latex", "json", "npz"):
        assert choose_format({name: True}, None).write(run_document(spec, blockcalc.run(spec)))


def test_given_attention_has_no_weights_to_drop() -> None:
    data = {"x": X, "attn": {"out": X}, "dropout": {"p": 0.5, "training": True, "seed": 0}}
    assert list(work(data))[:2] == ["attn.out_keep", "attn.out_dropped"]
    assert build(blockcalc.load(data)).top_section_of(0).kind == "dropout"  # type: ignore[union-attr]
    data["dropout"] = {"p": 0.5, "at": ["attn.weights"]}
    assert "the places are attn.out" in refused_run(data)


@pytest.mark.parametrize(
    ("dropout", "said"),
    [
        ({"p": 0.5, "training": True}, "needs a seed, or a pattern under keep for attn.weights"),
        ({"p": 0.5, "training": True, "keep": {"attn.out": [[1] * 4] * 3}}, "for attn.weights"),
        ({"p": 1}, "from 0 up to, not including, 1"),
        (-0.1, "from 0 up to, not including, 1"),
        ({"training": True}, "'dropout.p' is required"),
        ({"p": 0.5, "at": ["attn.q"]}, "'attn.q' is not a place for dropout here"),
        ({"p": 0.5, "at": "attn.out"}, "at is a list of places"),
        ({"p": 0.5, "at": [1]}, "at is a list of places"),
        ({"p": {"attn.out": 0.5}, "at": ["ffn.out"]}, "'ffn.out' has no p above 0"),
        ({"p": 0.5, "seed": 2**32}, "a whole number from 0 to 4294967295"),
        ({"p": 0.5, "seed": -1}, "a whole number from 0 to"),
        ({"p": 0.5, "training": 1}, "true or false is expected"),
        ({"p": 0.5, "keep": [1]}, "keep is a mapping of places"),
        ({"p": 0.5, "keep": {"ffn": [[1]]}}, "'ffn' is not a place"),
        ({"p": 0.5, "keep": {"attn.out": [[1, 0]]}}, "dropout.keep.attn.out is 1×2; expected 3×4"),
        ({"p": 0.5, "keep": {"ffn.act": [[1, 0]]}}, "expected 3×6"),
        ({"p": 0.5, "keep": {"attn.weights": [[1, 0]]}}, "expected 3×3"),
        ({"p": 0.5, "keep": {"attn.out": [[2, 0]]}}, "true and false, or 1 and 0"),
        ({"p": {"attn.out": 0}, "keep": {"attn.out": [[1] * 4] * 3}}, "has no p above 0"),
        ({"p": 0.5, "rate": 1}, "unknown key 'dropout.rate'"),
    ],
)  # fmt: skip
def test_what_dropout_may_not_be(dropout: Any, said: str) -> None:
    assert said in refused_run({**ONE, "dropout": dropout})


def test_a_pattern_can_be_set_from_the_command_line() -> None:
    sets = [("dropout.p", "0.5"), ("dropout.training", "true"), ("dropout.at", "[attn.out]"),
            ("dropout.keep.attn.out", "[[1,0,1,0],[1,1,1,1],[0,0,0,0]]")]  # fmt: skip
    trace = blockcalc.run(blockcalc.load(ONE, sets))
    assert trace["attn.out_dropped"][2].tolist() == [0, 0, 0, 0]
