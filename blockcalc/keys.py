"""The keys of a file, each with what reads it: the table, and the parts of a spec from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.checker import Checker, Reader, is_text, kind_of, quoted
from blockcalc.decimals import Rounding
from blockcalc.ops import ACTIVATIONS
from blockcalc.source import Path
from blockcalc.spec import EPS, AttentionSpec, BlockSpec, FfnSpec, NormSpec
from blockcalc.titles import say

ORDERS = ("post", "pre")
SOFTMAX = ("plain", "shifted")


def _vector(c: Checker, value: Any, path: Path) -> Any:
    return c.array(value, path, (1,))


def _matrix(c: Checker, value: Any, path: Path) -> Any:
    return c.array(value, path, (2,))


def eps(c: Checker, value: Any, path: Path) -> float | None:
    """Read an eps: a number that is not negative."""
    number = c.number(value, path)
    if number is not None and number < 0:
        c.fault(path, say("eps.negative"))
    return number


def _order(c: Checker, value: Any, path: Path) -> str | None:
    return c.words(value, path, ORDERS, "norm")


def _norm(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    if isinstance(value, dict):
        return c.mapping(value, path, {"order": _order, "eps": eps})
    return {"order": _order(c, value, path)}


def _norm_part(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    return c.mapping(value, path, {"gamma": _vector, "beta": _vector, "eps": eps})


def _scale(c: Checker, value: Any, path: Path) -> float | str | None:
    if value == "none":
        return "none"
    return c.number(value, path)


def _softmax(c: Checker, value: Any, path: Path) -> str | None:
    return c.words(value, path, SOFTMAX, "attn.softmax")


def _attention(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    found = c.mapping(value, path, _ATTENTION)
    if "out" in found:
        for key in found:
            if key != "out":
                c.fault((*path, key), say("attn.given", key=key))
    return found


def _activation(c: Checker, value: Any, path: Path) -> str | None:
    return c.words(value, path, tuple(ACTIVATIONS), "ffn.activation")


def _ffn(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    return c.mapping(value, path, _FFN)


def _tokens(c: Checker, value: Any, path: Path) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        c.fault(path, say("tokens.list", what=kind_of(value)))
        return None
    labels = []
    before = len(c.faults)
    for i, v in enumerate(value):
        if isinstance(v, str | int) and not isinstance(v, bool):
            labels.append(v if isinstance(v, str) else c.typed((*path, i), str(v)))
            if not is_text(labels[-1]):
                c.fault((*path, i), say("text.surrogate"))
        else:
            c.fault((*path, i), say("tokens.label", what=kind_of(v)), say("want.text.hint"))
    return tuple(labels) if len(c.faults) == before else None


def _round(c: Checker, value: Any, path: Path) -> Rounding | None:
    found = c.mapping(value, path, {"decimals": _digits, "significant": _digits})
    if isinstance(value, dict) and len(found) != 1:
        c.fault(path, say("round.one"))
        return None
    for kind, digits in found.items():
        if digits is not None:
            return Rounding(kind, digits)
    return None


def _digits(c: Checker, value: Any, path: Path) -> int | None:
    low = 1 if path[-1] == "significant" else 0
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= 15:
        return value
    c.fault(path, say("round.digits", low=low, got=quoted(value)))
    return None


def _expect(c: Checker, value: Any, path: Path) -> dict[str, NDArray[Any]]:
    """Read a person's numbers: null or ? where not judged."""
    if not isinstance(value, dict):
        c.fault(path, say("expect.mapping", what=kind_of(value)))
        return {}
    held, c.arrays = c.arrays, {}
    found = {}
    for step, numbers in value.items():
        here = (*path, step)
        blanks = _blank_out(numbers)
        array = c.array(blanks[0], here, (1, 2, 3, 4)) if isinstance(blanks[0], list) else None
        if not isinstance(numbers, list):
            number = c.number(numbers, here)
            array = None if number is None else np.array(number)
        if array is not None:
            found[step] = np.where(np.array(blanks[1], dtype=bool), np.nan, array)
    c.arrays = held
    return found


def _blank_out(value: Any) -> tuple[Any, Any]:
    if isinstance(value, list):
        pairs = [_blank_out(v) for v in value]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    blank = value is None or value == "?"
    return (0 if blank else value), blank


TOP: dict[str, Reader] = {
    "title": Checker.text,
    "notes": Checker.text,
    "tokens": _tokens,
    "x": _matrix,
    "norm": _norm,
    "norm1": _norm_part,
    "norm2": _norm_part,
    "final_norm": _norm_part,
    "attn": _attention,
    "ffn": _ffn,
    "stop": Checker.text,
    "round": _round,
    "expect": _expect,
}
_ATTENTION: dict[str, Reader] = {
    **dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), _matrix),
    **dict.fromkeys(("b_q", "b_k", "b_v", "b_o"), _vector),
    "scale": _scale,
    "softmax": _softmax,
    "out": _matrix,
}
_FFN: dict[str, Reader] = {
    "activation": _activation,
    **dict.fromkeys(("w_1", "w_2"), _matrix),
    **dict.fromkeys(("b_1", "b_2"), _vector),
}


def parts(c: Checker, top: Mapping[str, Any]) -> dict[str, Any]:
    """Gather the plain parts of the spec from what was read."""
    x = c.arrays.get("x")
    rows = 0 if x is None else x.shape[-2]
    tokens = top.get("tokens")
    if tokens is not None and x is not None and len(tokens) != rows:
        c.fault(("tokens",), say("tokens.count", has=len(tokens), rows=rows))
    norm = top.get("norm") or {}
    attn, ffn = top.get("attn") or {}, top.get("ffn")

    def part(name: str) -> NormSpec:
        own = (top.get(name) or {}).get("eps")
        return NormSpec(name, own if own is not None else norm.get("eps", EPS))

    block = BlockSpec(
        AttentionSpec("attn", attn.get("scale"), attn.get("softmax")),
        None if ffn is None else FfnSpec("ffn", ffn.get("activation") or "relu"),
        part("norm1"),
        part("norm2"),
    )
    return {
        "order": norm.get("order") or "post",
        "blocks": (block,),
        "tokens": tokens or tuple(f"t{i + 1}" for i in range(rows)),
        "title": top.get("title"),
        "notes": top.get("notes"),
        "final_norm": part("final_norm") if "final_norm" in top else None,
        "stop": top.get("stop"),
        "rounding": top.get("round"),
        "expect": top.get("expect") or {},
    }
