"""A matrix: rows written out, or a mapping that stands for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.checker import Checker
from blockcalc.text import Path
from blockcalc.titles import say


def matrix(
    c: Checker,
    value: Any,
    path: Path,
    ranks: tuple[int, ...],
    flags: bool = False,
    blocks: bool = False,
) -> NDArray[Any] | None:
    """Read a matrix in any form, and keep it under its name.

    ``flags`` takes true and false for 1 and 0; ``blocks`` takes minus infinity.
    """

    def rows(written: Any, at: Path) -> NDArray[Any] | None:
        c.flags, c.blocks = flags, blocks
        array = c.array(written, at, ranks, path)
        c.flags = c.blocks = False
        return array

    if isinstance(value, dict):
        from blockcalc.forms import formed  # most files write their numbers out

        array = formed(c, value, path, ranks, rows)
    else:
        array = rows(value, path)
    if array is not None and flags and not set(np.unique(array)) <= {0.0, 1.0}:
        c.fault(path, say("mask.keep"))
    return array
