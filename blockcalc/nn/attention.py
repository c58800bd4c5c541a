"""Attention: projections, heads, positions, masks, softmax, output projection.

Every part is a plain function that writes equations; a model's attention is a selection of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import mul

import numpy as np

from blockcalc.nn.dropout import dropout
from blockcalc.nn.layers import elementwise, linear, softmax
from blockcalc.nn.settings import AttentionSettings, SoftmaxSettings
from blockcalc.nn.spec import AttentionSpec
from blockcalc.ops.elementwise import Elementwise, Masked
from blockcalc.ops.expr import Expr, Num, call, sqrt
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.movement import Columns, Join, Repeat, Split
from blockcalc.ops.op import Array, Axes, Ref
from blockcalc.ops.rotate import Rotate
from blockcalc.program.builder import Builder

MASK_AXES = ("batch", "head", "query", "key")
# the masks of ones and zeros: the symbol and the axes of each; a mask of lower rank has the last
KEEPERS: dict[str, tuple[str, Axes]] = {
    "causal": ("C", ("query", "key")),
    "padding": ("p", ("batch", "key")),
    "mask.keep": ("M_keep", MASK_AXES),
}
ADDED = "mask.add"
PARTS = {"q": "query", "k": "key", "v": "value"}


def scaled(b: Builder, s: Ref, attention: AttentionSpec, d_head: int) -> Ref:
    """Multiply the scores by the scale; without one, no step is written."""
    name = f"{attention.name}.scaled"
    if attention.scale == "none":
        b.alias(s, name)
        return s
    if attention.scale is None:
        return elementwise(
            b, name, "S_scaled", lambda a: a / sqrt(Num(d_head, "d_head")), s, part="scaled"
        )
    factor = float(attention.scale)
    return elementwise(b, name, "S_scaled", lambda a: a * Num(factor, "scale"), s, part="scaled")


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
    """Find the columns of Q, K and V in a fused matrix: h heads, g key heads, e columns each.

    The layout is ``blocks`` (all Q, all K, all V) or ``per_head`` (for each key head its queries,
    then its K and V).

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
    return {part: tuple(i * e + j for i in some for j in range(e)) for part, some in chosen.items()}


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


def rotated(b: Builder, spec: AttentionSpec, part: str, x: Ref, angles: tuple[Ref, Ref]) -> Ref:
    """Rotate the pairs of columns of queries or keys; ``angles`` are given by cosine and sine."""
    assert spec.rope is not None
    op = Rotate(spec.rope.dims, spec.rope.half)
    name, letter = f"{spec.name}.{part}_rope", f"{part.upper()}_rope"
    return b.add(name, letter, op, x, *angles, part=PARTS[part])


def repeated(b: Builder, spec: AttentionSpec, part: str, x: Ref) -> Ref:
    """Repeat key heads for query heads: query head i uses key head i // (n_heads // n_kv_heads)."""
    if part == "q" or spec.n_kv_heads == spec.n_heads:
        return x
    op = Repeat(spec.n_heads // spec.n_kv_heads)
    name, letter = f"{spec.name}.{part}_repeat", f"{part.upper()}_repeat"
    return b.add(name, letter, op, x, part=PARTS[part])


def masked(b: Builder, s: Ref, spec: AttentionSpec) -> Ref:
    """Add ``mask.add`` to the scores, and set masked scores to minus infinity."""
    name = spec.name
    keepers = [
        _mask(b, spec, key, symbol, axes)
        for key, (symbol, axes) in KEEPERS.items()
        if b.has(f"{name}.{key}")
    ]
    added = []
    if b.has(f"{name}.{ADDED}"):
        added.append(_mask(b, spec, ADDED, "B", MASK_AXES))
        b.alias(added[0], f"{name}.bias")
    allowed = _allowed(b, s, name, keepers)
    operands = [s, *added, *allowed]
    if len(operands) == 1:
        b.alias(s, f"{name}.masked")
        return s

    def body(a: Expr, *masks: Expr) -> Expr:
        total = a + masks[0] if added else a
        return call("mask", total, masks[-1]) if allowed else total

    op = Masked.on(body, *operands, axes=s.axes)
    return b.add(f"{name}.masked", "S_masked", op, *operands)


def _mask(b: Builder, spec: AttentionSpec, key: str, symbol: str, axes: Axes) -> Ref:
    """Declare a mask, such as ``[T, T]`` or ``[n_heads, T, T]``."""
    name = f"{spec.name}.{key}"
    if key.removeprefix("mask.") in spec.by_batch:
        axes = tuple(axis for axis in axes if axis != "head")
    return b.given(name, symbol, axes[-len(b.shape(name)) :], "mask", key)


def _allowed(b: Builder, s: Ref, name: str, keepers: Sequence[Ref]) -> list[Ref]:
    """Multiply the masks of ones and zeros: the product, the only one, or none."""
    if len(keepers) > 1:
        axes = tuple(a for a in s.axes if any(a in ref.axes for ref in keepers))
        op = Elementwise.on(lambda *masks: reduce(mul, masks), *keepers, axes=axes)
        return [b.add(f"{name}.allowed", "M", op, *keepers, part="allowed")]
    for only in keepers:
        b.alias(only, f"{name}.allowed")
    return list(keepers)


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
            angles = rope_angles(b, spec)
            heads |= {part: rotated(b, spec, part, heads[part], angles) for part in "qk"}
        q, k, v = (repeated(b, spec, part, heads[part]) for part in "qkv")
        section.settings = settings = replace(settings, d_head=q.shape[-1])
        lead = q.axes[:-2]
        op = MatMul(transpose_b=True)
        s = b.add(f"{name}.scores", "S", op, q, k, axes=(*lead, "query", "key"), part="scores")
        section.settings = replace(
            settings,
            causal=b.has(f"{name}.causal"),
            masked=any(b.has(f"{name}.{key}") for key in KEEPERS),
            added=b.has(f"{name}.{ADDED}"),
        )
        s = masked(b, scaled(b, s, spec, q.shape[-1]), spec)
        p = softmax(b, f"{name}.weights", "P", s, SoftmaxSettings(form, spec.base2), "weights")
        return output(b, x, spec, dropout(b, f"{name}.weights", p, spec.dropout), v)
