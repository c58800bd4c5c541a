"""Every intermediate of blocks that PyTorch and Hugging Face transformers worked.

The cases in ``framework/`` are recorded arrays: ``x``, weights, and ``i.*``, every intermediate.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import blockcalc
from blockcalc.notation.alphabets import Text
from tests.helpers import HERE, every_line
from tests.read_back import check, from_text, printed
from tests.recorded import CASES, ORDER_AND_ACT, as_data, our_name

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_every_intermediate(path: Path) -> None:
    z = np.load(path)
    trace = blockcalc.run(blockcalc.load(as_data(path.stem, z)))
    # entries of 1e8 with a spread of 1: what x less its mean keeps of 16 digits is 8
    tolerance = 1e-6 if path.stem.startswith("extreme_large_mean") else 1e-10
    seen = 0
    for key in z.files:
        if not key.startswith("i."):
            continue
        got = trace[our_name(path.stem, key[2:])]
        want = z[key]
        got = got.reshape(want.shape)
        finite = np.isfinite(want)
        assert np.array_equal(np.isneginf(want), np.isneginf(got)), key
        size = max(1.0, np.abs(want[finite]).max(initial=0))
        assert np.abs(got[finite] - want[finite]).max(initial=0) <= tolerance * size, key
        seen += 1
    assert seen >= 20
    assert np.abs(trace["out"] - z["out"]).max() <= tolerance * max(1.0, np.abs(z["out"]).max())


def test_all_cases_are_there() -> None:
    assert {path.stem for path in CASES} == set(ORDER_AND_ACT)


@pytest.mark.parametrize("name", ["tel_post_relu_h2_both_f64", "ragged_pre_gelu_h2_f64", "hf_gpt2_h3_f64",
                                  "fully_masked_row_policy_zero", "hf_llama_gqa4q2kv_f64", "dropout_train_pre_f64",
                                  "stack2_tel_pre_causal_f64"])  # fmt: skip
def test_every_line_is_true(name: str) -> None:
    spec = blockcalc.load(as_data(name, np.load(HERE / "framework" / f"{name}.npz")))
    lines = [line for line in every_line(spec, whole=True) if line.middle]
    assert len(lines) > 300
    for line in lines:
        check(printed(line, Text()), from_text)
