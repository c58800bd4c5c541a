"""The operations of the backward pass: their rules, and what has no gradient."""

from __future__ import annotations

import numpy as np
import pytest

from blockcalc.nn.dropout import Draw
from blockcalc.ops.derivative import derivative
from blockcalc.ops.elementwise import SQUARE
from blockcalc.ops.expr import Fold, Slot
from blockcalc.ops.matmul import Gram
from blockcalc.ops.movement import Along, Columns, Gather, Placed, Repeat, Total
from blockcalc.ops.op import Op, Ref
from blockcalc.ops.reduce import Everywhere, Reduce, Whole

X = Ref("x", "X", ("token", "d"), (2, 3), "data")


def test_what_has_no_gradient_says_so() -> None:
    with pytest.raises(TypeError):
        Op().vjp((X,), 0, X)
    with pytest.raises(TypeError):
        derivative(Fold("+", (Slot(0),)), 0)
    assert Reduce("max").vjp((X,), 0, X) is None
    assert Reduce("mean", SQUARE).keeps((X,), {0}) == {0}
    assert Reduce("mean").keeps((X,), {0}) == set()


def test_rules_of_what_only_a_backward_pass_has() -> None:
    heads = Ref("h", "H", ("head", "token", "e"), (4, 2, 3), "computed")
    for op, refs in (
        (Draw(0.5, 0, 0, ("token",), (2,)), ()),
        (Gather(2, "kv_head"), (heads,)),
        (Placed((1,), 3, "d"), (Ref("c", "C", ("token", "e"), (2, 1), "computed"),)),
        (Gram(), (X, X)),
        (Total((0,)), (X,)),
        (Along(3, "d"), (Ref("v", "v", ("token",), (2,), "computed"),)),
        (Whole(), (X,)),
        (Everywhere(), (X,)),
    ):
        assert op.rule(refs)
        assert op.per_cell(refs) >= 0 if refs else True
    assert Gather(2, "kv_head").sums_over((heads,)) == ("head",)
    assert Total((0,)).sums_over((X,)) == ("token",)


def test_movements_and_their_gradients_are_each_others_mirror() -> None:
    rng = np.random.RandomState(0)
    k, h = rng.normal(size=(2, 3, 4)), rng.normal(size=(6, 3, 4))
    assert np.isclose((Repeat(3).forward([k]) * h).sum(), (k * Gather(3, "g").forward([h])).sum())
    x, c = rng.normal(size=(3, 5)), rng.normal(size=(3, 2))
    op = Columns((4, 1))
    assert np.isclose((op.forward([x]) * c).sum(), (x * Placed((4, 1), 5, "d").forward([c])).sum())
