"""Counts of blocks by their sizes alone."""

from __future__ import annotations

from typing import Any

from blockcalc.costs.count import Cost
from blockcalc.costs.plan import Sizes


def sized(**sizes: Any) -> Cost:
    """Count a block of these sizes."""
    return Cost(Sizes(**sizes).plan())
