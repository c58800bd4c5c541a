"""What a mistake makes of a small block, to be held against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockcalc.mistakes.alternative import Alternative, Block
from blockcalc.mistakes.table import MISTAKES
from blockcalc.ops.op import Array
from tests.mistakes.rates import found_rate
from tests.mistakes.wrong_answers import Rng, random_block, values_under

FORMS = ("2", "3", "5", "float64", "float32", "bfloat16")
SMALL: dict[str, Any] = {
    "heads": 1, "tokens": 3, "d_head": 4, "d_model": 4, "d_ff": 6, "bias": True, "out_in": False, "fused": False,
    "w_o": True, "rope": False, "mask": "none", "scale": "default", "gated": False, "activation": "relu",
    "kind": "layer", "order": "post", "eps": 1e-3, "variance": "population", "unit_offset": False, "gamma": True,
    "beta": True, "final": False, "dropout": 0.0, "stack": False,
}  # fmt: skip


def small(backward: bool = False, **fixed: Any) -> tuple[Block, dict[str, Array]]:
    """Make a small block, and its right numbers by name."""
    block = random_block(Rng(7), backward, **{**SMALL, **fixed})
    known = dict(block.trace.arrays)
    known |= {k: known[t] for k, t in block.program.aliases.items() if t in known}
    return block, known


def places(block: Block, name: str, **words: Any) -> list[Alternative]:
    """List what a mistake makes of a block, in the form that has these words."""
    found = MISTAKES[name].alternatives(block)
    return [a for a in found if words.items() <= a.words.items()]


def made(block: Block, name: str, at: int = 0, **words: Any) -> dict[str, Array]:
    """Work every step under a mistake, at one of its places."""
    values = values_under(block, places(block, name, **words)[at])
    return values | {k: values[t] for k, t in block.program.aliases.items() if t in values}


def same(a: Array, b: Array) -> None:
    """Hold two matrices against each other."""
    assert a.shape == np.shape(b)
    assert a == pytest.approx(b, rel=1e-9, abs=1e-12)


def assert_found(name: str, blocks: int, forms: tuple[str, ...] = FORMS, **fixed: Any) -> None:
    """Check that a mistake is named in wrong answers that show it beyond the tolerance."""
    _, told, missed = found_rate(MISTAKES[name], seed=1, blocks=blocks, forms=forms, **fixed)
    wrong = [miss for miss in missed if miss[3]]
    assert told >= blocks * len(forms) / 3
    assert len(wrong) <= 0.05 * (told + len(wrong)), wrong[:3]
