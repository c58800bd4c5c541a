"""Each sample's ``expect:`` holds to half a unit of the last digit that it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import blockcalc
from tests.helpers import SAMPLES


def _decimals(value: Any) -> int:
    if isinstance(value, list):
        return max(_decimals(v) for v in value)
    return len(str(value).partition(".")[2]) if isinstance(value, float) else 0


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_expected_values(path: Path) -> None:
    spec = blockcalc.load(path)
    trace = blockcalc.run(spec)
    raw = yaml.safe_load(path.read_text().replace("?", "~"))["expect"]
    assert len(spec.expect) > 5
    for name, want in spec.expect.items():
        got = trace[name]
        assert got.shape == want.shape, name
        judged = ~np.isnan(want)
        assert judged.any()
        places = _decimals(raw[name])
        tolerance = 0.5 * 10.0**-places + 1e-12 if places else 1e-9
        assert np.abs(got - want)[judged].max() <= tolerance, name


def test_samples_but_the_articles_own_have_three_features() -> None:
    for path in SAMPLES:
        width = blockcalc.load(path).arrays["x"].shape[-1]
        assert width >= 3 or path.stem.startswith("tiny")
