"""The keys of a block: attention, FFN, norms."""

from __future__ import annotations

from typing import Any

from blockcalc.files.source import Path
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean
from blockcalc.nn import activations
from blockcalc.nn.activations import ACTIVATIONS, ALIASES
from blockcalc.nn.spec import SOFTMAX
from blockcalc.reading.checker import Checker, kind_of, quoted
from blockcalc.reading.value_types import (
    FRACTION,
    Kind,
    bias,
    count,
    either,
    flag,
    kind,
    lists,
    pattern,
    ref,
    section,
    tokens_by_features,
    vector,
    weight,
    whole,
    word,
)

GATED = ("gate", "up", "down")
QKV_LAYOUTS = ("blocks", "per_head")


@kind(lambda: {**section(_MASK, "attn.mask."), "minProperties": 1})
def _mask(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    if value == "causal":
        c.fault(
            path,
            say("want.mapping", what=kind_of(value), keys="keep, add"),
            say("hint.mask_causal"),
        )
        return {}
    found = c.mapping(value, path, _MASK)
    if isinstance(value, dict) and not found and not c.faults:
        c.fault(path, say("mask.empty"))
    return found


@kind(lambda: section(_ROPE, "attn.rope."))
def _rope(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    found = c.mapping(value, path, _ROPE)
    if "theta" in found and "freqs" in found:
        c.fault((*path, "theta"), say("rope.both"))
    return found


@kind(either({"type": "number", "exclusiveMinimum": 0}, FRACTION))
def _theta(c: Checker, value: Any, path: Path) -> float | None:
    number = c.number(value, path)
    if number is not None and number <= 0:
        c.fault(path, say("rope.theta"))
        return None
    return number


@kind(either(*lists({"enum": ["keep", "pad"]}, (1, 2))))
def _padding(c: Checker, value: Any, path: Path) -> Any:
    """Read the words keep and pad as 1 and 0."""

    def number(v: Any, at: Path) -> Any:
        if isinstance(v, list):
            return [number(w, (*at, i)) for i, w in enumerate(v)]
        word = c.words(v, at, ("keep", "pad"), ".".join(map(str, path)), say("hint.padding"))
        return 1 if word == "keep" else 0

    if not isinstance(value, list) or not value:
        c.fault(path, say("padding.list", what=quoted(value)))
        return None
    return c.keep(c.array(number(value, path), path, (1, 2)), path)


@kind(ref("size"))
def eps(c: Checker, value: Any, path: Path) -> float | None:
    """Read an eps: a number that is not negative."""
    number = c.number(value, path)
    if number is not None and number < 0:
        c.fault(path, say("eps.negative"))
    return number


@kind(lambda: section(_NORM_PART, "norm1."))
def norm_part(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    """Read the parts of one norm."""
    return c.mapping(value, path, _NORM_PART)


@kind(either(ref("number"), {"const": "none"}))
def _scale(c: Checker, value: Any, path: Path) -> float | str | None:
    if value == "none":
        return "none"
    return c.number(value, path)


@kind(lambda: either({"enum": [*SOFTMAX]}, section(_SOFTMAX, "attn.softmax.")))
def _softmax(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    if isinstance(value, dict):
        return c.mapping(value, path, _SOFTMAX)
    return {"form": c.words(value, path, SOFTMAX, "attn.softmax")}


@kind({"enum": [2, "e"]})
def _base(c: Checker, value: Any, path: Path) -> bool:
    """Read the base of a softmax; whether it is 2."""
    if value not in (2, "e") or value is True:
        c.fault(path, say("softmax.base", got=quoted(value)))
    return bool(value == 2)


@kind(lambda: section(_ATTENTION, "attn."))
def attention(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    """Read an attention: its weights, separate or fused, or a given output."""
    found = c.mapping(value, path, _ATTENTION)
    if "out" in found:
        for key in found:
            if key != "out":
                c.fault((*path, key), say("attn.given", key=key))
    fused = "w_qkv" in found
    for key in found:
        if fused and key in ("w_q", "w_k", "w_v", "b_q", "b_k", "b_v"):
            c.fault((*path, key), say("attn.fused", key=key), key=True)
        if not fused and key in ("b_qkv", "qkv_layout"):
            c.fault((*path, key), say("attn.not_fused", key=key), key=True)
    return found


@kind({"enum": [*ACTIVATIONS, *ALIASES]})
def _activation(c: Checker, value: Any, path: Path) -> str | None:
    word = ALIASES.get(value, value) if isinstance(value, str) else value
    own = activations.GATED.get(word.lower()) if isinstance(word, str) else None
    hint = say("hint.gated", word=word, activation=own) if own else None
    if hint is None and isinstance(word, str):
        hint = did_you_mean(word, (*ACTIVATIONS, *ALIASES))
    return c.words(word, path, tuple(ACTIVATIONS), "ffn.activation", hint)


@kind(lambda: section(_FFN, "ffn."))
def ffn(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    """Read an FFN, plain or gated."""
    found = c.mapping(value, path, _FFN)
    gated = [key for key in found if key.removeprefix("w_").removeprefix("b_") in GATED]
    plain = [key for key in found if key in ("w_1", "b_1", "w_2", "b_2")]
    if gated and plain:
        c.fault((*path, plain[0]), say("ffn.both", key=plain[0], other=gated[0]))
    return found


_NORM_PART: dict[str, Kind] = {"gamma": vector, "beta": vector, "eps": eps}
_MASK: dict[str, Kind] = {"keep": pattern, "add": bias}
_ATTENTION: dict[str, Kind] = {
    **dict.fromkeys(("w_q", "w_k", "w_v", "w_o", "w_qkv"), weight),
    **dict.fromkeys(("b_q", "b_k", "b_v", "b_o", "b_qkv"), vector),
    "n_heads": count,
    "n_kv_heads": count,
    "qkv_layout": word(*QKV_LAYOUTS),
    "scale": _scale,
    "softmax": _softmax,
    "causal": flag,
    "rope": _rope,
    "mask": _mask,
    "padding": _padding,
    "out": tokens_by_features,
}
_SOFTMAX: dict[str, Kind] = {"base": _base, "form": word(*SOFTMAX)}
_ROPE: dict[str, Kind] = {
    "theta": _theta,
    "style": word("half", "interleaved"),
    "dims": count,
    "start": whole(10**9),
    "freqs": vector,
}
_FFN: dict[str, Kind] = {
    "activation": _activation,
    **dict.fromkeys(("w_1", "w_2", "w_gate", "w_up", "w_down"), weight),
    **dict.fromkeys(("b_1", "b_2", "b_gate", "b_up", "b_down"), vector),
}
