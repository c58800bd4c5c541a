"""A program run on a person's answers: each step is computed from the answers before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from blockcalc.mistakes.alternative import Alternative
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Call, walk
from blockcalc.ops.op import Array, Op
from blockcalc.program.bounds import NUMBERS, Format
from blockcalc.program.program import Equation, Program
from blockcalc.program.rounding import Rounding
from blockcalc.records import dataclass

DOUBLE = NUMBERS["float64"].unit
SURE = 1e-12  # relative to the largest number; round-off in double precision is smaller


def _chooses(op: Op) -> bool:
    """Tell whether an operation has a jump, like the derivative of ReLU: round-off is ignored."""
    return isinstance(op, Elementwise) and any(
        isinstance(e, Call) and e.function == "step" for e in walk(op.body)
    )


def _sure(x: Array, error: Array) -> Array:
    return np.where(error <= SURE * np.abs(x).max(initial=1.0), 0.0, error)


def largest(numbers: Array) -> float:
    """Give the size of the largest finite number."""
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))


@dataclass(frozen=True)
class Value:
    """Numbers, and a bound on the error of each."""

    numbers: Array
    error: Array


@dataclass(frozen=True)
class Pin:
    """The answer to a step, in its shape: which cells are given, and how exactly."""

    numbers: Array
    judged: Array
    half: Array

    @property
    def whole(self) -> bool:
        """Tell whether every cell is given."""
        return bool(self.judged.all())

    def over(self, own: Value) -> Value:
        """Put the given cells in place of the computed ones."""
        return Value(
            np.where(self.judged, self.numbers, own.numbers),
            np.where(self.judged, self.half, own.error),
        )


@dataclass
class Carried:
    """The steps of a program, each computed from the answers before it.

    Parameters
    ----------
    program : Program
    inputs : mapping
        The numbers of its inputs.
    pins : mapping
        Answers by recorded name.
    storage : Format, optional
        The format that the answers are stored in; without it they are written numbers,
        compared with float64.
    rounding : Rounding, optional
        Applied to every result of the forward pass, as in the run.
    """

    program: Program
    inputs: Mapping[str, Array]
    pins: Mapping[str, Pin]
    storage: Format | None = None
    rounding: Rounding | None = None

    def __post_init__(self) -> None:
        self.index = {eq.out.name: i for i, eq in enumerate(self.program.equations)}
        self.inner = self._inner()
        self.own: dict[str, Value] = {}
        self.carried: dict[str, Value] = {}
        for ref in self.program.inputs:
            self._keep(ref.name, self._input(self.inputs[ref.name]))
        for eq in self.program.equations:
            self._keep(eq.out.name, self.work(eq, [self.carried[r.name] for r in eq.inputs]))
        self.worked = 0  # steps under mistakes
        self._cones: dict[str, list[int]] = {}
        self._names: dict[str, set[str]] = {}
        self._leans: dict[str, bool] = {}

    def _keep(self, name: str, own: Value) -> None:
        self.own[name] = own
        self.carried[name] = (
            self.pins[name].over(self.settled(name, own))
            if name in self.pins
            else self.settled(name, own)
        )

    def _inner(self) -> set[str]:
        """Name the inner steps of softmaxes and norms: kernels keep them in working precision."""
        return {
            eq.out.name
            for s in self.program.sections
            if s.short
            for eq in self.program.equations[s.first : s.last]
            if eq.out.name != s.out.name
        }

    def settled(self, name: str, own: Value) -> Value:
        """Give what later steps take if a step is not given: stored, except inside a kernel.

        In double precision their numbers and ours each lie within the same error of the exact ones.
        """
        exact = self.storage is not None and self.storage.unit <= DOUBLE
        return own if exact or name in self.inner else self.stored(own)

    def stored(self, own: Value) -> Value:
        """Add the error of storing a number."""
        if self.storage is None:
            return own
        if self.storage.unit <= DOUBLE:  # then our numbers are no more exact than theirs
            return Value(own.numbers, 2 * own.error)
        return Value(own.numbers, self.storage.stored(own.numbers, own.error))

    def _input(self, numbers: Array) -> Value:
        """Give an input; if it does not fit the storage format, it was rounded to it."""
        fits = self.storage is None or self.storage.has(numbers)
        zero = np.zeros(numbers.shape)
        return Value(
            numbers, zero if fits or not self.storage else self.storage.rounding(np.abs(numbers))
        )

    def work(self, eq: Equation, operands: Sequence[Value], bounded: bool = True) -> Value:
        """Compute one equation, and bound its error."""
        xs = [v.numbers for v in operands]
        with np.errstate(all="ignore"):
            numbers = np.asarray(eq.op.forward(xs), dtype=np.float64)
            error = np.zeros(numbers.shape)
            if bounded:
                errors = [v.error for v in operands]
                if _chooses(eq.op):
                    errors = [_sure(x, e) for x, e in zip(xs, errors, strict=True)]
                error = eq.op.bound(xs, errors, self.storage.working if self.storage else DOUBLE)
        rounds = (
            self.program.forward is None or self.index.get(eq.out.name, 0) < self.program.forward
        )
        if self.rounding is not None and rounds:
            # some operations that only mistakes use have no cell
            spelled = type(eq.op).cell is not Op.cell
            numbers = (
                self.rounding.result(eq.op, eq.inputs, xs, numbers)
                if spelled
                else self.rounding(numbers)
            )
        return Value(numbers, np.where(np.isnan(error), np.inf, error) if bounded else error)

    # alternatives --------------------------------------------------------------------------

    def cone(self, name: str) -> list[int]:
        """Give the equations from the answers before a step up to its own, in order."""
        if name not in self._cones:
            found: set[int] = set()
            open_ = [self.index[name]] if name in self.index else []
            while open_:
                i = open_.pop()
                if i in found:
                    continue
                found.add(i)
                for ref in self.program.equations[i].inputs:
                    j = self.index.get(ref.name)
                    pin = self.pins.get(ref.name)
                    if j is not None and (pin is None or not pin.whole):
                        open_.append(j)
            self._cones[name] = sorted(found)
        return self._cones[name]

    def under(self, change: Alternative, name: str, bounded: bool = True) -> Value | None:
        """Compute a step from the answers before it, with a mistake made.

        None if the mistake does not affect it. Without ``bounded`` its error is 0.
        """
        changed = {eq.out.name: eq for eq in change.equations}
        if not self.touches(change, name):
            return None
        done: dict[str, Value | None] = {  # None: unchanged by the mistake
            key: Value(array, np.zeros(array.shape)) for key, array in change.arrays.items()
        }
        begun: set[str] = set()
        waiting = [name]
        while waiting:
            key = waiting[-1]
            eq = changed.get(key) or self.equation(key)
            pin = None if key == name else self.pins.get(key)
            if key in done or eq is None or (pin is not None and pin.whole):
                done.setdefault(key, None)
                waiting.pop()
                continue
            missing = [r.name for r in eq.inputs if r.name not in done]
            if missing:
                if begun.intersection(missing):
                    return None  # the two mistakes make steps depend on each other
                begun.add(key)
                waiting += missing
                continue
            waiting.pop()
            operands = [done[r.name] for r in eq.inputs]
            if key not in changed and not any(operands):
                done[key] = None
                continue
            known = [v or self.carried[r.name] for v, r in zip(operands, eq.inputs, strict=True)]
            own = self.work(eq, known, bounded)
            self.worked += 1
            if key != name:
                own = self.settled(key, own) if bounded else own
                own = pin.over(own) if pin else own
            done[key] = own
        return done[name]

    def equation(self, name: str) -> Equation | None:
        """Give the equation of a step, None for an input."""
        return self.program.equations[self.index[name]] if name in self.index else None

    def names(self, name: str) -> set[str]:
        """Name the steps from the answers before a step up to the step."""
        if name not in self._names:
            equations = self.program.equations
            self._names[name] = {equations[i].out.name for i in self.cone(name)}
        return self._names[name]

    def leans(self, name: str) -> bool:
        """Tell whether a step is computed from answers."""
        if name not in self._leans:
            used = (ref.name for i in self.cone(name) for ref in self.program.equations[i].inputs)
            self._leans[name] = any(ref in self.pins for ref in used)
        return self._leans[name]

    def touches(self, change: Alternative, name: str) -> bool:
        """Tell whether a mistake changes a step, or what it is computed from."""
        names = self.names(name)
        if any(eq.out.name in names for eq in change.equations):
            return True
        return bool(change.arrays) and any(
            r.name in change.arrays
            for i in self.cone(name)
            for r in self.program.equations[i].inputs
        )
