"""Compute the backward pass of a spec."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blockcalc.errors import Fault, UsageError
from blockcalc.gradients.loss import choose_loss, with_matrix
from blockcalc.messages import say
from blockcalc.nn.run import check_size, run
from blockcalc.nn.spec import Spec
from blockcalc.ops.elementwise import Elementwise, Quotient
from blockcalc.ops.expr import Num, Slot
from blockcalc.ops.op import Array, Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.backward import BackwardSettings, with_gradients
from blockcalc.program.program import Equation, Program, Section
from blockcalc.program.trace import Trace, steps


def work_gradients(
    spec: Spec, kind: str | None = None, chain: bool = False, rate: float | None = None
) -> Trace:
    """Compute a block forward and backward.

    Parameters
    ----------
    spec : Spec
    kind : str, optional
        The kind of the loss; overrides the file.
    chain : bool
        Whether softmax and norms are differentiated step by step.
    rate : float, optional
        If given, every weight gets a new value, ``new.attn.w_q``: the weight minus rate times its
        gradient.

    Returns
    -------
    Trace
        The forward pass, then the loss and the gradients: ``grad.attn.q`` is that of ``attn.q``,
        with its shape.

    Raises
    ------
    UsageError
        The loss cannot be computed, or the block stops inside a shifted softmax.

    Examples
    --------
    >>> from blockcalc import load
    >>> source = {"x": [[1.0, 2.0, 4.0]], "attn": {"out": [[1, 1, 1]]}, "stop": "residual1"}
    >>> trace = work_gradients(load(source), "sum")
    >>> trace["grad.x"]
    array([[1., 1., 1.]])
    """
    loss = choose_loss(spec, kind)
    trace = run(spec)
    _refuse_inside(trace.program)
    out = trace.program.equations[-1].out.name
    if np.isneginf(trace.arrays[out]).any():
        raise UsageError(Fault(say("grad.masked", name=out), hint=say("grad.inside.hint")))
    program = with_gradients(trace.program, loss, chain)
    if rate is not None:
        program = _with_new(program, rate)
    check_size(spec, program)
    values = with_matrix(loss, trace)
    for step in steps(program, values, spec.rounding, len(trace.program.equations)):
        values[step.equation.out.name] = step.value
    return Trace(program, values, spec.rounding)


def _refuse_inside(program: Program) -> None:
    """Raise an error for an end inside a shifted softmax, whose maximum counts as constant."""
    for eq in reversed(program.equations):
        if isinstance(eq.op, Quotient):
            return
        if isinstance(eq.op, Reduce) and eq.op.kind == "max":
            raise UsageError(Fault(say("grad.inside"), hint=say("grad.inside.hint")))


def parameters(program: Program) -> list[Ref]:
    """List the parameters, in the order of use."""
    return [ref for ref in program.inputs if ref.role == "weight"]


def gradient_of(trace: Trace, name: str) -> Array:
    """Give the gradient of a matrix; 0 if the loss does not depend on it."""
    step = f"grad.{name}"
    step = trace.program.aliases.get(step, step)
    return trace.arrays.get(step, np.zeros_like(trace.arrays[name]))


def scale(trace: Trace) -> float:
    """Give the largest gradient, including that of the result, as the scale of round-off."""
    out = trace.program.start().equations[-1].out
    refs = [out.name, *(r.name for r in trace.program.inputs if r.role in ("weight", "data"))]
    return max(float(np.abs(gradient_of(trace, name)).max()) for name in refs) or 1.0


# one step of gradient descent --------------------------------------------------------------------


def _with_new(program: Program, rate: float) -> Program:
    """Write the new matrix of each parameter."""
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
        "new", "grad", BackwardSettings("descent"), (), equations[-1].out, first, len(equations)
    )
    return replace(program, equations=tuple(equations), sections=(*program.sections, section))


def norm_of(values: Array) -> float:
    """Give the square root of the sum of squares, scaled against overflow and underflow."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    _, power = np.frexp(largest)
    scaled = np.ldexp(values, -int(power))
    return float(np.ldexp(np.sqrt((scaled**2).sum()), int(power)))
