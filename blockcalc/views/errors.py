"""Write errors: position, message, the line with a caret, a hint."""

from __future__ import annotations

import json

from rich.cells import cell_len

from blockcalc.errors import BlockcalcError, Fault
from blockcalc.messages import say
from blockcalc.notation.signs import clean, shown

WIDEST = 96


def report(error: BlockcalcError) -> str:
    """Write all faults of an error as text.

    Examples
    --------
    >>> from blockcalc.errors import Place
    >>> place = Place("a.yaml", 1, 1, "nrom: pre")
    >>> fault = Fault("unknown key 'nrom'", place, "did you mean 'norm'?")
    >>> print(report(BlockcalcError(fault)))
    a.yaml:1:1: unknown key 'nrom'
      nrom: pre
      ^
      did you mean 'norm'?
    """
    return "\n".join(line for fault in error.faults for line in _lines(fault))


def as_json(error: BlockcalcError) -> str:
    """Write all faults of an error as JSON: message, file or option, line, column, text, hint.

    Lines and columns count from 1; null if there is none.

    Examples
    --------
    >>> from blockcalc.errors import Place
    >>> fault = Fault("unknown key 'nrom'", Place("a.yaml", 1, 1, "nrom: pre"))
    >>> json.loads(as_json(BlockcalcError(fault))) == {
    ...     "errors": [
    ...         {
    ...             "message": "unknown key 'nrom'",
    ...             "file": "a.yaml",
    ...             "option": None,
    ...             "line": 1,
    ...             "column": 1,
    ...             "text": "nrom: pre",
    ...             "hint": None,
    ...         }
    ...     ],
    ...     "exit_code": 2,
    ... }
    True
    """
    faults = [_fields(fault) for fault in error.faults]
    return json.dumps({"errors": faults, "exit_code": error.exit_code})


def _fields(fault: Fault) -> dict[str, str | int | None]:
    """Give the fields of a fault, as valid JSON texts."""
    place = fault.place
    name = place.file if place else None
    option = name is not None and name.startswith("--")
    fields: dict[str, str | int | None] = {
        "message": fault.message,
        "file": None if option else name,
        "option": name if option else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "text": place.text if place else None,
        "hint": fault.hint,
    }
    return {
        key: _whole(value) if isinstance(value, str) else value for key, value in fields.items()
    }


def _whole(text: str) -> str:
    r"""Escape half a surrogate pair (from a byte that is not UTF-8) as ``\udcff``."""
    return text.encode("utf-8", "backslashreplace").decode()


def _lines(fault: Fault) -> list[str]:
    place = fault.place
    lines = [clean(f"{place}: {fault.message}" if place else fault.message)]
    if place and place.text is not None and place.column is not None and place.text.strip():
        text, column = _window(place.text.replace("\t", " "), place.column - 1)
        lines.append("  " + clean(text))
        lines.append("  " + " " * cell_len("".join(shown(text)[:column])) + "^")
    if fault.hint:
        lines.append("  " + clean(fault.hint))
    return lines


def _window(text: str, column: int) -> tuple[str, int]:
    """Cut a long line around the caret, with a mark at each cut."""
    if len(text) <= WIDEST:
        return text, column
    start = max(0, min(column - WIDEST // 2, len(text) - WIDEST))
    cut = text[start : start + WIDEST]
    before = say("grid.gap.mark") if start else ""
    after = say("grid.gap.mark") if start + WIDEST < len(text) else ""
    return before + cut + after, column - start + len(before)
