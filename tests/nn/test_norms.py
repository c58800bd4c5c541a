"""Norms: RMSNorm, the sample deviation, and eps outside the root."""

from __future__ import annotations

import pytest

from tests.blocks import norm_of
from tests.helpers import close


@pytest.mark.parametrize(
    ("offset", "want"),
    [(False, [0.0848528103, -0.2262741609]), (True, [0.9333809138, 0.9050966437])],
)
def test_rms_norm(offset: bool, want: list[float]) -> None:
    close(
        norm_of([3, 4], {"kind": "rms", "unit_offset": offset}, eps=1e-6, gamma=[0.1, -0.2]), want
    )


@pytest.mark.parametrize(
    ("row", "want"),
    [
        ([0.5, -1.2, 0.8, 0.3], [0.643, -1.543, 1.029, 0.386]),
        ([2, -1, 3, 0], [1.069, -0.535, 1.604, 0]),
    ],
)
def test_published_rms_norms(row: list[float], want: list[float]) -> None:
    close(norm_of(row, {"kind": "rms"}, eps=0), want, 6e-4)
    assert norm_of([0, 0], {"kind": "rms"}, eps=0).tolist() == [0, 0]


def test_sheets_with_a_sample_deviation_and_eps_outside() -> None:
    close(norm_of([1, 0, 0, 0], {"variance": "sample", "eps_place": "outside"}, eps=1e-6),
          [1.499997, -0.499999, -0.499999, -0.499999], 6e-7)  # fmt: skip
    close(
        norm_of([0.001, -0.001], {"eps_place": "outside"}, eps=1e-5), [0.9900990099, -0.9900990099]
    )
