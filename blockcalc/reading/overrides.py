"""``--set``, ``--eps`` and ``--round``: values given on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from blockcalc.errors import Fault, InputError, Place, UsageError
from blockcalc.files.decode import read_value
from blockcalc.files.source import Path, Source, is_index, split_path
from blockcalc.files.yaml_text import plain_scalar
from blockcalc.messages import say
from blockcalc.program.rounding import Rounding
from blockcalc.reading.block_keys import eps
from blockcalc.reading.checker import Checker, is_text
from blockcalc.reading.keys import LEAST_DIGITS, MOST_DIGITS


def parse_sets(texts: Sequence[str], options: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Split the texts of ``--set``, ``KEY=VALUE``, into pairs.

    Parameters
    ----------
    texts : sequence of str
    options : mapping
        The values of other options by the key that each sets: ``norm.order`` of ``--norm``.

    Raises
    ------
    UsageError
        A text is not of this form, or a key is set to two values, also by another option.

    Examples
    --------
    >>> parse_sets(["attn.scale=none"], {"norm.order": "pre"})
    [('attn.scale', 'none')]
    """
    found = {key: value for key, value in options.items() if value is not None}
    pairs = []
    for text in texts:
        if not is_text(text):
            raise UsageError(Fault(say("set.encoding")))
        key, equals, value = text.partition("=")
        if not equals or not all(key.strip().split(".")):
            raise UsageError(Fault(say("set.key", text=text)))
        key, value = key.strip(), value.strip()
        name = "norm.order" if key == "norm" else key
        if key.endswith(".eps") and "eps" in found:
            name = "eps"
        if found.setdefault(name, value) != value:
            raise UsageError(Fault(say("set.twice", key=key, first=found[name], second=value)))
        pairs.append((key, value))
    return pairs


def parse_eps(text: str) -> float:
    """Read the value of ``--eps``."""
    checker = Checker(Source(f"--eps {text}", ""))
    number: float | None = eps(checker, plain_scalar(text), ())
    checker.give_up()
    assert number is not None
    return number


def parse_round(text: str) -> Rounding:
    """Read the value of ``--round``: ``3`` is decimals, ``4sf`` significant figures."""
    found = re.fullmatch(r"([0-9]{1,2})(sf)?", text.strip())
    kind = "significant" if found and found[2] else "decimals"
    if not found or not LEAST_DIGITS[kind] <= int(found[1]) <= MOST_DIGITS:
        raise UsageError(Fault(say("round.text", text=text)))
    return Rounding(kind, int(found[1]))


def expanded(data: Any, key: str) -> list[str]:
    """Expand ``blocks.*.attn.causal``: one key for each entry of the list.

    Examples
    --------
    >>> expanded({"blocks": [{}, {}]}, "blocks.*.attn.causal")
    ['blocks.0.attn.causal', 'blocks.1.attn.causal']
    """
    before, star, after = key.partition(".*.")
    for part in before.split("."):
        data = data.get(part) if isinstance(data, dict) else None
    if not star or not isinstance(data, list):
        return [key]
    return [f"{before}.{i}.{after}" for i in range(len(data))]


def set_key(source: Source, key: str, value: Any, typed: bool) -> None:
    """Set one key, overriding the file; a text is read as in a file.

    Errors name the option if it was typed on the command line, otherwise the key.
    """
    given = f"{key}={value}" if isinstance(value, str) else key
    origin = Place(f"--set {given}" if typed else given)
    path = split_path(key)
    for holder_path in (("expect",), ("points",), ("dropout", "p"), ("dropout", "keep")):
        n = len(holder_path)
        if path[:n] == holder_path and len(path) > n:
            path = (*holder_path, *_name_and_indices(key.split(".")[n:]))
    if isinstance(value, str) and not value.strip():
        raise InputError(Fault(say("set.empty"), origin))
    if not isinstance(source.data, dict):
        return
    holder: Any = source.data
    for depth, part in enumerate(path[:-1]):
        where = _entry(holder, part, origin)
        below = holder[where] if isinstance(holder, list) else holder.get(where)
        if not isinstance(below, dict | list):
            main = {"norm": "order", "dropout": "p"}.get(str(part)) if depth == 0 else None
            below = {} if main is None or below is None else {main: below}
            holder[where] = below
            source.overrides[path[: depth + 1]] = origin
        holder = below
    read = read_value(value, origin.file, path) if isinstance(value, str) else value
    holder[_entry(holder, path[-1], origin)] = read
    source.overrides[path] = origin


def _entry(holder: Any, part: str | int, origin: Place) -> Any:
    """Convert one part of a path to a key of a mapping or an index of a list."""
    if not isinstance(holder, list):
        if isinstance(part, int) and holder:
            raise InputError(Fault(say("set.mapping", keys=", ".join(holder)), origin))
        return str(part)
    if not (isinstance(part, int) and part < len(holder)):
        raise InputError(Fault(say("set.index"), origin))
    return part


def _name_and_indices(words: list[str]) -> Path:
    """Split ``attn.q.0.1`` into the name of a step and indices of its matrix."""
    end = len(words)
    while end > 1 and is_index(words[end - 1]):
        end -= 1
    return (".".join(words[:end]), *(int(word) for word in words[end:]))
