"""What samples and published examples expect holds to half a unit of its last digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import blockcalc
from tests.helpers import HERE, SAMPLES, leaves

WORKED = sorted((HERE / "worked").glob("*.yaml"))


def _tolerances(text: Any) -> Any:
    """Give half a unit of the last digit of each number, trailing zeros as in the others."""
    flat = [str(v) for v in leaves(text) if v is not None]
    places = max((len(v.partition(".")[2]) for v in flat if "e" not in v), default=0)

    def one(v: Any) -> float:
        if v is None:
            return np.inf
        digits, e, exponent = str(v).partition("e")
        own = len(digits.partition(".")[2]) - int(exponent) if e else places
        return 0.5 * 10.0**-own if own else 1e-9

    def nest(v: Any) -> Any:
        return [nest(w) for w in v] if isinstance(v, list) else one(v)

    return np.array(nest(text))


@pytest.mark.parametrize("path", [*SAMPLES, *WORKED], ids=lambda p: p.stem)
def test_expected_values(path: Path) -> None:
    spec = blockcalc.load(path)
    trace = blockcalc.run(spec)
    raw = yaml.safe_load(path.read_text(encoding="utf-8").replace("?", "~"))["expect"]
    assert spec.expect
    for name, want in spec.expect.items():
        got = trace[name]
        assert got.shape == want.shape, name
        text, turned = raw[name], isinstance(raw[name], dict)
        tolerance = _tolerances(text["value"] if turned else text)
        tolerance = tolerance.swapaxes(-1, -2) if turned else tolerance
        judged = ~np.isnan(want)
        assert judged.any()
        allowed = tolerance + 1e-12 * max(1.0, np.abs(want[judged]).max())
        assert (np.abs(got - want) <= allowed)[judged].all(), name


def test_samples_judge_many_steps() -> None:
    for path in SAMPLES:
        assert len(blockcalc.load(path).expect) > 5


def test_samples_but_the_articles_own_have_three_features() -> None:
    for path in SAMPLES:
        width = blockcalc.load(path).arrays["x"].shape[-1]
        assert width >= 3 or path.stem.startswith("tiny")
