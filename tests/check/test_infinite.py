"""Where the first nan or infinity comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.check.explain import check_document
from blockcalc.check.where import infinite_text
from blockcalc.explain.document import Remark
from blockcalc.mistakes.alternative import Block
from blockcalc.ops.op import Array
from tests.check.helpers import SMALL, check_arrays, made, right, small

pytestmark = pytest.mark.slow

EVEN = made({**SMALL, "x": [[1.0, 1.0, 1.0], *SMALL["x"][1:]], "norm": "pre"})


def times(factor: float) -> Block:
    """Make queries larger."""
    attn = SMALL["attn"]
    return made({**SMALL, "attn": {**attn, "w_q": (np.array(attn["w_q"]) * factor).tolist()}})


def put(array: Array, row: int, value: float = np.nan) -> Array:
    array = np.array(array)
    array[row] = value
    return array


LARGE, HUGE = times(200), times(1e5)


@pytest.mark.parametrize(
    ("block", "form", "step", "row", "value", "said"),
    [
        (small(), "float32", "attn.weights", 1, np.nan, "all of row 2 is nan, as if a row sees no key"),
        (LARGE, "float32", "attn.weights", 1, np.nan, "overflows in float32, as every power above 88.72"),
        (LARGE, "float16", "attn.weights", 1, np.nan, "overflows in float16, as every power above 11.09"),
        (LARGE, "float32", "attn.weights.exp", 1, np.inf, "subtract the maximum of the row first"),
        (HUGE, "float16", "attn.scores", 1, np.inf, "beyond 65504, the largest of float16"),
        (HUGE, "float16", "attn.z", 1, np.nan, "a step before it that is not given reaches"),
        (EVEN, "float32", "norm1", 0, np.nan, "row 1 has no deviation, and without eps 0/0 is computed"),
        (made({**SMALL, "x": (np.array(SMALL["x"]) * 300).tolist(), "norm": "pre"}), "float16", "norm1.var", 0,
         np.inf, "whose square is beyond 65504"),
        (small(), "float32", "attn.scaled", 1, -np.inf, "−∞ is given where the block has no mask"),
        (small(), "float32", "attn.q", 1, np.nan, "its origin is not known"),
        (small(), "float32", "norm2", 1, np.inf, "its origin is not known: a division by 0"),
    ],
)  # fmt: skip
def test_the_origin(block: Block, form: str, step: str, row: int, value: float, said: str) -> None:
    found = check_arrays(block, {step: put(right(block)[step], row, value)}, form)
    assert found.judgement.infinite == step
    text = infinite_text(found.judgement, found.steps[step])
    assert said in text
    assert f"in {step}, at [{row + 1}, 1]" in text or f"in {step}, at [{row + 1}]" in text


def test_a_row_that_is_masked_whole_in_the_answers() -> None:
    values = right(small())
    given = {"attn.scaled": put(values["attn.scaled"], 1, -np.inf)}
    given["attn.weights"] = put(values["attn.weights"], 1)
    found = check_arrays(small(), given, "float32")
    assert found.judgement.infinite == "attn.scaled"
    own = found.steps["attn.weights"]
    assert "row 2 sees no key" in infinite_text(found.judgement, own)


def test_a_division_by_0_that_the_answers_lead_to() -> None:
    values = right(small())
    given: dict[str, Any] = {"norm2.std": put(values["norm2.std"], 1, 0.0)}
    given |= {
        "norm2.centered": values["norm2.centered"],
        "norm2": put(values["norm2"], 1, np.inf),
    }
    found = check_arrays(small(), given, "float32")
    assert "is divided by 0" in infinite_text(found.judgement, found.steps["norm2"])


def test_no_origin_where_a_reason_says_it() -> None:
    masked = right(made({**SMALL, "attn": {**SMALL["attn"], "causal": True}}))["attn.masked"]
    found = check_arrays(small(), {"attn.scaled": masked})
    assert found.judgement.infinite == "attn.scaled"
    remarks = [
        p.text for p in check_document(small().spec, [found]).pieces() if isinstance(p, Remark)
    ]
    assert not any("The first" in text for text in remarks)
