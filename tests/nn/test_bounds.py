"""Bounds of a run: sizes, memory, time and precision."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.comparison import compare
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.steps import explain
from blockcalc.reading.load import load
from tests.blocks import ATTENTION, BLOCK, SQUARE, changed_block
from tests.helpers import HERE, refused


@pytest.mark.slow
def test_what_the_steps_hold_is_bounded() -> None:
    long = {"zeros": [20000, 2]}
    assert "the steps would hold" in refused(lambda: blockcalc.run(changed_block(x=long)))
    causal = {**BLOCK["attn"], "causal": True}
    assert "the steps would hold 400000000" in refused(lambda: changed_block(x=long, attn=causal))
    blocks = [{"attn": BLOCK["attn"], "repeat": 1000}]
    data = {"x": {"zeros": [3000, 2]}, "blocks": blocks}
    assert "are allowed" in refused(lambda: blockcalc.run(load(data)))


@pytest.mark.slow
def test_one_causal_pattern_serves_all_blocks() -> None:
    own = {**BLOCK["attn"], "causal": True}
    spec = load({"x": BLOCK["x"], "blocks": [{"attn": own}, {"attn": own}]})
    first, second = (spec.arrays[f"blocks.{i}.attn.causal"] for i in (0, 1))
    assert np.shares_memory(first, second)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
def test_too_little_memory_is_one_line(tmp_path: Path) -> None:
    import resource
    import subprocess

    (tmp_path / "a.yaml").write_text(
        "x: {zeros: [30000, 2000]}\nattn: {out: {zeros: [30000, 2000]}}\n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (700 * 2**20, 700 * 2**20))

    done = subprocess.run(
        [sys.executable, "-m", "blockcalc", "run", "a.yaml"], cwd=tmp_path, capture_output=True,
        preexec_fn=limit, check=False, env={"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.decode() == "there is not enough memory for this\n"


def test_a_refused_size_does_not_count(tmp_path: Path) -> None:
    data = {"x": {"random": [90000, 90000]}, "attn": {"out": {"zeros": [2, 2]}}}
    assert refused(lambda: blockcalc.load(data)).count("more than the limit") == 1


@pytest.mark.slow
def test_float32_holds_or_refuses_without_a_warning() -> None:
    spec = blockcalc.load({"x": [[1e300, 0], [0, 1]], "attn": ATTENTION})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            blockcalc.BlockcalcError, match="x holds a number too large for float32"
        ):
            blockcalc.run(spec, dtype="float32")
    with pytest.raises(blockcalc.BlockcalcError, match="'float16' is not a supported dtype"):
        blockcalc.run(spec, dtype="float16")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["explain", "compare"])
def test_the_longest_stack_is_no_wait(form: str) -> None:
    data = {"x": SQUARE, "norm": "pre", "blocks": [{"repeat": 1000, "attn": {**ATTENTION, "causal": True}}],
            "dropout": {"p": 0.5, "training": True, "seed": 0}}  # fmt: skip
    begun = time.process_time()
    spec = blockcalc.load(data)
    trace = blockcalc.run(spec)
    if form == "explain":
        assert sum(1 for _ in explain(spec, trace, Depth(Detail.tables))) > 15_000
    else:
        assert list(compare((spec, trace), (spec, trace), Depth(patterns=("out",))))
    assert time.process_time() - begun < 60
