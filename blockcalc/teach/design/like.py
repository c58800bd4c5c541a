"""A block like that of a file: its sizes are kept, and every matrix and setting that it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockcalc.errors import Fault, InputError, Place, UsageError
from blockcalc.messages import say
from blockcalc.reading.load import read_file
from blockcalc.teach.design.wanted import Wanted, require_kept


def wanted_like(name: str, options: Mapping[str, Any]) -> Wanted:
    """Read a file that may be incomplete, and join it with options; they must agree."""
    given = read_file(name).data
    if not isinstance(given, dict):
        raise InputError(Fault(say("file.not_mapping", what=type(given).__name__), Place(name)))
    require_kept(given, name)
    known = dict(_known(given, name))
    for key, has in known.items():
        wanted = options.get(key, has)
        if wanted != has:
            option = "--norm" if key == "order" else f"--{key.replace('_', '-')}"
            text = say("design.size", key=key, has=has, option=option, wanted=wanted)
            raise UsageError(Fault(text, Place(name)))
    kept = {key: value for key, value in given.items() if key != "norm"}
    return Wanted(**{**known, **options, "given": kept})


def _known(given: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    """List the sizes and settings that the matrices of a file have."""
    attn, ffn = given.get("attn") or {}, given.get("ffn") or {}
    found: list[tuple[str, Any]] = []
    if _is_matrix(given.get("x")):
        found += [("tokens", len(given["x"])), ("d_model", len(given["x"][0]))]
    elif isinstance(given.get("tokens"), list):
        found.append(("tokens", len(given["tokens"])))
    for own, key, size in ((attn, "w_q", "d_model"), (attn, "w_v", "d_model"), (ffn, "w_1", "d_model"),
                           (ffn, "w_2", "d_ff")):  # fmt: skip
        if _is_matrix(own.get(key)):
            found.append((size, len(own[key])))
    if _is_matrix(ffn.get("w_1")):
        found.append(("d_ff", len(ffn["w_1"][0])))
    if "n_heads" in attn:
        found.append(("heads", attn["n_heads"]))
    if isinstance(attn.get("softmax"), dict) and attn["softmax"].get("base") == 2:
        found.append(("softmax", "base2"))
    if "norm" in given:
        order = (
            given["norm"].get("order", "post") if isinstance(given["norm"], dict) else given["norm"]
        )
        extra = isinstance(given["norm"], dict) and set(given["norm"]) - {"order", "eps"}
        if extra or order not in ("post", "pre"):
            raise UsageError(Fault(say("design.norm_kind", got=given["norm"]), Place(name)))
        found.append(("order", order))
    return found


def _is_matrix(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(r, list) and r for r in value)
