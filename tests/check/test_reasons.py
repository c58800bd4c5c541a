"""Which reasons are reported of a wrong step."""

from __future__ import annotations

import pytest

from tests.check.helpers import check_text, made

LEVEL = {
    "x": [[1, 1], [0, 1]],
    "attn": {"w_q": [[2], [0]], "w_k": [[0], [1]], "w_v": [[1, 0], [0, 1]]},
}  # scores [[2, 2], [0, 0]]: the largest of each column is the largest of all


@pytest.mark.parametrize("weights", ["", "attn.weights: [[0.5, 0.5], [0.7, 0.3]]"])
def test_of_a_wrong_step_a_mistake_is_told_and_no_other_way(weights: str) -> None:
    exp = "attn.weights.exp: [[1, 1], [0.1353, 0.1353]]\n"
    checked = check_text(made(LEVEL), exp + weights)
    assert checked.verdict("attn.weights.exp") == "wrong"
    found = [r.names for r in checked.reasons if r.step == "attn.weights.exp"]
    assert found == [("softmax_wrong_max",)]


def test_another_way_is_told_where_no_mistake_fits() -> None:
    block = made({**LEVEL, "x": [[1, 1], [0, 2]]})
    checked = check_text(block, "attn.weights.exp: [[0.1353, 1], [0.0183, 0.0183]]")
    assert [r.names for r in checked.reasons] == [("softmax_shifted",)]
