"""JSON: the data of a document."""

from __future__ import annotations

import json
from typing import Any


def json_bytes(data: dict[str, Any] | list[Any], fragment: bool = False) -> bytes:
    """Write plain data as JSON."""
    return (json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()
