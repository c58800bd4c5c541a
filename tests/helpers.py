"""What several tests share: the samples, random specs, and running the program."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import strategies as st

import blockcalc
from blockcalc import __main__ as entry
from blockcalc.cli.app import main
from blockcalc.docs.samples import files, folder
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import StepPiece
from blockcalc.explain.steps import explain
from blockcalc.gradients.explain import explain_gradient
from blockcalc.messages import ENGLISH, set_language
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.spec import Spec
from blockcalc.program.trace import Trace
from blockcalc.shell.language import language_of
from blockcalc.views.errors import report

SAMPLES = files()
TINY = str(folder() / "tiny.yaml")
TINY_SPEC = blockcalc.sample("tiny")
THREE = str(folder() / "three_features.yaml")
STACK = str(folder() / "stack.yaml")
HERE = Path(__file__).parent
FEW_SAMPLES = [p if p.stem in ("tiny", "two_heads", "causal") else pytest.param(p, marks=pytest.mark.slow)
               for p in SAMPLES]  # fmt: skip
ERRORS = ("strict", "backslashreplace")  # of standard output and standard error


def process(
    *args: str, stdin: bytes | None = None, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as a process, without the environment's own colour settings."""
    return subprocess.run(
        [sys.executable, "-m", "blockcalc", *args],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**_environment(), **env},
        check=False,
        timeout=120,
    )


def cli(
    *args: str, stdin: bytes | None = None, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line like ``process``, but in this one, which saves starting Python."""
    encoding = env.get("PYTHONIOENCODING", "utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, errors) for errors in ERRORS)
    environment = patch.dict(os.environ, {**_environment(), **env}, clear=True)
    collecting, code = gc.isenabled(), 0
    with pytest.MonkeyPatch.context() as here, environment:
        here.chdir(cwd or ".")
        here.setitem(sys.modules, "__main__", entry)
        here.setattr(sys, "argv", [entry.__file__, *args])
        here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin or b"")))
        here.setattr(sys, "stdout", out)
        here.setattr(sys, "stderr", err)
        try:
            set_language(language_of(args))
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            set_language(ENGLISH)
            if collecting:
                gc.enable()
            out.flush()
            err.flush()
    return subprocess.CompletedProcess(args, code, out.buffer.getvalue(), err.buffer.getvalue())


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}


def text(done: subprocess.CompletedProcess[bytes]) -> str:
    """Give the output of a process that must have succeeded."""
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@cache
def sample_specs() -> list[Spec]:
    """Every sample in both orders, its own first."""
    specs = [blockcalc.load(path) for path in SAMPLES]
    return [
        s
        for spec in specs
        for s in (spec, spec.with_order("pre" if spec.order == "post" else "post"))
    ]


def slow_in_other_order() -> list[Any]:
    """Every sample in its own order, and marked slow in the other."""
    return [
        pytest.param(spec, marks=pytest.mark.slow) if i % 2 else spec
        for i, spec in enumerate(sample_specs())
    ]


def every_line(spec: Spec, **depth: Any) -> list[Any]:
    """Give all lines of arithmetic of a spec."""
    trace = blockcalc.run(spec)
    pieces = explain(spec, trace, Depth(detail=Detail.cells, **depth))
    return [line for piece in pieces for line in getattr(piece, "lines", ())]


def matrix(rng: np.random.RandomState, *shape: int, scale: float = 1.0) -> Any:
    """Draw a matrix with one decimal more than it needs."""
    return np.round(rng.normal(0, scale, shape), 3).tolist()


class Drawer:
    """Draws the parts of a file."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.rng = np.random.RandomState(draw(st.integers(0, 2**31)))
        self.scale = draw(st.sampled_from([0.3, 1.0, 5.0]))
        self.out_in = draw(st.booleans())

    def one(self, *choices: Any) -> Any:
        """Draw one of a few."""
        return self.draw(st.sampled_from(choices))

    def count(self, most: int) -> int:
        """Draw a number from 1."""
        return self.draw(st.integers(1, most))

    def yes(self) -> bool:
        """Draw true or false."""
        return self.draw(st.booleans())

    def vector(self, n: int) -> Any:
        """Draw a vector."""
        return matrix(self.rng, n, scale=self.scale)

    def weight(self, n: int, m: int) -> Any:
        """Draw a weight in the layout of the file, sometimes turned."""
        w = matrix(self.rng, *((m, n) if self.out_in else (n, m)), scale=self.scale)
        return {"value": np.transpose(w).tolist(), "transpose": True} if self.one(0, 0, 0, 1) else w

    def bits(self, *shape: int) -> Any:
        """Draw ones and zeros."""
        return (self.rng.random_sample(shape) < 0.7).astype(int).tolist()

    def attention(self, t: int, d: int, batch: int | None) -> dict[str, Any]:
        """Draw an attention of any kind."""
        g, m, e = self.one(1, 1, 2), self.one(1, 1, 2), self.count(4)
        h = g * m
        fused = self.yes()
        v = e if fused else self.count(3)
        with_o = self.yes() or h * v != d
        attn: dict[str, Any] = {"n_heads": h, "n_kv_heads": g} if h > 1 else {}
        if fused:
            attn["w_qkv"] = self.weight(d, (h + 2 * g) * e)
            attn["qkv_layout"] = self.one("blocks", "per_head")
            attn |= {"b_qkv": self.vector((h + 2 * g) * e)} if self.yes() else {}
        else:
            widths = {"q": h * e, "k": g * e, "v": g * v}
            attn |= {f"w_{part}": self.weight(d, n) for part, n in widths.items()}
            attn |= {f"b_{part}": self.vector(n) for part, n in widths.items() if self.yes()}
        if with_o:
            attn["w_o"] = self.weight(h * v, d)
            attn |= {"b_o": self.vector(d)} if self.yes() else {}
        attn |= self.masks(t, h, batch)
        if e % 2 == 0 and self.yes():
            attn["rope"] = {"style": self.one("half", "interleaved"), "start": self.one(0, 3),
                            "theta": self.one(100, 10000)}  # fmt: skip
        if (scale := self.one(None, "none", 0.25)) is not None:
            attn["scale"] = scale
        if form := self.one(None, "plain", "shifted"):
            attn["softmax"] = form
        return attn

    def masks(self, t: int, h: int, batch: int | None) -> dict[str, Any]:
        """Draw masks of any rank."""
        found: dict[str, Any] = {"causal": True} if self.one(0, 0, 1) else {}
        if self.one(0, 0, 1):
            rows = 1 if batch is None or self.yes() else batch
            words = [["keep" if w else "pad" for w in row] for row in self.bits(rows, t)]
            found["padding"] = words if rows != 1 else words[0]
        if self.one(0, 0, 1):
            shapes: list[tuple[int, ...]] = [(t, t)] + ([(h, t, t)] if h > 1 else [])
            shapes += [] if batch is None else [(batch, 1, t, t)]
            kind = self.one("keep", "add")
            shape = self.one(*shapes)
            found["mask"] = {kind: self.bits(*shape) if kind == "keep"
                             else matrix(self.rng, *shape)}  # fmt: skip
        return found

    def ffn(self, d: int) -> dict[str, Any]:
        """Draw an FFN, plain or gated."""
        f = self.count(5)
        names = ("gate", "up", "down") if self.yes() else ("1", "2")
        found: dict[str, Any] = {"activation": self.one(*sorted(ACTIVATIONS))}
        for name in names:
            n, m = (f, d) if name in ("2", "down") else (d, f)
            found[f"w_{name}"] = self.weight(n, m)
            found |= {f"b_{name}": self.vector(m)} if self.yes() else {}
        return found

    def norm_part(self, d: int) -> dict[str, Any]:
        """Draw gamma, beta and eps."""
        part = {key: self.vector(d) for key in ("gamma", "beta") if self.yes()}
        return part | {"eps": self.one(1e-5, 1e-3, 0.1)}

    def block(self, t: int, d: int, batch: int | None) -> dict[str, Any]:
        """Draw one block."""
        found = {"attn": self.attention(t, d, batch), "norm1": self.norm_part(d)}
        if self.one(0, 1, 1):
            found |= {"ffn": self.ffn(d), "norm2": self.norm_part(d)}
        return found


@st.composite
def random_data(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a whole file: any sizes, any parts, any conventions, one block or a stack."""
    drawer = Drawer(draw)
    t, d = drawer.count(4), drawer.count(4)
    batch = drawer.one(None, None, 2)
    shape = (t, d) if batch is None else (batch, t, d)
    norm = {"order": drawer.one("pre", "post"), "kind": drawer.one("layer", "layer", "rms"),
            "unit_offset": drawer.yes(), "eps_place": drawer.one("inside", "outside")}  # fmt: skip
    if d > 1 and norm["kind"] == "layer":
        norm["variance"] = drawer.one("population", "sample")
    data = {"x": matrix(drawer.rng, *shape, scale=drawer.scale), "norm": norm,
            "weight_layout": "out_in" if drawer.out_in else "in_out"}  # fmt: skip
    if drawer.one(0, 0, 0, 1):
        data["blocks"] = [drawer.block(t, d, batch), {**drawer.block(t, d, batch), "repeat": 2}]
    else:
        data |= drawer.block(t, d, batch)
        if drawer.one(0, 0, 1):
            places = ["attn.out", *(["ffn.out"] if "ffn" in data else [])]
            keep = {place: drawer.bits(*shape) for place in places}
            data["dropout"] = {"p": 0.25, "at": places, "training": True, "keep": keep}
    if drawer.yes():
        data["final_norm"] = drawer.norm_part(d)
    return data


def work(data: Any) -> Trace:
    """Read a file, or its content, and run it."""
    return blockcalc.run(blockcalc.load(data))


def close(got: Any, want: Any, tolerance: float = 1e-9) -> None:
    """Assert that numbers are as expected, up to an absolute tolerance."""
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance)


def caught(call: Any) -> blockcalc.BlockcalcError:
    """Give the error of a call that must fail because of what it is given."""
    with pytest.raises(blockcalc.BlockcalcError) as error:
        call()
    assert error.value.exit_code == 2
    return error.value


def refused(call: Any) -> str:
    """Give the message of a call that must fail, as the command line shows it."""
    return report(caught(call))


def refused_run(data: Any, **keys: Any) -> str:
    """Give the message of a file that must fail when it is read or run."""
    return refused(lambda: blockcalc.run(blockcalc.load(data, **keys)))


def pieces(spec: Spec, **depth: Any) -> list[Any]:
    """Explain a run."""
    return list(explain(spec, blockcalc.run(spec), Depth(**depth)))


def steps(spec: Spec, **depth: Any) -> list[StepPiece]:
    """Explain a run; give only its steps."""
    return [p for p in pieces(spec, **depth) if isinstance(p, StepPiece)]


def leaves(value: Any) -> list[Any]:
    """List the entries of nested lists."""
    return [one for inner in value for one in leaves(inner)] if isinstance(value, list) else [value]


def yaml_file(folder: Path, body: str) -> Path:
    """Write a file to read."""
    path = folder / "a.yaml"
    path.write_text(body, encoding="utf-8")
    return path


def gradient_steps(spec: Spec, trace: Trace, **depth: Any) -> list[StepPiece]:
    """Explain a run and its backward pass; give only the steps."""
    return [p for p in explain_gradient(spec, trace, Depth(**depth)) if isinstance(p, StepPiece)]


def changed_trace(trace: Trace, name: str, by: float) -> Trace:
    """Add to the first entry of a matrix."""
    own = trace.arrays[name].copy()
    own[0, 0] += by
    return replace(trace, arrays={**trace.arrays, name: own})
