"""Softmax, norms, attention and feed-forward: plain functions that write equations.

Every layer takes the builder, what flows into it, and its part of the spec, and gives back
the ref of its result. Rows are tokens; weights stand on the right, ``Q = X W_Q``.
"""

from __future__ import annotations

from collections.abc import Callable

from blockcalc.card import Ref
from blockcalc.dropout import dropout
from blockcalc.expr import Expr, Num, exp, ratio, sqrt
from blockcalc.ops import ACTIVATIONS, SQUARE, Centered, Elementwise, Quotient, Reduce, Shifted
from blockcalc.products import MatMul
from blockcalc.program import Builder, Misfit
from blockcalc.spec import FfnSpec, NormSpec


def elementwise(
    b: Builder, name: str, symbol: str, function: Callable[..., Expr], *refs: Ref
) -> Ref:
    """Write one elementwise equation."""
    return b.add(name, symbol, Elementwise.on(function, *refs), *refs)


def linear(
    b: Builder, name: str, symbol: str, x: Ref, w: str, axis: str, out_in: bool = False
) -> Ref:
    """``y = x W + b``, the bias where it is given: ``[T, n] @ [n, m] -> [T, m]``.

    ``w`` is the weight's name, ``attn.w_q``; its bias is ``attn.b_q``. With ``out_in`` the
    weight is ``[m, n]`` and the formula reads ``x Wᵀ``.
    """
    part, _, key = w.rpartition(".")
    letter = key.removeprefix("w_")
    letter = letter.upper() if letter in ("q", "k", "v", "o", "qkv") else letter
    axes = (axis, x.axes[-1]) if out_in else (x.axes[-1], axis)
    operands = [x, b.given(w, f"W_{letter}", axes)]
    bias = f"{part}.b_{key.removeprefix('w_')}"
    if b.has(bias):
        operands.append(b.given(bias, f"b_{letter}", (axis,)))
    return b.add(name, symbol, MatMul(transpose_b=out_in), *operands)


def softmax(b: Builder, name: str, symbol: str, s: Ref, form: str) -> Ref:
    """Softmax of each row, taken apart.

    ``plain`` is exp(s) over its row sum; ``shifted`` subtracts the row's maximum first, which
    changes nothing but keeps the exponentials within range.
    """
    with b.section(name, "softmax", s, form=form):
        if form == "shifted":
            top = b.add(f"{name}.max", "m", Reduce("max"), s)
            op = Shifted.on(lambda a, m: a - m, s, top)
            s = b.add(f"{name}.shifted", "S_shifted", op, s, top)
        e = elementwise(b, f"{name}.exp", "E", exp, s)
        total = b.add(f"{name}.sum", "r", Reduce("sum"), e)
        return b.add(name, symbol, Quotient.on(ratio, e, total), e, total)


def norm(b: Builder, x: Ref, spec: NormSpec, index: str) -> Ref:
    """Norm of the kind that the spec names, one function in ``NORMS``."""
    return NORMS[spec.kind](b, x, spec, index)


def _offset(b: Builder, spec: NormSpec) -> bool:
    """Tell whether 1 is added to a gamma that is there."""
    return spec.unit_offset and b.has(f"{spec.name}.gamma")


def _root(eps: float, outside: bool) -> Callable[[Expr], Expr]:
    """√(v + eps), or √v + eps where eps stands outside; without eps, √v."""
    if not eps:
        return sqrt
    if outside:
        return lambda v: sqrt(v) + Num(eps, "eps")
    return lambda v: sqrt(v + Num(eps, "eps"))


def layer_norm(b: Builder, x: Ref, spec: NormSpec, index: str) -> Ref:
    """LayerNorm of each row: (x - mean) / √(var + eps), times gamma plus beta where given.

    The variance divides by n, or by n - 1 where the spec says ``sample``. Ba, Kiros and Hinton,
    "Layer Normalization" (2016), equation 4.
    """
    name, d = spec.name, x.axes[-1]
    with b.section(name, "layer_norm", x, eps=spec.eps, width=x.shape[-1], sample=spec.sample,
                   outside=spec.outside, unit_offset=_offset(b, spec)):  # fmt: skip
        mean = b.add(f"{name}.mean", f"mu^({index})", Reduce("mean", count=d), x)
        op = Centered.on(lambda a, m: a - m, x, mean)
        centered = b.add(f"{name}.centered", f"D^({index})", op, x, mean)
        square = Reduce("mean", SQUARE, int(spec.sample), d)
        var = b.add(f"{name}.var", f"v^({index})", square, centered)
        root = _root(spec.eps, spec.outside)
        std = elementwise(b, f"{name}.std", f"sigma^({index})", root, var)
        return _normalized(b, spec, index, centered, std)


def rms_norm(b: Builder, x: Ref, spec: NormSpec, index: str) -> Ref:
    """RMSNorm of each row: x / √(mean(x²) + eps), times gamma; no mean is subtracted.

    Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019), equation 4.
    """
    name, d = spec.name, x.axes[-1]
    with b.section(name, "rms_norm", x, eps=spec.eps, width=x.shape[-1],
                   outside=spec.outside, unit_offset=_offset(b, spec)):  # fmt: skip
        mean_square = b.add(f"{name}.mean_square", f"q^({index})", Reduce("mean", SQUARE, 0, d), x)
        root = _root(spec.eps, spec.outside)
        rms = elementwise(b, f"{name}.rms", f"rho^({index})", root, mean_square)
        return _normalized(b, spec, index, x, rms)


NORMS: dict[str, Callable[[Builder, Ref, NormSpec, str], Ref]] = {
    "layer": layer_norm,
    "rms": rms_norm,
}


def _normalized(b: Builder, spec: NormSpec, index: str, x: Ref, divisor: Ref) -> Ref:
    """Divide, then multiply by gamma and add beta where they are given; the last is the result."""
    name, d = spec.name, x.axes[-1]
    parts = ["normalized"]
    parts += ["scaled"] if b.has(f"{name}.gamma") else []
    parts += ["shifted"] if b.has(f"{name}.beta") else []

    def write(part: str, letter: str, op: Elementwise, *refs: Ref) -> Ref:
        last = part == parts[-1]
        own = name if last else f"{name}.{part}"
        out = b.add(own, f"{'H' if last else letter}^({index})", op, *refs)
        if part != "shifted":
            b.alias(out, f"{name}.{part}")
        return out

    h = write("normalized", "N", Quotient.on(ratio, x, divisor, rowwise=True), x, divisor)
    if "scaled" in parts:
        gamma = b.given(f"{name}.gamma", f"gamma^({index})", (d,))
        gain = Elementwise.on(
            (lambda n, g: n * (1.0 + g)) if spec.unit_offset else (lambda n, g: n * g),
            h, gamma, rowwise=True,
        )  # fmt: skip
        h = write("scaled", "G", gain, h, gamma)
    if "shifted" in parts:
        beta = b.given(f"{name}.beta", f"beta^({index})", (d,))
        h = write("shifted", "H", Elementwise.on(lambda n, c: n + c, h, beta), h, beta)
    return h


def feed_forward(b: Builder, x: Ref, spec: FfnSpec) -> Ref:
    """Each token by itself, plain or gated; ``[T, d_model] -> [T, d_model]``.

    Plain: act(x W_1 + b_1) W_2 + b_2. Gated: (act(x W_gate) ⊙ (x W_up)) W_down, with biases where
    given; Shazeer, "GLU Variants Improve Transformer" (2020).
    """
    name, act = spec.name, ACTIVATIONS[spec.activation]
    with b.section(name, "ffn", x, activation=spec.activation, gated=spec.gated):
        if not spec.gated:
            u = linear(b, f"{name}.pre", "U", x, f"{name}.w_1", "d_ff", spec.out_in)
            a, last = b.add(f"{name}.act", "A", act, u), "w_2"
        else:
            g = linear(b, f"{name}.gate", "U_gate", x, f"{name}.w_gate", "d_ff", spec.out_in)
            g = b.add(f"{name}.gate_act", "A_gate", act, g)
            u = linear(b, f"{name}.up", "U_up", x, f"{name}.w_up", "d_ff", spec.out_in)
            a = elementwise(b, f"{name}.gated", "A", lambda y, z: y * z, g, u)
            last = "w_down"
        a = dropout(b, f"{name}.act", a, spec.dropout)
        return linear(b, f"{name}.out", "F", a, f"{name}.{last}", x.axes[-1], spec.out_in)


def residual(b: Builder, name: str, index: str, x: Ref, y: Ref) -> Ref:
    """Add what a layer found to what went into it: both ``[T, d_model]``."""
    if x.shape != y.shape and not b.stopped:
        raise Misfit(b.keys + y.name.removeprefix(b.steps), x, y)
    return elementwise(b, name, f"R^({index})", lambda a, c: a + c, x, y)
