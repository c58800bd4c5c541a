"""Checking in one call: a block as data, answers as text or as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np

import blockcalc
from blockcalc.answers.answer import Answers, written
from blockcalc.answers.numbers import Typed
from blockcalc.answers.text import answers_in
from blockcalc.check.judge import Tolerance
from blockcalc.check.run import Checked, check, wants_gradients
from blockcalc.files.decode import read_text
from blockcalc.gradients.run import work_gradients
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.table import MISTAKES

SMALL: dict[str, Any] = {
    "x": [[1.0, 0.5, -0.3], [0.3, 1.2, 0.4], [-0.7, 0.1, 0.9]],
    "attn": {
        "w_q": [[0.7, 0.2, 0.3], [0.1, 0.9, -0.4], [0.5, -0.2, 0.6]],
        "w_k": [[0.4, 0.6, 0.1], [0.8, 0.3, -0.5], [0.2, 0.7, 0.9]],
        "w_v": [[0.5, 0.1, 0.8], [0.2, 0.7, -0.6], [0.3, 0.4, 0.2]],
    },
    "ffn": {
        "activation": "relu",
        "w_1": [[0.3, -0.2, 0.5, 0.1], [0.7, 0.4, -0.6, 0.2], [-0.1, 0.8, 0.9, -0.3]],
        "w_2": [[0.2, 0.5, -0.4], [0.6, -0.1, 0.3], [-0.2, 0.7, 0.1], [0.4, 0.3, 0.8]],
    },
}  # fmt: skip


def made(data: Mapping[str, Any], backward: bool = False, **kind: Any) -> Block:
    """Work a block, and its backward pass if asked."""
    spec = blockcalc.load(dict(data))
    return Block(spec, work_gradients(spec, **kind) if backward else blockcalc.run(spec))


@cache
def small() -> Block:
    """Give a block of three tokens."""
    return made(SMALL)


@lru_cache(maxsize=8)
def catalogue(block: Block) -> Catalogue:
    """Make the mistakes of a block, once for all answers to it."""
    return Catalogue(block, tuple(MISTAKES.values()))


def check_block(block: Block, answers: Answers, **more: Any) -> Checked:
    """Check answers to a block."""
    return check(block.trace, answers, catalogue(block), **more)


def check_text(block: Block, text: str, tolerance: Tolerance | None = None) -> Checked:
    """Check answers as a person types them."""
    answers = answers_in(read_text(text, "answers.yaml", Typed))
    if wants_gradients([answers]) and block.program.forward is None:
        block = Block(block.spec, work_gradients(block.spec))
    return check_block(block, answers, tolerance=tolerance)


def check_arrays(
    block: Block, arrays: Mapping[str, Any], read_as: str = "float64", **more: Any
) -> Checked:
    """Check the arrays of a dump."""
    given = tuple(written(name, array, read_as=read_as) for name, array in arrays.items())
    return check_block(block, Answers("dump.npz", given, dump=True), **more)


def right(block: Block) -> dict[str, Any]:
    """Give the right numbers of every step, to be changed."""
    arrays = block.trace.arrays
    return {eq.out.name: np.array(arrays[eq.out.name]) for eq in block.program.equations}


def verdicts(checked: Checked) -> dict[str, str]:
    """Give the verdict of every step that was judged."""
    return {name: own.verdict for name, own in checked.steps.items()}
