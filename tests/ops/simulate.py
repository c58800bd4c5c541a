"""Steps worked and stored in other formats, by NumPy's casts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import Binary, Call, Expr, Num, Slot
from blockcalc.ops.op import Array, Op
from blockcalc.program.bounds import Format


def dtype_of(name: str) -> Any:
    """Give the dtype of a format by its name."""
    if name == "bfloat16":
        return pytest.importorskip("ml_dtypes").bfloat16
    return np.dtype(name)


def kept(x: Array, dtype: Any) -> Array:
    """Store numbers in a format and read them back."""
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(dtype).astype(np.float64)


def stepwise(body: Expr, xs: Sequence[Array], dtype: Any) -> Array:
    """Work a tree with one rounding after every operation and of every constant."""
    match body:
        case Slot(index=index):
            return xs[index]
        case Num(value=value):
            return kept(np.array(value), dtype)
        case Binary(op="^", left=left, right=Num(value=power)):
            base = stepwise(left, xs, dtype)
            out = base
            for _ in range(int(power) - 1):
                out = kept(out * base, dtype)
            return out
        case Binary(op=op, left=left, right=right):
            parts = [stepwise(left, xs, dtype), stepwise(right, xs, dtype)]
            node: Expr = Binary(op, Slot(0), Slot(1))
        case Call(function=function, args=args):
            parts = [stepwise(arg, xs, dtype) for arg in args]
            node = Call(function, tuple(Slot(i) for i in range(len(args))))
        case _:
            raise TypeError(type(body).__name__)
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    full = [np.broadcast_to(part, shape) for part in parts]
    return kept(evaluate(node, lambda e: full[e.index] if isinstance(e, Slot) else None), dtype)


def single(op: Op, xs: Sequence[Array]) -> Iterator[Array]:
    """Compute a step in single precision: by the operation, and cell by cell in NumPy float32."""
    small = [x.astype(np.float32) for x in xs]
    with np.errstate(all="ignore"):
        yield op.forward(small)
        if type(op) is Elementwise:
            yield from (_native(body, op.aligned(small)) for body in (op.body, *op.ways))


def _native(body: Expr, xs: Sequence[Array]) -> Array:
    match body:
        case Slot(index=index):
            return xs[index]
        case Num(value=value):
            return np.asarray(value, np.float32)
        case Binary(op=op, left=left, right=right):
            node: Expr = Binary(op, Slot(0), Slot(1))
            parts = [_native(left, xs), _native(right, xs)]
        case Call(function=function, args=args):
            node = Call(function, tuple(Slot(i) for i in range(len(args))))
            parts = [_native(arg, xs) for arg in args]
        case _:
            raise TypeError(type(body).__name__)
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    full = [np.broadcast_to(part, shape or (1,)) for part in parts]
    out = evaluate(node, lambda e: full[e.index] if isinstance(e, Slot) else None)
    return np.asarray(out, np.float32)


def step_bound(op: Op, xs: Sequence[Array], value: Array, kind: Format) -> Array:
    """Bound the error of a step with exact operands whose result is stored in a format."""
    bound = op.bound(xs, [np.zeros(x.shape) for x in xs], kind.working)
    return kind.stored(value, bound) if op.worked else bound
