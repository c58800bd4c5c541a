"""Counts of parameters, operations and bytes: types, LoRA, kept tensors, given matrices."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockcalc.costs.closed_form import written
from blockcalc.costs.count import Cost
from blockcalc.costs.explain import cost_pieces
from blockcalc.costs.plan import (
    BITS,
    Plan,
    Sizes,
    fitting,
    of_file,
    with_axes,
    with_lora,
)
from blockcalc.costs.presets import PRESETS
from blockcalc.costs.shapes import shape_pieces
from blockcalc.errors import UsageError
from blockcalc.explain.document import Bar, Listing, Remark
from blockcalc.notation.alphabets import Text
from blockcalc.reading.load import load
from tests.costs.sized import sized
from tests.helpers import SAMPLES, sample_specs

pytestmark = pytest.mark.slow


# bytes -------------------------------------------------------------------------------------


def test_what_is_kept_is_what_a_large_model_keeps() -> None:
    """Korthikanti et al. (2022), equation 1: a layer keeps s b h (34 + 5 a s / h) bytes."""
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
    assert "frozen matrices: none" in _said(with_lora(plan, "fp32", 16, everything))
    fused = of_file(load(SAMPLES[[p.stem for p in SAMPLES].index("causal")]))
    assert fused.shapes.keys() & {"attn.w_qkv"}
    assert [a.name for a in Cost(with_lora(fused, "fp32", 1)).adapters] == ["attn.w_qkv"]


def _said(plan: Plan) -> str:
    return " ".join(p.text for p in cost_pieces(plan) if isinstance(p, Remark))


def test_bytes_are_exact_whole_numbers() -> None:
    tokens = 10**15 - 1
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
