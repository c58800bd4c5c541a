"""Closed forms of counts, and how they grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockcalc.costs.count import Cost
from blockcalc.costs.growth import exponent, overtaken, overtakes
from blockcalc.costs.plan import (
    AXES,
    fitting,
    of_file,
    resized,
)
from blockcalc.costs.presets import PRESETS
from blockcalc.errors import UsageError
from blockcalc.reading.load import load
from tests.costs.sized import sized
from tests.helpers import SAMPLES, random_data

pytestmark = pytest.mark.slow


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
        with pytest.raises(UsageError, match="the shapes do not fit"):
            fitting(resized(plan, before.program, axis, 2))
        return
    plan = resized(plan, before.program, axis, 2)
    after = Cost(plan, fitting(plan))
    assert after.flops_of() * plan.layers >= before.flops_of()
    _forms_are_true(after)
