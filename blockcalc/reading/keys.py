"""The keys of the input file, and its JSON Schema made from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.files.source import Path
from blockcalc.messages import say
from blockcalc.nn.norms import NORMS
from blockcalc.nn.orders import NORM_KEYS, ORDERS, SUBLAYERS
from blockcalc.program.loss import KEYS, LOSSES, implied
from blockcalc.program.rounding import Rounding
from blockcalc.reading.block_keys import attention, eps, ffn, norm_part
from blockcalc.reading.checker import Checker, Entries, is_text, is_whole, kind_of, quoted
from blockcalc.reading.matrices import MOST_SEED, matrix
from blockcalc.reading.value_types import (
    FRACTION,
    TEXT,
    Kind,
    Schema,
    count,
    definitions,
    either,
    entries,
    flag,
    kind,
    lists,
    pattern,
    points,
    ref,
    section,
    text,
    tokens_by_features,
    whole,
    word,
)


def schema() -> dict[str, Any]:
    """Make the JSON Schema, for completion and checks in editors.

    It covers keys, words and the nesting depth of lists; shapes are only checked by ``load``.

    Examples
    --------
    >>> sorted(schema()["properties"])[:3]
    ['attn', 'blocks', 'dropout']
    """
    alone = {"anyOf": [{"required": [key]} for key in (*SUBLAYERS, *NORM_KEYS)]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": say("schema.title"),
        **section(TOP, ""),
        "required": ["x"],
        "oneOf": [
            {"required": ["attn"], "not": {"required": ["blocks"]}},
            {"required": ["blocks"], "not": alone},
        ],
        "$defs": definitions(),
    }


MOST_BLOCKS = 1000
LEAST_DIGITS = {"decimals": 0, "significant": 1}  # of ``round``, by its key
MOST_DIGITS = 15
RATE: Schema = either({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, FRACTION)
KINDS = tuple(NORMS)
VARIANCES = ("population", "sample")
EPS_PLACES = ("inside", "outside")
LAYOUTS = ("in_out", "out_in")


@kind(lambda: either({"enum": [*ORDERS]}, section(_NORM, "norm.")))
def _norm(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    if isinstance(value, dict):
        found = c.mapping(value, path, _NORM)
        kind = found.get("kind")
        if kind and not NORMS[kind].variance and found.get("variance") == "sample":
            c.fault((*path, "variance"), say("norm.no_variance", kind=kind))
        return found
    hint = say("hint.norm_kind", kind=value) if value in KINDS else None
    return {"order": c.words(value, path, tuple(ORDERS), "norm", hint)}


@kind(RATE)
def _rate(c: Checker, value: Any, path: Path) -> float | None:
    """Read the probability that an entry is dropped."""
    p = c.number(value, path)
    if p is not None and not 0 <= p < 1:
        c.fault(path, say("dropout.p"))
        return None
    return p


@kind(either(RATE, {"type": "object", "additionalProperties": RATE}))
def _rates(c: Checker, value: Any, path: Path) -> Any:
    if not isinstance(value, dict):
        return _rate(c, value, path)
    return {place: _rate(c, p, (*path, place)) for place, p in value.items()}


@kind({"type": "array", "items": TEXT, "minItems": 1})
def _places(c: Checker, value: Any, path: Path) -> dict[str, Path]:
    """Read a list of places, each with its path."""
    if not isinstance(value, list) or not value:
        c.fault(path, say("dropout.at"))
        return {}
    found = {}
    for i, place in enumerate(value):
        if isinstance(place, str):
            found[place] = (*path, i)
        else:
            c.fault((*path, i), say("dropout.at"))
    return found


@kind({"type": "object", "additionalProperties": ref("pattern")})
def _keeps(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        c.fault(path, say("dropout.keep", what=kind_of(value)))
        return {}
    return {place: pattern(c, keep, (*path, place)) for place, keep in value.items()}


@kind(lambda: either(RATE, {**section(_DROPOUT, "dropout."), "required": ["p"]}))
def _dropout(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {"p": _rate(c, value, path)}
    before = len(c.faults)
    found = c.mapping(value, path, _DROPOUT)
    if "p" not in found and len(c.faults) == before:
        c.fault(path, say("key.required", key="dropout.p"), say("dropout.p"))
    return found


@kind(lambda: {"type": "array", "items": section(_BLOCK, ""), "minItems": 1})
def _blocks(c: Checker, value: Any, path: Path) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        empty = isinstance(value, list)
        c.fault(path, say("array.empty") if empty else say("blocks.list", what=kind_of(value)))
        return []
    found = [c.mapping(block, (*path, i), _BLOCK) for i, block in enumerate(value)]
    if sum(block.get("repeat") or 1 for block in found) > MOST_BLOCKS:
        c.fault(path, say("blocks.most", most=MOST_BLOCKS))
        return []
    return found


@kind(either(*lists({"type": ["string", "integer"]}, (1, 2))))
def _tokens(c: Checker, value: Any, path: Path) -> Any:
    deep = len(path) > 1
    if not deep and isinstance(value, list) and value and all(isinstance(v, list) for v in value):
        rows = [_tokens(c, row, (*path, i)) for i, row in enumerate(value)]
        return None if None in rows else tuple(rows)
    if not isinstance(value, list):
        c.fault(path, say("tokens.list", what=kind_of(value)))
        return None
    labels = []
    before = len(c.faults)
    for i, v in enumerate(value):
        if isinstance(v, str | int) and not isinstance(v, bool):
            labels.append(str(v))
            if not is_text(labels[-1]):
                c.fault((*path, i), say("text.surrogate"))
        else:
            c.fault((*path, i), say("tokens.label", what=kind_of(v)), say("want.text.hint"))
    return tuple(labels) if len(c.faults) == before else None


@kind(lambda: {**section(_ROUND, "round."), "minProperties": 1, "maxProperties": 1})
def _round(c: Checker, value: Any, path: Path) -> Rounding | None:
    found = c.mapping(value, path, _ROUND)
    if isinstance(value, dict) and len(found) != 1:
        c.fault(path, say("round.one"))
        return None
    ((unit, digits),) = found.items() if found else ((None, None),)
    return None if digits is None else Rounding(str(unit), digits)


def _digits(c: Checker, value: Any, path: Path) -> int | None:
    low = LEAST_DIGITS[str(path[-1])]
    if is_whole(value, low, MOST_DIGITS):
        return int(value)
    c.fault(path, say("round.digits", low=low, got=quoted(value)))
    return None


@kind({"type": "object", "additionalProperties": either(ref("answer"), ref("number"))})
def _expect(c: Checker, value: Any, path: Path) -> dict[str, NDArray[Any]]:
    """Read expected values: null or ? for entries left open."""
    if not isinstance(value, dict):
        c.fault(path, say("expect.mapping", what=kind_of(value)))
        return {}
    found = {step: _answer(c, numbers, (*path, step)) for step, numbers in value.items()}
    return {step: array for step, array in found.items() if array is not None}


def _answer(c: Checker, value: Any, path: Path) -> NDArray[Any] | None:
    """Read the expected values of a step: rows, a matrix in any form, or one number."""
    mapping = isinstance(value, dict)
    rows = value.get("value") if mapping else value
    filled, blank = _blank_out(rows) if not mapping or isinstance(rows, list) else (None, False)
    if isinstance(rows, list) or mapping:
        if mapping:
            filled = {**value, "value": filled} if isinstance(rows, list) else value
        array = matrix(c, filled, path, (1, 2, 3, 4), Entries(blocks=True))
    else:
        number = c.number(value, path)
        array = None if number is None else np.array(number)
    if array is None:
        return None
    unknown = np.array(blank, dtype=bool)
    if mapping and value.get("transpose") and unknown.ndim > 1:
        unknown = unknown.swapaxes(-1, -2)
    return np.where(unknown, np.nan, array)


def _blank_out(value: Any) -> tuple[Any, Any]:
    """Replace entries left open by 0; also return which they are, as lists of the same shape."""
    if isinstance(value, list):
        pairs = [_blank_out(v) for v in value]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    blank = value is None or value == "?"
    return (0 if blank else value), blank


@kind(lambda: section(_LOSS, "loss."))
def _loss(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    """Read the loss; its matrix is only allowed for the kind that needs it."""
    before = len(c.faults)
    found = c.mapping(value, path, _LOSS)
    kind = found.get("kind") or next((implied(key).kind for key in KEYS if key in found), None)
    if len(c.faults) > before:
        return {}
    if kind is None:
        c.fault(path, say("key.required", key="loss.kind"))
    for key in KEYS:
        if key in found and (kind is None or LOSSES[kind].key != key):
            c.fault((*path, key), say("loss.spare", key=f"loss.{key}", kind=kind), key=True)
    return {**found, "kind": kind}


_BLOCK: dict[str, Kind] = {}  # filled below: a block has some of the keys of a file
TOP: dict[str, Kind] = {
    "title": text,
    "notes": text,
    "tokens": _tokens,
    "x": tokens_by_features,
    "weight_layout": word(*LAYOUTS),
    "norm": _norm,
    **dict.fromkeys(NORM_KEYS, norm_part),
    "final_norm": norm_part,
    "attn": attention,
    "ffn": ffn,
    "blocks": _blocks,
    "dropout": _dropout,
    "stop": text,
    "round": _round,
    "expect": _expect,
    "points": points,
    "loss": _loss,
}
_BLOCK |= {key: TOP[key] for key in (*SUBLAYERS, *NORM_KEYS)} | {"repeat": count}
_DROPOUT: dict[str, Kind] = {
    "p": _rates,
    "at": _places,
    "training": flag,
    "seed": whole(MOST_SEED),
    "keep": _keeps,
}
_LOSS: dict[str, Kind] = {"kind": word(*LOSSES), **dict.fromkeys(KEYS, entries)}
_ROUND: dict[str, Kind] = {
    key: Kind(_digits, lambda low=low: {"type": "integer", "minimum": low, "maximum": MOST_DIGITS})  # type: ignore[misc]
    for key, low in LEAST_DIGITS.items()
}
_NORM: dict[str, Kind] = {
    "order": word(*ORDERS),
    "kind": word(*KINDS),
    "eps": eps,
    "unit_offset": flag,
    "variance": word(*VARIANCES),
    "eps_place": word(*EPS_PLACES),
}
