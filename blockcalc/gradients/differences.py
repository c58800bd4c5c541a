"""Check gradients against central differences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from blockcalc.errors import Fault, UsageError
from blockcalc.gradients.loss import choose_loss, loss_value
from blockcalc.gradients.run import gradient_of, norm_of, scale
from blockcalc.messages import say
from blockcalc.nn.spec import Spec
from blockcalc.ops.elementwise import Elementwise, Quotient
from blockcalc.ops.evaluate import arrays
from blockcalc.ops.expr import Binary, Call, Expr, Num, Slot, call, substitute, walk
from blockcalc.ops.op import Array
from blockcalc.program.loss import Loss
from blockcalc.program.program import Equation, Program
from blockcalc.program.trace import Trace

MOST_ENTRIES = 5000
STEP = 1e-6
AGREES = 1e-6
BEND = 0.1  # the first step, relative to the scale on which the loss curves
SHORTER = 3.0  # factor from one step to the next, shorter one
STEPS = 14
MOST_SHORTER = 12
ROUND_OFF = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Difference:
    """A gradient compared with its central differences.

    Attributes
    ----------
    name : str
    norm, numeric : float
        The norm of the gradient, and that of its differences.
    largest, relative : float
        The largest difference between them, absolute and relative to the largest gradient of all.
    wrong : int
        How many entries differ by more than the error bound of the differences.
    unjudged : int
        How many entries cannot be checked: the loss is too curved for its round-off.
    """

    name: str
    norm: float
    numeric: float
    largest: float
    relative: float
    wrong: int = 0
    unjudged: int = 0


def differences(spec: Spec, kind: str | None, trace: Trace) -> list[Difference]:
    """Check the gradients of all weights and of x against central differences.

    Raises
    ------
    UsageError
        Every step is rounded, or there are too many entries.
    """
    if spec.rounding:
        raise UsageError(Fault(say("numeric.round")))
    loss = choose_loss(spec, kind)
    program = trace.program.start()
    names = [ref.name for ref in program.inputs if ref.role in ("weight", "data")]
    total = sum(trace.arrays[name].size for name in names)
    if total > MOST_ENTRIES:
        raise UsageError(Fault(say("numeric.large", n=total, most=MOST_ENTRIES)))
    moved = _LossOfEntry(program, trace, loss)
    top = scale(trace)
    return [_difference(name, moved, gradient_of(trace, name), top) for name in names]


class _LossOfEntry:
    """The loss as a function of one entry of a given matrix."""

    def __init__(self, program: Program, trace: Trace, loss: Loss) -> None:
        self.program, self.trace, self.loss = program, trace, loss
        self.arrays = {ref.name: trace.arrays[ref.name] for ref in program.inputs}
        self.other = trace.arrays.get(loss.matrix)
        self.base = float(trace.arrays["loss"][0])
        self.noise = ROUND_OFF * sum(self._felt(eq) for eq in program.equations)

    def _felt(self, eq: Equation) -> float:
        """Estimate the effect of a step's round-off on the loss: its gradient times its terms."""
        slope = np.abs(gradient_of(self.trace, eq.out.name))
        value = np.abs(self.trace.arrays[eq.out.name])
        size = eq.op.magnitude([self.trace.arrays[ref.name] for ref in eq.inputs])
        with np.errstate(all="ignore"):
            felt = slope * (value if size is None else np.maximum(value, size))
        return float(np.sum(felt[np.isfinite(felt)]))

    def __call__(self, name: str, at: tuple[int, ...], h: float) -> tuple[float, float]:
        """Give the loss with one entry changed by h, and the actual change in floating point."""
        values = self.values(name, at, h)
        out = values[self.program.equations[-1].out.name]
        moved = float(values[name][at] - self.arrays[name][at])
        return loss_value(self.loss, out, self.other), moved

    def values(self, name: str, at: tuple[int, ...], h: float) -> dict[str, Array]:
        """Compute all values with one entry changed by h."""
        changed = self.arrays[name].copy()
        changed[at] += h
        return _moved(self.program, {**self.arrays, name: changed}, self.trace)

    def longest(self, name: str, at: tuple[int, ...], h: float) -> float:
        """Estimate, from a step of h, the step at which the loss is no longer linear.

        A norm is nonlinear where the deviations of a row change by as much as their divisor; an
        exponential and an activation where their operand changes by about 1.
        """
        for _ in range(MOST_SHORTER):
            values = self.values(name, at, h)
            bent = max((self._bent(eq, values) for eq in self.program.equations), default=0.0)
            if bent <= 2 * BEND:
                break
            h *= BEND / bent  # beyond the linear range ``bent`` is too small: measure again
        return h

    def _bent(self, eq: Equation, values: Mapping[str, Array]) -> float:
        if not isinstance(eq.op, Elementwise):
            return 0.0
        base = [self.trace.arrays[ref.name] for ref in eq.inputs]
        moved = [values[ref.name] for ref in eq.inputs]
        with np.errstate(all="ignore"):
            if isinstance(eq.op, Quotient):
                change, divisor = eq.op.aligned([np.abs(moved[0] - base[0]), base[1]])
                own = np.where(divisor == 0, 0.0, change / divisor)
            elif any(isinstance(e, Call) and e.function in CURVED for e in walk(eq.op.body)):
                own = np.abs(moved[0] - base[0])
            else:
                return 0.0
        return float(np.nanmax(own, initial=0.0))

    def slope(self, name: str, at: tuple[int, ...], h: float) -> tuple[float, float]:
        """Give the central difference, and its round-off."""
        (up, right), (down, left) = self(name, at, h), self(name, at, -h)
        wide = right - left
        if not wide:
            return math.nan, math.inf
        noise = (self.noise + ROUND_OFF * (abs(up) + abs(down))) / wide
        curve = abs(up + down - 2 * self.base) / (wide / 2) ** 2
        # the changed entry itself is rounded
        blur = ROUND_OFF * float(np.abs(self.arrays[name]).max())
        return (up - down) / wide, noise + curve * blur


def _difference(name: str, moved: _LossOfEntry, exact: Array, top: float) -> Difference:
    """Compare a gradient with central differences, entry by entry."""
    numeric = np.zeros_like(exact)
    wrong = unjudged = 0
    for at in np.ndindex(exact.shape):
        near, error = _estimate(name, at, moved, float(exact[at]), top)
        off = abs(near - float(exact[at]))
        if error > ENOUGH * max(top, abs(near)):
            near, unjudged = float(exact[at]), unjudged + 1
        elif off > AGREES * top + error:
            wrong += 1
        numeric[at] = near
    largest = float(np.abs(exact - numeric).max())
    norms = norm_of(exact), norm_of(numeric)
    return Difference(name, *norms, largest, largest / top, wrong, unjudged)


CURVED = ("exp", "ln", "tanh", "erfc")
ENOUGH = 1e-3  # an estimate with a larger error, relative to the largest gradient, is not used


def _estimate(
    name: str, at: tuple[int, ...], moved: _LossOfEntry, exact: float, top: float
) -> tuple[float, float]:
    """Estimate a derivative and the error of the estimate.

    The usual step is used if it agrees with the gradient. Otherwise steps get shorter, each with
    its error in h² removed by the one before (Richardson), and the estimate is where three of them
    agree best, with their spread as its error; this does not use the gradient.
    """
    size = abs(float(moved.arrays[name][at]))
    usual = moved.slope(name, at, STEP * max(1.0, size))
    if abs(usual[0] - exact) <= AGREES * top:
        return usual[0], 0.0
    h = moved.longest(name, at, STEP * max(1.0, size))
    best, before, freed = (math.nan, math.inf), (math.nan, math.inf), [math.nan, math.nan]
    for _ in range(STEPS):
        slope, noise = moved.slope(name, at, h)
        freed.append(slope + (slope - before[0]) / (SHORTER**2 - 1))
        spread = max(freed[-3:]) - min(freed[-3:])
        if math.isfinite(spread + noise) and spread + noise < best[1]:
            best = freed[-2], spread + noise
        before = slope, noise
        h /= SHORTER
    return best


def _moved(program: Program, values: dict[str, Array], trace: Trace) -> dict[str, Array]:
    """Compute a block forward with changed values.

    Every ReLU and |u| keeps its branch, and an undefined row of a norm stays 0.
    """
    with np.errstate(all="ignore"):
        for eq in program.equations:
            inputs = [values[ref.name] for ref in eq.inputs]
            if (
                isinstance(eq.op, Elementwise)
                and (body := _held(eq.op.body, len(inputs))) != eq.op.body
            ):
                before = [trace.arrays[ref.name] for ref in eq.inputs]
                values[eq.out.name] = arrays(body, [*eq.op.aligned(inputs), *eq.op.aligned(before)])
            else:
                values[eq.out.name] = eq.op.forward(inputs)
            if isinstance(eq.op, Quotient):
                base = [trace.arrays[ref.name] for ref in eq.inputs]
                nothing = eq.op.aligned([base[0], base[1]])[1] == 0
                values[eq.out.name] = np.where(nothing, 0.0, values[eq.out.name])
    return values


def _held(body: Expr, n: int) -> Expr:
    """Keep every max(0, u) and abs(u) on its side of 0, by the operands before the step.

    The n slots after those of the body are its operands before the step.
    """
    match body:
        case Call(function="max", args=(Num(value=0.0), u)):
            was = substitute(u, lambda e: Slot(e.index + n) if isinstance(e, Slot) else e)
            return _held(u, n) * call("step", was)
        case Call(function="abs", args=(u,)):
            was = substitute(u, lambda e: Slot(e.index + n) if isinstance(e, Slot) else e)
            return _held(u, n) * call("over", was, call("abs", was))
        case Call(function=function, args=args):
            return Call(function, tuple(_held(arg, n) for arg in args))
        case Binary(op=op, left=left, right=right):
            return Binary(op, _held(left, n), _held(right, n))
    return body
