"""The command grad: what it shows, exports and refuses, and stacks side by side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blockcalc.errors import UsageError
from blockcalc.gradients.run import gradient_of, parameters, work_gradients
from blockcalc.gradients.stacks import depths
from blockcalc.reading.load import load
from tests.helpers import (
    SAMPLES,
    THREE,
    cli,
    text,
)

pytestmark = pytest.mark.slow


def test_stacks_side_by_side() -> None:
    spec = load(THREE)
    rows = list(depths(spec, [1, 2, 4], None))
    assert [(r.order, r.blocks, r.block) for r in rows] == [
        (order, n, i) for order in ("post", "pre") for n in (1, 2, 4) for i in range(n)
    ]
    alone = work_gradients(spec)
    assert rows[0].loss == alone["loss"][0]
    total = np.sqrt(sum((gradient_of(alone, r.name) ** 2).sum() for r in parameters(alone.program)))
    assert abs(rows[0].norm - total) < 1e-12
    assert abs(rows[0].rms - np.sqrt((alone["out"] ** 2).mean())) < 1e-12
    share = np.linalg.norm(alone["attn.out"]) / np.linalg.norm(alone["x"])
    assert abs((rows[0].shares[0] or 0) - share) < 1e-12
    stack = load(next(str(p) for p in SAMPLES if p.stem == "stack"))
    with pytest.raises(UsageError, match="stack already"):
        list(depths(stack, [1], None))


def test_the_command_shows_and_exports(tmp_path: Path) -> None:
    out = text(cli("grad", THREE, "--numeric", "--lr", "0.1"))
    assert "All gradients agree" in out
    assert "loss before 1.08436, after" in out
    data = json.loads(text(cli("export", THREE, "--grad", "--json")))
    assert data["steps"]["grad.attn.w_q"]["formula"] == "dW_Q = Xᵀ dQ"
    assert data["steps"]["grad.attn.w_q"]["latex"] == r"\mathrm{d}W_{Q} = X^{\top}\, \mathrm{d}Q"
    target = tmp_path / "a.npz"
    assert cli("export", THREE, "--grad", "-o", str(target)).returncode == 0
    z = np.load(target)
    trace = work_gradients(load(THREE))
    assert np.array_equal(z["grad.attn.w_q"], trace["grad.attn.w_q"])
    assert "grad.attn.out" in dict(z["aliases"])
    some = text(cli("grad", THREE, "--steps", "grad.scores", "--no-prose"))
    assert "dS = dS_scaled / √d_head" in some
    stacked = text(cli("grad", THREE, "--depths", "1,2"))
    assert "post-norm" in stacked
    assert "pre-norm" in stacked
    assert "Forward in brief" not in text(cli("grad", THREE, "--detail", "cells"))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("grad", THREE, "--loss", "dot"), "loss dot needs a matrix"),
        (("grad", THREE, "--numeric", "--round", "3"), "it cannot be combined with rounding"),
        (("grad", THREE, "--lr", "0"), "--lr is a number above 0"),
        (("grad", THREE, "--lr", "fast"), "--lr is a number above 0"),
        (("grad", THREE, "--depths", "1,0"), "--depths takes numbers"),
        (("export", THREE, "--json", "--chain"), "need --grad"),
        (("grad", THREE, "--set", "loss.with=[[1]]"), "loss.with is 1×1"),
    ],
)
def test_what_the_command_refuses(args: tuple[str, ...], said: str) -> None:
    done = cli(*args)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stdout == b""


@pytest.mark.parametrize("option", [("--numeric",), ("--lr", "1"), ("--chain",), ("--steps", "x")])
def test_stacks_are_shown_alone(option: tuple[str, ...]) -> None:
    done = cli("grad", THREE, "--depths", "1", *option)
    assert done.returncode == 2
    assert "--depths shows only stacks" in done.stderr.decode()
    assert (
        "remove stop" in cli("grad", THREE, "--depths", "1", "--set", "stop=attn.z").stderr.decode()
    )
