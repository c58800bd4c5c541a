"""Attention: projections, heads, positions, masks, softmax, output projection.

Every part is a plain function that writes equations; a model's attention is a selection of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import mul

import numpy as np

from blockcalc.nn.dropout import dropout
from blockcalc.nn.layers import elementwise, linear, softmax
from blockcalc.nn.settings import AttentionSettings
from blockcalc.nn.spec import AttentionSpec
from blockcalc.ops.elementwise import Elementwise, Masked
from blockcalc.ops.expr import Expr, Num, call, sqrt
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.movement import Columns, Join, Repeat, Split
from blockcalc.ops.op import Array, Ref
from blockcalc.ops.rotate import Rotate
from blockcalc.program.builder import Builder

KEEPERS = ("causal", "padding", "mask.keep")  # masks of ones and zeros
PARTS = {"q": "query", "k": "key", "v": "value"}


def scaled(b: Builder, s: Ref, attention: AttentionSpec, d_head: int) -> Ref:
    """Multiply the scores by the scale; without one, no step is written."""
    name = f"{attention.name}.scaled"
    if attention.scale == "none":
        b.alias(s, name)
        return s
    if attention.scale is None:
        return elementwise(b, name, "S_scaled", lambda a: a / sqrt(Num(d_head, "d_head")), s)
    factor = float(attention.scale)
    return elementwise(b, name, "S_scaled", lambda a: a * Num(factor, "scale"), s)


def projections(b: Builder, x: Ref, spec: AttentionSpec) -> Iterator[tuple[str, Ref]]:
    """Project to queries, keys and values, ``[T, heads·d_head]`` each, by three matrices or one."""
    name, several = spec.name, spec.n_heads > 1
    if b.has(f"{name}.w_qkv"):
        fused = linear(b, f"{name}.qkv", "QKV", x, f"{name}.w_qkv", "d_qkv", spec.out_in)
        d_head = fused.shape[-1] // (spec.n_heads + 2 * spec.n_kv_heads)
        columns = fused_columns(spec.n_heads, spec.n_kv_heads, d_head, spec.qkv_layout)
        for part in "qkv":
            axis = f"d_{part}" if several else "d_head"
            op = Columns(columns[part], axis)
            yield part, b.add(f"{name}.{part}", part.upper(), op, fused, part=PARTS[part])
        return
    for part in "qkv":
        axis = f"d_{part}" if several or part == "v" else "d_head"
        key = f"{name}.w_{part}"
        letter = part.upper()
        yield part, linear(b, f"{name}.{part}", letter, x, key, axis, spec.out_in, PARTS[part])


def fused_columns(h: int, g: int, e: int, layout: str) -> dict[str, tuple[int, ...]]:
    """Find the columns of Q, K and V in a fused matrix.

    ``blocks`` means all Q, all K, all V; ``per_head`` means for each key head its queries, then its
    K and V.

    Examples
    --------
    >>> fused_columns(2, 2, 1, "per_head")
    {'q': (0, 3), 'k': (1, 4), 'v': (2, 5)}
    """
    heads = list(range(h + 2 * g))
    if layout == "blocks":
        chosen = {"q": heads[:h], "k": heads[h : h + g], "v": heads[h + g :]}
    else:
        m = h // g
        groups = [heads[i * (m + 2) : (i + 1) * (m + 2)] for i in range(g)]
        chosen = {
            "q": [i for group in groups for i in group[:m]],
            "k": [group[m] for group in groups],
            "v": [group[m + 1] for group in groups],
        }
    return {part: tuple(i * e + j for i in own for j in range(e)) for part, own in chosen.items()}


def split_heads(b: Builder, spec: AttentionSpec, part: str, x: Ref) -> Ref:
    """Split heads: ``[T, n·d_head] -> [n, T, d_head]``; with one head, no step is written."""
    name = f"{spec.name}.{part}"
    if spec.n_heads == 1:
        b.alias(x, f"{name}_heads")
        return x
    letter = part.upper()
    few = part != "q" and spec.n_kv_heads < spec.n_heads
    n = spec.n_heads if part == "q" else spec.n_kv_heads
    axes = ("kv_head" if few else "head", "d_head" if part != "v" else "d_v")
    return b.add(f"{name}_heads", f"{letter}_heads", Split(n, axes), x, part=PARTS[part])


def frequencies(theta: float, dims: int) -> Array:
    """Give the angle per step of each pair of columns, theta^(-2i / dims).

    Examples
    --------
    >>> frequencies(100.0, 4)
    array([1. , 0.1])
    """
    return np.asarray(theta ** (-np.arange(0, dims, 2) / dims), dtype=np.float64)


def rope_angles(b: Builder, spec: AttentionSpec) -> tuple[Ref, Ref]:
    """Return cosine and sine of the angles m θ of position m and each pair, ``[T, dims / 2]``."""
    name = f"{spec.name}.rope"
    m = b.given(f"{name}.positions", "m", ("token", "one"), "constant")
    theta = b.given(f"{name}.freqs", "theta", ("one", "pair"), "constant")
    angles = b.add(f"{name}.angles", "phi", MatMul(), m, theta)
    cos = elementwise(b, f"{name}.cos", "c", lambda a: call("cos", a), angles)
    return cos, elementwise(b, f"{name}.sin", "s", lambda a: call("sin", a), angles)


def rotated(b: Builder, spec: AttentionSpec, part: str, x: Ref, turn: tuple[Ref, Ref]) -> Ref:
    """Rotate the pairs of columns of queries or keys by the angles of their positions."""
    assert spec.rope is not None
    op = Rotate(spec.rope.dims, spec.rope.half)
    name, letter = f"{spec.name}.{part}_rope", f"{part.upper()}_rope"
    return b.add(name, letter, op, x, *turn, part=PARTS[part])


def shared_out(b: Builder, spec: AttentionSpec, part: str, x: Ref) -> Ref:
    """Repeat key heads for query heads: query head i uses key head i // (n_heads // n_kv_heads)."""
    if part == "q" or spec.n_kv_heads == spec.n_heads:
        return x
    op = Repeat(spec.n_heads // spec.n_kv_heads)
    name, letter = f"{spec.name}.{part}_repeat", f"{part.upper()}_repeat"
    return b.add(name, letter, op, x, part=PARTS[part])


def masked(b: Builder, s: Ref, spec: AttentionSpec) -> Ref:
    """Add ``mask.add`` to the scores, and set masked scores to minus infinity."""
    name = spec.name
    parts = [
        b.given(f"{name}.{key}", symbol, axes, "mask")
        for key, symbol, axes in (
            ("causal", "C", ("query", "key")),
            ("padding", "p", ("batch", "key")[-len(b.shape(f"{name}.padding")) :]),
            ("mask.keep", "M_keep", _mask_axes(b, spec, "keep")),
        )
        if b.has(f"{name}.{key}")
    ]
    operands = [s]
    if b.has(f"{name}.mask.add"):
        axes = _mask_axes(b, spec, "add")
        operands.append(b.given(f"{name}.mask.add", "B", axes, "mask"))
        b.alias(operands[-1], f"{name}.bias")
    if len(parts) > 1:
        axes = tuple(a for a in s.axes if any(a in ref.axes for ref in parts))
        op = Elementwise.on(lambda *ms: reduce(mul, ms), *parts, axes=axes)
        parts = [b.add(f"{name}.allowed", "M", op, *parts, part="allowed")]
    elif parts:
        b.alias(parts[0], f"{name}.allowed")
    if parts:
        operands.append(parts[0])
    if len(operands) == 1:
        b.alias(s, f"{name}.masked")
        return s

    def body(a: Expr, *more: Expr) -> Expr:
        total = a + more[0] if b.has(f"{name}.mask.add") else a
        return call("mask", total, more[-1]) if parts else total

    op = Masked.on(body, *operands, axes=s.axes)
    return b.add(f"{name}.masked", "S_masked", op, *operands)


def _mask_axes(b: Builder, spec: AttentionSpec, kind: str) -> tuple[str, ...]:
    """Find the axes of a mask: ``[T, T]``, or with axes ``n_heads`` or ``B`` or both before."""
    rank = len(b.shape(f"{spec.name}.mask.{kind}"))
    lead = ("batch",) if kind in spec.by_batch else ("batch", "head")
    return (*lead, "query", "key")[-rank:] if rank else ()


def output(b: Builder, x: Ref, spec: AttentionSpec, p: Ref, v: Ref) -> Ref:
    """Sum the weighted values, concatenate the heads, and project them if ``w_o`` is given."""
    name, several, last = spec.name, spec.n_heads > 1, b.has(f"{spec.name}.w_o")
    width = "d_v" if last or several else x.axes[-1]
    letter = "Z" if last or several else "O"
    axes = (*p.axes[:-2], x.axes[-2], width)
    z = b.add(f"{name}.z", letter, MatMul(), p, v, axes=axes, part="weighted")
    if several:
        join = Join("d_concat" if last else x.axes[-1])
        z = b.add(f"{name}.concat", "Z_concat" if last else "O", join, z)
    else:
        b.alias(z, f"{name}.concat")
    if not last:
        return z
    return linear(b, f"{name}.out", "O", z, f"{name}.w_o", x.axes[-1], spec.out_in, "out")


def attention(b: Builder, x: Ref, spec: AttentionSpec) -> Ref:
    """Attention, ``[T, d_model] -> [T, d_model]``: softmax(Q Kᵀ / √d_head) V per head, times W_O.

    Vaswani et al., "Attention Is All You Need" (2017), equation 1 and section 3.2.2; grouped key
    heads after Ainslie et al., "GQA" (2023).
    """
    name = spec.name
    if b.has(f"{name}.out"):
        out = b.given(f"{name}.out", "O", x.axes, role="data")
        b.given_section(name, "attention", out, x)
        return out
    form = spec.softmax or "plain"
    fused = spec.qkv_layout if b.has(f"{name}.w_qkv") else None
    settings = AttentionSettings(
        spec.out_in, fused, spec.scale, form, spec.n_heads, spec.n_kv_heads, spec.rope
    )
    with b.section(name, "attention", x, settings=settings) as section:
        heads = {part: split_heads(b, spec, part, ref) for part, ref in projections(b, x, spec)}
        if spec.rope is not None:
            turn = rope_angles(b, spec)
            heads |= {part: rotated(b, spec, part, heads[part], turn) for part in "qk"}
        q, k, v = (shared_out(b, spec, part, heads[part]) for part in "qkv")
        section.settings = settings = replace(settings, d_head=q.shape[-1])
        lead = q.axes[:-2]
        op = MatMul(transpose_b=True)
        s = b.add(f"{name}.scores", "S", op, q, k, axes=(*lead, "query", "key"), part="scores")
        section.settings = replace(
            settings,
            causal=b.has(f"{name}.causal"),
            masked=any(b.has(f"{name}.{key}") for key in KEEPERS),
            added=b.has(f"{name}.mask.add"),
        )
        s = masked(b, scaled(b, s, spec, q.shape[-1]), spec)
        p = softmax(b, f"{name}.weights", "P", s, form)
        return output(b, x, spec, dropout(b, f"{name}.weights", p, spec.dropout), v)
