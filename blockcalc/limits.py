"""Limits on the size of inputs and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
MOST_NUMBERS = (
    2**27
)  # 1 GiB as float64: the limit for matrices from files, and for the steps of a run

MAX_BYTES = 32 * 2**20
MAX_DEPTH = 64
MAX_VALUES = 5_000_000
MAX_NODES = 500_000  # entries that the YAML parser handles one by one
