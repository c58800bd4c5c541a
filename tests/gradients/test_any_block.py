"""Gradients of blocks of any kind, against differences of the loss."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from blockcalc.gradients.differences import differences
from blockcalc.gradients.run import gradient_of, work_gradients
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.ops.elementwise import Quotient
from blockcalc.ops.expr import Binary, Call, Cell, Expr, Fold, Num
from blockcalc.ops.op import Array
from blockcalc.program.program import Equation
from blockcalc.program.trace import Trace
from blockcalc.reading.load import load
from tests.helpers import random_data

pytestmark = pytest.mark.slow


def _smooth(trace: Trace, gap: float) -> bool:
    """Tell whether no norm is near to even and no ReLU near to its kink."""
    for eq in trace.program.start().equations:
        if eq.op == ACTIVATIONS["relu"].op and np.abs(trace.arrays[eq.inputs[0].name]).min() < gap:
            return False
        norm = isinstance(eq.op, Quotient) and not eq.out.name.endswith("attn.weights")
        if norm and np.abs(trace.arrays[eq.inputs[1].name]).min() < 0.05:
            return False
    return True


def _small(rng: Any) -> dict[str, Any]:
    """Draw a small block of any kind, with d_model 3 or 4."""
    d, heads = [(3, 1), (4, 2)][rng.randint(2)]
    t, f = rng.randint(1, 3), rng.randint(2, 4)

    def m(*shape: int) -> Any:
        return rng.normal(0, 1, shape).round(3).tolist()

    gated, rms = rng.randint(2), rng.randint(2)
    act = list(ACTIVATIONS)[rng.randint(len(ACTIVATIONS))]
    few = rng.randint(1, heads + 1)
    own = d // heads
    attn: dict[str, Any] = {
        "w_q": m(d, d), "w_k": m(d, few * own), "w_v": m(d, few * own), "w_o": m(d, d), "n_heads": heads, "n_kv_heads": few,
        "causal": bool(rng.randint(2)), "softmax": ["plain", "shifted"][rng.randint(2)],
    }  # fmt: skip
    if rng.randint(2):
        attn |= {"b_q": m(d), "b_k": m(few * own), "b_v": m(few * own), "b_o": m(d)}
    if heads == 2 and rng.randint(2):
        attn["rope"] = {"theta": 100}
    ffn: dict[str, Any] = {"activation": act}
    ffn |= (
        {"w_gate": m(d, f), "w_up": m(d, f), "w_down": m(f, d)}
        if gated
        else {"w_1": m(d, f), "b_1": m(f), "w_2": m(f, d)}
    )
    norm = {"order": ["pre", "post"][rng.randint(2)], "kind": ["layer", "rms"][rms]}
    if not rms and rng.randint(2):
        norm |= {"variance": "sample"}
    if rng.randint(4) == 0:
        norm |= {"eps_place": "outside", "eps": 0.01}
    norms = (
        {f"norm{k}": {"gamma": m(d), **({} if rms else {"beta": m(d)})} for k in (1, 2)}
        if rng.randint(2)
        else {}
    )
    return {
        "x": m(t, d),
        "attn": attn,
        "ffn": ffn,
        "norm": norm,
        **norms,
        "loss": {"kind": "dot", "with": m(t, d)},
    }


def _fifty(mp: Any, trace: Trace, rng: Any) -> None:
    """Hold the slope along a random direction of every matrix against a difference of 50 digits."""
    program = trace.program.start()
    names = [r.name for r in program.inputs if r.role in ("weight", "data")]
    top = max(float(np.abs(gradient_of(trace, name)).max()) for name in names)
    h = mp.mpf(10) ** -18
    for name in names:
        way = rng.normal(0, 1, trace.arrays[name].shape)
        sides = []
        for sign in (1, -1):
            values = {r.name: _precise(mp, trace.arrays[r.name]) for r in program.inputs}
            values[name] = values[name] + sign * h * _precise(mp, way)
            sides.append(_loss(mp, program, values, trace))
        near = (sides[0] - sides[1]) / (2 * h)
        exact = float((gradient_of(trace, name) * way).sum())
        size = max(top * float(np.abs(way).sum()), 1e-300)
        assert abs(near - exact) <= 1e-11 * size, (name, near, exact)


def _precise(mp: Any, array: Array) -> Any:
    out = np.empty(array.shape, dtype=object)
    for at in np.ndindex(array.shape):
        out[at] = mp.mpf(float(array[at]))
    return out


def _loss(mp: Any, program: Any, values: dict[str, Any], trace: Trace) -> Any:
    for eq in program.equations:
        out = np.empty(eq.out.shape, dtype=object)
        for at in np.ndindex(eq.out.shape):
            out[at] = _mp(mp, eq.op.cell(at, eq.inputs), eq, values)
        values[eq.out.name] = out
    other = _precise(mp, trace.arrays["loss.with"])
    return (values[program.equations[-1].out.name] * other).sum()


def _mp(mp: Any, e: Expr, eq: Equation, values: dict[str, Any]) -> Any:
    match e:
        case Cell(operand=operand, at=at):
            return values[eq.inputs[operand].name][at]
        case Num(value=value, symbol=symbol):
            return mp.pi if symbol == "pi" else mp.mpf(value)
        case Fold(op=op, terms=terms):
            own = [_mp(mp, t, eq, values) for t in terms]
            return (
                mp.fsum(own)
                if op == "+" and mp.ninf not in own
                else max(own)
                if op == "max"
                else sum(own)
            )
        case Binary(op=op, left=left, right=right):
            a, b = _mp(mp, left, eq, values), _mp(mp, right, eq, values)
            works: dict[str, Any] = {
                "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow,
            }  # fmt: skip
            return works[op](a, b)
        case Call(function=function, args=args):
            xs = [_mp(mp, a, eq, values) for a in args]
            named: dict[str, Any] = {
                "max": max,
                "ratio": lambda a, b: a / b if b else mp.mpf(0),
                "mask": lambda a, m: a if m else mp.ninf,
            }
            return named[function](*xs) if function in named else getattr(mp, function)(*xs)
    raise TypeError(type(e).__name__)


@settings(max_examples=40)
@given(data=random_data())
def test_any_block_agrees_with_differences(data: dict[str, Any]) -> None:
    spec = load(data)
    trace = work_gradients(spec)
    assume(_smooth(trace, 1e-4))
    for found in differences(spec, None, trace):
        assert found.relative <= 1e-6, found


def test_two_hundred_blocks_agree_with_differences_of_fifty_digits() -> None:
    mp = pytest.importorskip("mpmath", reason="mpmath is a development tool")
    mp.mp.dps = 50
    rng = np.random.RandomState(0)
    done = 0
    while done < 200:
        spec = load(_small(rng))
        trace = work_gradients(spec, "dot")
        if not _smooth(trace, 1e-4):
            continue
        _fifty(mp, trace, rng)
        done += 1
