"""Run a spec: compute its program."""

from __future__ import annotations

import math

import numpy as np

from blockcalc.errors import Fault, InputError, UsageError
from blockcalc.limits import MOST_NUMBERS
from blockcalc.messages import say
from blockcalc.nn.block import build
from blockcalc.nn.settings import SoftmaxSettings
from blockcalc.nn.spec import Spec
from blockcalc.ops.op import Array
from blockcalc.program.program import Program
from blockcalc.program.trace import Trace, steps

PLAIN_LIMIT = {"float64": 500.0, "float32": 60.0}


def beyond_plain(scores: Array) -> bool:
    """Tell whether plain exponentials would overflow or vanish.

    This is the case if the maximum of some row is above the limit of its dtype or below minus that.
    """
    limit = PLAIN_LIMIT[scores.dtype.name]
    top = scores.max(axis=-1)
    top = top[np.isfinite(top)]  # the maximum of a fully masked row is minus infinity
    return bool(np.any(top > limit) or np.any(top < -limit))


def _cast(spec: Spec, dtype: str) -> dict[str, Array]:
    """Convert the matrices to a dtype; raise an error if a number overflows."""
    if dtype not in PLAIN_LIMIT:
        raise UsageError(Fault(say("run.dtype", dtype=dtype)))
    found = {}
    for name, array in spec.arrays.items():
        with np.errstate(over="ignore"):
            found[name] = array.astype(dtype, copy=False)
        if not np.array_equal(np.isinf(found[name]), np.isinf(array)):
            raise InputError(Fault(say("run.cast", name=name, dtype=dtype), spec.place(name)))
    return found


def check_size(spec: Spec, program: Program) -> None:
    """Raise an error if the results of a program would hold too many numbers."""
    numbers = sum(math.prod(eq.out.shape) for eq in program.equations)
    if numbers > MOST_NUMBERS:
        text = say("run.size", numbers=numbers, most=MOST_NUMBERS)
        raise InputError(Fault(text, spec.place("x"), say("run.size.hint")))


def run(spec: Spec, dtype: str = "float64") -> Trace:
    """Compute a block.

    Parameters
    ----------
    spec : Spec
    dtype : str
        ``float64`` or ``float32``: the dtype of every step.

    Returns
    -------
    Trace
        Every step by name, in order.

    Raises
    ------
    InputError
        A matrix or a result is too large for the dtype, or the results hold too many numbers.
    UsageError
        The dtype is not one of the two.

    Examples
    --------
    >>> from blockcalc import load
    >>> run(load({"x": [[1.0, 3.0]], "attn": {"out": [[1, 1]]}, "norm1": {"eps": 0}}))["norm1"]
    array([[-1.,  1.]])
    """
    program = build(spec)
    check_size(spec, program)
    arrays = _cast(spec, dtype)
    watched = {
        s.inputs[0].name
        for s in program.sections
        if isinstance(s.settings, SoftmaxSettings) and s.settings.form == "plain"
    }
    values = dict(arrays)
    for step in steps(program, arrays, spec.rounding):
        values[step.equation.out.name] = step.value
        if step.equation.out.name in watched and beyond_plain(step.value):
            return run(spec.with_softmax("shifted"), dtype)
    return Trace(program, values, spec.rounding)
