"""Small blocks that tests change, and blocks drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

import blockcalc
from tests.helpers import matrix, work

SQUARE = [[1, 0], [0, 1]]
GIVEN: dict[str, Any] = {"x": SQUARE, "attn": {"out": SQUARE}}
ATTENTION: dict[str, Any] = {"w_q": SQUARE, "w_k": [[1, 1], [0, 1]], "w_v": [[1, 0], [1, 1]]}
FUSED = [[1, 0, 1, 0, 1, 1], [0, 1, 0, 1, 1, 2]]
BLOCK: dict[str, Any] = {
    "x": [[1, 0], [0, 1], [1, 1]],
    "attn": {"w_q": {"eye": 2}, "w_k": {"eye": 2}, "w_v": {"eye": 2}},
    "ffn": {"w_1": [[1, 0, 1], [0, 1, 1]], "w_2": [[1, 0], [0, 1], [1, 1]]},
}
TO_Z: dict[str, Any] = {"x": [[1, 0], [0, 1]], "stop": "attn.z"}
WEIGHTS: dict[str, Any] = {
    "w_q": [[1, 0], [0, 2]],
    "w_k": [[1, 1], [0, 1]],
    "w_v": [[1, 2], [3, 4]],
}


def changed_block(**more: Any) -> blockcalc.Spec:
    """Read ``BLOCK`` with some keys changed."""
    return blockcalc.load({**BLOCK, **more})


def norm_of(row: list[float], norm: Any = None, **part: Any) -> Any:
    """Normalize one row, as the first norm of a pre-norm block."""
    data = {
        "norm": {"order": "pre", **(norm or {})},
        "x": [row],
        "attn": {"out": [[0] * len(row)]},
        "norm1": part,
    }
    return work(data)["norm1"][0]


def block(seed: int, d: int = 4, f: int = 6, **attn: Any) -> dict[str, Any]:
    """Draw one block."""
    rng = np.random.RandomState(seed)
    return {
        "attn": {**{key: matrix(rng, d, d, scale=0.5) for key in ("w_q", "w_k", "w_v", "w_o")}, **attn},
        "ffn": {"w_1": matrix(rng, d, f), "b_1": matrix(rng, f), "w_2": matrix(rng, f, d)},
        "norm1": {"gamma": matrix(rng, d), "beta": matrix(rng, d)},
    }  # fmt: skip


def stack(n: int, x: Any, order: str = "pre", **keys: Any) -> dict[str, Any]:
    """Draw a stack of blocks."""
    d = np.shape(x)[-1]
    return {"x": x, "norm": order, "blocks": [block(i, d) for i in range(n)], **keys}
