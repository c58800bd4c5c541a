"""Every printed line is true as printed, in every alphabet."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockcalc
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Latex, Text, Typst
from blockcalc.program.rounding import Rounding
from tests.helpers import every_line, random_data, sample_specs
from tests.read_back import check, from_latex, from_text, from_typst, plain_text, printed

pytestmark = pytest.mark.slow


def _all_true(spec: Spec, **depth: Any) -> int:
    lines = [line for line in every_line(spec, **depth) if line.middle and not line.shortened]
    for line in lines:
        check(printed(line, Text()), from_text)
        check(printed(line, Text(plain=True)), plain_text)
        check(printed(line, Latex()), from_latex)
        check(printed(line, Typst()), from_typst)
    return len(lines)


@pytest.mark.parametrize("digits", [1, 2, 4, 8])
@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title[:18]}-{s.order}")
def test_lines_of_the_samples(spec: Spec, digits: int) -> None:
    assert _all_true(spec, digits=digits) > 20


@pytest.mark.parametrize("rounding", [Rounding("decimals", 3), Rounding("significant", 4)])
@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title[:18]}-{s.order}")
def test_lines_of_rounded_samples(spec: Spec, rounding: Rounding) -> None:
    assert _all_true(spec.with_rounding(rounding)) > 20


@settings(max_examples=80)
@given(data=random_data(), digits=st.integers(1, 9))
def test_lines_of_any_block(data: dict[str, Any], digits: int) -> None:
    assert _all_true(blockcalc.load(data), digits=digits) > 0


@settings(max_examples=30)
@given(
    data=random_data(), kind=st.sampled_from(["decimals", "significant"]), digits=st.integers(2, 5)
)
def test_lines_of_any_rounded_block(data: dict[str, Any], kind: str, digits: int) -> None:
    try:
        assert _all_true(blockcalc.load({**data, "round": {kind: digits}})) > 0
    except blockcalc.BlockcalcError as error:
        if "rounded to 0" not in str(error):
            raise


@pytest.mark.parametrize(
    "lie",
    [
        "a = 0.67×0.67 = 0.44",
        "a ≈ 1.41×1.41 ≈ 2.00",
        "a = 1×2 + 1 = 4",
        "a ≈ √2 ≈ 1.42",
        "a ≈ exp(-1) ≈ 3.7×10⁻²",
    ],
)
def test_the_reader_would_notice_a_lie(lie: str) -> None:
    with pytest.raises(AssertionError):
        check(lie, from_text)
