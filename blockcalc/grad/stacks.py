"""Stacks of the same block, in both orders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from blockcalc.errors import Fault, UsageError
from blockcalc.grad.run import gradient_of, norm_of, parameters, work_gradients
from blockcalc.messages import say
from blockcalc.nn.spec import Spec
from blockcalc.program.trace import Trace

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
