"""Trees: what they give, and how many operations they take."""

from __future__ import annotations

import numpy as np

from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import (
    Binary,
    Cell,
    Dots,
    Figure,
    Fold,
    Num,
    Over,
    operations,
    walk,
)


def test_corners_of_expressions() -> None:
    one = Figure("1")
    assert evaluate(1 - Num(3.0), lambda e: 0.0) == -2
    assert evaluate(1 / Num(4.0), lambda e: 0.0) == 0.25
    assert evaluate(Binary("/", Num(1.0), Num(0.0)), lambda e: 0.0) == np.inf
    assert [type(e) for e in walk(Over("sum", one))] == [Over, Figure]
    assert evaluate(Fold("max", (Num(1.0), Num(2.0))), lambda e: 0.0) == 2


def test_counts_of_a_fold() -> None:
    cells = tuple(Cell(0, (i,)) for i in range(4))
    assert operations(Fold("+", cells)) == 3
    assert operations(Dots()) == 0
    assert operations(Num(1.0) + Num(2.0)) == 0
