"""The head of a document: the conventions in force, and hints about masks."""

from __future__ import annotations

from typing import Any

import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.explain.document import Head
from blockcalc.explain.head import head, mask_hints
from blockcalc.explain.steps import explain
from blockcalc.program.rounding import Rounding
from tests.blocks import ATTENTION, FUSED, SQUARE
from tests.helpers import TINY_SPEC, pieces

LOW, NEVER = -1e9, float("-inf")
WEIGHTS: dict[str, Any] = {"w_q": {"eye": 2}, "w_k": {"eye": 2}, "w_v": {"eye": 2}}


def hints(**attention: Any) -> list[str]:
    data = {"x": [[1, 0], [0, 1], [1, 1]], "stop": "attn.z", "attn": {**WEIGHTS, **attention}}
    spec = blockcalc.load(data)
    return list(head(spec, blockcalc.run(spec)).hints)


def facts(data: Any) -> str:
    spec = blockcalc.load(data)
    head = next(explain(spec, blockcalc.run(spec)))
    assert isinstance(head, Head)
    return "\n".join(line for _, lines in head.facts for line in lines) + "\n".join(head.hints)


@pytest.mark.parametrize(
    ("attention", "rows"),
    [
        ({"mask": {"add": [[LOW, LOW, LOW], [0, LOW, LOW], [LOW, LOW, LOW]]}}, "1, 3"),
        ({"mask": {"add": [[LOW, 0, 0], [0, 0, 0], [0, 0, 0]]}, "causal": True}, "1"),
        ({"mask": {"add": [[LOW, 0, 0], [LOW, LOW, 0], [0, 0, LOW]]}, "causal": True}, "1, 2"),
        ({"mask": {"add": [[LOW, NEVER, LOW], [0, 0, 0], [0, 0, 0]]}}, None),
        ({"mask": {"add": [[LOW, 0, 0], [0, 0, 0], [0, 0, 0]]}}, None),
        ({"mask": {"add": [[NEVER] * 3, [0, 0, 0], [0, 0, 0]]}}, None),
    ],
)
def test_a_row_hidden_by_large_negative_numbers_is_named(
    attention: dict[str, Any], rows: str | None
) -> None:
    said = hints(**attention)
    expected = f"attn.mask.add hides every key of row {rows} by a large negative number; "
    assert [text.startswith(expected) for text in said] == ([] if rows is None else [True])


def test_a_mask_is_hinted_at_in_every_block_once() -> None:
    mask = {"add": [[0, 1], [0, 0]]}
    blocks = [{"attn": ATTENTION}, {"attn": {**ATTENTION, "mask": mask}, "repeat": 2}]
    spec = blockcalc.load({"x": SQUARE, "blocks": blocks})
    (said,) = mask_hints(spec)
    assert said.startswith("blocks.1.attn.mask.add has only 0 and 1")
    assert "write blocks.1.attn.mask.keep." in said


@pytest.mark.parametrize(
    ("rope", "said"),
    [
        ({"freqs": [0.5]}, "given"),
        ({"theta": 100}, "100"),
    ],
)
def test_rope_says_where_its_angles_are_from(rope: dict[str, Any], said: str) -> None:
    data = {"x": [[1, 0], [0, 1]], "stop": "attn.z", "attn": {**WEIGHTS, "rope": rope}}
    spec = blockcalc.load(data)
    facts = dict(head(spec, blockcalc.run(spec)).facts)
    (line,) = [line for line in facts["conventions"] if "RoPE" in line]
    assert said in line


@pytest.mark.slow
def test_what_is_specific_wins_in_any_order() -> None:
    rates = {"blocks.0.attn.out": 0.5, "attn.out": 0.1}
    for p in (rates, dict(reversed(rates.items()))):
        data = {"x": SQUARE, "blocks": [{"attn": ATTENTION}, {"attn": ATTENTION}],
                "dropout": {"p": p, "training": True, "seed": 0}}  # fmt: skip
        said = facts(data)
        assert "at blocks.0.attn.out: p = 0.5" in said
        assert "at blocks.1.attn.out: p = 0.1" in said
        assert "drawn from seed 0" in said


@pytest.mark.slow
def test_heads_say_what_is_in_force() -> None:
    q = [[1, 0], [0, 1]]
    said = facts({"x": SQUARE, "weight_layout": "out_in", "attn": ATTENTION})
    assert "stored [out, in], Q = X W_Qᵀ" in said
    said = facts({"x": SQUARE, "attn": {"w_qkv": FUSED, "qkv_layout": "per_head"}})
    assert "one fused matrix, head by head" in said
    said = facts({"x": SQUARE, "attn": {**ATTENTION, "mask": {"add": q}}})
    assert "mask.add is added" in said
    assert "1 = visible" not in said
    said = facts({"x": SQUARE, "attn": {**ATTENTION, "rope": {"theta": 100}}})
    assert "theta = 100, positions from 0" in said
    assert "1 + gamma" not in facts({"x": SQUARE, "attn": ATTENTION, "norm": {"unit_offset": True}})
    assert "norm2 is given but not used" in facts(
        {"x": SQUARE, "attn": ATTENTION, "norm2": {"gamma": [1, 2]}}
    )


def test_rounding_is_said_and_shows_all_its_digits() -> None:
    head = pieces(TINY_SPEC.with_rounding(Rounding("significant", 3)))[0]
    said = "every step rounded to 3 significant figures before going on, half away from zero"
    assert ("rounding", (said,)) in head.facts


def test_other_conventions_are_named() -> None:
    spec = blockcalc.load(
        folder() / "three_features.yaml", [("attn.scale", "0.5"), ("attn.softmax", "shifted")]
    )
    said = "; ".join(dict(pieces(spec)[0].facts)["conventions"])
    assert "scores multiplied by 0.5" in said
    assert "the row maximum is subtracted first" in said
    tiny = blockcalc.load(folder() / "three_features.yaml", [("attn.scale", "1e-7")])
    assert "scores multiplied by 1e-7" in dict(pieces(tiny)[0].facts)["conventions"]
