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
from blockcalc.spec import EPS, AttentionSpec, BlockSpec, FfnSpec, NormSpec, RopeSpec
from blockcalc.titles import say

GATED = ("gate", "up", "down")
ORDERS = ("post", "pre")
SOFTMAX = ("plain", "shifted")


KINDS = ("layer", "rms")
VARIANCES = ("population", "sample")
EPS_PLACES = ("inside", "outside")
LAYOUTS = ("in_out", "out_in")
QKV_LAYOUTS = ("blocks", "per_head")
ALIASES = {"swish": "silu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
           "gelu_erf": "gelu", "linear": "identity", "none": "identity"}  # fmt: skip


def _word(known: tuple[str, ...]) -> Reader:
    """Make the reader of one of a few words."""
    return lambda c, value, path: c.words(value, path, known, ".".join(map(str, path)))


def _flag(c: Checker, value: Any, path: Path) -> bool | None:
    if isinstance(value, bool):
        return value
    c.fault(path, say("want.flag", got=quoted(value)))
    return None


def _count(c: Checker, value: Any, path: Path) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6:
        return value
    c.fault(path, say("want.count", got=quoted(value)))
    return None


def _vector(c: Checker, value: Any, path: Path) -> Any:
    return c.array(value, path, (1,))


def _matrix(c: Checker, value: Any, path: Path) -> Any:
    return c.matrix(value, path, (2,))


def _input(c: Checker, value: Any, path: Path) -> Any:
    return c.matrix(value, path, (2, 3))


def _keep(c: Checker, value: Any, path: Path) -> Any:
    return c.matrix(value, path, (2, 3, 4), flags=True)


def _add(c: Checker, value: Any, path: Path) -> Any:
    return c.matrix(value, path, (2, 3, 4), blocks=True)


def _mask(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    found = c.mapping(value, path, {"keep": _keep, "add": _add})
    if isinstance(value, dict) and not found and not c.faults:
        c.fault(path, say("mask.empty"))
    return found


def _rope(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    found = c.mapping(value, path, _ROPE)
    if "theta" in found and "freqs" in found:
        c.fault((*path, "theta"), say("rope.both"))
    return found


def _whole(c: Checker, value: Any, path: Path) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    c.fault(path, say("want.whole", got=quoted(value)))
    return None


def _theta(c: Checker, value: Any, path: Path) -> float | None:
    number = c.number(value, path)
    if number is not None and number <= 0:
        c.fault(path, say("rope.theta"))
        return None
    return number


def _padding(c: Checker, value: Any, path: Path) -> Any:
    """Read the words keep and pad as 1 and 0."""

    def number(v: Any, at: Path) -> Any:
        if isinstance(v, list):
            return [number(w, (*at, i)) for i, w in enumerate(v)]
        word = c.words(v, at, ("keep", "pad"), "attn.padding")
        return 1 if word == "keep" else 0

    return c.array(number(value, path) if isinstance(value, list) else value, path, (1, 2))


def eps(c: Checker, value: Any, path: Path) -> float | None:
    """Read an eps: a number that is not negative."""
    number = c.number(value, path)
    if number is not None and number < 0:
        c.fault(path, say("eps.negative"))
    return number


def _norm(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    if isinstance(value, dict):
        return c.mapping(value, path, _NORM)
    return {"order": c.words(value, path, ORDERS, "norm")}


def _norm_part(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    return c.mapping(value, path, {"gamma": _vector, "beta": _vector, "eps": eps})


def _scale(c: Checker, value: Any, path: Path) -> float | str | None:
    if value == "none":
        return "none"
    return c.number(value, path)


def _attention(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    found = c.mapping(value, path, _ATTENTION)
    if "out" in found:
        for key in found:
            if key != "out":
                c.fault((*path, key), say("attn.given", key=key))
    return found


def _activation(c: Checker, value: Any, path: Path) -> str | None:
    word = ALIASES.get(value, value) if isinstance(value, str) else value
    return c.words(word, path, tuple(ACTIVATIONS), "ffn.activation")


def _ffn(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    found = c.mapping(value, path, _FFN)
    gated = [key for key in found if key.removeprefix("w_").removeprefix("b_") in GATED]
    plain = [key for key in found if key in ("w_1", "b_1", "w_2", "b_2")]
    if gated and plain:
        c.fault((*path, plain[0]), say("ffn.both", key=plain[0], other=gated[0]))
    return found


def _tokens(c: Checker, value: Any, path: Path) -> Any:
    if isinstance(value, list) and value and all(isinstance(v, list) for v in value):
        rows = [_tokens(c, row, (*path, i)) for i, row in enumerate(value)]
        return None if None in rows else tuple(rows)
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
    "x": _input,
    "weight_layout": _word(LAYOUTS),
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
_NORM: dict[str, Reader] = {
    "order": _word(ORDERS),
    "kind": _word(KINDS),
    "eps": eps,
    "unit_offset": _flag,
    "variance": _word(VARIANCES),
    "eps_place": _word(EPS_PLACES),
}
_ATTENTION: dict[str, Reader] = {
    **dict.fromkeys(("w_q", "w_k", "w_v", "w_o", "w_qkv"), _matrix),
    **dict.fromkeys(("b_q", "b_k", "b_v", "b_o", "b_qkv"), _vector),
    "n_heads": _count,
    "n_kv_heads": _count,
    "qkv_layout": _word(QKV_LAYOUTS),
    "scale": _scale,
    "softmax": _word(SOFTMAX),
    "causal": _flag,
    "rope": _rope,
    "mask": _mask,
    "padding": _padding,
    "out": _input,
}
_ROPE: dict[str, Reader] = {
    "theta": _theta,
    "style": _word(("half", "interleaved")),
    "dims": _count,
    "start": _whole,
    "freqs": _vector,
}
_FFN: dict[str, Reader] = {
    "activation": _activation,
    **dict.fromkeys(("w_1", "w_2", "w_gate", "w_up", "w_down"), _matrix),
    **dict.fromkeys(("b_1", "b_2", "b_gate", "b_up", "b_down"), _vector),
}


def parts(c: Checker, top: Mapping[str, Any]) -> dict[str, Any]:
    """Gather the plain parts of the spec from what was read."""
    norm = top.get("norm") or {}
    attn, ffn = top.get("attn") or {}, top.get("ffn")
    out_in = top.get("weight_layout") == "out_in"

    def part(name: str) -> NormSpec:
        own = (top.get(name) or {}).get("eps")
        return NormSpec(
            name,
            own if own is not None else norm.get("eps", EPS),
            norm.get("kind") or "layer",
            bool(norm.get("unit_offset")),
            norm.get("variance") == "sample",
            norm.get("eps_place") == "outside",
        )

    block = BlockSpec(
        _attention_spec(c, attn, out_in),
        None if ffn is None else _ffn_spec(ffn, out_in),
        part("norm1"),
        part("norm2"),
    )
    return {
        "order": norm.get("order") or "post",
        "blocks": (block,),
        "tokens": _labels(c, top.get("tokens")),
        "title": top.get("title"),
        "notes": top.get("notes"),
        "final_norm": part("final_norm") if "final_norm" in top else None,
        "stop": top.get("stop"),
        "rounding": top.get("round"),
        "expect": top.get("expect") or {},
    }


def _attention_spec(c: Checker, attn: Mapping[str, Any], out_in: bool) -> AttentionSpec:
    x = c.arrays.get("x")
    if attn.get("causal") and x is not None:
        c.arrays["attn.causal"] = np.tri(x.shape[-2])
    heads = attn.get("n_heads") or 1
    kv_heads = attn.get("n_kv_heads") or heads
    if heads % kv_heads:
        c.fault(("attn", "n_kv_heads"), say("heads.groups", heads=heads, kv=kv_heads))
    layout = attn.get("qkv_layout") or "blocks"
    rope = _rope_spec(c, attn, heads, kv_heads, out_in) if "rope" in attn else None
    return AttentionSpec(
        "attn", attn.get("scale"), attn.get("softmax"), heads, kv_heads, layout, out_in, rope
    )


def _rope_spec(
    c: Checker, attn: Mapping[str, Any], heads: int, kv_heads: int, out_in: bool
) -> RopeSpec | None:
    """Set the positions and the angles per step; theta^(-2i/dims) where none are given."""
    rope = attn["rope"] or {}
    x = c.arrays.get("x")
    w, parts = c.arrays.get("attn.w_q"), heads
    if w is None:
        w, parts = c.arrays.get("attn.w_qkv"), heads + 2 * kv_heads
    if x is None or w is None:
        return None
    d_head = w.shape[-2 if out_in else -1] // parts
    given = c.arrays.get("attn.rope.freqs")
    dims = rope.get("dims") or (d_head if given is None else 2 * len(given))
    if dims % 2 or dims > d_head:
        c.fault(("attn", "rope"), say("rope.dims", dims=dims, d_head=d_head))
        return None
    if given is not None and 2 * len(given) != dims:
        c.fault(("attn", "rope", "freqs"), say("rope.freqs", n=len(given), dims=dims))
        return None
    theta = rope.get("theta") or 10000.0
    freqs = given if given is not None else theta ** (-np.arange(0, dims, 2) / dims)
    start = rope.get("start") or 0
    c.arrays["attn.rope.freqs"] = np.asarray(freqs, dtype=np.float64).reshape(1, -1)
    c.arrays["attn.rope.positions"] = np.arange(start, start + x.shape[-2], dtype=np.float64)[
        :, None
    ]
    return RopeSpec(rope.get("style", "half") != "interleaved", dims)


def _ffn_spec(ffn: Mapping[str, Any], out_in: bool) -> FfnSpec:
    gated = any(key.removeprefix("w_") in GATED for key in ffn)
    return FfnSpec("ffn", ffn.get("activation") or "relu", gated, out_in)


def _labels(c: Checker, tokens: Any) -> tuple[tuple[str, ...], ...]:
    """Give one list of labels for each of the batch; t1, t2, … where there are none."""
    x = c.arrays.get("x")
    if x is None:
        return ()
    rows, batch = x.shape[-2], x.shape[0] if x.ndim == 3 else 1
    if tokens is None:
        return (tuple(f"t{i + 1}" for i in range(rows)),) * batch
    lists = tokens if tokens and isinstance(tokens[0], tuple) else (tokens,) * batch
    if len(lists) != batch:
        c.fault(("tokens",), say("tokens.batch", has=len(lists), batch=batch))
    for own in lists:
        if len(own) != rows:
            c.fault(("tokens",), say("tokens.count", has=len(own), rows=rows))
            break
    return lists
