"""How far steps in other formats lie from the true ones, against their proven bound.

Run by hand: ``python tests/bench/bound.py [CELLS]``. Random blocks are worked forward and backward,
each step in single precision from its own stored operands, and stored; at least so many cells for
each format, 10 million without one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import blockcalc
from blockcalc.gradients.run import work_gradients
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.program.bounds import NUMBERS
from blockcalc.program.trace import Trace
from tests.ops.simulate import dtype_of, kept, single, step_bound


@dataclass
class Figures:
    """What was found in one format.

    Attributes
    ----------
    cells, outside, open : int
        How many were judged, lie outside their bound, and have none that is finite.
    worst : float
        The largest difference over its bound.
    typical, nearest : dict
        For each kind of step, one a step: its median bound over the largest difference seen, and
        the least of bound over difference in a cell.
    """

    cells: int = 0
    outside: int = 0
    open: int = 0
    worst: float = 0.0
    typical: dict[str, list[float]] = field(default_factory=dict)
    nearest: dict[str, list[float]] = field(default_factory=dict)


def middle(ratios: dict[str, list[float]]) -> float:
    """Give the median of all steps."""
    return float(np.median([ratio for own in ratios.values() for ratio in own]))


def block(seed: int) -> dict[str, Any]:
    """Draw a block: its sizes, norms, masks and activation."""
    rng = np.random.RandomState(seed)

    def one(*choices: Any) -> Any:
        return choices[rng.randint(len(choices))]

    def matrix(*shape: int) -> Any:
        return rng.normal(0, shape[0] ** -0.5 * one(0.5, 1, 2), shape)

    t, d, h = one(16, 48, 64), one(64, 128, 256), one(1, 4)
    g, e, f = one(1, h), d // h, one(96, 2 * d)
    gated = one(False, True)
    attn = {"n_heads": h, "n_kv_heads": g, "w_q": matrix(d, h * e), "w_k": matrix(d, g * e),
            "w_v": matrix(d, g * e), "w_o": matrix(h * e, d), "causal": one(False, True),
            "b_q": rng.normal(0, 1, h * e), "softmax": "shifted"}  # fmt: skip
    if one(False, True):
        attn["rope"] = {"style": one("half", "interleaved")}
    ffn = {f"w_{name}": matrix(d, f) for name in (("gate", "up") if gated else ("1",))}
    ffn |= {"w_down" if gated else "w_2": matrix(f, d), "activation": one(*sorted(ACTIVATIONS))}
    norm = {"gamma": rng.normal(1, 0.3, d), "eps": 1e-5}
    return {"x": rng.normal(0, one(0.5, 1, 3), (t, d)), "attn": attn, "ffn": ffn, "norm1": norm,
            "norm2": norm, "norm": {"order": one("pre", "post"), "kind": one("layer", "rms")}}  # fmt: skip


def plain(data: Any) -> Any:
    """Write arrays as lists."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return data.tolist() if isinstance(data, np.ndarray) else data


def traces() -> Iterator[Trace]:
    """Work random blocks forward and backward, without end."""
    seed = 0
    while True:
        yield work_gradients(blockcalc.load(plain(block(seed))), "mse", chain=seed % 2 == 1)
        seed += 1


def measure(trace: Trace, name: str, found: Figures) -> None:
    """Judge every step of a run in a format."""
    dtype = dtype_of(name)
    values = {ref.name: kept(trace.arrays[ref.name], dtype) for ref in trace.program.inputs}
    for eq in trace.program.equations:
        xs = [values[ref.name] for ref in eq.inputs]
        with np.errstate(all="ignore"):
            value = np.asarray(eq.op.forward(xs))
        bound = step_bound(eq.op, xs, value, NUMBERS[name])
        found.open += int(np.count_nonzero(np.isinf(bound)))
        seen = near = 0.0
        for n, worked in enumerate(single(eq.op, xs)):
            given = kept(worked, dtype)
            if n == 0:
                values[eq.out.name] = given
                found.cells += given.size
            same = given == value
            away = np.where(same, 0.0, np.abs(given - np.where(same, 0.0, value)))
            # the value in double precision is itself rounded
            found.outside += int(np.count_nonzero(~(away <= bound * (1 + 2.0**-20))))
            ratio = np.divide(away, bound, out=np.zeros_like(away), where=bound > 0)
            near = max(near, float(ratio.max(initial=0.0)))
            seen = max(seen, float(away.max(initial=0.0)))
        found.worst = max(found.worst, near)
        if near:
            kind = type(eq.op).__name__
            found.typical.setdefault(kind, []).append(float(np.median(bound) / seen))
            found.nearest.setdefault(kind, []).append(1 / near)


def figures(name: str, cells: int) -> Figures:
    """Judge at least so many cells in a format."""
    found = Figures()
    for trace in traces():
        measure(trace, name, found)
        if found.cells >= cells:
            break
    return found


def main() -> None:
    """Print what was found in each format."""
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    for name in ("float32", "bfloat16", "float16"):
        found = figures(name, cells)
        print(
            f"{name}: {found.cells:,} cells, {found.outside} outside, {found.open} without a finite bound"
        )
        print(f"    worst difference {found.worst:.3f} of its bound; of all steps, median bound over largest difference "
              f"{middle(found.typical):.2f}, nearest cell's {middle(found.nearest):.2f}")  # fmt: skip
        for kind, ratios in sorted(found.typical.items()):
            near = np.median(found.nearest[kind])
            print(f"    {kind:12} {np.median(ratios):10.2f} {near:10.2f}  {len(ratios)} steps")


if __name__ == "__main__":
    main()
