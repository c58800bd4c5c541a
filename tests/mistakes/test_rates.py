"""Each entry of the catalogue is told at its step, and plain slips have no reason."""

from __future__ import annotations

import pytest

from blockcalc.mistakes.table import MISTAKES
from tests.mistakes.rates import false_rate, measured

NOWHERE = {
    "qk_norm_missing": "no block has a norm of queries or keys",
    "scale_other": "its factor is solved: test_solved has it",
    "mask_row_undefined": "no random block has a query that sees no key: test_pages has it",
    "loss_mean_added": "no random block has a loss that is a sum: test_losses has it",
}
RIGHT, FALSE = 0.95, 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MISTAKES if name not in NOWHERE])
def test_an_entry_is_told(name: str) -> None:
    forms = ("2", "5", "float32", "bfloat16")
    blocks = 10 if name.startswith("arithmetic_") else 5  # it shows in half of the answers
    rate = measured(MISTAKES[name], 0, blocks, forms, backward=name.startswith(("grad_", "loss_")))
    assert rate.shown >= 2  # 16 and 32 bits show in few written digits
    assert rate.part >= RIGHT, rate.missed


@pytest.mark.slow
@pytest.mark.parametrize("one", [False, True], ids=["every step given", "one step given"])
def test_plain_slips_have_no_reason(one: bool) -> None:
    tried, false = false_rate(1, 50, ("2", "3"), one)
    assert len(false) <= FALSE * tried, false


def test_a_mistake_is_told_and_a_slip_is_none() -> None:
    rate = measured(MISTAKES["scale_missing"], 1, 1, ("2", "bfloat16"))
    assert rate.told == rate.shown == 2
    assert not false_rate(2, 2, ("3", "float32"))[1]
