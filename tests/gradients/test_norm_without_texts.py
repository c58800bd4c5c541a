"""The backward pass through a norm that has no texts of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import blockcalc
from blockcalc.explain.document import Heading, StepPiece
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.run import work_gradients
from blockcalc.messages import en
from blockcalc.nn.norms import NORMS, Norm, rms_norm
from blockcalc.nn.spec import NormSpec
from blockcalc.ops.elementwise import Elementwise, Slope
from blockcalc.ops.expr import call
from blockcalc.ops.op import Gradient, Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.program import Equation, Write


def gradient(spec: NormSpec, write: Write, quotient: Equation, g: Ref) -> Gradient:
    """Write the gradient of RMSNorm with names of its own for its parts."""
    n, rho = quotient.out, quotient.inputs[1]
    overlap = write("overlap", Elementwise.on(lambda a, b: a * b, g, n), g, n)
    mean = write("mean_overlap", Reduce("mean", count=g.axes[-1]), overlap)
    op = Slope.on(lambda a, n, m, s: call("over", a - n * m, s), g, n, mean, rho)
    return [("", op, (g, n, mean, rho))]


def test_a_norm_without_texts_about_its_gradient_is_explained(
    monkeypatch: pytest.MonkeyPatch, more_texts: Callable[[dict[str, str]], None]
) -> None:
    monkeypatch.setitem(NORMS, "other", Norm(rms_norm, gradient, "Other"))
    of_rms = {key: text for key, text in en.TEXTS.items() if "rms_norm" in key}
    more_texts({key.replace("rms_norm", "other_norm"): text for key, text in of_rms.items()})
    spec = blockcalc.load({"x": [[1, 2, 4]], "attn": {"out": [[1, 0, 1]]}, "stop": "norm1"})
    (block,) = spec.blocks
    norms = tuple(replace(norm, kind="other") for norm in block.norms)
    spec = replace(spec, blocks=(replace(block, norms=norms),))
    pieces = list(explain_gradient(spec, work_gradients(spec, "mse")))
    assert "Backward" in [piece.title for piece in pieces if isinstance(piece, Heading)]
    titles = [piece.title for piece in pieces if isinstance(piece, StepPiece)]
    assert {"overlap", "mean_overlap"} <= set(titles)
