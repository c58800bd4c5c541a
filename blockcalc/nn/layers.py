"""Linear, softmax, feed-forward and residual: plain functions that write equations.

Every layer takes the builder, its input, and its part of the spec, and returns the Ref of its
result. Rows are tokens; weights multiply from the right, ``Q = X W_Q``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add

from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.dropout import dropout
from blockcalc.nn.settings import FfnSettings, SoftmaxSettings
from blockcalc.nn.spec import FfnSpec
from blockcalc.ops.elementwise import Elementwise, Quotient, Shifted
from blockcalc.ops.expr import Expr, Num, call, exp, power_of_2, ratio
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.op import Gradient, Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.builder import Builder, Misfit
from blockcalc.program.program import Equation, Write


def elementwise(
    b: Builder, name: str, symbol: str, function: Callable[..., Expr], *refs: Ref, part: str = ""
) -> Ref:
    """Write one elementwise equation."""
    return b.add(name, symbol, Elementwise.on(function, *refs), *refs, part=part)


def linear(
    b: Builder,
    name: str,
    symbol: str,
    x: Ref,
    w: str,
    axis: str,
    out_in: bool = False,
    part: str = "",
) -> Ref:
    """Linear layer ``y = x W + b``, with the bias if it is given: ``[T, n] @ [n, m] -> [T, m]``.

    ``w`` is the weight's name, ``attn.w_q``; its bias is ``attn.b_q``. With ``out_in`` the
    weight is ``[m, n]`` and the formula reads ``x Wᵀ``.
    """
    layer, _, key = w.rpartition(".")
    letter = key.removeprefix("w_")
    letter = letter.upper() if letter in ("q", "k", "v", "o", "qkv") else letter
    axes = (axis, x.axes[-1]) if out_in else (x.axes[-1], axis)
    operands = [x, b.given(w, f"W_{letter}", axes, part="matrix")]
    bias = f"{layer}.b_{key.removeprefix('w_')}"
    if b.has(bias):
        operands.append(b.given(bias, f"b_{letter}", (axis,), part="bias"))
    return b.add(name, symbol, MatMul(transpose_b=out_in), *operands, part=part)


def softmax(
    b: Builder, name: str, symbol: str, s: Ref, settings: SoftmaxSettings, part: str = ""
) -> Ref:
    """Softmax of each row, step by step; the shape of ``s`` is kept.

    ``plain`` is exp(s) divided by its row sum; ``shifted`` subtracts the row maximum first, which
    does not change the result but keeps the exponentials within range. With ``base2`` the powers
    are those of 2.
    """
    two = settings.base2
    with b.section(name, "softmax", s, settings=settings, short="softmax_2" if two else "softmax",
                   gradient=softmax_gradient_base2 if two else softmax_gradient):  # fmt: skip
        if settings.form == "shifted":
            top = b.add(f"{name}.max", "m", Reduce("max"), s)
            op = Shifted.on(lambda a, m: a - m, s, top)
            s = b.add(f"{name}.shifted", "S_shifted", op, s, top)
        e = elementwise(b, f"{name}.exp", "E", power_of_2 if two else exp, s)
        total = b.add(f"{name}.sum", "r", Reduce("sum"), e)
        return b.add(name, symbol, Quotient.on(ratio, e, total), e, total, part=part)


def gradient_product(write: Write, g: Ref, y: Ref) -> Ref:
    """Write the elementwise product of a result and its gradient, a part of closed gradients."""
    return write("product", Elementwise.on(lambda a, b: a * b, g, y), g, y)


def softmax_gradient(write: Write, quotient: Equation, g: Ref) -> Gradient:
    """Write dS = P ⊙ (dP - Σ dP ⊙ P), the sum over each row."""
    return _softmax_gradient(write, quotient, g, lambda p, d, r: p * (d - r))


def softmax_gradient_base2(write: Write, quotient: Equation, g: Ref) -> Gradient:
    """Write dS = ln 2 · P ⊙ (dP - Σ dP ⊙ P): the derivative of 2^s is 2^s ln 2."""
    return _softmax_gradient(write, quotient, g, lambda p, d, r: LN_2 * p * (d - r))


LN_2 = call("ln", Num(2.0))


def _softmax_gradient(
    write: Write, quotient: Equation, g: Ref, function: Callable[..., Expr]
) -> Gradient:
    p = quotient.out
    product = gradient_product(write, g, p)
    total = write("row_sum", Reduce("sum"), product)
    return [("", Elementwise.on(function, p, g, total), (p, g, total))]


def feed_forward(b: Builder, x: Ref, spec: FfnSpec) -> Ref:
    """Apply the FFN, plain or gated, to each token: ``[T, d_model] -> [T, d_model]``.

    Plain: act(x W_1 + b_1) W_2 + b_2. Gated: (act(x W_gate) ⊙ (x W_up)) W_down, with biases if
    given; Shazeer, "GLU Variants Improve Transformer" (2020).
    """
    name, act = spec.name, ACTIVATIONS[spec.activation].op
    with b.section(name, "ffn", x, settings=FfnSettings(spec.activation, spec.gated)):
        if not spec.gated:
            u = linear(b, f"{name}.pre", "U", x, f"{name}.w_1", "d_ff", spec.out_in, "hidden")
            a, last = b.add(f"{name}.act", "A", act, u), "w_2"
        else:
            g = linear(
                b, f"{name}.gate", "U_gate", x, f"{name}.w_gate", "d_ff", spec.out_in, "hidden"
            )
            g = b.add(f"{name}.gate_act", "A_gate", act, g)
            u = linear(b, f"{name}.up", "U_up", x, f"{name}.w_up", "d_ff", spec.out_in)
            a = elementwise(b, f"{name}.gated", "A", lambda y, z: y * z, g, u)
            last = "w_down"
        a = dropout(b, f"{name}.act", a, spec.dropout)
        return linear(b, f"{name}.out", "F", a, f"{name}.{last}", x.axes[-1], spec.out_in, "out")


def residual(b: Builder, name: str, index: str, x: Ref, *results: Ref) -> Ref:
    """Add the outputs of one or more sublayers to their input: all ``[T, d_model]``."""
    for y in results:
        if x.shape != y.shape and not b.stopped:
            raise Misfit(b.keys + y.name.removeprefix(b.steps), x, y)
    op = Elementwise.on(lambda *terms: reduce(add, terms), x, *results)
    return b.add(name, f"R^({index})", op, x, *results, part="residual")
