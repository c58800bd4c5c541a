"""CSV: the rows of a document, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any


def csv_bytes(rows: Sequence[Mapping[str, Any]], fragment: bool = False) -> bytes:
    r"""Write rows under the keys of the first; a fragment has no row of keys.

    Examples
    --------
    >>> csv_bytes([{"a": 1, "b": "x, y"}])
    b'a,b\r\n1,"x, y"\r\n'
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    if not fragment:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
