"""Comparing a file with itself: post-norm against its own order, or against pre-norm."""

from __future__ import annotations

import pytest

import blockcalc
from blockcalc.nn.orders import ORDERS, Order, pre_norm
from tests.helpers import TINY_SPEC


@pytest.mark.parametrize("order", ["post", "pre"])
def test_the_two_orders_of_a_file(order: str) -> None:
    pairs = blockcalc.compare(TINY_SPEC.with_order(order))
    assert list(pairs.a) == list(blockcalc.run(TINY_SPEC))
    assert list(pairs.b) == list(blockcalc.run(TINY_SPEC.with_order("pre")))


def test_a_third_order_is_compared_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_attention(x, sublayers):  # type: ignore[no-untyped-def]
        return pre_norm(x, sublayers[1:])

    monkeypatch.setitem(ORDERS, "third", Order(without_attention))
    pairs = blockcalc.compare(TINY_SPEC.with_order("third"))
    assert "attn.q" in pairs.a
    assert "attn.q" not in pairs.b
