"""Central differences beside gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from blockcalc.errors import Fault, UsageError
from blockcalc.grad.loss import _loss, choose_loss
from blockcalc.grad.run import gradient_of, norm_of, scale
from blockcalc.messages import say
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.spec import Spec
from blockcalc.ops.elementwise import Quotient
from blockcalc.ops.op import Array
from blockcalc.program.loss import Loss
from blockcalc.program.program import Program
from blockcalc.program.trace import Trace

MOST_ENTRIES = 5000
STEP = 1e-6
AGREES = 1e-6


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
