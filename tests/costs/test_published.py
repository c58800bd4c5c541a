"""Published counts, to the last parameter."""

from __future__ import annotations

from math import prod

import pytest

from blockcalc.costs.count import Cost
from blockcalc.costs.explain import cost_pieces
from blockcalc.costs.plan import (
    Plan,
    Sizes,
    with_lora,
)
from blockcalc.costs.presets import PRESETS
from blockcalc.costs.shapes import shape_pieces
from blockcalc.explain.document import Listing
from blockcalc.notation.alphabets import Text
from blockcalc.ops.expr import Expr
from tests.costs.sized import sized

pytestmark = pytest.mark.slow

# as their authors and hubs give them; transformers' own classes give the same on these configs
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


def _listing(plan: Plan, holding: str) -> Listing:
    """Find the list that has a row of this name."""
    found = [p for p in cost_pieces(plan) if isinstance(p, Listing)]
    return next(p for p in found if any(row[0] == holding for row in p.rows))


@pytest.mark.parametrize("name", PRESETS)
def test_published_counts_to_the_last_parameter(name: str) -> None:
    cost = Cost(PRESETS[name].plan())
    assert cost.parameters_of_all == PUBLISHED[name]
    assert cost.parameters_of() == BLOCKS.get(name, cost.parameters_of())
    assert PRESETS[name].source


def test_counts_of_a_gpt_2_without_biases() -> None:
    """nanoGPT, transformer_sizing.ipynb: parameters and matrix products, T = 1024."""
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
    shown = {row[0]: row for row in _listing(plan, "scores only").rows}
    assert shown["scores only"][2:4] == ("134,217,728", "128 MiB")
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
