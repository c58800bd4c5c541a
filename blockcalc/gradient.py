"""Working the backward pass: which loss, the gradients, differences beside them, one step of descent, stacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from blockcalc.backward import Loss, with_gradients
from blockcalc.block import build, check_size, run
from blockcalc.card import Array, Ref, dims
from blockcalc.errors import Fault, InputError, UsageError
from blockcalc.expr import Num, Slot
from blockcalc.ops import ACTIVATIONS, Elementwise, Quotient, Reduce
from blockcalc.program import Equation, Program, Section
from blockcalc.spec import Spec
from blockcalc.titles import say
from blockcalc.trace import Trace, steps

MOST_ENTRIES = 5000
STEP = 1e-6
AGREES = 1e-6


def choose_loss(spec: Spec, kind: str | None = None) -> Loss:
    """Choose the loss: what is asked for, what the file says, or to be asked for x again.

    Raises
    ------
    UsageError
        The loss needs a matrix that is not there.
    """
    out = _result(spec)
    kind = kind or spec.loss or ("mse" if out.shape == spec.arrays["x"].shape else "sum")
    loss = Loss(kind)
    own = kind == "mse" and out.shape == spec.arrays["x"].shape
    if loss.matrix and loss.matrix not in spec.arrays and not own:
        key = loss.matrix.removeprefix("loss.")
        raise UsageError(Fault(say("loss.needs", kind=kind, key=key)))
    if loss.matrix in spec.arrays and spec.arrays[loss.matrix].shape != out.shape:
        sizes = {"has": dims(spec.arrays[loss.matrix].shape), "wanted": dims(out.shape)}
        text = say("loss.shape", name=loss.matrix, out=out.name, **sizes)
        raise InputError(Fault(text, spec.place(loss.matrix)))
    return loss


def _result(spec: Spec) -> Ref:
    equations = build(spec).equations
    if not equations:
        raise UsageError(Fault(say("loss.none")))
    return equations[-1].out


def loss_text(spec: Spec, loss: Loss) -> str:
    """Say in a formula what the loss is."""
    given = not loss.matrix or loss.matrix in spec.arrays
    return say(f"loss.{loss.kind}" if given else "loss.mse.x", name=_result(spec).name)


def _arrays(spec: Spec, loss: Loss, trace: Trace) -> dict[str, Array]:
    arrays = dict(trace.arrays)
    if loss.matrix and loss.matrix not in arrays:
        arrays[loss.matrix] = arrays["x"]
    return arrays


def work_gradients(
    spec: Spec, kind: str | None = None, chain: bool = False, rate: float | None = None
) -> Trace:
    """Work a block forward and backward.

    Parameters
    ----------
    spec : Spec
    kind : str, optional
        ``sum``, ``mse`` or ``dot``, over what the file says.
    chain : bool
        Whether softmax and norms are gone through step by step.
    rate : float, optional
        With it every weight gets a new value, ``new.attn.w_q``, less so many times its gradient.

    Examples
    --------
    >>> from blockcalc import load
    >>> trace = work_gradients(load({"x": [[1.0, 2.0, 4.0]], "attn": {"out": [[1, 1, 1]]}, "stop": "residual1"}), "sum")
    >>> trace["grad.x"]
    array([[1., 1., 1.]])
    """
    loss = choose_loss(spec, kind)
    trace = run(spec)
    _refuse_inside(trace.program)
    program = with_gradients(trace.program, loss, chain)
    if rate is not None:
        program = _with_new(program, rate)
    check_size(spec, program)
    values = _arrays(spec, loss, trace)
    for step in steps(program, dict(values), spec.rounding):
        values[step.equation.out.name] = step.value
    return Trace(program, values, spec.rounding)


def _refuse_inside(program: Program) -> None:
    """Refuse an end inside a softmax that subtracts its maximum: to hold that fast is right for the whole alone."""
    for eq in reversed(program.equations):
        if isinstance(eq.op, Quotient):
            return
        if isinstance(eq.op, Reduce) and eq.op.kind == "max":
            raise UsageError(Fault(say("grad.inside"), hint=say("grad.inside.hint")))


def parameters(program: Program) -> list[Ref]:
    """List what is learned, in the order of use."""
    return [ref for ref in program.inputs if ref.role == "weight"]


def gradient_of(trace: Trace, name: str) -> Array:
    """Give the gradient of a matrix; 0 where the loss does not depend on it."""
    own = f"grad.{name}"
    found = trace.program.aliases.get(own, own)
    return trace.arrays.get(found, np.zeros_like(trace.arrays[name]))


def scale(trace: Trace) -> float:
    """Give the largest gradient, that of the result among them: what round-off is measured by."""
    out = trace.program.start().equations[-1].out
    refs = [out.name, *(r.name for r in trace.program.inputs if r.role in ("weight", "data"))]
    return max(float(np.abs(gradient_of(trace, name)).max()) for name in refs) or 1.0


# one step of descent ------------------------------------------------------------------------


def _with_new(program: Program, rate: float) -> Program:
    """Write a new matrix for each that is learned."""
    refs = program.refs()
    equations = list(program.equations)
    first = len(equations)
    for ref in parameters(program):
        name = f"grad.{ref.name}"
        g = refs.get(program.aliases.get(name, name))
        if g is not None:
            out = replace(ref, name=f"new.{ref.name}", symbol=f"{ref.symbol}'", role="computed")
            op = Elementwise(Slot(0) - Num(rate, "lr") * Slot(1))
            equations.append(Equation(out, op, (ref, g)))
    if len(equations) == first:
        return program
    section = Section(
        "new", "grad", {"of": "descent"}, (), equations[-1].out, first, len(equations)
    )
    return replace(program, equations=tuple(equations), sections=(*program.sections, section))


def loss_after(spec: Spec, kind: str | None, trace: Trace) -> float:
    """Work the loss again with the new matrices."""
    new = {n.removeprefix("new."): trace.arrays[n] for n in trace if n.startswith("new.")}
    changed = replace(spec, arrays={**spec.arrays, **new})
    return loss_of(changed, choose_loss(spec, kind))


def loss_of(spec: Spec, loss: Loss) -> float:
    """Work a block forward, and its loss."""
    trace = run(spec)
    out = trace.arrays[trace.program.equations[-1].out.name]
    other = _arrays(spec, loss, trace).get(loss.matrix)
    return _loss(loss, out, other)


def _loss(loss: Loss, out: Array, other: Array | None) -> float:
    if loss.kind == "sum" or other is None:
        return float(out.sum())
    return float((out * other).sum() if loss.kind == "dot" else ((out - other) ** 2).mean())


# central differences ------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A gradient beside its central differences: norms, the largest difference, and that by the largest gradient."""

    name: str
    norm: float
    numeric: float
    largest: float
    relative: float


def differences(spec: Spec, kind: str | None, trace: Trace) -> list[Difference]:
    """Hold every gradient of a weight and of x against central differences.

    Raises
    ------
    UsageError
        Every step is rounded, or there are too many entries.
    """
    if spec.rounding:
        raise UsageError(Fault(say("numeric.round")))
    loss = choose_loss(spec, kind)
    program = trace.program.start()
    arrays = {ref.name: trace.arrays[ref.name] for ref in program.inputs}
    other = trace.arrays.get(loss.matrix)
    names = [ref.name for ref in program.inputs if ref.role in ("weight", "data")]
    total = sum(arrays[name].size for name in names)
    if total > MOST_ENTRIES:
        raise UsageError(Fault(say("numeric.large", n=total, most=MOST_ENTRIES)))
    top = scale(trace)
    return [_difference(name, program, arrays, loss, other, trace, top) for name in names]


def _difference(
    name: str, program: Program, arrays: Mapping[str, Array], loss: Loss, other: Array | None, trace: Trace,
    top: float,
) -> Difference:  # fmt: skip
    exact = gradient_of(trace, name)
    numeric = np.zeros_like(exact)

    def slope(at: tuple[int, ...], h: float) -> float:
        sides = []
        for sign in (1, -1):
            moved = arrays[name].copy()
            moved[at] += sign * h
            sides.append(_loss(loss, _moved(program, {**arrays, name: moved}, trace), other))
        return (sides[0] - sides[1]) / (2 * h)

    for at in np.ndindex(exact.shape):
        tried = []
        for h in _moves(abs(float(arrays[name][at]))):
            near = slope(at, h)
            if abs(near - exact[at]) > AGREES * top:  # without what grows with h
                near = 2 * slope(at, h / 2) - near
            tried.append(near)
            if abs(near - exact[at]) <= AGREES * top:
                break
        numeric[at] = min(tried, key=lambda near: abs(near - exact[at]) if near == near else np.inf)
    largest = float(np.abs(exact - numeric).max())
    return Difference(name, norm_of(exact), norm_of(numeric), largest, largest / top)


def _moves(w: float) -> list[float]:
    """Give how far to move a number: as far as is usual, and shorter and longer where that disagrees."""
    wide = STEP * max(1.0, w)
    return [h for h in (wide, wide / 10, wide / 100, wide * 10, STEP * w, 100 * STEP * w) if h]


def _moved(program: Program, values: dict[str, Array], trace: Trace) -> Array:
    """Work a block forward with something moved.

    Every ReLU stays on the side that it is on, and a row that could not be divided stays 0.
    """
    with np.errstate(all="ignore"):
        for eq in program.equations:
            inputs = [values[ref.name] for ref in eq.inputs]
            if eq.op == ACTIVATIONS["relu"]:
                values[eq.out.name] = inputs[0] * (trace.arrays[eq.inputs[0].name] > 0)
            else:
                values[eq.out.name] = eq.op.forward(inputs)
            if isinstance(eq.op, Quotient):
                base = [trace.arrays[ref.name] for ref in eq.inputs]
                nothing = eq.op.aligned([base[0], base[1]])[1] == 0
                values[eq.out.name] = np.where(nothing, 0.0, values[eq.out.name])
    return values[program.equations[-1].out.name]


def norm_of(values: Array) -> float:
    """Give the root of the sum of squares."""
    return float(np.sqrt((values**2).sum()))


# stacks of the same block -------------------------------------------------------------------


@dataclass(frozen=True)
class Depth:
    """A block of a stack: loss of the stack, gradient norm, RMS of what it gives, shares of its branches."""

    order: str
    blocks: int
    loss: float
    block: int
    norm: float
    rms: float
    shares: tuple[float | None, float | None]


def stacked(spec: Spec, n: int) -> Spec:
    """Stack the one block of a spec, each time with matrices of its own."""
    (block,) = spec.blocks
    blocks = tuple(replace(block, steps=f"blocks.{i}.", keys=f"blocks.{i}.") for i in range(n))
    shared = ("x", "final_norm.", "loss.")
    arrays = {name: a for name, a in spec.arrays.items() if name.startswith(shared)}
    for i in range(n):
        arrays |= {f"blocks.{i}.{k}": a for k, a in spec.arrays.items() if k not in arrays}
    return replace(spec, blocks=blocks, arrays=arrays, stop=None)


def depths(spec: Spec, counts: list[int], kind: str | None) -> Iterator[Depth]:
    """Work stacks of some depths in both orders, and measure every block.

    Raises
    ------
    UsageError
        The file is a stack already.
    """
    if len(spec.blocks) > 1 or spec.blocks[0].keys:
        raise UsageError(Fault(say("depths.stack")))
    if spec.stop is not None:
        raise UsageError(Fault(say("depths.stop")))
    for order in ("post", "pre"):
        for n in counts:
            own = stacked(spec, n).with_order(order)
            trace = work_gradients(own, kind)
            for i in range(n):
                yield _depth(trace, order, n, i)


def _depth(trace: Trace, order: str, n: int, i: int) -> Depth:
    start = f"blocks.{i}."
    own = [ref.name for ref in parameters(trace.program) if ref.name.startswith(start)]
    squares = sum(norm_of(gradient_of(trace, name)) ** 2 for name in own)
    out = trace[f"blocks.{i}"]
    shares = tuple(_share(trace, f"{start}residual{k}") for k in (1, 2))
    rms = float(np.sqrt((out**2).mean()))
    return Depth(order, n, float(trace.arrays["loss"][0]), i, sqrt(squares), rms, shares)  # type: ignore[arg-type]


def _share(trace: Trace, name: str) -> float | None:
    """Give how large what a layer adds is, beside what it is added to."""
    eq = next((eq for eq in trace.program.equations if eq.out.name == name), None)
    if eq is None:
        return None
    x, added = (norm_of(trace.arrays[ref.name]) for ref in eq.inputs)
    return added / x if x else None


def parse_depths(text: str) -> list[int]:
    """Read ``1,2,4``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and 0 < int(part) <= 64 for part in parts):
        raise UsageError(Fault(say("depths.text", text=text)))
    return [int(part) for part in parts]


def parse_rate(text: str) -> float:
    """Read the value of ``--lr``."""
    from blockcalc.yaml_text import plain_scalar

    number: Any = plain_scalar(text.strip())
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float)
        or not 0 < number < float("inf")
    ):
        raise UsageError(Fault(say("lr.finite", text=text)))
    return float(number)
