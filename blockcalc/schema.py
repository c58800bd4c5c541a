"""The JSON Schema of the input file, made from the table of keys."""

from __future__ import annotations

from typing import Any

from blockcalc.keys import TOP
from blockcalc.kinds import definitions, section
from blockcalc.titles import say


def schema() -> dict[str, Any]:
    """Give the schema, so that editors complete and check as people type.

    It knows keys, words, and the depth of lists; whether shapes fit, only a reading tells.

    Examples
    --------
    >>> sorted(schema()["properties"])[:3]
    ['attn', 'blocks', 'dropout']
    """
    alone = {"anyOf": [{"required": [key]} for key in ("attn", "ffn", "norm1", "norm2")]}
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
