"""LayerNorm and RMSNorm, taken apart."""

from __future__ import annotations

from collections.abc import Callable

from blockcalc.nn.layers import elementwise
from blockcalc.nn.spec import NormSpec
from blockcalc.ops.elementwise import SQUARE, Centered, Elementwise, Quotient
from blockcalc.ops.expr import Expr, Num, ratio, sqrt
from blockcalc.ops.op import Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.builder import Builder


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
