"""To add one thing, touch one place: an activation, a norm, an order, a loss and a format are added to a copy and tried."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import HERE

pytestmark = pytest.mark.slow
PACKAGE = HERE.parent / "blockcalc"
TEXTS = {
    "activation.mish": "Mish, x tanh(ln(1 + e^x))",
    "order.sandwich": "sandwich: a norm before and after each layer, inside the residual",
    "word.sandwich": "sandwich",
    "section.scale_norm": "ScaleNorm {index}",
    "prose.scale_norm": "Each row is divided by its length.",
    "flow.scale_norm": "ScaleNorm",
    "step.scale_norm.square": "Squared length of each row",
    "step.scale_norm.length": "Length of each row",
    "step.scale_norm.normalized": "Normalized rows",
    "step.scale_norm.scaled": "Times gamma",
    "step.scale_norm.shifted": "Plus beta",
    "step.scale_norm.out": "Normalized rows",
    "convention.scale_norm": "{name}: ScaleNorm, divided by the length of the row, eps = {eps}",
    "note.undefined.scale_norm": "Row {row} ({token}){where}: all its numbers are 0 and eps is 0; its normalized entries are set to 0.",
    "section.grad.scale_norm": "Backward through a ScaleNorm",
    "prose.grad.scale_norm": "The length is divided by once more.",
    "loss.mae": "L = mean over all N entries of |{name} - loss.target|",
    "loss.mae.x": "L = mean over all N entries of |{name} - x|",
}  # fmt: skip
MISH = """    "mish": _activation(
        "Mish", lambda x: x * call("tanh", call("ln", 1.0 + exp(x))),
        "self_regularized", gated="mishglu",
    ),
"""
MAE = """        Loss("mae", lambda d: abs(d), key="target", symbol="Y", difference=True, mean=True),
"""
SCALE_NORM = '''
def scale_norm(b: Builder, x: Ref, spec: NormSpec, index: str) -> tuple[Ref, Ref]:
    """ScaleNorm: x, and its length."""
    square = b.add(f"{spec.name}.square", f"q^({index})", Reduce("sum", SQUARE), x)
    root = _root(spec.eps, spec.outside)
    return x, elementwise(b, f"{spec.name}.length", f"rho^({index})", root, square)


def scale_norm_gradient(spec: NormSpec, write: Write, quotient: Equation, g: Ref) -> Gradient:
    """dx = (dy - n sum(dy n)) / length."""
    n, length = quotient.out, quotient.inputs[1]
    product = write("product", Elementwise.on(lambda a, b: a * b, g, n), g, n)
    total = write("overlap", Reduce("sum"), product)
    op = Slope.on(lambda a, n, m, s: call("over", a - n * m, s), g, n, total, length)
    return [("", op, (g, n, total, length))]


NORMS["scale"] = Norm(scale_norm, scale_norm_gradient, "ScaleNorm")
'''
SANDWICH = '''
def sandwich(x: Ref, sublayers: Sequence[Sublayer]) -> Ref:
    """x = x + norm(work(norm(x)))."""
    for s in sublayers:
        before, after = s.norms
        x = s.add(x, after(s.work(before(x))))
    return x


ORDERS["sandwich"] = Order(sandwich, norms=2, normalized=False)
'''
PLAIN = '''"""Headings and worked lines as plain text."""

from blockcalc.explain.document import Heading, StepPiece
from blockcalc.notation.alphabets import Text


def plain(pieces, fragment=False):
    text = Text()
    out = []
    for piece in pieces:
        if isinstance(piece, Heading):
            out.append(f"# {piece.title}")
        if isinstance(piece, StepPiece):
            out.append(f"{piece.name}: {text.render(piece.left)} = {text.render(piece.formula)}")
    return "\\n".join(out).encode()
'''
BLOCK = {
    "x": [[1.5, -0.5, 2], [0.25, 1, -1]],
    "norm": {"order": "sandwich", "kind": "scale", "eps": 0.001},
    "norm3": {"gamma": [1, 2, 3]},
    "attn": {"w_q": [[1, 0], [0, 1], [1, 1]], "w_k": [[0, 1], [1, 0], [1, 1]], "w_v": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]},
    "ffn": {"activation": "mish", "w_1": [[1, 0], [0, 1], [1, -1]], "w_2": [[1, 0, 1], [0, 1, 1]]},
}  # fmt: skip

# what is added: its one place, beside its texts and the file of a format
PLACES = {
    "activation": ("nn/activations.py", "ACTIVATIONS: dict[str, Activation] = {\n", MISH),
    "norm": (
        "nn/norms.py",
        '    "rms": Norm(rms_norm, rms_norm_gradient, "RMSNorm"),\n}\n',
        SCALE_NORM,
    ),
    "order": ("nn/orders.py", '    "pre": Order(pre_norm, normalized=False),\n}\n', SANDWICH),
    "loss": (
        "program/loss.py",
        '        Loss("dot", lambda y, g: y * g, key="with", symbol="G"),\n',
        MAE,
    ),
    "format": (
        "views/__init__.py",
        "FORMATS = {\n",
        '    "plain": Format("plain", ".txt", "plain:plain"),\n',
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package with one of each added, each in its one place."""
    root = tmp_path_factory.mktemp("house")
    shutil.copytree(PACKAGE, root / "blockcalc", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HERE.parent / "samples", root / "samples")

    def edit(name: str, old: str, new: str) -> None:
        path = root / "blockcalc" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    for file, after, new in PLACES.values():
        edit(file, after, after + new)
    (root / "blockcalc" / "views" / "plain.py").write_text(PLAIN, encoding="utf-8")
    texts = "".join(f"    {key!r}: {text!r},\n" for key, text in TEXTS.items())
    edit("messages/en.py", "TEXTS: dict[str, str] = {\n", "TEXTS: dict[str, str] = {\n" + texts)
    (root / "block.json").write_text(json.dumps(BLOCK), encoding="utf-8")
    return root


def started(copy: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "blockcalc", *args], cwd=copy, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip


def run(copy: Path, *args: str) -> str:
    done = started(copy, *args)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def failed(copy: Path, *args: str) -> str:
    done = started(copy, *args)
    assert done.returncode == 2
    return done.stderr.decode()


@pytest.mark.parametrize(
    "args",
    [
        ("run", "block.json", "--detail", "cells"),
        ("run", "block.json", "--norm", "pre"),
        ("run", "samples/tiny.yaml", "--norm", "sandwich"),
        ("run", "samples/stack.yaml", "--norm", "sandwich"),
        ("grad", "block.json", "--numeric"),
        ("grad", "block.json", "--chain", "--detail", "cells"),
        ("grad", "block.json", "--depths", "1,2"),
        ("grad", "block.json", "--loss", "mae", "--numeric"),
        ("grad", "block.json", "--loss", "mae", "--chain", "--lr", "0.1", "--detail", "cells"),
        ("grad", "block.json", "--loss", "mae", "--depths", "1"),
        (
            "grad",
            "block.json",
            "--set",
            "loss.kind=mae",
            "--set",
            "loss.target=[[1, 0, 0], [0, 1, 1]]",
        ),
        ("grad", "--help"),
        ("compare", "block.json", "samples/three_features.yaml"),
        ("compare", "block.json"),
        ("shapes", "block.json"),
        ("cost", "block.json"),
        ("cost", "block.json", "--double", "d_model"),
        ("cost", "--d-model", "8", "--heads", "2", "--norm", "sandwich", "--norm-kind", "scale"),
        ("cost", "block.json", "--plain"),
        ("export", "block.json", "--plain"),
        ("export", "block.json", "--plain", "--grad"),
        ("export", "block.json", "--latex", "--grad"),
        ("export", "block.json", "--latex", "--grad", "--loss", "mae"),
        ("export", "block.json", "--json", "--grad", "--loss", "mae"),
        ("export", "block.json", "--json"),
        ("schema",),
        ("run", "--help"),
    ],
    ids=" ".join,
)
def test_what_was_added_goes_through_every_command_and_format(
    copy: Path, args: tuple[str, ...]
) -> None:
    assert run(copy, *args)


def test_what_was_added_is_seen(copy: Path) -> None:
    out = run(copy, "run", "block.json")
    assert "sandwich: a norm before and after each layer" in out
    assert (
        "x → ScaleNorm → attention → ScaleNorm → + x → ScaleNorm → FFN → ScaleNorm → + residual1"
        in " ".join(out.split())
    )
    assert "Mish(x) = x×tanh(ln(1 + exp(x)))" in out
    assert "norm4" in out
    assert run(copy, "run", "block.json", "--set", "ffn.activation=self_regularized") == out
    gated = failed(copy, "run", "block.json", "--set", "ffn.activation=mishglu")
    assert "mishglu is mish with w_gate, w_up and w_down" in gated
    agreed = run(copy, "grad", "block.json", "--numeric")
    assert "All gradients agree" in agreed
    norms_alone = run(copy, "grad", "block.json", "--set", "attn={out: [[1, 0, 0], [0, 1, 1]]}")
    assert "softmax and norms by their closed forms" in norms_alone
    assert "sandwich" in run(copy, "grad", "block.json", "--depths", "1")
    sides = run(copy, "compare", "block.json")
    assert "post-norm: a norm after each residual" in sides
    assert "sandwich: a norm before and after each layer" in sides
    assert "pre-norm" not in sides
    assert "Write in the format plain." in run(copy, "export", "--help")
    wrong = failed(copy, "cost", "--d-model", "8", "--norm-kind", "scal")
    assert "norm_kind is one of layer, rms, scale; this is 'scal'" in wrong
    assert "# Attention" in run(copy, "export", "block.json", "-o", "-", "--plain")


def test_a_loss_that_was_added_is_chosen_worked_and_said(copy: Path) -> None:
    out = " ".join(run(copy, "grad", "block.json", "--loss", "mae", "--numeric").split())
    assert "- x|" in out
    assert "All gradients agree" in out
    wrong = failed(copy, "grad", "block.json", "--set", "loss={kind: maee, target: [[0]]}")
    assert "did you mean 'mae'?" in wrong
    schema = json.loads(run(copy, "schema"))
    assert "mae" in schema["properties"]["loss"]["properties"]["kind"]["enum"]
    assert "mae" in run(copy, "grad", "--help")
