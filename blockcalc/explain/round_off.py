"""Tell round-off from numbers."""

from __future__ import annotations

from collections.abc import Sequence

from blockcalc.explain.arithmetic import printed
from blockcalc.notation.digits import exact_figure
from blockcalc.ops.exact import exact_value
from blockcalc.ops.expr import At, Cell, Expr, Figure, substitute, walk
from blockcalc.ops.op import Array
from blockcalc.program.program import Equation


def is_certain(eq: Equation, inputs: Sequence[Array], at: At) -> bool:
    """Tell whether a small number is none of round-off: exact operands make it."""

    def leaf(e: Expr) -> Expr:
        return exact_figure(float(inputs[e.operand][e.at])) if isinstance(e, Cell) else e

    tree = substitute(eq.op.cell(at, eq.inputs), leaf)
    short = all(len(e.digits) <= 13 for e in walk(tree) if isinstance(e, Figure))
    return short and exact_value(tree, printed) not in (None, 0)
