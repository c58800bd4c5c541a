"""Plans: heads that do not share out, and files that have their own layers."""

from __future__ import annotations

from typing import Any

import pytest

import blockcalc
from blockcalc import BlockcalcError
from blockcalc.costs.plan import Sizes, of_file, with_axes


@pytest.mark.parametrize(
    ("sizes", "problem", "hint"),
    [
        ({"d_model": 10, "heads": 3}, "d_model = 10 is not divisible by 3 heads", "or --d-head"),
        ({"d_model": 12, "heads": 6, "kv_heads": 4}, "n_heads = 6 is not a multiple of n_kv_heads = 4", None),
    ],
)  # fmt: skip
def test_heads_that_do_not_share_out_are_refused(
    sizes: dict[str, Any], problem: str, hint: str | None
) -> None:
    with pytest.raises(BlockcalcError) as error:
        blockcalc.cost(**sizes)
    (fault,) = error.value.faults
    assert fault.message == problem
    assert hint in fault.hint if hint and fault.hint else fault.hint is hint


def test_heads_of_a_width_of_their_own_need_not_divide_d_model() -> None:
    shapes = Sizes(d_model=10, heads=3, d_head=4, kv_heads=1).plan().shapes
    assert (shapes["attn.w_q"], shapes["attn.w_k"]) == ((10, 12), (10, 4))


def test_a_stack_has_its_own_layers() -> None:
    plan = of_file(blockcalc.sample("stack"))
    with pytest.raises(BlockcalcError, match="this file is a stack, which has its own layers"):
        with_axes(plan, {"layers": 2})
    assert with_axes(plan, {"tokens": 5}).shapes["x"][-2] == 5
