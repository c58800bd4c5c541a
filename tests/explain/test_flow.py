"""The flow of a block: stations that x passes, and branches that one residual adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.explain.summary import composed_formulas, flow
from blockcalc.nn.orders import ORDERS, Order, Sublayer
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Text
from blockcalc.ops.op import Ref
from tests.helpers import TINY_SPEC


def apart(x: Ref, sublayers: Sequence[Sublayer]) -> Ref:
    """Write x + attention(x) + FFN(norm(x))."""
    first, second = sublayers
    return first.add(x, first.work(x), second.work(second.norms[0](x)))


def shared(x: Ref, sublayers: Sequence[Sublayer]) -> Ref:
    """Write x + attention(n) + FFN(n) with one n = norm(x), as in GPT-J."""
    n = sublayers[0].norms[0](x)
    return sublayers[0].add(x, *(s.work(n) for s in sublayers))


def separate(x: Ref, sublayers: Sequence[Sublayer]) -> Ref:
    """Write x + attention(norm1(x)) + FFN(norm2(x)), with two norms."""
    return sublayers[0].add(x, *(s.work(s.norms[0](x)) for s in sublayers))


@pytest.mark.parametrize(
    ("compose", "stations"),
    [
        (apart, ("x", "[attention | LayerNorm → FFN]", "+ x", "out")),
        (shared, ("x", "LayerNorm", "[attention | FFN]", "+ x", "out")),
        (separate, ("x", "[LayerNorm → attention | LayerNorm → FFN]", "+ x", "out")),
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


def test_the_block_in_short() -> None:
    text = Text()

    def formulas(spec: Spec) -> list[str]:
        program = blockcalc.run(spec).program
        return [f"{text.render(a)} = {text.render(b)}" for a, b in composed_formulas(program)]

    assert formulas(TINY_SPEC.with_order("pre")) == [
        "H⁽¹⁾ = LN(X)",
        "O = softmax(Q Kᵀ / √d_head) V",
        "R⁽¹⁾ = X + O",
        "F = ReLU(LN(R⁽¹⁾) W_1) W_2",
        "R⁽²⁾ = R⁽¹⁾ + F",
    ]
    given = blockcalc.load(folder() / "tiny_from_attention.yaml")
    assert formulas(given)[0] == "H⁽¹⁾ = LN(X + O)"
    assert flow(blockcalc.run(given).program)[1] == "attention (given)"
    assert formulas(blockcalc.load(folder() / "tiny.yaml", [("stop", "attn.v")])) == [
        "V = X W_V"]  # fmt: skip
