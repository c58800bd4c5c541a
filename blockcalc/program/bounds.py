"""Bounds on the error of a step that is computed and stored in a floating-point format."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from blockcalc.ops.errors import DOUBLE, nan_as_inf, range_of, upward
from blockcalc.ops.op import Array
from blockcalc.program.program import Program
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Format:
    """A format that numbers are stored in, and the working precision that goes with it.

    Attributes
    ----------
    name : str
        ``bfloat16``.
    unit, smallest, largest : float
        Its unit roundoff, its smallest normal number and its largest number.
    working : float
        The unit roundoff of the operations inside a step: single precision for 16-bit formats.
    """

    name: str
    unit: float
    smallest: float
    largest: float
    working: float

    @property
    def tiny(self) -> float:
        """Give its smallest subnormal number."""
        return 2 * self.unit * self.smallest

    def __call__(self, values: Array) -> Array:
        """Round to the nearest numbers of this format, ties to even.

        Examples
        --------
        >>> NUMBERS["float16"](np.array([1.01, 70000.0]))
        array([1.00976562,        inf])
        """
        if self.unit <= DOUBLE:
            return values
        with np.errstate(all="ignore"):
            _, exponent = np.frexp(values)
            lowest = np.frexp(self.tiny)[1] - 1
            step = np.ldexp(1.0, np.maximum(exponent - int(-np.log2(self.unit)), lowest))
            out = np.rint(values / step) * step
            return np.asarray(np.where(np.abs(out) > self.largest, np.copysign(np.inf, out), out))

    def has(self, values: Array) -> bool:
        """Tell whether values are numbers of this format."""
        finite = values[np.isfinite(values)]
        return bool(np.all(self(finite) == finite))

    def rounding(self, size: Array) -> Array:
        """Bound the error of rounding numbers of some absolute values to this format."""
        with np.errstate(all="ignore"):
            return np.where(size > 0, self.unit * np.maximum(size, self.smallest), 0.0)

    def stored(self, value: Array, error: Array) -> Array:
        """Bound the error of a number after it is stored, given its ``error`` before.

        There is no bound for numbers that may leave the range of the format. A number computed
        in the format itself is stored unchanged.
        """
        with np.errstate(all="ignore"):
            size = np.abs(value) + error
            own = 0.0 if self.unit <= self.working else self.rounding(size)
            out = np.where(size > self.largest, np.inf, error + own)
            return upward(np.where(np.isinf(value) & (error == 0), 0.0, out))


NUMBERS = {
    name: Format(name, unit, *range_of(unit), working)
    for name, unit, working in (
        ("float64", DOUBLE, DOUBLE),
        ("float32", 2.0**-24, 2.0**-24),
        ("bfloat16", 2.0**-8, 2.0**-24),
        ("float16", 2.0**-11, 2.0**-24),
    )
}


DYADIC = 20  # a number with at most so many binary places was read exactly


def run_bounds(program: Program, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Bound the error of each number of a run in double precision, for inputs as written.

    Parameters
    ----------
    program : Program
    arrays : mapping
        The numbers of the run.

    Returns
    -------
    dict
        Bounds by name; infinite where there is none.
    """
    unit = NUMBERS["float64"].unit
    errors: dict[str, Array] = {}
    for ref in program.inputs:
        x = np.asarray(arrays[ref.name], dtype=np.float64)
        with np.errstate(all="ignore"):
            scaled = np.ldexp(x, DYADIC)
            read = np.where(scaled == np.rint(scaled), 0.0, np.abs(x) * unit)
        errors[ref.name] = upward(read)
    for eq in program.equations:
        xs = [np.asarray(arrays[r.name], dtype=np.float64) for r in eq.inputs]
        with np.errstate(all="ignore"):
            error = eq.op.bound(xs, [errors[r.name] for r in eq.inputs], unit)
        errors[eq.out.name] = nan_as_inf(error)
    return errors
