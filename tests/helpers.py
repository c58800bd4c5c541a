"""What several tests share: the samples, random specs, and running the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import blockcalc
from blockcalc.embedded import files
from blockcalc.explain import Depth, explain
from blockcalc.ops import ACTIVATIONS
from blockcalc.spec import Spec

SAMPLES = files()
HERE = Path(__file__).parent


def cli(
    *args: str, stdin: bytes | None = None, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as a process, without the environment's own colour settings."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return subprocess.run(
        [sys.executable, "-m", "blockcalc", *args],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**kept, **env},
        check=False,
        timeout=120,
    )


def text(done: subprocess.CompletedProcess[bytes]) -> str:
    """Give the output of a run that must have gone well."""
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def sample_specs() -> list[Spec]:
    """Every sample in both orders."""
    specs = [blockcalc.load(path) for path in SAMPLES]
    return [
        s
        for spec in specs
        for s in (spec, spec.with_order("pre" if spec.order == "post" else "post"))
    ]


def every_line(spec: Spec, **depth: Any) -> list[Any]:
    """Give all worked lines of a spec."""
    trace = blockcalc.run(spec)
    pieces = explain(spec, trace, Depth(detail="cells", **depth))
    return [line for piece in pieces for line in getattr(piece, "lines", ())]


def matrix(rng: np.random.RandomState, *shape: int, scale: float = 1.0) -> Any:
    """Draw a matrix with one decimal more than it needs."""
    return np.round(rng.normal(0, scale, shape), 3).tolist()


@st.composite
def random_data(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a whole file: any sizes, any parts, any conventions."""
    rng = np.random.RandomState(draw(st.integers(0, 2**31)))
    t, d, e = (draw(st.integers(1, 4)) for _ in range(3))
    f = draw(st.integers(1, 5))
    scale = draw(st.sampled_from([0.3, 1.0, 5.0]))

    def m(*shape: int) -> Any:
        return matrix(rng, *shape, scale=scale)

    with_o = draw(st.booleans())
    v = draw(st.integers(1, 3)) if with_o else d
    attn: dict[str, Any] = {"w_q": m(d, e), "w_k": m(d, e), "w_v": m(d, v)}
    if draw(st.booleans()):
        attn |= {"b_q": m(e), "b_k": m(e), "b_v": m(v)}
    if with_o:
        attn |= {"w_o": m(v, d)}
        if draw(st.booleans()):
            attn["b_o"] = m(d)
    scale_key = draw(st.sampled_from([None, "none", 0.25]))
    if scale_key is not None:
        attn["scale"] = scale_key
    form = draw(st.sampled_from([None, "plain", "shifted"]))
    if form:
        attn["softmax"] = form
    data: dict[str, Any] = {
        "x": m(t, d),
        "attn": attn,
        "norm": draw(st.sampled_from(["pre", "post"])),
    }
    if draw(st.booleans()) or draw(st.booleans()):
        ffn: dict[str, Any] = {"w_1": m(d, f), "w_2": m(f, d)}
        ffn["activation"] = draw(st.sampled_from(sorted(ACTIVATIONS)))
        if draw(st.booleans()):
            ffn |= {"b_1": m(f), "b_2": m(d)}
        data["ffn"] = ffn
    for norm in ("norm1", "norm2", "final_norm"):
        part: dict[str, Any] = {}
        if draw(st.booleans()):
            part["gamma"] = m(d)
        if draw(st.booleans()):
            part["beta"] = m(d)
        part["eps"] = draw(st.sampled_from([1e-5, 1e-3, 0.1]))
        if norm != "final_norm" or draw(st.booleans()):
            data[norm] = part
    return data
