"""The head of a document: hints about masks, and the conventions of RoPE."""

from __future__ import annotations

from typing import Any

import pytest

import blockcalc
from blockcalc.explain.head import head

WEIGHTS: dict[str, Any] = {"w_q": {"eye": 2}, "w_k": {"eye": 2}, "w_v": {"eye": 2}}


def hints(**attention: Any) -> list[str]:
    data = {"x": [[1, 0], [0, 1], [1, 1]], "stop": "attn.z", "attn": {**WEIGHTS, **attention}}
    spec = blockcalc.load(data)
    return list(head(spec, blockcalc.run(spec)).hints)


LOW = -1e9


@pytest.mark.parametrize(
    ("attention", "rows"),
    [
        ({"mask": {"add": [[LOW, LOW, LOW], [0, LOW, LOW], [LOW, LOW, LOW]]}}, "1, 3"),
        ({"mask": {"add": [[LOW, 0, 0], [0, 0, 0], [0, 0, 0]]}, "causal": True}, "1"),
        ({"mask": {"add": [[LOW, 0, 0], [LOW, LOW, 0], [0, 0, LOW]]}, "causal": True}, "1, 2"),
        ({"mask": {"add": [[LOW, "-.inf", LOW], [0, 0, 0], [0, 0, 0]]}}, None),
        ({"mask": {"add": [[LOW, 0, 0], [0, 0, 0], [0, 0, 0]]}}, None),
        ({"mask": {"add": [["-.inf"] * 3, [0, 0, 0], [0, 0, 0]]}}, None),
    ],
)
def test_a_row_hidden_by_large_negative_numbers_is_named(
    attention: dict[str, Any], rows: str | None
) -> None:
    add = attention["mask"]["add"]
    own = [[float("-inf") if v == "-.inf" else v for v in row] for row in add]
    said = hints(**{**attention, "mask": {"add": own}})
    expected = f"attn.mask.add hides every key of row {rows} by a large negative number; "
    assert [text.startswith(expected) for text in said] == ([] if rows is None else [True])


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
