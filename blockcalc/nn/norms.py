"""LayerNorm and RMSNorm, each with its closed gradient, and the table of norms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from blockcalc.nn.layers import elementwise, gradient_product
from blockcalc.nn.settings import NormSettings
from blockcalc.nn.spec import NormSpec
from blockcalc.ops.elementwise import SQUARE, Centered, Elementwise, Quotient, Slope
from blockcalc.ops.expr import Expr, Num, call, ratio, sqrt
from blockcalc.ops.op import Gradient, Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.builder import Builder
from blockcalc.program.program import Equation, Write
from blockcalc.records import dataclass


def norm(b: Builder, x: Ref, spec: NormSpec, index: str) -> Ref:
    """Normalize each row of x, ``[T, d_model]``, then multiply by gamma and add beta if given."""
    record, name = NORMS[spec.kind], spec.name
    settings = NormSettings(
        spec.kind,
        spec.eps,
        x.shape[-1],
        spec.sample if record.variance else None,
        spec.outside,
        spec.unit_offset and b.has(f"{name}.gamma"),
    )
    with b.section(
        name,
        f"{spec.kind}_norm",
        x,
        settings=settings,
        short=record.short,
        gradient=record.closed(spec),
    ):
        return _normalized(b, spec, index, *record.write(b, x, spec, index))


def _root(spec: NormSpec) -> Callable[[Expr], Expr]:
    """Give the function √(v + eps), or √v + eps if eps is outside the root; without eps, √v."""
    if not spec.eps:
        return sqrt
    eps = Num(spec.eps, "eps")
    if spec.outside:
        return lambda v: sqrt(v) + eps
    return lambda v: sqrt(v + eps)


def layer_norm(b: Builder, x: Ref, spec: NormSpec, index: str) -> tuple[Ref, Ref]:
    """LayerNorm: write x - mean and √(var + eps) of each row.

    The variance divides by n, or by n - 1 where the spec says ``sample``. Ba, Kiros and Hinton,
    "Layer Normalization" (2016), equation 4.
    """
    name, d = spec.name, x.axes[-1]
    mean = b.add(f"{name}.mean", f"mu^({index})", Reduce("mean", count=d), x)
    op = Centered.on(lambda a, m: a - m, x, mean)
    centered = b.add(f"{name}.centered", f"D^({index})", op, x, mean)
    square = Reduce("mean", SQUARE, int(spec.sample), d)
    var = b.add(f"{name}.var", f"v^({index})", square, centered)
    return centered, elementwise(b, f"{name}.std", f"sigma^({index})", _root(spec), var)


def layer_norm_gradient(spec: NormSpec, write: Write, quotient: Equation, g: Ref) -> Gradient:
    """Write dx = (dy - mean(dy) - n ⊙ mean(dy ⊙ n)) / σ, for n the normalized rows."""
    slope = _mean_product(spec, write, quotient, g)
    n, sigma = quotient.out, quotient.inputs[1]
    mean = write("row_mean", Reduce("mean", count=g.axes[-1]), g)
    op = Slope.on(lambda a, u, n, m, s: call("over", a - u - n * m, s), g, mean, n, slope, sigma)
    return [("", op, (g, mean, n, slope, sigma))]


def rms_norm(b: Builder, x: Ref, spec: NormSpec, index: str) -> tuple[Ref, Ref]:
    """RMSNorm: write √(mean(x²) + eps) of each row; no mean is subtracted.

    Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019), equation 4.
    """
    name, d = spec.name, x.axes[-1]
    mean_square = b.add(f"{name}.mean_square", f"q^({index})", Reduce("mean", SQUARE, 0, d), x)
    return x, elementwise(b, f"{name}.rms", f"rho^({index})", _root(spec), mean_square)


def rms_norm_gradient(spec: NormSpec, write: Write, quotient: Equation, g: Ref) -> Gradient:
    """Write dx = (dy - n ⊙ mean(dy ⊙ n)) / ρ, for n the normalized rows."""
    slope = _mean_product(spec, write, quotient, g)
    n, rho = quotient.out, quotient.inputs[1]
    op = Slope.on(lambda a, n, m, s: call("over", a - n * m, s), g, n, slope, rho)
    return [("", op, (g, n, slope, rho))]


def _mean_product(spec: NormSpec, write: Write, quotient: Equation, g: Ref) -> Ref:
    """Write the mean of dy ⊙ n over each row, divided by n - 1 if the variance is."""
    n = quotient.out
    product = gradient_product(write, g, n)
    return write("product_mean", Reduce("mean", less=int(spec.sample), count=g.axes[-1]), product)


@dataclass(frozen=True, eq=False)
class Norm:
    """A kind of norm: a quotient for each row, scaled and shifted.

    Attributes
    ----------
    write : callable
        Takes a Builder, the rows, the spec and the index in symbols. Writes the steps
        ``NORM.PART``, and gives the dividend and the divisor of each row.
    gradient : callable
        Takes the spec, a function that writes a step, the quotient and the gradient of its
        result. Gives the gradient of the dividend as ``[("", op, operands)]``.
    short : str
        Its function name in the summary formulas of the block.
    variance : bool
        Whether it uses a variance, which may be the sample variance.
    shifts : bool
        Whether it usually has a beta.
    """

    write: Callable[[Builder, Ref, NormSpec, str], tuple[Ref, Ref]]
    gradient: Callable[[NormSpec, Write, Equation, Ref], Gradient]
    short: str
    variance: bool = False
    shifts: bool = False

    def closed(self, spec: NormSpec) -> Callable[[Write, Equation, Ref], Gradient] | None:
        """Give the closed gradient; None if eps is outside the root, which it does not cover."""
        if spec.outside:
            return None
        return partial(self.gradient, spec)


NORMS: dict[str, Norm] = {
    "layer": Norm(layer_norm, layer_norm_gradient, "LN", variance=True, shifts=True),
    "rms": Norm(rms_norm, rms_norm_gradient, "RMSNorm"),
}


def _normalized(b: Builder, spec: NormSpec, index: str, x: Ref, divisor: Ref) -> Ref:
    """Divide, then multiply by gamma and add beta if they are given."""
    name, d = spec.name, x.axes[-1]
    parts = ["normalized"]
    parts += ["scaled"] if b.has(f"{name}.gamma") else []
    parts += ["shifted"] if b.has(f"{name}.beta") else []

    def write(part: str, letter: str, op: Elementwise, *refs: Ref) -> Ref:
        last = part == parts[-1]
        step = name if last else f"{name}.{part}"
        out = b.add(step, f"{'H' if last else letter}^({index})", op, *refs)
        if part != "shifted":
            b.alias(out, f"{name}.{part}")
        return out

    h = write("normalized", "N", Quotient.on(ratio, x, divisor, rowwise=True), x, divisor)
    if "scaled" in parts:
        gamma = b.given(f"{name}.gamma", f"gamma^({index})", (d,), part="gamma")
        gain = Elementwise.on(
            (lambda n, g: n * (1.0 + g)) if spec.unit_offset else (lambda n, g: n * g),
            h, gamma, rowwise=True,
        )  # fmt: skip
        h = write("scaled", "G", gain, h, gamma)
    if "shifted" in parts:
        beta = b.given(f"{name}.beta", f"beta^({index})", (d,), part="beta")
        h = write("shifted", "H", Elementwise.on(lambda n, c: n + c, h, beta), h, beta)
    return h
