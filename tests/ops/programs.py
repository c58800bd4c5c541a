"""Every operation of the programs here, forward and backward, with numbers of many digits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

import blockcalc
from blockcalc.gradients.run import work_gradients
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.spec import Spec
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.program.program import Equation
from tests.helpers import sample_specs

FULL = {
    "x": [[1, -2, 0.5], [0.25, 3, -1]],
    "attn": {"w_q": [[1, 3], [2, 0.5], [0, 1]], "w_k": [[0, 1], [1, 1], [1, 2]],
             "w_v": [[1, 0], [0, 2], [1, 1]], "w_o": [[1, 2, 3], [0, 1, 0]], "b_q": [1, 0.5],
             "b_k": [2, 1], "b_v": [1, 0], "b_o": [1, 1, 0], "softmax": "shifted", "scale": 0.3,
             "padding": ["keep", "keep"], "causal": True, "mask": {"add": [[0.5, 1], [2, 0.1]]},
             "rope": {"style": "half", "theta": 100}},
    "norm1": {"gamma": [1, 2, 3], "beta": [0, 1, 0], "eps": 1e-5},
    "norm": {"order": "pre", "variance": "sample", "eps_place": "outside"},
    "final_norm": {"beta": [0, 1, 0], "eps": 0.5},
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One operation with operands."""

    eq: Equation
    xs: tuple[Array, ...]

    @property
    def op(self) -> Op:
        return self.eq.op

    @property
    def refs(self) -> tuple[Ref, ...]:
        return self.eq.inputs


def _specs() -> Iterator[Spec]:
    yield from sample_specs()
    yield blockcalc.load(FULL)
    dropout = {"p": 0.3, "at": ["attn.out"], "training": True, "seed": 3}
    yield blockcalc.load({**FULL, "dropout": dropout})


def _activations() -> Iterator[tuple[Equation, tuple[Array, ...]]]:
    u = Ref("ffn.pre", "U", ("token", "d_ff"), (4, 8), "computed")
    out = Ref("a", "A", u.axes, u.shape, "computed")
    rng = np.random.RandomState(4)
    x = np.concatenate([rng.normal(0, 3, 20), [0, 1, -1, 30, -30, 12, -12, -5.5, 800, -800, -37, 0.5]])  # fmt: skip
    for op in (act.op for act in ACTIVATIONS.values()):
        yield Equation(out, op, (u,)), (x.reshape(u.shape),)
        for _, slope, _ in (op.vjp((u,), 0, u) or [])[:-1]:
            yield Equation(out, slope, (u,)), (x.reshape(u.shape),)


@cache
def cases() -> list[Case]:
    """Give one case for each operation and shape, with the run's numbers and with many digits."""
    found: dict[tuple[Op, tuple[tuple[int, ...], ...]], list[Case]] = {}
    rng = np.random.RandomState(3)
    worked = [
        (step.equation, step.inputs)
        for spec in _specs()
        for chain in (False, True)
        for kind in ("sum", "mse")
        for step in work_gradients(spec, kind, chain, rate=0.1).steps()
    ]
    for eq, xs in [*worked, *_activations()]:
        own = found.setdefault((eq.op, tuple(x.shape for x in xs)), [])
        if len(own) < 2:
            many = tuple(x if ref.role == "mask" or ref.part in ("allowed", "keep") else
                         x * (1 + 0.2 * rng.normal(size=x.shape).clip(-2, 2)) for x, ref in zip(xs, eq.inputs, strict=True))  # fmt: skip
            own += [Case(eq, xs), Case(eq, many)]
    return [case for own in found.values() for case in own]
