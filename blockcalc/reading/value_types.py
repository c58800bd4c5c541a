"""The types of values of keys: each has a reader and a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from blockcalc.files.source import Path
from blockcalc.limits import MOST_POINTS
from blockcalc.messages import known, say
from blockcalc.reading.checker import NUMBERS, Checker, Entries, Reader, is_whole, kind_of, quoted
from blockcalc.reading.matrices import (
    FORMS,
    MOST_SEED,
    MOST_SIZE,
    matrix,
    true_or_false,
    whole_number,
)
from blockcalc.records import dataclass

Schema = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Kind:
    """The reader of a value, and the JSON Schema of the values that it accepts."""

    read: Reader
    schema: Callable[[], Schema]

    def __call__(self, c: Checker, value: Any, path: Path) -> Any:
        return self.read(c, value, path)


def kind(schema: Schema | Callable[[], Schema]) -> Callable[[Reader], Kind]:
    """Make a Kind from the function that reads it."""
    return lambda read: Kind(read, schema if callable(schema) else lambda: schema)


Table = Mapping[str, Kind]


def section(table: Table, name: str) -> Schema:
    """Give the schema of a mapping with these keys; ``name`` selects their descriptions."""
    properties = {}
    for key, own in table.items():
        text = f"key.{name}{key}"
        note = {"description": say(text)} if known(text) else {}
        properties[key] = {**own.schema(), **note}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def keys_in(schema: Schema, before: str = "") -> Iterator[str]:
    """Yield every key in a schema of mappings, with its path."""
    for key, own in schema.get("properties", {}).items():
        yield before + key
        yield from keys_in(own, f"{before}{key}.")
    for form in schema.get("anyOf", ()):
        yield from keys_in(form, before)


def either(*schemas: Schema) -> Schema:
    """Give the schema of a value that fits one of several schemas."""
    return {"anyOf": list(schemas)}


def ref(name: str) -> Schema:
    """Give a reference to one of the ``definitions``."""
    return {"$ref": f"#/$defs/{name}"}


def lists(cell: Schema, ranks: Sequence[int]) -> list[Schema]:
    """Give the schemas of nested lists, one for each rank."""
    found = []
    for rank in ranks:
        own = cell
        for _ in range(rank):
            own = {"type": "array", "items": own, "minItems": 1}
        found.append(own)
    return found


_OVER = r"[0-9]+(\.[0-9]+)?/[0-9]+(\.[0-9]+)?"
FRACTION = {"type": "string", "pattern": rf"^\s*\+?{_OVER}\s*$"}
TEXT = {"type": "string"}
FLAG = {"type": "boolean"}
_WINDOW = {"type": "string", "pattern": "^[0-9]*:[0-9]*$"}
_PARTS: dict[str, Schema] = {
    "value": {"type": "array"},
    "file": {"type": "string", "minLength": 1},
    "random": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
    "eye": {"type": "integer", "minimum": 1},
    "key": TEXT,
    "transpose": FLAG,
    "rows": _WINDOW,
    "cols": _WINDOW,
    "header": FLAG,
    "index": FLAG,
    "seed": {"type": "integer", "minimum": 0, "maximum": MOST_SEED},
    "std": ref("size"),
}
SIZED = ("random", "zeros", "ones")


def _form(name: str, more: Sequence[str], cells: list[Schema], ranks: Sequence[int]) -> Schema:
    """Give the schema of one form of a matrix."""
    sizes = {**_PARTS["random"], "minItems": min(ranks), "maxItems": max(ranks)}
    parts = {key: sizes if key in SIZED else _PARTS[key] for key in (name, *more)}
    if name == "value":
        parts["value"] = either(*cells)
    return {
        "type": "object",
        "properties": parts,
        "required": [name],
        "additionalProperties": False,
    }


def numbers(cell: Schema, *ranks: int) -> Schema:
    """Give the schema of a matrix: nested lists of the given ranks, or another form."""
    cells = lists(cell, ranks)
    return either(
        *cells,
        *(_form(n, more, cells, ranks) for n, more in FORMS.items() if n != "eye" or 2 in ranks),
    )


def definitions() -> dict[str, Schema]:
    """Give the schemas that others refer to."""
    return {
        "number": either(
            {"type": "number"},
            {"type": "string", "pattern": rf"^\s*[-+]?{_OVER}\s*$"},
        ),
        "size": either(
            {"type": "number", "minimum": 0},
            FRACTION,
        ),
        "vector": numbers(ref("number"), 1),
        "matrix": numbers(ref("number"), 2),
        "input": numbers(ref("number"), 2, 3),
        "entries": numbers(ref("number"), 1, 2, 3, 4),
        "pattern": numbers(either(FLAG, {"enum": [0, 1]}), 2, 3, 4),
        "bias": numbers(either(ref("number"), {"const": "-inf"}), 2, 3, 4),
        "answer": numbers(
            either(ref("number"), {"type": "null"}, {"enum": ["?", "-inf"]}), 1, 2, 3, 4
        ),
    }


def word(*known_words: str) -> Kind:
    """Read one of a few words."""

    def read(c: Checker, value: Any, path: Path) -> Any:
        return c.words(value, path, known_words, ".".join(map(str, path)))

    return Kind(read, lambda: {"enum": list(known_words)})


flag = Kind(true_or_false, lambda: FLAG)


@kind({"type": "integer", "minimum": 1, "maximum": MOST_SIZE})
def count(c: Checker, value: Any, path: Path) -> int | None:
    """Read a whole number from 1."""
    if is_whole(value, 1, MOST_SIZE):
        return int(value)
    c.fault(path, say("want.count", got=quoted(value)))
    return None


def whole(most: int) -> Kind:
    """Read a whole number from 0 to ``most``."""

    def read(c: Checker, value: Any, path: Path) -> int | None:
        return whole_number(c, value, path, most)

    return Kind(read, lambda: {"type": "integer", "minimum": 0, "maximum": most})


text = Kind(Checker.text, lambda: TEXT)


def read_points(c: Checker, value: Any, path: Path) -> float | None:
    """Read the points of a step: a number from 0 to ``MOST_POINTS``."""
    number = c.number(value, path)
    if number is not None and not 0 <= number <= MOST_POINTS:
        c.fault(path, say("points.range", most=f"{MOST_POINTS:,}", got=kind_of(value)))
        return None
    return number


@kind(
    {
        "type": "object",
        "additionalProperties": either(
            {"type": "number", "minimum": 0, "maximum": MOST_POINTS}, FRACTION
        ),
    }
)
def points(c: Checker, value: Any, path: Path) -> dict[str, float]:
    """Read the points of each step that counts."""
    if not isinstance(value, dict) or not value:
        c.fault(path, say("points.mapping", what=kind_of(value)))
        return {}
    found = {step: read_points(c, own, (*path, step)) for step, own in value.items()}
    return {step: number for step, number in found.items() if number is not None}


def block_matrix(
    c: Checker, value: Any, path: Path, ranks: tuple[int, ...], entries: Entries = NUMBERS
) -> Any:
    """Read a matrix of the block, and store it under its name."""
    return c.keep(matrix(c, value, path, ranks, entries), path)


@kind(ref("vector"))
def vector(c: Checker, value: Any, path: Path) -> Any:
    """Read a vector."""
    return block_matrix(c, value, path, (1,))


@kind(ref("matrix"))
def weight(c: Checker, value: Any, path: Path) -> Any:
    """Read a matrix."""
    return block_matrix(c, value, path, (2,))


@kind(ref("input"))
def tokens_by_features(c: Checker, value: Any, path: Path) -> Any:
    """Read one row for each token, or such a matrix for each batch entry."""
    return block_matrix(c, value, path, (2, 3))


@kind(ref("entries"))
def entries(c: Checker, value: Any, path: Path) -> Any:
    """Read one number for each entry of a step."""
    return block_matrix(c, value, path, (1, 2, 3, 4))


@kind(ref("pattern"))
def pattern(c: Checker, value: Any, path: Path) -> Any:
    """Read ones and zeros."""
    return block_matrix(c, value, path, (2, 3, 4), Entries(flags=True))


@kind(ref("bias"))
def bias(c: Checker, value: Any, path: Path) -> Any:
    """Read an additive mask: numbers and minus infinity."""
    return block_matrix(c, value, path, (2, 3, 4), Entries(blocks=True))
