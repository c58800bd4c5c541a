"""``stop`` at any step, fused or not: every command answers, or refuses in its own words."""

from __future__ import annotations

from typing import Any

import pytest

import blockcalc
from blockcalc import BlockcalcError, Spec
from blockcalc.costs.count import Cost
from blockcalc.costs.data import cost_data, shapes_data
from blockcalc.costs.explain import cost_pieces
from blockcalc.costs.plan import of_file
from blockcalc.costs.shapes import shape_pieces
from blockcalc.explain.comparison import compare
from blockcalc.explain.data import run_document
from blockcalc.explain.depth import Depth
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.run import work_gradients
from blockcalc.nn.block import build
from blockcalc.views import FORMATS
from tests.helpers import SAMPLES

pytestmark = pytest.mark.slow

EYE = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def fused(layout: str, heads: int, few: int, **more: Any) -> dict[str, Any]:
    width = 2 * (heads + 2 * few)
    w = [[(i * 7 + j * 3) % 5 - 2 for j in range(width)] for i in range(4)]
    o = [[(i + 2 * j) % 3 - 1 for j in range(4)] for i in range(2 * heads)]
    return {"x": [[1, 2, 0, -1], [0, 1, 1, 3], [2, 0, 1, 1]],
            "attn": {"n_heads": heads, "n_kv_heads": few, "w_qkv": w, "b_qkv": [1] * width, "w_o": o,
                     "qkv_layout": layout, **more},
            "ffn": {"w_1": EYE, "w_2": EYE}}  # fmt: skip


SOURCES: dict[str, Any] = {path.stem: str(path) for path in SAMPLES}
SOURCES |= {
    "blocks": fused("blocks", 2, 2),
    "per_head": fused("per_head", 2, 2, causal=True),
    "grouped": fused("per_head", 2, 1, rope={}),
    "one_head": fused("blocks", 1, 1),
}


def stops(source: Any) -> list[str]:
    program = build(blockcalc.load(source))
    return [eq.out.name for eq in program.equations]


def refusal(spec: Spec) -> str | None:
    """Give what a backward pass is refused for, if it is."""
    try:
        assert list(explain_gradient(spec, work_gradients(spec)))
    except BlockcalcError as error:
        return str(error)
    return None


def everything(spec: Spec) -> None:
    """Go through every command; a refusal must be one of ours."""
    trace = blockcalc.run(spec)
    document = run_document(spec, trace)
    written = [
        b"".join(parts)
        for form in FORMATS.values()
        for parts in form.files(document, "block").values()
    ]
    assert len(written) >= 3
    assert all(written)
    plan = of_file(spec)
    Cost(plan).training  # noqa: B018
    for pieces in (shape_pieces(plan), cost_pieces(plan), cost_pieces(plan, "tokens")):
        assert list(pieces)
    assert shapes_data(plan)["matrices"]
    assert cost_data(plan)["operations"]
    assert list(compare((spec, trace), (spec, trace), Depth()))
    if (said := refusal(spec)) is not None:
        assert any(text in said for text in ("inside a softmax", "minus infinity"))


@pytest.mark.parametrize("name", SOURCES)
def test_every_command_answers_wherever_a_block_stops(name: str) -> None:
    names = stops(SOURCES[name])
    chosen = names if len(names) < 50 else names[::7]
    for stop in chosen:
        everything(blockcalc.load(SOURCES[name], {"stop": stop}))
