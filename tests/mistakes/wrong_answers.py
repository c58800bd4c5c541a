"""Random blocks, and answers with a mistake in one: written numbers or a dump."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.answers.answer import Answer
from blockcalc.gradients.run import work_gradients
from blockcalc.mistakes.alternative import Alternative, Block
from blockcalc.program.bounds import NUMBERS

Rng = np.random.RandomState
ACTS = ("relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "quick_gelu")


def random_data(rng: Rng, **fixed: Any) -> dict[str, Any]:
    """Make the content of a file; ``fixed`` has choices: heads, kv, rope, gated, order, mask …"""

    def pick(name: str, *options: Any) -> Any:
        drawn = options[rng.randint(len(options))]
        return fixed.get(name, drawn)

    def m(*shape: int, by: float = 1.0) -> list[Any]:
        return np.round(rng.normal(size=shape) * by, 2).tolist()  # type: ignore[no-any-return]

    heads, tokens = pick("heads", 1, 2, 4), pick("tokens", 3, 4, 5)
    kv = pick("kv", heads, heads, max(1, heads // 2))
    d_head = pick("d_head", 2, 4)
    d, d_ff = pick("d_model", heads * d_head, heads * d_head, 6), pick("d_ff", 6, 8)
    q, k = heads * d_head, kv * d_head
    attn: dict[str, Any] = {"n_heads": heads, "n_kv_heads": kv}
    bias, out_in = pick("bias", True, False), pick("out_in", False, False, True)

    def weight(a: int, b: int) -> list[Any]:
        return m(b, a, by=0.7) if out_in else m(a, b, by=0.7)

    if pick("fused", False, False, True):
        attn |= {"w_qkv": weight(d, q + 2 * k), "qkv_layout": pick("layout", "blocks", "per_head")}
        attn |= {"b_qkv": m(q + 2 * k)} if bias else {}
    else:
        attn |= {"w_q": weight(d, q), "w_k": weight(d, k), "w_v": weight(d, k)}
        attn |= {"b_q": m(q), "b_k": m(k), "b_v": m(k)} if bias else {}
    if pick("w_o", True, True, False) or q != d:
        attn |= {"w_o": weight(q, d)} | ({"b_o": m(d)} if bias else {})
    if pick("rope", False, True):
        attn["rope"] = {
            "theta": 100.0,
            "style": pick("style", "half", "interleaved"),
            "start": pick("start", 0, 2),
        } | {key: fixed[key] for key in ("dims",) if key in fixed}
    mask = pick("mask", "none", "causal", "keep", "add", "padding")
    if mask == "causal":
        attn["causal"] = True
    elif mask == "keep":
        keep = rng.rand(tokens, tokens) > 0.4
        attn["mask"] = {"keep": (keep | np.eye(tokens, dtype=bool)).astype(int).tolist()}
    elif mask == "window":  # only where it is asked for
        low, high = [(-1, 0), (-2, 0), (-1, 1), (-3, 0), (-2, 2)][rng.randint(5)]
        offsets = np.arange(tokens) - np.arange(tokens)[:, None]
        attn["mask"] = {"keep": ((offsets >= low) & (offsets <= high)).astype(int).tolist()}
        attn["causal"] = bool(rng.randint(2)) and high == 0
    elif mask == "add":
        attn["mask"] = {"add": m(tokens, tokens)}
    elif mask == "padding":
        attn["padding"] = ["keep"] * (tokens - 1) + ["pad"]
    elif mask == "entries":  # only where it is asked for: a batch, each entry with its padding
        kept = [tokens - 1 - i for i in rng.permutation(2)] + [int(rng.randint(1, tokens + 1))]
        attn["padding"] = [["keep"] * n + ["pad"] * (tokens - n) for n in kept]
    if pick("scale", "default", "default", "default", "given") == "given":
        attn["scale"] = 0.3
    gated = pick("gated", False, True)
    ffn: dict[str, Any] = {"activation": pick("activation", *ACTS)}
    if gated:
        ffn |= {"w_gate": weight(d, d_ff), "w_up": weight(d, d_ff), "w_down": weight(d_ff, d)}
    else:
        ffn |= {"w_1": weight(d, d_ff), "w_2": weight(d_ff, d)}
        ffn |= {"b_1": m(d_ff), "b_2": m(d)} if bias else {}
    kind, order = pick("kind", "layer", "rms"), pick("order", "post", "pre")
    norm: dict[str, Any] = {"order": order, "kind": kind, "eps": pick("eps", 1e-5, 1e-6, 1e-3)}
    if kind == "layer":
        norm |= {"variance": pick("variance", "population", "population", "sample")}
    norm |= {"unit_offset": True} if pick("unit_offset", False, False, True) else {}

    def part() -> dict[str, Any]:
        own = {"gamma": m(d)} if pick("gamma", True, True, False) else {}
        return own | ({"beta": m(d)} if pick("beta", kind == "layer", False) else {})

    block: dict[str, Any] = {"attn": attn, "ffn": ffn, "norm1": part(), "norm2": part()}
    data: dict[str, Any] = {
        "norm": norm,
        "x": m(3, tokens, d) if mask == "entries" else m(tokens, d),
        "weight_layout": "out_in" if out_in else "in_out",
    }
    if pick("final", False, True) and order == "pre":
        data["final_norm"] = part()
    if p := pick("dropout", 0.0, 0.0, 0.5):
        data["dropout"] = {
            "p": p,
            "training": fixed.get("training", True),
            "seed": int(rng.randint(100)),
        }
    return data | (
        {"blocks": [block, block]} if pick("stack", False, False, False, True) else block
    )


def random_block(rng: Rng, backward: bool = False, **fixed: Any) -> Block:
    """Make a random block with its right numbers."""
    spec = blockcalc.load(random_data(rng, **fixed))
    return Block(spec, work_gradients(spec) if backward else blockcalc.run(spec))


def values_under(block: Block, change: Alternative, form: str = "") -> dict[str, Any]:
    """Work every step as a person who makes the mistake does, and carries it on.

    In a storage format each step is stored before the next takes it.
    """
    program, storage = block.program, NUMBERS.get(form)
    own = {eq.out.name: eq for eq in program.equations}
    own |= {eq.out.name: eq for eq in change.equations}
    values = {ref.name: block.trace.arrays[ref.name] for ref in program.inputs}
    values |= change.arrays

    def value(name: str) -> Any:
        if name not in values:
            eq = own[name]
            operands = [value(ref.name) for ref in eq.inputs]
            with np.errstate(all="ignore"):
                found = np.asarray(eq.op.forward(operands), dtype=np.float64)
            if block.trace.rounding is not None:
                found = block.trace.rounding.result(eq.op, eq.inputs, operands, found)
            values[name] = storage(found) if storage else found
        return values[name]

    return {eq.out.name: value(eq.out.name) for eq in program.equations}


def as_answers(values: Mapping[str, Any], form: str) -> dict[str, Answer]:
    """Write numbers with some decimals (``"3"``), in full (``float64``), or in a storage format."""
    found = {}
    for name, array in values.items():
        judged = np.ones(array.shape, dtype=bool)
        if form in NUMBERS:
            kept = NUMBERS[form](array)
            found[name] = Answer(name, kept, judged, np.zeros(array.shape), form)
        else:
            half = np.full(array.shape, 0.5 * 10.0 ** -int(form))
            found[name] = Answer(name, np.round(array, int(form)), judged, half)
    return found


def moved(block: Block, answers: Mapping[str, Answer]) -> list[str]:
    """Name the steps that differ from the right numbers by more than half a unit, in order.

    Of a dump, those that are further from them than by 64 roundings of its format.
    """
    found = []
    for eq in block.program.equations:
        if eq.out.name in answers:
            own, right = answers[eq.out.name], block.trace.arrays[eq.out.name]
            with np.errstate(all="ignore"):
                room = own.half + (
                    NUMBERS[own.read_as].unit * 64 * np.abs(right)
                    if own.read_as in NUMBERS
                    else 1e-12
                )
                if (np.abs(own.values - right) > room).any():
                    found.append(eq.out.name)
    return found


def one_quick(items: Iterable[Any]) -> list[Any]:
    """Give the cases of a test, of which all but the first take too long for every run."""
    return [pytest.param(x, marks=pytest.mark.slow if i else ()) for i, x in enumerate(items)]


def blocks(seed: int, count: int, **fixed: Any) -> Iterator[Block]:
    """Yield random blocks."""
    rng = Rng(seed)
    for _ in range(count):
        yield random_block(rng, **fixed)
