"""What people who tried heads, masks, dropout, stacks and compare found, and must not find again."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.comparison import compare
from blockcalc.explain.data import run_document
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Given, Head, PairPiece, Remark, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.views import choose_format
from blockcalc.views.errors import report
from blockcalc.views.layout import column_blocks
from tests.helpers import cli, text

pytestmark = pytest.mark.slow

A: dict[str, Any] = {"w_q": [[1, 0], [0, 1]], "w_k": [[1, 1], [0, 1]], "w_v": [[1, 0], [1, 1]]}
X = [[1, 0], [0, 1]]
FUSED = [[1, 0, 1, 0, 1, 1], [0, 1, 0, 1, 1, 2]]


def refused(data: Any, **keys: Any) -> str:
    with pytest.raises(blockcalc.BlockcalcError) as error:
        blockcalc.run(blockcalc.load(data, **keys))
    return report(error.value)


def facts(data: Any) -> str:
    spec = blockcalc.load(data)
    head = next(explain(spec, blockcalc.run(spec)))
    assert isinstance(head, Head)
    return "\n".join(line for _, lines in head.facts for line in lines) + "\n".join(head.hints)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"x": [[X]], "attn": A}, "nested deeper"),
        ({"x": [[[[1, 0], [0, 1]], 0], [0, 1]], "attn": A}, "nested deeper"),
        ({"x": X, "attn": {"out": [[X]]}}, "nested deeper"),
        ({"x": X, "attn": A, "tokens": [[["a", "b"], ["c", "d"]]]}, "a label is text"),
        ({"x": [X, X], "attn": A, "tokens": [["a", "b"], ["c"]]}, "tokens.1: 1 labels for 2 rows"),
        ({"x": X, "attn": {"w_qkv": FUSED, "w_o": [[1, 0]] * 3}},
         "attn.w_o has 3 rows, but attn.w_qkv has 6 columns"),
        ({"x": X, "attn": {**A, "w_qkv": FUSED}}, "w_q cannot be given with w_qkv"),
        ({"x": X, "attn": {"w_qkv": FUSED, "b_q": [1, 2]}}, "b_q cannot be given with w_qkv"),
        ({"x": X, "attn": {**A, "b_qkv": [1]}}, "b_qkv goes with w_qkv"),
        ({"x": X, "attn": {**A, "qkv_layout": "blocks"}}, "qkv_layout goes with w_qkv"),
        ({"x": X, "attn": {**A, "b_o": [1, 2]}}, "attn.b_o is given but not used"),
        ({"x": X, "attn": A, "norm": {"kind": "rms", "variance": "sample"}}, "RMSNorm has no variance"),
        ({"x": [[3], [2]], "attn": {"out": [[1], [1]]}, "norm": {"variance": "sample"}}, "n - 1 = 0"),
        ({"x": [[1e-200, 0]], "attn": {"out": [[0, 0]]}, "norm": {"kind": "rms", "eps": 0}},
         "too small for float64"),
        ({"x": X, "attn": A, "expect": {"attn.weights.sum": 3}}, "this is a single number"),
        ({"x": X, "attn": A, "expect": {"attn.q": {"valu": 1}}}, "unknown key 'valu'"),
        ({"x": X, "attn": A, "dropout": {"p": 0.1, "at": ["attn.weights"], "keep": {"attn.out": X}}},
         "'attn.out' is not among the places under at"),
        ({"x": X, "blocks": [{"attn": {**A, "padding": [1, 0]}}]}, "blocks.0.attn.padding"),
        ({"x": X, "attn": {**A, "padding": [1, 0]}}, "keep marks a token to attend to (1)"),
        ({"x": X, "attn": {**A, "mask": "causal"}}, "attn.causal: true"),
        ({"x": X, "attn": A, "norm": "rms"}, "norm: {kind: rms}"),
        ({"x": X, "attn": A, "ffn": {"activation": "swiglu", "w_1": X, "w_2": X}}, "silu with w_gate"),
        ({"x": X, "attn": {**A, "n_heads": 2, "n_kv_heads": 1}}, "for 1 head in place of 2 is 1"),
        ({"x": [[10**5000]], "attn": {"out": [[1]]}}, "too many digits"),
        ({"x": X, "attn": A, "title": 10**5000}, "a number of very many digits"),
        ({"x": X, "blocks": [{"attn": A}] * 2, "stop": "attn.q"}, "'attn.q' matches several steps"),
    ],
)  # fmt: skip
def test_what_is_refused_now(data: Any, said: str) -> None:
    assert said in refused(data)


def test_the_other_layout_is_named_once() -> None:
    w = {"w_q": [[1, 0, 0], [0, 1, 1]], "w_k": [[1, 1, 0], [0, 1, 0]], "w_v": [[1, 0], [1, 1], [0, 1]],
         "w_o": [[1, 0, 1], [0, 1, 1], [1, 1, 1]]}  # fmt: skip
    data = {"x": [[1, 0, 2]], "attn": {"w_q": [[1, 0, 0], [0, 1, 1]], "w_k": [[1, 1, 0], [0, 1, 0]],
            "w_v": [[1, 0, 0], [1, 1, 0]], "w_o": [[1, 0], [0, 1], [1, 1]]}}  # fmt: skip
    said = refused(data)
    assert said.count("attn.") == 2
    assert "with weight_layout: out_in all shapes would fit" in said
    assert blockcalc.load({**data, "weight_layout": "out_in"})
    assert len(refused({"x": [[1, 0, 2]], "attn": w}).splitlines()) > 2


def test_a_dict_that_holds_itself_is_refused() -> None:
    data: dict[str, Any] = {"x": X}
    data["attn"] = data
    assert "more than 64 deep" in refused(data)


def test_what_is_specific_wins_in_any_order() -> None:
    rates = {"blocks.0.attn.out": 0.5, "attn.out": 0.1}
    for p in (rates, dict(reversed(rates.items()))):
        data = {"x": X, "blocks": [{"attn": A}, {"attn": A}],
                "dropout": {"p": p, "training": True, "seed": 0}}  # fmt: skip
        said = facts(data)
        assert "at blocks.0.attn.out: p = 0.5" in said
        assert "at blocks.1.attn.out: p = 0.1" in said
        assert "drawn from seed 0" in said


def test_set_keeps_a_short_dropout_and_reaches_into_patterns() -> None:
    data = {"x": X, "attn": A, "dropout": 0.5}
    sets = [("dropout.training", "true"), ("dropout.seed", "1")]
    assert "attn.out_dropped" in list(blockcalc.run(blockcalc.load(data, sets)))
    stack = {"x": X, "blocks": [{"attn": A}], "expect": {"blocks.0.attn.q": X},
             "dropout": {"p": 0.5, "training": True, "at": ["attn.out"], "keep": {"blocks.0.attn.out": X}}}  # fmt: skip
    sets = [("dropout.keep.blocks.0.attn.out.0.1", "1"), ("expect.blocks.0.attn.q.1.0", "7")]
    spec = blockcalc.load(stack, sets)
    assert spec.arrays["blocks.0.attn.out_keep"].tolist() == [[1, 1], [0, 1]]
    assert spec.expect["blocks.0.attn.q"].tolist() == [[1, 0], [7, 1]]


def test_stop_is_found_by_its_end_and_within_a_repeated_block() -> None:
    assert list(blockcalc.run(blockcalc.load({"x": X, "attn": A, "stop": "scores"})))[-1] == "attn.scores"  # fmt: skip
    wide = {**A, "w_o": [[1, 2, 3], [1, 2, 3]]}
    data = {"x": X, "blocks": [{"repeat": 2, "attn": wide}]}
    for stop in ("blocks.0.0.attn.z", "blocks.0.0.attn.out"):
        assert list(blockcalc.run(blockcalc.load({**data, "stop": stop})))[-1] == stop
    assert "w_o has 3 columns" in refused({**data, "stop": "blocks.0.1.attn.z"})


def test_heads_say_what_is_in_force() -> None:
    q = [[1, 0], [0, 1]]
    said = facts({"x": X, "weight_layout": "out_in", "attn": A})
    assert "stored [out, in], Q = X W_Qᵀ" in said
    said = facts({"x": X, "attn": {"w_qkv": FUSED, "qkv_layout": "per_head"}})
    assert "one fused matrix, head by head" in said
    said = facts({"x": X, "attn": {**A, "mask": {"add": q}}})
    assert "mask.add is added" in said
    assert "1 = visible" not in said
    said = facts({"x": X, "attn": {**A, "rope": {"theta": 100}}})
    assert "theta = 100, positions from 0" in said
    assert "1 + gamma" not in facts({"x": X, "attn": A, "norm": {"unit_offset": True}})
    assert "norm2 is given but not used" in facts({"x": X, "attn": A, "norm2": {"gamma": [1, 2]}})


def test_a_given_matrix_can_be_asked_for() -> None:
    spec = blockcalc.load({"x": X, "attn": {**A, "mask": {"add": [[0, 1], [1, 0]]}}})
    trace = blockcalc.run(spec)
    for name in ("attn.bias", "x"):
        pieces = list(explain(spec, trace, Depth(patterns=(name,))))
        assert isinstance(pieces[2], Given)
        assert pieces[2].matrices[0][0].name == trace.program.find(name)


def test_rows_that_see_nothing_are_named_once_with_their_place() -> None:
    words = [["pad", "pad"], ["keep", "pad"]]
    data = {"x": [X, X], "attn": {**A, "n_heads": 2, "padding": words}}
    spec = blockcalc.load(data)
    steps = {p.name: p for p in explain(spec, blockcalc.run(spec)) if isinstance(p, StepPiece)}
    notes = steps["attn.weights"].notes
    assert [n for n in notes if "has all its keys masked" in n] == [
        "Row 1 (t1), batch 1 has all its keys masked; its weights are set to 0.",
        "Row 2 (t2), batch 1 has all its keys masked; its weights are set to 0.",
    ]
    assert notes[-1].startswith("Each other row of weights adds up to 1")
    mask = {"keep": [[[1, 1], [1, 1]], [[0, 0], [1, 1]]]}
    spec = blockcalc.load({"x": X, "attn": {**A, "n_heads": 2, "mask": mask}})
    steps = {p.name: p for p in explain(spec, blockcalc.run(spec)) if isinstance(p, StepPiece)}
    assert steps["attn.weights"].notes[0].startswith("Row 1 (t1), head 2 has all its keys masked")


def test_padding_of_a_batch_is_not_headed_by_the_first_sentence() -> None:
    data = {"x": [X, X], "tokens": [["a", "b"], ["c", "d"]],
            "attn": {**A, "padding": [["keep", "keep"], ["keep", "pad"]]}}  # fmt: skip
    spec = blockcalc.load(data)
    pieces = explain(spec, blockcalc.run(spec))
    given = next(p for p in pieces if isinstance(p, Given))
    grid = next(grids[0] for operand, grids in given.matrices if operand.name == "attn.padding")
    assert grid.column_labels == ("1", "2")


def test_the_latex_of_captions_begins_a_line() -> None:
    spec = blockcalc.load({"x": [X, X], "attn": A})
    made = choose_format({"latex": True}, None).write(run_document(spec, blockcalc.run(spec)), True)
    assert b"{\\small batch 1" in made
    assert made.count(b"{\\small batch 1") == made.count(b"\\par{\\small batch 1")


def test_tables_break_evenly() -> None:
    spec = blockcalc.load({"x": np.arange(16).reshape(2, 8), "attn": {"out": np.ones((2, 8))}})
    pieces = explain(spec, blockcalc.run(spec))
    given = next(p for p in pieces if isinstance(p, Given))
    grid = given.matrices[0][1][0]
    assert [len(b.column_labels) for b in column_blocks(grid, [5] * 8, 36)] == [4, 4]
    assert [len(b.column_labels) for b in column_blocks(grid, [30, 5, 5, 5, 5, 5, 5, 5], 36)] == [
        2,
        6,
    ]


def test_float32_holds_or_refuses_without_a_warning() -> None:
    spec = blockcalc.load({"x": [[1e300, 0], [0, 1]], "attn": A})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            blockcalc.BlockcalcError, match="x holds a number too large for float32"
        ):
            blockcalc.run(spec, dtype="float32")
    with pytest.raises(blockcalc.BlockcalcError, match="'float16' is not a supported dtype"):
        blockcalc.run(spec, dtype="float16")


def both(a: Any, b: Any, **depth: Any) -> list[Any]:
    specs = [blockcalc.load(data) for data in (a, b)]
    runs = [(spec, blockcalc.run(spec)) for spec in specs]
    return list(compare(runs[0], runs[1], Depth(**depth)))


def test_compare_says_what_it_cannot_do() -> None:
    end = {"attn": {"out": [[1, 0], [0, 0]]}, "stop": "residual1"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pieces = both({"x": [[1e308, 0], [0, 1]], **end}, {"x": [[-1e308, 0], [0, 1]], **end})
    last = pieces[-1]
    assert isinstance(last, PairPiece)
    assert last.match.words == "too far apart to subtract"
    assert len(last.rows[0]) == 2
    pieces = both({"x": X, "attn": A}, {"x": X, "blocks": [{"attn": A}]})
    assert any(
        isinstance(p, Remark) and p.text == "The two have no step in common." for p in pieces
    )
    pieces = both({"x": X, "attn": A}, {"x": X, "attn": A, "tokens": ["a", "b"]})
    assert (
        "token labels differ: t1, t2 in A, a, b in B" in dict(pieces[0].facts)["Inputs and weights"]
    )


def test_compare_names_the_convention_that_differs(tmp_path: Path) -> None:
    square = {"x": X, "attn": A}
    facts = dict(both(square, {**square, "weight_layout": "out_in"})[0].facts)
    assert "stored [out, in]" in facts["B"][0]
    for name, layout in (("a", "blocks"), ("b", "per_head")):
        tokens = f"x: {X}\nattn: {{n_heads: 2, w_qkv: {FUSED}, qkv_layout: {layout}}}\n"
        (tmp_path / f"{name}.yaml").write_text(tokens)
    out = text(cli("compare", "a.yaml", "b.yaml", "--steps", "attn.q", cwd=tmp_path))
    assert "A a.yaml, post-norm: a norm after each residual; B b.yaml" in out
    out = text(cli("compare", "a.yaml", "b.yaml", cwd=tmp_path))
    assert "one fused matrix, head by head" in out


@pytest.mark.parametrize("form", ["explain", "compare"])
def test_the_longest_stack_is_no_wait(form: str) -> None:
    data = {"x": X, "norm": "pre", "blocks": [{"repeat": 1000, "attn": {**A, "causal": True}}],
            "dropout": {"p": 0.5, "training": True, "seed": 0}}  # fmt: skip
    begun = time.perf_counter()
    spec = blockcalc.load(data)
    trace = blockcalc.run(spec)
    if form == "explain":
        assert sum(1 for _ in explain(spec, trace, Depth(Detail.tables))) > 15_000
    else:
        assert list(compare((spec, trace), (spec, trace), Depth(patterns=("out",))))
    assert time.perf_counter() - begun < 60


def test_names_in_a_message_are_not_a_page() -> None:
    spec = blockcalc.load({"x": X, "blocks": [{"repeat": 20, "attn": A}]})
    with pytest.raises(blockcalc.BlockcalcError) as error:
        blockcalc.run(spec).program.find("zzz")
    assert "and 264 more" in report(error.value)
    assert len(report(error.value)) < 2000
