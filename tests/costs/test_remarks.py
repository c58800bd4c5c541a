"""Remarks of a count: more tokens than positions, adapters that save nothing, unknown names."""

from __future__ import annotations

from typing import Any

import pytest

from blockcalc import UsageError
from blockcalc.costs.count import Cost
from blockcalc.costs.explain import cost_head
from blockcalc.costs.plan import Plan, Sizes, with_lora
from blockcalc.costs.presets import PRESETS
from blockcalc.explain.document import Head
from blockcalc.views.errors import report
from tests.helpers import cli, text

STACK: dict[str, Any] = {"d_model": 8, "d_ff": 32, "heads": 2, "tokens": 4}


def hints(plan: Plan) -> tuple[str, ...]:
    head: Head = cost_head(Cost(plan))
    return head.hints


@pytest.mark.parametrize("name", [name for name, model in PRESETS.items() if model.positions])
def test_tokens_past_the_positions_of_a_model_are_remarked(name: str) -> None:
    model = PRESETS[name]
    assert hints(model.plan()) == ()
    assert hints(model.plan(tokens=model.positions)) == ()
    (hint,) = hints(model.plan(tokens=model.positions + 1))
    assert f"made for {model.positions:,} positions; {model.positions + 1:,} tokens" in hint


def test_a_model_without_a_bound_has_no_remark() -> None:
    assert hints(PRESETS["transformer-base"].plan(tokens=100_000)) == ()
    assert hints(Sizes(tokens=100_000).plan()) == ()


def test_shapes_remark_it_too() -> None:
    assert "made for 512 positions" in text(
        cli("shapes", "--preset", "bert-base", "--tokens", "513")
    )


@pytest.mark.parametrize(("rank", "said"), [(7, False), (8, True), (9, True)])
def test_a_rank_that_saves_nothing_is_remarked(rank: int, said: bool) -> None:
    plan = with_lora(Sizes(**STACK).plan(), "fp32", rank)
    assert any(f"Rank {rank} saves nothing for attn.w_q" in hint for hint in hints(plan)) is said


@pytest.mark.parametrize(
    "names", ["w_q,w_v", "attn.w_q,attn.w_v", " attn.w_q , w_v ", "w_q,attn.w_q,w_v"]
)
def test_matrices_by_their_keys_and_by_the_names_in_the_table(names: str) -> None:
    cost = Cost(with_lora(Sizes(**STACK).plan(), "fp32", 2, names))
    assert [a.name for a in cost.adapters] == ["attn.w_q", "attn.w_v"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("", "--lora-on names no matrix"),
        (" , ", "--lora-on names no matrix"),
        ("atn.w_q", "did you mean 'attn.w_q'?"),
        ("w_q,b_q", "the block has no matrix b_q"),
    ],
)
def test_names_that_are_no_matrix(names: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        with_lora(Sizes(**STACK).plan(), "fp32", 2, names)
    assert said in report(error.value)


def test_the_operations_say_that_attention_counts_the_full_square(capsys: Any) -> None:
    out = text(cli("cost", "--preset", "gpt2", "--tokens", "8"))
    assert "Attention is counted in full, T × T scores" in " ".join(out.split())
