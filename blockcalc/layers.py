"""Softmax, norms, attention and feed-forward: plain functions that write equations.

Every layer takes the builder, what flows into it, and its part of the spec, and gives back
the ref of its result. Rows are tokens; weights stand on the right, ``Q = X W_Q``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from blockcalc.expr import Expr, Num, exp, ratio, sqrt
from blockcalc.ops import ACTIVATIONS, SQUARE, Centered, Elementwise, MatMul, Quotient, Reduce, Ref
from blockcalc.program import Builder, Misfit
from blockcalc.spec import AttentionSpec, FfnSpec, NormSpec


def elementwise(
    b: Builder, name: str, symbol: str, function: Callable[..., Expr], *refs: Ref
) -> Ref:
    """Write one elementwise equation."""
    return b.add(name, symbol, Elementwise.on(function, *refs), *refs)


def linear(
    b: Builder, name: str, symbol: str, x: Ref, key: str, letter: str, axis: str, bias: str
) -> Ref:
    """``y = x W + b``, the bias where it is given: ``[T, n] @ [n, m] -> [T, m]``."""
    w = b.given(key, f"W_{letter}", (x.axes[-1], axis))
    operands = [x, w]
    if b.has(bias):
        operands.append(b.given(bias, f"b_{letter}", (axis,)))
    return b.add(name, symbol, MatMul(), *operands)


def softmax(b: Builder, name: str, symbol: str, s: Ref, form: str) -> Ref:
    """Softmax of each row, taken apart.

    ``plain`` is exp(s) over its row sum; ``shifted`` subtracts the row's maximum first, which
    changes nothing but keeps the exponentials within range.
    """
    with b.section(name, "softmax", s, form=form):
        if form == "shifted":
            top = b.add(f"{name}.max", "m", Reduce("max"), s)
            s = elementwise(b, f"{name}.shifted", "S_shifted", lambda a, m: a - m, s, top)
        e = elementwise(b, f"{name}.exp", "E", exp, s)
        total = b.add(f"{name}.sum", "r", Reduce("sum"), e)
        return b.add(name, symbol, Quotient.on(ratio, e, total), e, total)


def layer_norm(b: Builder, x: Ref, norm: NormSpec, index: str) -> Ref:
    """LayerNorm of each row: (x - mean) / √(var + eps), times gamma plus beta where given.

    The variance divides by n. Ba, Kiros and Hinton, "Layer Normalization" (2016), equation 4.
    """
    name, eps, d = norm.name, norm.eps, x.axes[-1]

    def mark(symbol: str) -> str:
        return f"{symbol}^({index})"

    with b.section(name, "layer_norm", x, eps=eps, width=x.shape[-1]):
        mean = b.add(f"{name}.mean", mark("mu"), Reduce("mean", count=d), x)
        op = Centered.on(lambda a, m: a - m, x, mean)
        centered = b.add(f"{name}.centered", mark("D"), op, x, mean)
        var = b.add(f"{name}.var", mark("v"), Reduce("mean", SQUARE, count=d), centered)
        std = elementwise(
            b,
            f"{name}.std",
            mark("sigma"),
            (lambda v: sqrt(v + Num(eps, "eps"))) if eps else sqrt,
            var,
        )
        parts = [".normalized"]
        if b.has(f"{name}.gamma"):
            parts.append(".scaled")
        if b.has(f"{name}.beta"):
            parts.append("")
        steps = {".normalized": "N", ".scaled": "G", "": "H"}

        def write(part: str, op: Elementwise, *refs: Ref) -> Ref:
            last = part == parts[-1]
            out = b.add(
                name if last else name + part, mark("H" if last else steps[part]), op, *refs
            )
            if last:
                b.alias(out, name + part)
            return out

        h = write(".normalized", Quotient.on(ratio, centered, std, rowwise=True), centered, std)
        if ".scaled" in parts:
            gamma = b.given(f"{name}.gamma", mark("gamma"), (d,))
            h = write(
                ".scaled", Elementwise.on(lambda n, g: n * g, h, gamma, rowwise=True), h, gamma
            )
        if "" in parts:
            beta = b.given(f"{name}.beta", mark("beta"), (d,))
            h = write("", Elementwise.on(lambda n, c: n + c, h, beta), h, beta)
        return h


def scaled(b: Builder, s: Ref, attention: AttentionSpec, d_head: int) -> Ref:
    """Scores times the scale; without one, no step."""
    name = f"{attention.name}.scaled"
    if attention.scale == "none":
        b.alias(s, name)
        return s
    if attention.scale is None:
        return elementwise(b, name, "S_scaled", lambda a: a / sqrt(Num(d_head, "d_head")), s)
    factor = float(attention.scale)
    return elementwise(b, name, "S_scaled", lambda a: a * Num(factor, "scale"), s)


def attention(b: Builder, x: Ref, spec: AttentionSpec) -> Ref:
    """Single-head attention: softmax(Q Kᵀ / √d_head) V, then W_O where it is given.

    Vaswani et al., "Attention Is All You Need" (2017), equation 1.
    """
    name = spec.name
    if b.has(f"{name}.out"):
        out = b.given(f"{name}.out", "O", x.axes, role="data")
        b.given_section(name, "attention", out, x)
        return out
    d_head = b.shapes[f"{name}.w_q"][-1]
    scale = spec.scale if spec.scale is not None else 1 / math.sqrt(d_head)
    form = spec.softmax or "plain"
    with b.section(name, "attention", x, scale=scale, default_scale=spec.scale is None,
                   softmax=form, d_head=d_head):  # fmt: skip

        def project(part: str) -> Ref:
            letter = part.upper()
            axis = "d_v" if part == "v" else "d_head"
            return linear(
                b, f"{name}.{part}", letter, x, f"{name}.w_{part}", letter, axis, f"{name}.b_{part}"
            )

        q, k, v = project("q"), project("k"), project("v")
        s = b.add(f"{name}.scores", "S", MatMul(transpose_b=True), q, k, axes=("query", "key"))
        s_scaled = scaled(b, s, spec, d_head)
        b.alias(s_scaled, f"{name}.masked")
        p = softmax(b, f"{name}.weights", "P", s_scaled, form)
        projected = b.has(f"{name}.w_o")
        z_axes = (x.axes[0], "d_v" if projected else x.axes[-1])
        z = b.add(f"{name}.z", "Z" if projected else "O", MatMul(), p, v, axes=z_axes)
        b.alias(z, f"{name}.concat")
        if not projected:
            return z
        w, bias = f"{name}.w_o", f"{name}.b_o"
        return linear(b, f"{name}.out", "O", z, w, "O", x.axes[-1], bias)


def feed_forward(b: Builder, x: Ref, spec: FfnSpec) -> Ref:
    """Each token by itself: act(x W_1 + b_1) W_2 + b_2; ``[T, d_model] -> [T, d_model]``."""
    name = spec.name
    with b.section(name, "ffn", x, activation=spec.activation):
        u = linear(b, f"{name}.pre", "U", x, f"{name}.w_1", "1", "d_ff", f"{name}.b_1")
        a = b.add(f"{name}.act", "A", ACTIVATIONS[spec.activation], u)
        return linear(b, f"{name}.out", "F", a, f"{name}.w_2", "2", x.axes[-1], f"{name}.b_2")


def residual(b: Builder, name: str, index: str, x: Ref, y: Ref) -> Ref:
    """Add what a layer found to what went into it: both ``[T, d_model]``."""
    if x.shape != y.shape and not b.stopped:
        raise Misfit(name, x, y)
    return elementwise(b, name, f"R^({index})", lambda a, c: a + c, x, y)
