"""The digits of numbers."""

from __future__ import annotations

import numpy as np

from blockcalc.notation.digits import constant, figure, power_figure
from blockcalc.ops.expr import (
    Figure,
)
from blockcalc.program.rounding import Rounding


def test_digits_of_numbers() -> None:
    assert figure(12345678.0, 0, 4) == Figure("1.235", 7)
    assert figure(-0.0, 2, 4) == Figure("0")
    assert figure(-1e-18, 2, 4, noise=1e-15) == Figure("0.00")
    assert figure(1.5624999999999998, 3, 4) == Figure("1.563")
    assert figure(9.9999e-7, 0, 2) == Figure("1.0", -6)
    assert power_figure(5e-324, 3).exponent == -324
    assert constant(1e-5) == Figure("1", -5)
    assert constant(0.25) == Figure("0.25")
    assert constant(0.0) == Figure("0")
    assert Rounding("significant", 2)(np.array([0.0, 123.4, -0.00555])).tolist() == [
        0,
        120,
        -0.0056,
    ]
    assert Rounding("decimals", 1)(np.array([-0.04])).tolist() == [0]
