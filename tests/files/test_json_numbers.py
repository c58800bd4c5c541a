"""Numbers of JSON that float64 does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockcalc.reading.load import load
from tests.helpers import refused

pytestmark = pytest.mark.slow


def test_a_number_too_small_is_refused_in_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"title": "1e-999", "x": [[0, 1e-7],\n [0, 25e-400]], "attn": {"out": [[1, 1], [1, 1]]}}'
    )
    said = refused(lambda: load(str(path)))
    assert said.startswith(f"{path}:2:6: 25e-400 is too small for float64")
    path.write_text(
        '{"title": "1e-999", "x": [[0, 1e-7], [0, 0e-400]], "attn": {"out": [[1, 1], [1, 1]]}}'
    )
    assert load(str(path)).arrays["x"][0, 1] == 1e-7
    path.write_text('{"x": [[1, 2]], "attn": {"out": [[1, 1]]}, "norm": {"eps": 1e-400}}')
    assert "1e-400 is too small" in refused(lambda: load(str(path)))


@pytest.mark.parametrize(
    "number", ["1E-400", "0." + "0" * 400 + "1", "-0." + "0" * 250 + "1e-90", "0.1e-0400"]
)
def test_a_number_too_small_is_refused_in_json_in_every_spelling(
    number: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"x": [[0, {number}]], "attn": {{"out": [[1, 1]]}}}}')
    said = refused(lambda: load(str(path)))
    assert said.startswith(f"{path}:1:12: {number[:37]}")
    assert "too small for float64" in said


@pytest.mark.parametrize("number", ["1E-300", "0." + "0" * 250 + "1", "0e-400", "-0.00E-999"])
def test_what_float64_holds_is_read_beside_zeros(number: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"title": "e-999", "x": [[0, {number}]], "attn": {{"out": [[1, 1]]}}}}')
    assert load(str(path)).arrays["x"][0, 1] == float(number)
