"""Assemble the parts of a spec from the keys of a file, with all defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from blockcalc.files.source import Path
from blockcalc.limits import MOST_NUMBERS
from blockcalc.messages import say
from blockcalc.nn.attention import frequencies
from blockcalc.nn.orders import NORM_KEYS, SUBLAYERS
from blockcalc.nn.spec import (
    EPS,
    AttentionSpec,
    BlockSpec,
    FfnSpec,
    NormSpec,
    RopeSpec,
    SublayerSpec,
    Work,
)
from blockcalc.reading.block_keys import GATED
from blockcalc.reading.checker import Checker
from blockcalc.reading.matrices import hollow

PLACES = ("attn.weights", "attn.out", "ffn.act", "ffn.out")


def parts(c: Checker, top: Mapping[str, Any]) -> dict[str, Any]:
    """Assemble the fields of the spec from the keys of the file."""
    norm = top.get("norm") or {}
    x = c.arrays.get("x")
    if norm.get("variance") == "sample" and x is not None and x.shape[-1] == 1:
        c.fault(("norm", "variance"), say("norm.one_feature"))
    written = _written_blocks(c, top)
    rates = _rates(c, top, written)
    dropout = top.get("dropout") or {}
    training = bool(dropout.get("training"))
    out_in = top.get("weight_layout") == "out_in"
    blocks: list[BlockSpec] = []
    for keys, own in written:
        own_rates = {place: rates.get(keys + place, 0.0) for place in PLACES} if training else {}
        block = _block(c, own, keys, norm, out_in, own_rates)
        blocks += _runs(block, own.get("repeat") if keys else None)
    _add_causal(c, [keys for keys, own in written if (own.get("attn") or {}).get("causal")])
    return {
        "order": norm.get("order") or "post",
        "blocks": tuple(blocks),
        "tokens": _labels(c, top.get("tokens")),
        "title": top.get("title"),
        "notes": top.get("notes"),
        "final_norm": _norm(top, norm, "final_norm") if "final_norm" in top else None,
        "stop": top.get("stop"),
        "seed": dropout.get("seed"),
        "evaluation": "dropout" in top and not training,
        "rates": rates,
        "rounding": top.get("round"),
        "expect": top.get("expect") or {},
        "points": top.get("points") or {},
        "loss": (top.get("loss") or {}).get("kind"),
    }


def _written_blocks(c: Checker, top: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """List the blocks as written in the file, each with the prefix of its keys."""
    if "blocks" not in top:
        return [("", top)]
    for key in (*SUBLAYERS, *NORM_KEYS):
        if key in top:
            c.fault((key,), say("blocks.beside", key=key))
    return [(f"blocks.{i}.", own) for i, own in enumerate(top["blocks"] or [])]


def _runs(block: BlockSpec, repeat: int | None) -> Iterator[BlockSpec]:
    """Repeat a block; ``blocks.0.1.`` is the prefix of the steps of its second run."""
    if repeat is None:
        yield block
    else:
        yield from (replace(block, steps=f"{block.keys}{run}.") for run in range(repeat))


def _norm(own: Mapping[str, Any], norm: Mapping[str, Any], name: str) -> NormSpec:
    eps = (own.get(name) or {}).get("eps")
    return NormSpec(
        name,
        eps if eps is not None else norm.get("eps", EPS),
        norm.get("kind") or "layer",
        bool(norm.get("unit_offset")),
        norm.get("variance") == "sample",
        norm.get("eps_place") == "outside",
    )


def _block(
    c: Checker,
    own: Mapping[str, Any],
    keys: str,
    norm: Mapping[str, Any],
    out_in: bool,
    rates: Mapping[str, float],
) -> BlockSpec:
    attn, ffn = own.get("attn") or {}, own.get("ffn")
    works: list[Work] = [_attention(c, attn, keys, out_in, rates.get("attn.weights", 0.0))]
    works += [] if ffn is None else [_ffn(ffn, out_in, rates.get("ffn.act", 0.0))]
    sublayers = tuple(SublayerSpec(work, rates.get(f"{work.name}.out", 0.0)) for work in works)
    return BlockSpec(sublayers, tuple(_norm(own, norm, key) for key in NORM_KEYS), keys, keys)


def _attention(
    c: Checker, attn: Mapping[str, Any], keys: str, out_in: bool, p: float
) -> AttentionSpec:
    heads = attn.get("n_heads") or 1
    kv_heads = attn.get("n_kv_heads") or heads
    if heads % kv_heads:
        c.fault(f"{keys}attn.n_kv_heads", say("heads.groups", heads=heads, kv=kv_heads))
    layout = attn.get("qkv_layout") or "blocks"
    rope = _rope(c, attn, keys, (heads, kv_heads), out_in) if "rope" in attn else None
    masks = {key: c.arrays.get(f"{keys}attn.mask.{key}") for key in ("keep", "add")}
    softmax = attn.get("softmax") or {}
    by_batch = tuple(k for k, m in masks.items() if m is not None and m.shape[-3:-2] == (1,))
    return AttentionSpec(
        "attn",
        attn.get("scale"),
        softmax.get("form"),
        heads,
        kv_heads,
        layout,
        out_in,
        rope,
        p,
        by_batch,
        bool(softmax.get("base")),
    )


def _add_causal(c: Checker, blocks: Sequence[str]) -> None:
    """Make the causal mask, ``[T, T]``: the same array for all blocks that have one."""
    x = c.arrays.get("x")
    if x is None or not blocks:
        return
    rows = x.shape[-2]
    if not c.shapes_only and rows**2 > MOST_NUMBERS:
        c.fault("x", say("run.size", numbers=rows**2, most=MOST_NUMBERS), say("run.size.hint"))
        c.give_up()
    mask = hollow((rows, rows)) if c.shapes_only else np.tri(rows)
    c.arrays |= {f"{keys}attn.causal": mask for keys in blocks}


def _rope(
    c: Checker, attn: Mapping[str, Any], keys: str, heads: tuple[int, int], out_in: bool
) -> RopeSpec | None:
    """Set the positions and the angles per step, theta^(-2i/dims) by default."""
    rope = attn["rope"] or {}
    x = c.arrays.get("x")
    w, of = c.arrays.get(f"{keys}attn.w_q"), heads[0]
    if w is None:
        w, of = c.arrays.get(f"{keys}attn.w_qkv"), heads[0] + 2 * heads[1]
    if x is None or w is None:
        return None
    d_head = w.shape[-2 if out_in else -1] // of
    given = c.arrays.get(f"{keys}attn.rope.freqs")
    dims = rope.get("dims") or (d_head if given is None else 2 * len(given))
    if dims % 2 or dims > d_head:
        c.fault(f"{keys}attn.rope", say("rope.dims", dims=dims, d_head=d_head))
        return None
    if given is not None and 2 * len(given) != dims:
        c.fault(f"{keys}attn.rope.freqs", say("rope.freqs", n=len(given), dims=dims))
        return None
    theta = rope.get("theta") or 10000.0
    freqs = given if given is not None else frequencies(theta, dims)
    start = rope.get("start") or 0
    positions = np.arange(start, start + x.shape[-2], dtype=np.float64)
    c.arrays[f"{keys}attn.rope.freqs"] = np.asarray(freqs, dtype=np.float64).reshape(1, -1)
    c.arrays[f"{keys}attn.rope.positions"] = positions[:, None]
    known = None if given is not None else theta
    return RopeSpec(rope.get("style", "half") != "interleaved", dims, start, known)


def _ffn(ffn: Mapping[str, Any], out_in: bool, p: float) -> FfnSpec:
    gated = any(key.removeprefix("w_") in GATED for key in ffn)
    return FfnSpec("ffn", ffn.get("activation") or "relu", gated, out_in, p)


# dropout --------------------------------------------------------------------------------


def _rates(
    c: Checker, top: Mapping[str, Any], written: list[tuple[str, Mapping[str, Any]]]
) -> dict[str, float]:
    """Find p for every place of dropout, such as ``blocks.0.attn.out`` in a stack."""
    if not top.get("dropout"):
        return {}
    own = top["dropout"]
    there = {
        keys + place: place for keys, block in written for place in PLACES if _exists(block, place)
    }
    rates = _rates_at(c, own, there)
    _add_patterns(c, own, rates, there)
    left = [p for p, rate in rates.items() if rate and p not in (own.get("keep") or {})]
    if own.get("training") and left and own.get("seed") is None and not c.faults:
        c.fault(("dropout", "training"), say("dropout.undrawn", place=left[0]))
    return rates


def _rates_at(c: Checker, own: Mapping[str, Any], there: Mapping[str, str]) -> dict[str, float]:
    """Find p for the places that ``p`` and ``at`` name; by default for every place."""
    p, named = own.get("p"), own.get("at")
    rates: dict[str, float] = {}
    if isinstance(p, dict):
        # settings of one block override those of all blocks
        for place, rate in sorted(p.items(), key=lambda pair: pair[0] not in PLACES):
            for one in _meant(c, place, ("dropout", "p", place), there):
                rates[one] = rate or 0.0
    else:
        rates = dict.fromkeys(there, p or 0.0)
    if named:
        chosen = {one for place, at in named.items() for one in _meant(c, place, at, there)}
        for place in chosen - rates.keys():
            c.fault(("dropout", "at"), say("dropout.no_p", place=place))
        rates = {place: rate for place, rate in rates.items() if place in chosen}
    return rates


def _add_patterns(
    c: Checker, own: Mapping[str, Any], rates: Mapping[str, float], there: Mapping[str, str]
) -> None:
    """Store the given patterns, each as the matrix ``<place>_keep``."""
    named = own.get("at")
    for place in own.get("keep") or {}:
        at: Path = ("dropout", "keep", place)
        if place not in there:
            c.fault(at, say("dropout.place", place=place, places=", ".join(there)))
        elif not rates.get(place):
            why = "dropout.not_at" if named and place not in named else "dropout.no_p"
            c.fault(at, say(why, place=place))
        elif f"dropout.keep.{place}" in c.arrays:
            c.arrays[f"{place}_keep"] = c.arrays.pop(f"dropout.keep.{place}")
            c.paths[f"{place}_keep"] = at


def _exists(block: Mapping[str, Any], place: str) -> bool:
    """Tell whether a block has a place: a given attention has no weights."""
    if place.startswith("ffn."):
        return "ffn" in block
    return place == "attn.out" or "out" not in (block.get("attn") or {})


def _meant(c: Checker, place: str, at: Path, there: Mapping[str, str]) -> list[str]:
    """Give the full names of a place: in a stack ``attn.out`` means that of every block."""
    found = [full for full, own in there.items() if place in (full, own)]
    if not found:
        c.fault(at, say("dropout.place", place=place, places=", ".join(there)))
    return found


def _labels(c: Checker, tokens: Any) -> tuple[tuple[str, ...], ...]:
    """Give one list of labels for each batch entry; t1, t2, … by default."""
    x = c.arrays.get("x")
    if x is None:
        return ()
    rows, batch = x.shape[-2], x.shape[0] if x.ndim == 3 else 1
    if tokens is None:
        return (tuple(f"t{i + 1}" for i in range(rows)),) * batch
    lists = tokens if tokens and isinstance(tokens[0], tuple) else (tokens,) * batch
    if len(lists) != batch:
        c.fault(("tokens",), say("tokens.batch", has=len(lists), batch=batch))
    for i, own in enumerate(lists):
        if len(own) != rows:
            at: Path = ("tokens", i) if lists is tokens else ("tokens",)
            c.fault(at, say("tokens.count", has=len(own), rows=rows))
            break
    return lists
