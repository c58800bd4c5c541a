"""How large what is read and worked may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
MOST_NUMBERS = 2**27  # 1 GiB as float64: what named files may give, and what steps may hold

MAX_BYTES = 32 * 2**20
MAX_DEPTH = 64
MAX_VALUES = 5_000_000
MAX_NODES = 500_000  # what YAML has to be told one by one
