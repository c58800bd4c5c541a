"""Adding one thing touches one place: each kind is added to a copy and used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    "step.scale_norm.out": "Plus beta",
    "convention.scale_norm": "{name}: ScaleNorm, divided by the length of the row, eps = {eps}",
    "note.undefined.scale_norm": "Row {row} ({token}){where}: all its numbers are 0 and eps is 0; its normalized entries are set to 0.",
    "help.loss.mae": "the mean absolute difference from loss.target (x if left out)",
    "help.rst": "reStructuredText: headings and formulas.",
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
    root = _root(spec)
    return x, elementwise(b, f"{spec.name}.length", f"rho^({index})", root, square)


def scale_norm_gradient(spec: NormSpec, write: Write, quotient: Equation, g: Ref) -> Gradient:
    """dx = (dy - n sum(dy n)) / length."""
    n, length = quotient.out, quotient.inputs[1]
    product = gradient_product(write, g, n)
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
RST = '''"""Headings and formulas as reStructuredText."""

from __future__ import annotations

from blockcalc.explain.document import Heading, StepPiece
from blockcalc.notation.alphabets import Text


def rst(pieces, fragment=False):
    text = Text()
    out = []
    for piece in pieces:
        if isinstance(piece, Heading):
            out += [piece.title, "=" * len(piece.title)]
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
        '    "rst": Format("rst", ".rst", "rst:rst"),\n',
    ),
}
# where each name that a file may have is written on the page about the file
NAMED = {
    "`quick_gelu`, ": "`quick_gelu`, `mish` (`self_regularized`), ",
    "`post`, `pre`, or ": "`post`, `pre`, `sandwich`, or ",
    "kind `layer` or `rms`, ": "kind `layer`, `rms` or `scale`, ",
    "`{kind: sum}`, ": "`{kind: sum}`, `{kind: mae, target}`, ",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package with one of each added, each in its one place."""
    root = tmp_path_factory.mktemp("house")
    shutil.copytree(PACKAGE, root / "blockcalc", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("samples", "tests"):
        shutil.copytree(
            HERE.parent / name, root / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(HERE.parent / name, root / name)

    def edit(name: str, old: str, new: str) -> None:
        path = root / "blockcalc" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    for file, after, new in PLACES.values():
        edit(file, after, after + new)
    (root / "blockcalc" / "views" / "formats" / "rst.py").write_text(RST, encoding="utf-8")
    for old, new in NAMED.items():
        edit("docs/format.md", old, new)
    texts = "".join(f"    {key!r}: {text!r},\n" for key, text in TEXTS.items())
    # a text has its twin in Chinese; here the twin has the same words
    for table in ("messages/en.py", "messages/zh/main.py"):
        edit(table, "TEXTS: dict[str, str] = {\n", "TEXTS: dict[str, str] = {\n" + texts)
    (root / "block.json").write_text(json.dumps(BLOCK), encoding="utf-8")
    return root


def started(
    copy: Path, *args: str, module: str = "blockcalc", **env: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", module, *args], cwd=copy, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONIOENCODING": "utf-8", **env},
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
        ("cost", "block.json", "--rst"),
        ("cost", "block.json", "--markdown"),
        ("export", "block.json", "--rst"),
        ("export", "block.json", "--markdown"),
        ("export", "block.json", "--rst", "--grad"),
        ("export", "block.json", "--markdown", "--grad"),
        ("export", "block.json", "--latex", "--grad"),
        ("export", "block.json", "--typst", "--grad"),
        ("export", "block.json", "--latex", "--grad", "--loss", "mae"),
        ("export", "block.json", "--json", "--grad", "--loss", "mae"),
        ("export", "block.json", "--json"),
        ("shapes", "block.json", "--rst"),
        ("shapes", "block.json", "--markdown"),
        ("check", "block.json", "--blank"),
        ("check", "block.json", "--power"),
        ("mistakes",),
        ("schema",),
        ("format",),
        ("docs", "house"),
        *((name, "--help") for name in ("run", "check", "cost", "shapes", "export", "compare")),
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
    assert "reStructuredText: headings and formulas." in run(copy, "export", "--help")
    wrong = failed(copy, "cost", "--d-model", "8", "--norm-kind", "scal")
    assert "norm_kind is one of layer, rms, scale; this is 'scal'" in wrong
    assert "Attention\n=====" in run(copy, "export", "block.json", "-o", "-", "--rst")


def test_a_loss_that_was_added_is_chosen_worked_and_said(copy: Path) -> None:
    out = " ".join(run(copy, "grad", "block.json", "--loss", "mae", "--numeric").split())
    assert "- x|" in out
    assert "All gradients agree" in out
    wrong = failed(copy, "grad", "block.json", "--set", "loss={kind: maee, target: [[0]]}")
    assert "did you mean 'mae'?" in wrong
    schema = json.loads(run(copy, "schema"))
    assert "mae" in schema["properties"]["loss"]["properties"]["kind"]["enum"]
    assert "mae" in run(copy, "grad", "--help")


def checked(copy: Path, answers: dict[str, object], *args: str) -> str:
    (copy / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    done = started(copy, "check", "block.json", "answers.json", *args)
    assert done.returncode in (0, 1), done.stderr.decode()
    return " ".join(done.stdout.decode().split())


def test_answers_to_what_was_added_are_judged(copy: Path) -> None:
    steps = json.loads(run(copy, "export", "block.json", "--json"))["steps"]
    right = {name: step["value"] for name, step in steps.items()}
    assert {"norm1.length", "norm4", "ffn.act"} <= set(right)
    assert "first wrong" not in checked(copy, right).lower()
    for name in ("norm1.square", "norm1.length", "norm1", "norm4", "ffn.act"):
        off = [[x + 0.5 for x in v] if isinstance(v, list) else v + 0.5 for v in right[name]]
        assert f"The first wrong step is {name}" in checked(copy, {**right, name: off})
        assert json.loads(checked(copy, {name: off}, "--json"))
        assert "Check of answers.json =====" in checked(copy, {name: off}, "--rst")


def test_mistakes_in_a_norm_are_told_of_one_that_was_added(copy: Path) -> None:
    x = np.array(BLOCK["x"])
    square = (x**2).sum(axis=-1)
    said = checked(copy, {"norm1.length": np.sqrt(square).tolist()})
    assert "these are the values without eps" in said
    whole = (x / np.sqrt(square.sum() + 0.001)).tolist()
    assert "with mean and variance over the axes token, d_model" in checked(copy, {"norm1": whole})


def test_names_that_were_added_are_completed(copy: Path) -> None:
    for line, names in {
        "blockcalc run --norm ": ["post", "pre", "sandwich"],
        "blockcalc cost --norm-kind ": ["layer", "rms", "scale"],
        "blockcalc grad --loss ma": ["mae"],
        "blockcalc export --rs": ["--rst"],
        "blockcalc run --set ffn.activation=mi": ["ffn.activation=mish"],
    }.items():
        asked = {"_BLOCKCALC_COMPLETE": "complete_bash", "COMP_WORDS": line.replace(" ", "\n")}
        done = started(copy, **asked, COMP_CWORD=str(len(line.split(" ")) - 1))
        assert done.stdout.decode().split() == names


def test_a_missing_text_is_named(copy: Path, tmp_path: Path) -> None:
    shutil.copytree(copy / "blockcalc", tmp_path / "blockcalc")
    shutil.copy(copy / "block.json", tmp_path / "block.json")
    table = tmp_path / "blockcalc" / "messages" / "en.py"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    rest = [line for line in lines if "'flow.scale_norm'" not in line]
    assert len(rest) == len(lines) - 1
    table.write_text("".join(rest), encoding="utf-8")
    done = started(tmp_path, "run", "block.json")
    assert done.returncode == 70
    assert done.stderr.decode().startswith("the text 'flow.scale_norm' is missing")


def test_the_tests_of_the_project_pass_with_what_was_added(copy: Path) -> None:
    """What lists names is written first, by the command on the page about the house."""
    page = (copy / "blockcalc" / "docs" / "house.md").read_text(encoding="utf-8")
    (writes,) = re.findall(r"`pytest ([^`]* --write-goldens)`", page)
    rest = ["blockcalc/cli", "tests/gradients/test_losses.py"]
    rest += [f"tests/{name}" for name in ("messages", "ops", "nn", "shell", "views")]
    rest += ["-k", "not latin_word and not page_is_small"]  # twins in English; one order more
    for args in (writes.split(), rest):
        done = started(copy, "-p", "no:cacheprovider", *args, module="pytest")
        assert done.returncode == 0, done.stdout.decode()[-3000:]
