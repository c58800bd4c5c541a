"""Check gradients against central differences."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from blockcalc.errors import Fault, UsageError
from blockcalc.gradients.loss import choose_loss, operands_of
from blockcalc.gradients.run import gradient_of, norm_of, scale
from blockcalc.messages import say
from blockcalc.nn.spec import Spec
from blockcalc.ops.elementwise import Elementwise, Quotient
from blockcalc.ops.evaluate import arrays
from blockcalc.ops.expr import Binary, Call, Expr, Num, Slot, call, fill, walk
from blockcalc.ops.op import Array
from blockcalc.ops.reduce import Whole
from blockcalc.program.loss import Loss
from blockcalc.program.program import Equation, Program
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass

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
        self.noise = ROUND_OFF * sum(self._effect(eq) for eq in program.equations)

    def _effect(self, eq: Equation) -> float:
        """Estimate the effect of a step's round-off on the loss: its gradient times its terms."""
        slope = np.abs(gradient_of(self.trace, eq.out.name))
        value = np.abs(self.trace.arrays[eq.out.name])
        size = eq.op.magnitude([self.trace.arrays[ref.name] for ref in eq.inputs])
        with np.errstate(all="ignore"):
            effect = slope * (value if size is None else np.maximum(value, size))
        return float(np.sum(effect[np.isfinite(effect)]))

    def __call__(self, name: str, at: tuple[int, ...], h: float) -> tuple[float, float]:
        """Give the loss with one entry changed by h, and the actual change in floating point."""
        values = self.values(name, at, h)
        out = values[self.program.equations[-1].out.name]
        moved = float(values[name][at] - self.arrays[name][at])
        return self._loss_of(out), moved

    def _loss_of(self, out: Array) -> float:
        """Compute the loss of a result; every |u| in its term keeps its side of 0."""
        before = self.trace.arrays[self.program.equations[-1].out.name]
        operands = [operands_of(self.loss, y, self.other) for y in (out, before)]
        held = Whole(_held(self.loss.tree, len(operands[0])), self.loss.mean)
        return float(held.forward([x for side in operands for x in side])[0])

    def values(self, name: str, at: tuple[int, ...], h: float) -> dict[str, Array]:
        """Compute all values with one entry changed by h."""
        changed = self.arrays[name].copy()
        changed[at] += h
        return _recomputed(self.program, {**self.arrays, name: changed}, self.trace)

    def longest(self, name: str, at: tuple[int, ...], h: float) -> float:
        """Estimate, from a step of h, the step at which the loss is no longer linear.

        A norm is nonlinear where the deviations of a row change by as much as their divisor; an
        exponential and an activation where their operand changes by about 1.
        """
        for _ in range(MOST_SHORTER):
            values = self.values(name, at, h)
            change = max((self._change(eq, values) for eq in self.program.equations), default=0.0)
            if change <= 2 * BEND:
                break
            h *= BEND / change  # beyond the linear range it is too small: measure again
        return h

    def _change(self, eq: Equation, values: Mapping[str, Array]) -> float:
        """Give the largest change of an operand relative to the scale on which its step curves."""
        if not isinstance(eq.op, Elementwise):
            return 0.0
        base = [self.trace.arrays[ref.name] for ref in eq.inputs]
        moved = [values[ref.name] for ref in eq.inputs]
        with np.errstate(all="ignore"):
            if isinstance(eq.op, Quotient):
                change, divisor = eq.op.aligned([np.abs(moved[0] - base[0]), base[1]])
                relative = np.where(divisor == 0, 0.0, change / divisor)
            elif any(_curved(e) for e in walk(eq.op.body)):
                relative = np.abs(moved[0] - base[0])
            else:
                return 0.0
        return float(np.nanmax(relative, initial=0.0))

    def slope(self, name: str, at: tuple[int, ...], h: float) -> tuple[float, float]:
        """Give the central difference, and its round-off."""
        (up, right), (down, left) = self(name, at, h), self(name, at, -h)
        width = right - left
        if not width:
            return math.nan, math.inf
        noise = (self.noise + ROUND_OFF * (abs(up) + abs(down))) / width
        curvature = abs(up + down - 2 * self.base) / (width / 2) ** 2
        # the changed entry itself is rounded
        shift = ROUND_OFF * float(np.abs(self.arrays[name]).max())
        return (up - down) / width, noise + curvature * shift


def _difference(name: str, moved: _LossOfEntry, exact: Array, top: float) -> Difference:
    """Compare a gradient with central differences, entry by entry."""
    numeric = np.zeros_like(exact)
    wrong = unjudged = 0
    for at in np.ndindex(exact.shape):
        estimate, error = _estimate(name, at, moved, float(exact[at]), top)
        if error > ENOUGH * max(top, abs(estimate)):
            estimate, unjudged = float(exact[at]), unjudged + 1
        elif abs(estimate - float(exact[at])) > AGREES * top + error:
            wrong += 1
        numeric[at] = estimate
    largest = float(np.abs(exact - numeric).max())
    norms = norm_of(exact), norm_of(numeric)
    return Difference(name, *norms, largest, largest / top, wrong, unjudged)


CURVED = ("exp", "ln", "tanh", "erfc")


def _curved(e: Expr) -> bool:
    """Tell whether a node is a curved function, or a power of a constant."""
    if isinstance(e, Binary):
        return e.op == "^" and isinstance(e.left, Num)
    return isinstance(e, Call) and e.function in CURVED


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
    best, before, limits = (math.nan, math.inf), (math.nan, math.inf), [math.nan, math.nan]
    for _ in range(STEPS):
        slope, noise = moved.slope(name, at, h)
        limits.append(slope + (slope - before[0]) / (SHORTER**2 - 1))
        spread = max(limits[-3:]) - min(limits[-3:])
        if math.isfinite(spread + noise) and spread + noise < best[1]:
            best = limits[-2], spread + noise
        before = slope, noise
        h /= SHORTER
    return best


def _recomputed(program: Program, values: dict[str, Array], trace: Trace) -> dict[str, Array]:
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
                undefined = eq.op.aligned([base[0], base[1]])[1] == 0
                values[eq.out.name] = np.where(undefined, 0.0, values[eq.out.name])
    return values


def _held(body: Expr, n: int) -> Expr:
    """Keep every max(0, u) and abs(u) on its side of 0, by the operands before the step.

    The n slots after those of the body are its operands before the step.
    """
    before = [Slot(i + n) for i in range(n)]
    match body:
        case Call(function="max", args=(Num(value=0.0), u)):
            return _held(u, n) * call("step", fill(u, before))
        case Call(function="abs", args=(u,)):
            was = fill(u, before)
            return _held(u, n) * call("over", was, call("abs", was))
        case Call(function=function, args=args):
            return Call(function, tuple(_held(arg, n) for arg in args))
        case Binary(op=op, left=left, right=right):
            return Binary(op, _held(left, n), _held(right, n))
    return body
