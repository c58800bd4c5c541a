"""The values of options that are read as numbers."""

import pytest

from blockcalc.cli.inputs import parse_depths, parse_rate
from blockcalc.errors import UsageError


def test_rates_and_depths_are_read() -> None:
    assert [parse_rate(text) for text in ("0.1", " 2 ", "1e308")] == [0.1, 2.0, 1e308]
    assert parse_depths("1, 2,64") == [1, 2, 64]


@pytest.mark.parametrize("text", ["0", "-1", "nan", ".inf", "true", "fast", "1" + "0" * 309])
def test_a_rate_is_a_float_above_0(text: str) -> None:
    with pytest.raises(UsageError, match="--lr is a number above 0"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["0", "65", "1,,2", "²", "9" * 5000])
def test_depths_are_small_whole_numbers(text: str) -> None:
    with pytest.raises(UsageError, match="--depths takes numbers") as caught:
        parse_depths(text)
    assert len(str(caught.value)) < 200
