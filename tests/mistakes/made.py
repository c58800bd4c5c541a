"""What a mistake makes of a step, to hold against numbers that are worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

import blockcalc
from blockcalc.check.carried import Carried
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.table import MISTAKES


def block_of(data: dict[str, Any]) -> Block:
    """Give a block with its right numbers."""
    spec = blockcalc.load(data)
    return Block(spec, blockcalc.run(spec))


def made(block: Block, name: str, step: str, **words: str) -> list[Any]:
    """Give the numbers of a step under every form of a mistake, or under those with these words."""
    program = block.program
    plain = Carried(program, {r.name: block.trace.arrays[r.name] for r in program.inputs}, {})
    found = []
    for change in MISTAKES[name].alternatives(block):
        if words.items() <= change.words.items():
            value = plain.under(change, program.find(step), bounded=False)
            found.append(block.trace[step] if value is None else value.numbers)
    return found


def one(block: Block, name: str, step: str, **words: str) -> Any:
    """Give the numbers of the only form of a mistake, or of the first with these words."""
    found = made(block, name, step, **words)
    assert found, f"{name} has no place here"
    return found[0]


def close(a: Any, b: Any) -> bool:
    """Tell whether numbers are the same but for round-off."""
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-10, atol=1e-12))
