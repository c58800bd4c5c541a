"""What a comparison says beside its numbers: conventions that differ, and what it cannot do."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import blockcalc
from blockcalc.explain.comparison import compare
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Head, PairPiece
from tests.blocks import ATTENTION, FUSED, SQUARE
from tests.helpers import cli, text

pytestmark = pytest.mark.slow


def both(a: Any, b: Any, **depth: Any) -> list[Any]:
    specs = [blockcalc.load(data) for data in (a, b)]
    runs = [(spec, blockcalc.run(spec)) for spec in specs]
    return list(compare(runs[0], runs[1], Depth(**depth)))


def facts_of(pieces: list[Any]) -> dict[str, tuple[str, ...]]:
    return dict(next(p for p in pieces if isinstance(p, Head) and p.facts).facts)


def test_compare_says_what_it_cannot_do() -> None:
    end = {"attn": {"out": [[1, 0], [0, 0]]}, "stop": "residual1"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pieces = both({"x": [[1e308, 0], [0, 1]], **end}, {"x": [[-1e308, 0], [0, 1]], **end})
    last = next(p for p in pieces if isinstance(p, PairPiece))
    assert last.match.words == "too far apart to subtract"
    assert len(last.rows[0]) == 2
    pieces = both({"x": SQUARE, "attn": ATTENTION}, {"x": SQUARE, "blocks": [{"attn": ATTENTION}]})
    assert pieces[0].headline == "The two have no step in common."
    pieces = both(
        {"x": SQUARE, "attn": ATTENTION}, {"x": SQUARE, "attn": ATTENTION, "tokens": ["a", "b"]}
    )
    given = facts_of(pieces)["Inputs and weights"]
    assert "token labels differ: t1, t2 in A, a, b in B" in given


def test_compare_names_the_convention_that_differs(tmp_path: Path) -> None:
    square = {"x": SQUARE, "attn": ATTENTION}
    facts = facts_of(both(square, {**square, "weight_layout": "out_in"}))
    assert "stored [out, in]" in facts["B"][0]
    for name, layout in (("a", "blocks"), ("b", "per_head")):
        tokens = f"x: {SQUARE}\nattn: {{n_heads: 2, w_qkv: {FUSED}, qkv_layout: {layout}}}\n"
        (tmp_path / f"{name}.yaml").write_text(tokens)
    out = text(cli("compare", "a.yaml", "b.yaml", "--steps", "attn.q", cwd=tmp_path))
    assert "A a.yaml, post-norm: a norm after each residual; B b.yaml" in out
    out = text(cli("compare", "a.yaml", "b.yaml", cwd=tmp_path))
    assert "one fused matrix, head by head" in out
