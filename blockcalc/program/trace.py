"""Run a program: the same equations with their values, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from blockcalc.errors import Fault, InputError, LookupFault
from blockcalc.messages import say
from blockcalc.messages.words import described
from blockcalc.ops.elementwise import Centered, Quotient
from blockcalc.ops.op import Array
from blockcalc.program.exactness import Exactness
from blockcalc.program.program import Equation, Program
from blockcalc.program.read_only import read_only
from blockcalc.program.rounding import Rounding


@dataclass(frozen=True, slots=True)
class Step:
    """One equation with the values of its operands and of its result."""

    index: int
    equation: Equation
    inputs: tuple[Array, ...]
    value: Array


@dataclass(frozen=True, eq=False)
class Trace(Mapping[str, Array]):
    """All values of a run by name; ``trace["scores"]`` finds ``attn.scores``.

    Iterating gives the names of the steps in order. Its arrays are read-only, because they belong
    to one run. Two traces are equal only if they are the same object.
    """

    program: Program
    arrays: Mapping[str, Array]
    rounding: Rounding | None = None

    __eq__ = object.__eq__  # a mapping would compare arrays, and these give arrays
    __hash__ = object.__hash__

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", read_only(self.arrays))

    def __getstate__(self) -> dict[str, Any]:
        """Give what is pickled: a mapping without assignment cannot be."""
        return {**self.__dict__, "arrays": dict(self.arrays)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __getitem__(self, name: str) -> Array:
        if not isinstance(name, str):
            raise LookupFault(Fault(say("step.type", got=described(name))))
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
    program: Program,
    arrays: Mapping[str, Array],
    rounding: Rounding | None = None,
    first: int = 0,
) -> Iterator[Step]:
    """Compute the equations one at a time and yield each when it is done.

    Parameters
    ----------
    program : Program
    arrays : mapping
        The inputs, and the results of the equations before ``first``.
    rounding : Rounding, optional
        Rounds every result of the forward pass before the next step; inputs are not rounded.
    first : int
        The index of the first equation to compute.

    Raises
    ------
    InputError
        A result overflows, or a divisor is 0 only because of rounding.
    """
    done = (eq.out for eq in program.equations[:first])
    values = {ref.name: arrays[ref.name] for ref in (*program.inputs, *done)}
    dtype = arrays["x"].dtype
    equations = {eq.out.name: eq for eq in program.equations}
    for index, eq in enumerate(program.equations[first:], first):
        inputs = tuple(values[ref.name] for ref in eq.inputs)
        with np.errstate(all="ignore"):
            value = np.asarray(eq.op.forward(inputs), dtype=dtype)
        if isinstance(eq.op, Centered):
            value = _deviations(eq, inputs, value, Exactness(equations, values))
        rounded = rounding is not None and (program.forward is None or index < program.forward)
        if rounding is not None and rounded:
            value = rounding.result(eq.op, eq.inputs, inputs, value)
            _require_divisor(program, index, inputs, values)
        _require_finite(eq, inputs, value, rounded)
        values[eq.out.name] = value
        yield Step(index, eq, inputs, value)


def _deviations(eq: Equation, inputs: tuple[Array, ...], value: Array, exact: Exactness) -> Array:
    """Keep the deviations of an almost constant row if its entries are exact."""
    op, (x, _) = eq.op, inputs
    assert isinstance(op, Centered)
    unequal = (x != x[..., :1]).any(axis=-1)
    for row in np.argwhere(unequal & (value == 0).all(axis=-1)):
        at = tuple(map(int, row))
        if all(exact(eq.inputs[0].name, (*at, i)) for i in range(x.shape[-1])):
            value = value.copy()
            value[at] = op.exact(inputs)[at]
    return value


def _require_divisor(
    program: Program, index: int, inputs: tuple[Array, ...], values: Mapping[str, Array]
) -> None:
    """Raise an error for a divisor that is 0 only because of rounding.

    If the divisor is 0 without rounding too, the row is undefined on paper and the convention
    for undefined rows applies.
    """
    eq = program.equations[index]
    section = program.section_of(index)
    if not isinstance(eq.op, Quotient) or section is None:
        return
    lost = eq.op.undefined(inputs)
    if not lost.any():
        return
    unrounded = dict(values)
    with np.errstate(all="ignore"):
        for before in program.equations[section.first : index]:
            operands = [unrounded[ref.name] for ref in before.inputs]
            unrounded[before.out.name] = before.op.forward(operands)
    lost &= ~eq.op.undefined([unrounded[ref.name] for ref in eq.inputs])
    if lost.any():
        _refuse(eq, np.argwhere(lost)[0], "run.zero", values["x"])


def _refuse(eq: Equation, place: Array, key: str, like: Array) -> NoReturn:
    at = "".join(f"[{i}]" for i in place)
    text = say(key, step=f"{eq.out.name}{at}", dtype=like.dtype.name)
    raise InputError(Fault(text, hint=say(f"{key}.hint")))


def _require_finite(eq: Equation, inputs: tuple[Array, ...], value: Array, rounded: bool) -> None:
    """Raise an error for a result that overflows."""
    bad = ~np.isfinite(value)
    if eq.op.blocks:
        bad &= ~np.isneginf(value)
    if bad.any():
        zero = isinstance(eq.op, Quotient) and bool(eq.op.undefined(inputs).any())
        key = ("run.zero" if rounded else "run.tiny") if zero else "run.overflow"
        _refuse(eq, np.argwhere(bad)[0], key, value)
