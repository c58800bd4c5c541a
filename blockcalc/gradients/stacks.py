"""Stacks of the same block, in every order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt

import numpy as np

from blockcalc.errors import Fault, UsageError
from blockcalc.gradients.run import gradient_of, norm_of, parameters, work_gradients
from blockcalc.messages import say
from blockcalc.nn.orders import ORDERS
from blockcalc.nn.spec import Spec
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass


@dataclass(frozen=True)
class StackBlock:
    """A block of a stack, measured.

    Attributes
    ----------
    order : str
        A key of ``ORDERS``.
    blocks, block : int
        The number of blocks of the stack, and the index of this one, from 0.
    loss : float
        The loss of the stack.
    norm : float
        The norm of the gradient with respect to all parameters of the block.
    rms : float
        The root mean square of its output.
    shares : tuple of float or None
        The norm of the output of each sublayer relative to that of the residual before it; None
        where that is 0.
    """

    order: str
    blocks: int
    loss: float
    block: int
    norm: float
    rms: float
    shares: tuple[float | None, ...]


def stacked(spec: Spec, n: int) -> Spec:
    """Stack the block of a spec n times, each copy with its own matrices."""
    (block,) = spec.blocks
    blocks = tuple(replace(block, steps=f"blocks.{i}.", keys=f"blocks.{i}.") for i in range(n))
    shared = ("x", "final_norm.", "loss.")
    arrays = {name: a for name, a in spec.arrays.items() if name.startswith(shared)}
    for i in range(n):
        arrays |= {f"blocks.{i}.{k}": a for k, a in spec.arrays.items() if k not in arrays}
    return replace(spec, blocks=blocks, arrays=arrays, stop=None)


def depths(spec: Spec, counts: list[int], kind: str | None) -> Iterator[StackBlock]:
    """Compute stacks of several depths in every order, and measure every block.

    Raises
    ------
    UsageError
        The file is a stack already, or stops before the end of its block.
    """
    if len(spec.blocks) > 1 or spec.blocks[0].keys:
        raise UsageError(Fault(say("depths.stack")))
    if spec.stop is not None:
        raise UsageError(Fault(say("depths.stop")))
    for order in ORDERS:
        for n in counts:
            trace = work_gradients(stacked(spec, n).with_order(order), kind)
            for i in range(n):
                yield _measured(trace, order, n, i)


def _measured(trace: Trace, order: str, n: int, i: int) -> StackBlock:
    """Measure block ``i`` of a stack of ``n``."""
    start = f"blocks.{i}."
    names = [ref.name for ref in parameters(trace.program) if ref.name.startswith(start)]
    norm = norm_of(np.array([norm_of(gradient_of(trace, name)) for name in names]))
    out = trace[f"blocks.{i}"]
    shares = tuple(_shares(trace, start))
    rms = norm_of(out) / sqrt(out.size)
    return StackBlock(order, n, float(trace.arrays["loss"][0]), i, norm, rms, shares)


def _shares(trace: Trace, start: str) -> Iterator[float | None]:
    """Give the norm of each sublayer's output relative to that of the residual before it."""
    for eq in trace.program.equations:
        if eq.out.part == "residual" and eq.out.name.startswith(start):
            x, *added = (norm_of(trace.arrays[ref.name]) for ref in eq.inputs)
            yield from (y / x if x else None for y in added)
