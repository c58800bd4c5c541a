"""Counts of parameters, operations and bytes: against closed forms, published numbers, and a counted run."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockcalc
from blockcalc.costs.closed_form import written
from blockcalc.costs.count import Cost
from blockcalc.costs.explain import cost_pieces
from blockcalc.costs.growth import exponent, overtaken, overtakes
from blockcalc.costs.plan import (
    AXES,
    BITS,
    Plan,
    Sizes,
    fitting,
    of_file,
    resized,
    with_axes,
    with_lora,
)
from blockcalc.costs.presets import PRESETS
from blockcalc.costs.shapes import shape_pieces
from blockcalc.errors import UsageError
from blockcalc.explain.document import Bar, Listing, Remark
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.block import build
from blockcalc.notation.alphabets import Text
from blockcalc.ops import evaluate as expr
from blockcalc.ops.derivative import derivative
from blockcalc.ops.elementwise import Centered, Elementwise
from blockcalc.ops.evaluate import arrays
from blockcalc.ops.expr import Binary, Call, Expr, Fold, Num, Slot, walk
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.op import Array
from blockcalc.ops.reduce import Reduce
from blockcalc.program.trace import steps
from blockcalc.reading.load import load
from tests.equations import EVERY
from tests.helpers import SAMPLES, STACK, cli, random_data, sample_specs, text

pytestmark = pytest.mark.slow

# as their authors and hubs give them; those of transformers' own classes on these configs are the same
PUBLISHED = {
    "transformer-base": 18_914_304, "bert-base": 109_482_240, "bert-large": 335_141_888, "minilm-l6": 22_713_216,
    "gpt2": 124_439_808, "gpt2-medium": 354_823_168, "gpt2-large": 774_030_080, "gpt2-xl": 1_557_611_200,
    "opt-125m": 125_239_296, "llama-7b": 6_738_415_616, "llama-13b": 13_015_864_320, "llama-65b": 65_285_660_672,
    "llama-2-70b": 68_976_648_192, "llama-3-8b": 8_030_261_248, "llama-3-70b": 70_553_706_496,
    "llama-3-405b": 405_853_388_800, "mistral-7b": 7_241_732_096, "qwen2-7b": 7_615_616_512,
    "qwen2.5-0.5b": 494_032_768, "smollm-135m": 134_515_008, "gemma-2b": 2_506_172_416, "gemma-7b": 8_537_680_896,
}  # fmt: skip
BLOCKS = {
    "transformer-base": 3_152_384,
    "gpt2": 7_087_872,
    "llama-7b": 202_383_360,
    "llama-3-8b": 218_112_000,
}


def sized(**sizes: Any) -> Cost:
    return Cost(Sizes(**sizes).plan())


@pytest.mark.parametrize("name", PRESETS)
def test_published_counts_to_the_last_parameter(name: str) -> None:
    cost = Cost(PRESETS[name].plan())
    assert cost.parameters_of_all == PUBLISHED[name]
    assert cost.parameters_of() == BLOCKS.get(name, cost.parameters_of())
    assert PRESETS[name].source


def test_counts_of_a_gpt_2_without_biases() -> None:
    """nanoGPT, transformer_sizing.ipynb: parameters and products of matrices, T = 1024."""
    cost = Cost(PRESETS["gpt2"].plan(bias=False))
    by_name = {p.ref.name: p.count for p in cost.parameters}
    assert sum(by_name[f"attn.w_{part}"] for part in "qkv") == 1_769_472
    assert by_name["attn.w_o"] == 589_824
    assert by_name["ffn.w_1"] == by_name["ffn.w_2"] == 2_359_296
    assert cost.parameters_of("attn") + by_name["norm1.gamma"] == 2_360_064
    assert cost.parameters_of("ffn") + by_name["norm2.gamma"] == 4_719_360
    assert cost.parameters_of() == 7_079_424
    assert cost.parameters_of_all == 124_337_664
    flops = {s.eq.out.name: s.product for s in cost.steps}
    assert flops["attn.q"] + flops["attn.k"] + flops["attn.v"] == 3_623_878_656
    assert flops["attn.scores"] == flops["attn.z"] == 1_610_612_736
    assert flops["attn.out"] == 1_207_959_552
    assert cost.flops_of("projections", "scores", products=True) == 8_053_063_680
    assert flops["ffn.pre"] == flops["ffn.out"] == 4_831_838_208
    assert cost.flops_of("ffn", products=True) == 9_663_676_416
    assert cost.flops_of(products=True) == 17_716_740_096
    head = 2 * 1024 * 768 * 50257
    assert cost.flops_of(products=True) * 12 + head == 291_648_307_200


def test_counts_of_raschka_and_of_a_small_llama() -> None:
    tied = Cost(PRESETS["gpt2"].plan(qkv_bias=False))
    assert tied.parameters_of_all == 124_412_160
    assert tied.parameters_of_all + 50257 * 768 == 163_009_536
    assert f"{163_009_536 * 4 / 2**20:.2f}" == "621.83"
    small = sized(
        d_model=512, d_ff=1408, heads=8, kv_heads=2, gated=True, norm_kind="rms", bias=False
    )
    assert small.parameters_of() == 2_819_072


def test_numbers_of_the_article_about_shapes() -> None:
    for tokens, scores in ((1024, 1_048_576), (2048, 4_194_304)):
        one = sized(d_model=64, d_ff=256, heads=1, tokens=tokens)
        assert (
            next(prod(s.eq.out.shape) for s in one.steps if s.eq.out.name == "attn.scores")
            == scores
        )
    plan = with_lora(Sizes(d_model=1024, d_ff=4096, heads=16, tokens=2048).plan(), "bf16")
    cost = Cost(plan)
    assert cost.score_bytes == 134_217_728 == 128 * 2**20
    shown = {row[0]: row for row in _listing(plan, "the scores alone").rows}
    assert shown["the scores alone"][2:4] == ("134,217,728", "128 MiB")
    forms = {row[0]: row for row in _listing(plan, "the block").rows}
    written = {
        name: Text().render(row[2]) for name, row in forms.items() if isinstance(row[2], Expr)
    }
    assert written["attention, matrices"] == "4 C²"
    assert written["FFN, matrices"] == "8 C²"
    assert cost.parameters_of("attn", "matrix") == 4 * 1024**2
    assert cost.parameters_of("ffn", "matrix") == 8 * 1024**2


def test_numbers_of_the_article_with_drawings() -> None:
    cost = sized(d_model=512, d_ff=2048, heads=8)
    shapes = {p.ref.name: p.ref.shape for p in cost.parameters}
    assert (shapes["ffn.w_1"], shapes["ffn.w_2"]) == ((512, 2048), (2048, 512))
    walk = next(p for p in shape_pieces(cost.plan) if hasattr(p, "facts"))
    assert (
        "in short",
        (
            "[B, T, C] → [B, H, T, D] → [B, H, T, T] → [B, H, T, D] → [B, T, C] → [B, T, 4 C] → [B, T, C]",
        ),
    ) in walk.facts


def _listing(plan: Plan, holding: str) -> Listing:
    """Find the list that has a row of this name."""
    found = [p for p in cost_pieces(plan) if isinstance(p, Listing)]
    return next(p for p in found if any(row[0] == holding for row in p.rows))


# closed forms -----------------------------------------------------------------------------


@st.composite
def sizes(draw: Any) -> dict[str, Any]:
    """Draw the sizes of a block of any kind."""
    few = draw(st.integers(1, 4))
    heads = few * draw(st.integers(1, 4))
    d_head = 2 * draw(st.integers(1, 8))
    own = draw(st.booleans())
    return {
        "d_model": heads * d_head if own else draw(st.integers(1, 99)), "d_head": 0 if own else d_head,
        "d_ff": draw(st.integers(1, 99)), "heads": heads, "kv_heads": few, "tokens": draw(st.integers(1, 99)),
        "batch": draw(st.integers(1, 5)), "layers": draw(st.integers(1, 9)), "gated": draw(st.booleans()),
        "norm_kind": draw(st.sampled_from(["layer", "rms"])), "bias": draw(st.booleans()),
        "rope": draw(st.booleans()), "causal": draw(st.booleans()), "order": draw(st.sampled_from(["pre", "post"])),
    }  # fmt: skip


@settings(max_examples=150)
@given(own=sizes())
def test_closed_forms_of_any_block(own: dict[str, Any]) -> None:
    cost = sized(**own)
    c, f, t, b = own["d_model"], own["d_ff"], own["tokens"], own["batch"]
    d = own["d_head"] or c // own["heads"]
    q, k = own["heads"] * d, own["kv_heads"] * d
    assert cost.parameters_of("attn", "matrix") == 2 * c * q + 2 * c * k
    assert cost.parameters_of("attn", "bias") == (q + 2 * k + c if own["bias"] else 0)
    assert cost.parameters_of("ffn", "matrix") == (3 if own["gated"] else 2) * c * f
    assert cost.parameters_of("ffn", "bias") == own["bias"] * (f * (1 + own["gated"]) + c)
    shifts = own["bias"] and own["norm_kind"] == "layer"
    assert cost.parameters_of(kind="norm") == 2 * c * (1 + shifts)
    assert cost.flops_of("projections", products=True) == 2 * b * t * (2 * c * q + 2 * c * k)
    assert cost.flops_of("scores", products=True) == 4 * b * t * t * q
    assert cost.flops_of("ffn", products=True) == 2 * b * t * c * f * (2 + own["gated"])
    assert cost.cache_bytes == 2 * b * t * k * 4 * own["layers"]
    assert cost.score_bytes == 4 * b * own["heads"] * t * t
    _forms_are_true(cost)


def _forms_are_true(cost: Cost) -> None:
    """Hold every closed form against its number."""
    for p in cost.parameters:
        assert cost.forms.value(p.form) == p.count, p.ref.name
    for s in cost.steps:
        if s.form is not None:
            assert cost.forms.value(s.form) == s.product, s.eq.out.name
            assert s.product + cost.forms.value(s.bias or {}) == s.flops, s.eq.out.name
    for eq in cost.program.equations:
        lengths = [cost.forms.value(form) for form in cost.forms.each(eq.out.axes, eq.out.shape)]
        assert lengths == list(eq.out.shape), eq.out.name


@settings(max_examples=100)
@given(data=random_data())
def test_closed_forms_of_any_file(data: dict[str, Any]) -> None:
    spec = load(data)
    cost = Cost(of_file(spec))
    _forms_are_true(cost)
    weights = {n: a.size for n, a in spec.arrays.items() if {"w", "b"} & {n.rpartition(".")[2][0]}
               and n.rpartition(".")[2] not in ("bias",)}  # fmt: skip
    counted = {p.ref.name: p.count for p in cost.parameters}
    assert all(counted[name] == n for name, n in weights.items() if name in counted)
    assert cost.parameters_of() == sum(counted.values())


# a run that counts ------------------------------------------------------------------------

COUNTED = {np.add, np.subtract, np.multiply, np.divide, np.power, np.sqrt, np.exp, np.tanh, np.cos, np.sin,
           np.maximum, np.square}  # fmt: skip


class Counting(np.ndarray):
    """An array whose arithmetic is counted while it is done."""

    count = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(x) for x in inputs]
        out = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            Counting.count += 2 * out.size * plain[0].shape[-1]
        elif ufunc in COUNTED:
            Counting.count += out.size if method == "__call__" else plain[0].size - np.size(out)
        return np.asarray(out).view(Counting)


def _counted(op: Any, inputs: list[Array], monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the operations of one step while it is worked, its guards against round-off aside."""
    own = [x.view(Counting) for x in inputs]
    Counting.count = 0
    monkeypatch.setitem(expr.FUNCTIONS, "ratio", lambda a, b: a / b)

    def erfc(x: Any) -> Any:
        Counting.count += x.size
        return expr._erfc(np.asarray(x)).view(Counting)

    monkeypatch.setitem(expr.FUNCTIONS, "erfc", erfc)
    monkeypatch.setattr(expr, "_plain", lambda v: v)
    monkeypatch.setattr(
        expr,
        "_logistic",
        lambda a, b, leaf: expr._evaluate(a, leaf) / (1 + np.exp(expr._evaluate(b, leaf))),
    )
    with np.errstate(all="ignore"):
        if isinstance(op, Elementwise):
            expr._evaluate(op.body, lambda e: op.aligned(own)[e.index])  # type: ignore[attr-defined]
        elif isinstance(op, Reduce):
            each = expr._evaluate(op.each, lambda e: own[0])
            total = each.max(axis=-1) if op.kind == "max" else each.sum(axis=-1)
            if op.kind == "mean":
                total / (each.shape[-1] - op.less)
        else:
            op.forward(own)
    monkeypatch.undo()
    return Counting.count


@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title}-{s.order}")
def test_the_operations_of_a_run_are_those_predicted(
    spec: blockcalc.Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build(spec)
    predicted = {s.eq.out.name: s.flops for s in Cost(of_file(spec)).steps}
    total = 0
    for step in steps(program, spec.arrays):
        n = _counted(step.equation.op, list(step.inputs), monkeypatch)
        assert n == predicted[step.equation.out.name], step.equation.out.name
        total += n
    assert total == Cost(of_file(spec)).flops_of() > 0


def _signs(tree: Expr) -> int:
    """Count the operations of a cell as it is written."""
    n = 0
    for e in walk(tree):
        cells = any(type(inner).__name__ in ("Cell", "Slot") for inner in walk(e))
        if (isinstance(e, Binary) and cells) or (
            isinstance(e, Call) and cells and e.function != "mask"
        ):
            n += 1
        elif isinstance(e, Fold):
            n += len(e.terms) - 1
    return n


@pytest.mark.parametrize("eq", EVERY, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_a_cell_takes_as_many_operations_as_it_shows(eq: Any) -> None:
    first = (0,) * len(eq.out.shape)
    cells = prod(eq.out.shape)
    shown = (
        sum(_signs(eq.op.cell(at, eq.inputs)) for at in np.ndindex(*eq.out.shape))
        if eq.op.worked
        else 0
    )
    extra = cells if isinstance(eq.op, MatMul) else 0  # the first product is added to nothing
    assert eq.op.flops(eq.inputs) == shown + extra, first
    assert eq.op.rule(eq.inputs)


# bytes -------------------------------------------------------------------------------------


def test_what_is_kept_is_what_a_large_model_keeps() -> None:
    """Korthikanti et al. (2022), equation 1: a layer keeps s b h (34 + 5 a s / h) bytes in 16 bits."""
    a, s, b, h = 4, 12, 3, 16
    plan = Sizes(d_model=h, d_ff=4 * h, heads=a, tokens=s, batch=b).plan()
    (block,) = plan.spec.blocks
    thinned = block.with_attention(lambda own: replace(own, dropout=0.1))
    thinned = replace(thinned, sublayers=tuple(replace(s, dropout=0.1) for s in thinned.sublayers))
    spec = replace(plan.spec, blocks=(thinned,), seed=0)
    cost = Cost(replace(plan, spec=spec, dtype="bf16"))
    divisors = 2 * b * s * 2  # of the two norms, which the paper leaves out
    assert cost.kept_bytes - divisors == 34 * s * b * h + 5 * a * s * s * b


def test_bytes_follow_the_type() -> None:
    plan = Sizes(d_model=64, d_ff=256, heads=4, tokens=8).plan()
    by_type = {dtype: Cost(with_lora(plan, dtype)) for dtype in BITS}
    n, matrices = by_type["fp32"].parameters_of(), by_type["fp32"].parameters_of(kind="matrix")
    assert by_type["fp32"].weight_bytes == 4 * n
    assert by_type["fp64"].weight_bytes == 8 * n
    assert by_type["bf16"].weight_bytes == 2 * n
    assert by_type["int8"].weight_bytes == matrices + 2 * (n - matrices)
    assert by_type["int4"].weight_bytes == matrices // 2 + 2 * (n - matrices)
    assert by_type["int4"].score_bytes == by_type["fp16"].score_bytes
    assert by_type["fp32"].training["optimizer"] == 8 * n
    assert by_type["bf16"].training["optimizer"] == 12 * n
    assert by_type["bf16"].training["gradients"] == 2 * n


def test_lora_adds_thin_matrices() -> None:
    plan = with_lora(PRESETS["gpt2"].plan(), "fp32", 8, "w_q, w_v")
    cost = Cost(plan)
    assert [a.name for a in cost.adapters] == ["attn.w_q", "attn.w_v"]
    assert (
        sum(a.count for a in cost.adapters) * plan.layers == 294_912
    )  # peft on GPT-2's q and v, rank 8
    assert cost.training["gradients"] == 294_912 * 4
    assert cost.training["optimizer"] == 294_912 * 8
    with pytest.raises(UsageError) as caught:
        with_lora(plan, "fp32", 8, "w_qkv")
    assert "w_qkv" in caught.value.faults[0].message
    assert "w_down" not in str(caught.value.faults[0].hint)


def test_what_lora_leaves_alone_needs_no_input() -> None:
    plan = PRESETS["llama-7b"].plan()
    kept = {k.ref.name for k in Cost(with_lora(plan, "bf16", 16)).kept}
    assert not kept & {"attn.concat", "norm2", "ffn.gated"}
    assert {"norm1", "ffn.gate", "attn.weights"} <= kept
    everything = "w_q,w_k,w_v,w_o,w_gate,w_up,w_down"
    full, thin = Cost(plan), Cost(with_lora(plan, "fp32", 16, everything))
    assert thin.kept_bytes == full.kept_bytes
    assert "matrices not touched: none" in _said(with_lora(plan, "fp32", 16, everything))
    fused = of_file(load(SAMPLES[[p.stem for p in SAMPLES].index("causal")]))
    assert fused.shapes.keys() & {"attn.w_qkv"}
    assert [a.name for a in Cost(with_lora(fused, "fp32", 1)).adapters] == ["attn.w_qkv"]


def _said(plan: Plan) -> str:
    return " ".join(p.text for p in cost_pieces(plan) if isinstance(p, Remark))


def test_bytes_are_exact_whole_numbers() -> None:
    tokens = 10**26 - 1
    cost = sized(d_model=4, d_ff=4, heads=2, tokens=tokens)
    assert cost.cache_bytes == 2 * 4 * 4 * tokens
    assert cost.score_bytes == 4 * 2 * tokens**2


def test_a_final_norm_is_of_the_kind_of_the_others() -> None:
    def names(name: str, **changes: Any) -> set[str]:
        return {
            own.name for own in PRESETS[name].plan(**changes).outside if "final norm" in own.name
        }

    assert names("gpt2") == {"final norm.gamma", "final norm.beta"}
    assert names("gpt2", norm_kind="rms") == {"final norm.gamma"}
    assert names("llama-7b", norm_kind="layer", bias=True) == {
        "final norm.gamma",
        "final norm.beta",
    }
    assert names("llama-7b", tokens=3) == {"final norm.gamma"}


def test_letters_are_not_taken_for_each_other() -> None:
    cost = sized(d_model=8, d_ff=2048, heads=2, d_head=8)
    forms = {s.eq.out.name: Text().render(written(s.form)) for s in cost.steps if s.form}
    assert forms["attn.scores"] == "2 B T² H D"
    assert forms["ffn.pre"] == "2 B T C F"


def test_kept_results_are_results_of_the_program() -> None:
    for spec in sample_specs():
        cost = Cost(of_file(spec))
        assert {k.ref.name for k in cost.kept} <= set(cost.program.refs())
        assert len({k.ref.name for k in cost.kept}) == len(cost.kept)


# growth ------------------------------------------------------------------------------------


def test_growth_by_powers() -> None:
    cost = Cost(PRESETS["gpt2"].plan())
    for axis, group, power in (("tokens", "scores", 2), ("tokens", "ffn", 1), ("d_model", "projections", 2),
                               ("d_ff", "ffn", 1), ("batch", "softmax", 1), ("heads", "softmax", 1), ("layers", "ffn", 0)):  # fmt: skip
        larger = Cost(resized(cost.plan, cost.program, axis, 2))
        before, after = (c.flops_of(group, products=group != "softmax") for c in (cost, larger))
        assert after == before * 2**power, (axis, group)
    assert exponent([1, 4, 16]) == "2"
    assert exponent([0, 0, 0]) == "0"


@pytest.mark.parametrize(("d_model", "heads"), [(768, 12), (64, 4), (6, 2)])
def test_attention_overtakes_the_ffn_at_twice_the_width(d_model: int, heads: int) -> None:
    """8 T C² + 4 T² C > 16 T C² where T > 2 C."""
    cost = sized(d_model=d_model, d_ff=4 * d_model, heads=heads, tokens=7)
    assert f"from {2 * d_model + 1:,} tokens on" in overtakes(cost)
    small = sized(d_model=8, d_ff=1, heads=1)
    assert "from the first token on" in overtakes(small)
    assert overtaken(small) == 1
    assert overtaken(cost) == 2 * d_model + 1


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
@pytest.mark.parametrize("axis", AXES)
def test_files_grow_along_every_axis(path: Path, axis: str) -> None:
    plan = of_file(load(path))
    before = Cost(plan, fitting(plan))
    weights = {name.rpartition(".")[2] for name in plan.shapes}
    if axis == "heads" and "w_o" not in weights and "w_q" in weights:
        with pytest.raises(UsageError, match="does not fit together"):
            fitting(resized(plan, before.program, axis, 2))
        return
    plan = resized(plan, before.program, axis, 2)
    after = Cost(plan, fitting(plan))
    assert after.flops_of() * plan.layers >= before.flops_of()
    _forms_are_true(after)


def test_a_file_with_other_tokens_is_that_file() -> None:
    plan = of_file(load({"x": [[1, 2]], "attn": {"w_q": [[1], [1]], "w_k": [[1], [1]], "w_v": [[1, 0], [0, 1]],
                                                 "causal": True}, "norm1": {"gamma": [1, 1]}}))  # fmt: skip
    longer = with_axes(plan, {"tokens": 5, "batch": 3, "layers": 2})
    assert fitting(longer).find("out")
    shapes = {eq.out.name: eq.out.shape for eq in fitting(longer).equations}
    assert shapes["attn.scores"] == (3, 5, 5)
    assert shapes["norm1"] == (3, 5, 2)
    assert longer.layers == 2


# no numbers --------------------------------------------------------------------------------


def test_no_number_is_read_or_drawn(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.full((4, 4), np.nan))
    wide = {"random": [100_000, 100_000]}
    data = {
        "x": {"zeros": [7, 100_000]},
        "attn": {"w_q": wide, "w_k": wide, "w_v": wide, "causal": True},
    }
    begun = time.perf_counter()
    cost = Cost(of_file(load(data, shapes_only=True)))
    assert cost.parameters_of() == 3 * 10**10
    assert time.perf_counter() - begun < 1
    own = {"file": str(tmp_path / "w.npy"), "transpose": True}
    spec = load({"x": own, "attn": {"w_q": own, "w_k": own, "w_v": own}}, shapes_only=True)
    assert spec.arrays["attn.w_q"].shape == (4, 4)


def test_every_preset_and_sample_can_be_counted_in_every_way() -> None:
    plans = [model.plan() for model in PRESETS.values()]
    plans += [of_file(spec) for spec in sample_specs()]
    for plan in plans:
        for piece in (*cost_pieces(plan), *cost_pieces(plan, "tokens"), *shape_pieces(plan)):
            if isinstance(piece, Listing):
                assert all(len(row) == len(piece.columns) for row in piece.rows)
                shares = [e.share for row in piece.rows for e in row if isinstance(e, Bar)]
                assert all(0 <= share <= 1 for share in shares)


# derivatives ---------------------------------------------------------------------------------


BODIES = {
    **{name: op.body for name, op in ACTIVATIONS.items()},
    **{f"{type(eq.op).__name__} {eq.out.name}": eq.op.body for eq in EVERY
       if isinstance(eq.op, Elementwise) and not isinstance(eq.op, Centered)},
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_derivatives_agree_with_differences(name: str) -> None:
    body = BODIES[name]
    count = 1 + max(e.index for e in walk(body) if isinstance(e, Slot))
    rng = np.random.RandomState(count)
    xs = [
        rng.uniform(0.5, 2, 7)
        * (1 if count > 1 or "std" in name or "rms" in name else rng.choice([-1, 1], 7))
        for _ in range(count)
    ]
    for slot in range(count):
        h = 1e-6
        up, down = ([x + sign * h * (i == slot) for i, x in enumerate(xs)] for sign in (1, -1))
        if (
            any(isinstance(e, Call) and e.function == "mask" for e in walk(body))
            and slot == count - 1
        ):
            assert derivative(body, slot) == Num(0.0) or count == 1
            continue
        near = (arrays(body, up) - arrays(body, down)) / (2 * h)
        exact = np.broadcast_to(arrays(derivative(body, slot), xs), near.shape)
        np.testing.assert_allclose(exact, near, rtol=1e-7, atol=1e-8)


# the commands --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_the_commands_keep_to_the_width(width: int) -> None:
    for args in (("cost", "--preset", "llama-3-405b"), ("shapes", "--preset", "llama-3-405b"), ("cost",), ("shapes",),
                 ("cost", "--d-model", "512", "--d-ff", "2048", "--heads", "8", "--tokens", "128", "--batch", "1", "--layers", "6"),
                 ("cost", "--preset", "gpt2", "--double", "tokens", "--lora", "8")):  # fmt: skip
        out = text(cli(*args, COLUMNS=str(width)))
        assert max(map(len, out.splitlines())) <= width, args


def test_the_commands_write_json_and_latex(tmp_path: Path) -> None:
    data = json.loads(text(cli("cost", "--preset", "llama-3-8b", "--dtype", "bf16", "--json")))
    assert data["parameters"]["model"] == 8_030_261_248
    assert data["parameters"]["by_name"]["attn.w_k"]["closed_form"] == "C K"
    assert data["bytes"]["cache"] == 2 * 8192 * 8 * 128 * 2 * 32
    assert sum(data["operations"]["groups"].values()) == data["operations"]["block"]
    growth = json.loads(text(cli("cost", "--preset", "gpt2", "--double", "tokens", "--json")))[
        "growth"
    ]
    assert growth["bytes.scores"] == [50_331_648, 201_326_592, 805_306_368]
    at = data["operations"]["attention_overtakes_ffn"]
    assert f"from {at:,} tokens on" in text(cli("cost", "--preset", "llama-3-8b", COLUMNS="200"))
    walk = json.loads(text(cli("shapes", "--preset", "gpt2", "--json")))
    assert walk["matrices"]["attn.scores"]["letters"] == ["B", "H", "T", "T"]
    assert walk["matrices"]["attn.scores"]["shape"] == [1, 12, 1024, 1024]
    assert r"\begin{longtable}" in text(cli("cost", "--latex"))
    done = cli("shapes", "-o", str(tmp_path / "a.tex"))
    assert done.returncode == 0
    assert (tmp_path / "a.tex").read_text().startswith("% !TEX")
    assert cli("shapes", "-o", str(tmp_path / "a.tex")).returncode == 3


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--heads", "7"), "d_model = 512 does not share out to 7 heads"),
        (("--heads", "4", "--kv-heads", "3"), "n_kv_heads"),
        (("--preset", "gpt3"), "did you mean 'gpt2'?"),
        (("--preset", "gpt2", "--set", "x=1"), "--preset, --set"),
        (("a.yaml", "--preset", "gpt2"), "FILE, --preset"),
        (("--double", "width"), "--double takes one of tokens, batch, d_model, d_ff, heads, layers; this is 'width'"),
        (("--double", "heads"), "at that size the block does not fit together: attn.concat is 3×4"),
        (("--dtype", "fp12"), "--dtype is one of fp64"),
        (("--norm-kind", "batch"), "--norm-kind is layer or rms"),
        (("--latex", "--json"), "--latex and --json"),
        (("-o", "a.txt"), "--latex, --json"),
        (("--lora", "4", "--lora-on", "w_o"), "no matrix of the block is called w_o"),
        (("--lora-on", "w_q"), "--lora-on goes with --lora"),
        ((STACK, "--layers", "3"), "this file is a stack"),
    ],
)  # fmt: skip
def test_what_cannot_be_counted(args: tuple[str, ...], said: str) -> None:
    done = cli("cost", *args)
    assert done.returncode == 2
    assert done.stdout == b""
    assert said in done.stderr.decode()


def test_a_file_has_its_own_sizes(tmp_path: Path) -> None:
    path = str(SAMPLES[0])
    done = cli("cost", path, "--d-model", "4")
    assert "a file has its own sizes" in done.stderr.decode()
    assert "tokens T = 9" in text(cli("cost", path, "--tokens", "9"))
    assert "pre-norm" in text(cli("cost", path, "--norm", "pre"))
    assert "pre-norm" in text(cli("shapes", "--norm", "pre"))


def test_blocks_that_are_alike_are_listed_once_and_summed_in_all(tmp_path: Path) -> None:
    eye = {"eye": 4}
    block = {"attn": {"w_q": eye, "w_k": eye, "w_v": eye}, "ffn": {"w_1": eye, "w_2": eye}}
    file = tmp_path / "a.json"
    blocks = [block, {**block, "repeat": 2}]
    file.write_text(json.dumps({"x": [[1, 2, 3, 4]], "norm": "pre", "blocks": blocks}))
    out = text(cli("cost", str(file), "--lora", "1", COLUMNS="120"))
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.startswith("attention, matrices 6 C² 96 60.0 %") for line in lines)
    assert any(line.startswith("all blocks 160 100.0 %") for line in lines)
    assert sum("The weights of 2 blocks are of the same shapes" in line for line in lines) == 2
    assert "blocks.1" not in out.partition("Operations")[0]


@pytest.mark.parametrize("name", ["bert-base", "gpt2-medium", "opt-125m", "llama-7b"])
def test_what_stands_beside_the_blocks_takes_their_width(name: str) -> None:
    shapes = [own.shape for own in PRESETS[name].plan(d_model=96, heads=12, d_ff=64).outside]
    first = PRESETS[name].plan().outside
    c = first[0].shape[1]
    assert [shape[-1] for shape in shapes] == [96] * len(shapes)
    assert all(old.shape[-1] == c for old in first)
    assert shapes[0] == (first[0].shape[0], 96)
