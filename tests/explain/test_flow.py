"""The flow of a block: stations that x passes, and branches that one residual adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.summary import flow
from blockcalc.nn.orders import ORDERS, Order, Sublayer
from blockcalc.ops.op import Ref


def apart(x: Ref, sublayers: Sequence[Sublayer]) -> Ref:
    """Write x + attention(x) + FFN(norm(x))."""
    first, second = sublayers
    return first.add(x, first.work(x), second.work(second.norms[0](x)))


def shared(x: Ref, sublayers: Sequence[Sublayer]) -> Ref:
    """Write x + attention(n) + FFN(n) with one n = norm(x), as in GPT-J."""
    n = sublayers[0].norms[0](x)
    return sublayers[0].add(x, *(s.work(n) for s in sublayers))


@pytest.mark.parametrize(
    ("compose", "stations"),
    [
        (apart, ("x", "[attention | LayerNorm → FFN]", "+ x", "out")),
        (shared, ("x", "LayerNorm", "[attention | FFN]", "+ x", "out")),
    ],
)
def test_branches_that_one_residual_adds_up_stand_in_brackets(
    compose: object, stations: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ORDERS, "parallel", Order(compose))  # type: ignore[arg-type]
    spec = replace(blockcalc.sample("tiny"), order="parallel")
    trace = blockcalc.run(spec)
    np.testing.assert_allclose(trace["out"], trace["x"] + trace["attn.out"] + trace["ffn.out"])
    assert flow(trace.program) == stations
