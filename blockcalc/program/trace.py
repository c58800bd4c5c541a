"""Working a program: the same equations with their numbers, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from blockcalc.errors import Fault, InputError
from blockcalc.messages import say
from blockcalc.ops.elementwise import Quotient
from blockcalc.ops.op import Array
from blockcalc.program.program import Equation, Program
from blockcalc.program.rounding import Rounding


@dataclass(frozen=True, slots=True)
class Step:
    """One equation worked: the values of its operands and of its result."""

    index: int
    equation: Equation
    inputs: tuple[Array, ...]
    value: Array


@dataclass(frozen=True)
class Trace(Mapping[str, Array]):
    """All values of a run by name; ``trace["scores"]`` finds ``attn.scores``.

    Iterating gives the names of the steps in order.
    """

    program: Program
    arrays: Mapping[str, Array]
    rounding: Rounding | None = None

    def __getitem__(self, name: str) -> Array:
        return self.arrays[self.program.find(name)]

    def __iter__(self) -> Iterator[str]:
        return (eq.out.name for eq in self.program.equations)

    def __len__(self) -> int:
        return len(self.program.equations)

    def steps(self, first: int = 0, last: int | None = None) -> Iterator[Step]:
        """Yield the steps in order, or some of them."""
        for index, eq in enumerate(self.program.equations[first:last], first):
            inputs = tuple(self.arrays[ref.name] for ref in eq.inputs)
            yield Step(index, eq, inputs, self.arrays[eq.out.name])


def steps(
    program: Program, arrays: Mapping[str, Array], rounding: Rounding | None = None
) -> Iterator[Step]:
    """Work the equations one at a time and yield each as it is done.

    With ``rounding`` every result of the forward pass is rounded before going on; inputs are not.
    """
    values = {ref.name: arrays[ref.name] for ref in program.inputs}
    dtype = arrays["x"].dtype
    for index, eq in enumerate(program.equations):
        inputs = tuple(values[ref.name] for ref in eq.inputs)
        with np.errstate(all="ignore"):
            value = np.asarray(eq.op.forward(inputs), dtype=dtype)
        rounded = rounding is not None and (program.forward is None or index < program.forward)
        if rounding is not None and rounded:
            value = rounding(value)
        _require_finite(eq, inputs, value, rounded)
        values[eq.out.name] = value
        yield Step(index, eq, inputs, value)


def _require_finite(eq: Equation, inputs: tuple[Array, ...], value: Array, rounded: bool) -> None:
    """Refuse a result that the numbers cannot hold."""
    bad = ~np.isfinite(value)
    if eq.op.blocks:
        bad &= ~np.isneginf(value)
    if bad.any():
        at = "".join(f"[{i}]" for i in np.argwhere(bad)[0])
        zero = isinstance(eq.op, Quotient) and bool(eq.op.undefined(inputs).any())
        key = ("run.zero" if rounded else "run.tiny") if zero else "run.overflow"
        text = say(key, step=f"{eq.out.name}{at}", dtype=value.dtype.name)
        raise InputError(Fault(text, hint=say(f"{key}.hint")))
