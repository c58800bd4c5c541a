"""CSV: the rows of a document, or one matrix, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

PART = 1000  # rows that are written together


def csv_chunks(rows: Iterable[Mapping[str, Any]], fragment: bool = False) -> Iterator[bytes]:
    r"""Write rows under the keys of the first, which all have in the same order, in parts.

    Examples
    --------
    >>> b"".join(csv_chunks([{"a": 1, "b": "x, y"}]))
    b'a,b\r\n1,"x, y"\r\n'
    """
    rest = iter(rows)
    first = next(rest, {})
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(list(first))
    for n, row in enumerate(chain([first] if first else [], rest), 1):
        writer.writerow(row.values())
        if n % PART == 0:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()


def table_bytes(table: Sequence[Sequence[Any]], fragment: bool = False) -> bytes:
    r"""Write one matrix with its labels.

    Examples
    --------
    >>> table_bytes([["token", "1"], ["a, b", 0.5]])
    b'token,1\r\n"a, b",0.5\r\n'
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows(table)
    return text.getvalue().encode()
