"""Corners of the mathematics that no sample walks into."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.checkpoints.layer_file import layer_file
from blockcalc.errors import LookupFault
from blockcalc.nn.block import build
from blockcalc.nn.dropout import Draw
from blockcalc.ops.broadcast import Along, Total
from blockcalc.ops.derivative import derivative
from blockcalc.ops.elementwise import SQUARE
from blockcalc.ops.expr import Cell, Dots, Fold, Num, Slot, operations
from blockcalc.ops.matmul import Gram
from blockcalc.ops.movement import Columns, Gather, Placed, Repeat
from blockcalc.ops.op import Op, Ref
from blockcalc.ops.reduce import Everywhere, Reduce, Whole
from blockcalc.program.backward import with_gradients
from blockcalc.program.loss import LOSSES
from blockcalc.reading.load import load
from tests.helpers import HERE

DATA: dict[str, Any] = {
    "x": [[1, 0], [0, 1]],
    "attn": {"w_q": {"eye": 2}, "w_k": {"eye": 2}, "w_v": {"eye": 2}},
    "norm": {"order": "pre"},
}
X = Ref("x", "X", ("token", "d"), (2, 3), "data")


def test_counts_of_a_fold() -> None:
    cells = tuple(Cell(0, (i,)) for i in range(4))
    assert operations(Fold("+", cells)) == 3
    assert operations(Dots()) == 0
    assert operations(Num(1.0) + Num(2.0)) == 0


def test_what_has_no_gradient_says_so() -> None:
    with pytest.raises(TypeError):
        Op().vjp((X,), 0, X)
    with pytest.raises(TypeError):
        derivative(Fold("+", (Slot(0),)), 0)
    assert Reduce("max").vjp((X,), 0, X) is None
    assert Reduce("mean", SQUARE).keeps((X,), {0}) == {0}
    assert Reduce("mean").keeps((X,), {0}) == set()


def test_rules_of_what_only_a_backward_pass_has() -> None:
    heads = Ref("h", "H", ("head", "token", "e"), (4, 2, 3), "computed")
    for op, refs in (
        (Draw(0.5, 0, 0, ("token",), (2,)), ()),
        (Gather(2, "kv_head"), (heads,)),
        (Placed((1,), 3, "d"), (Ref("c", "C", ("token", "e"), (2, 1), "computed"),)),
        (Gram(), (X, X)),
        (Total((0,)), (X,)),
        (Along(3, "d"), (Ref("v", "v", ("token",), (2,), "computed"),)),
        (Whole(), (X,)),
        (Everywhere(), (X,)),
    ):
        assert op.rule(refs)
        assert op.per_cell(refs) >= 0 if refs else True
    assert Gather(2, "kv_head").sums_over((heads,)) == ("head",)
    assert Total((0,)).sums_over((X,)) == ("token",)


def test_movements_and_their_gradients_are_each_others_mirror() -> None:
    rng = np.random.RandomState(0)
    k, h = rng.normal(size=(2, 3, 4)), rng.normal(size=(6, 3, 4))
    assert np.isclose((Repeat(3).forward([k]) * h).sum(), (k * Gather(3, "g").forward([h])).sum())
    x, c = rng.normal(size=(3, 5)), rng.normal(size=(3, 2))
    op = Columns((4, 1))
    assert np.isclose((op.forward([x]) * c).sum(), (x * Placed((4, 1), 5, "d").forward([c])).sum())


def test_the_start_of_a_program() -> None:
    program = build(load(DATA))
    assert program.start() is program
    whole = with_gradients(program, LOSSES["sum"])
    assert whole.start() == program
    assert whole.find("grad.scores") == "grad.attn.scores"
    assert whole.find("scores") == "attn.scores"
    with pytest.raises(LookupFault) as caught:
        whole.find("grad.scored")
    assert "grad.attn.scores" in str(caught.value.faults[0].hint)
    stack = build(
        load(
            {
                **{k: v for k, v in DATA.items() if k != "attn"},
                "blocks": [{"attn": DATA["attn"]}] * 2,
            }
        )
    )
    with pytest.raises(LookupFault, match="several"):
        with_gradients(stack, LOSSES["sum"]).find("grad.scores")


def test_a_norm_that_leads_nowhere_has_no_gradient() -> None:
    data = {
        "x": [[1.0, 2.0, 4.0]],
        "attn": {"out": [[1, 1, 1]]},
        "norm": {"order": "pre"},
        "stop": "residual1",
    }
    program = with_gradients(build(load(data)), LOSSES["sum"])
    assert program.find("grad.x") == "grad.residual1"
    assert "grad.norm1" not in program.refs()


def test_a_model_without_gammas_has_its_width_from_the_queries(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    import json

    from safetensors.numpy import load_file, save_file

    shutil.copytree(HERE / "checkpoints" / "opt", tmp_path / "opt")
    config = tmp_path / "opt" / "config.json"
    config.write_text(
        json.dumps({**json.loads(config.read_text()), "layer_norm_elementwise_affine": False})
    )
    own = load_file(tmp_path / "opt" / "model.safetensors")
    kept = {n: v for n, v in own.items() if "layer_norm" not in n}
    save_file(kept, tmp_path / "opt" / "model.safetensors")
    data = layer_file(open_checkpoint(str(tmp_path / "opt")), 0, tmp_path / "a.yaml").data
    width = next(v.shape[1] for n, v in own.items() if n.endswith("q_proj.weight"))
    assert data["x"]["random"][1] == width
    assert data["norm1"] == {}
    name = next(n for n in kept if n.endswith("layers.0.self_attn.q_proj.weight"))
    save_file({**kept, name: np.ones(4, dtype=np.float32)}, tmp_path / "opt" / "model.safetensors")
    with pytest.raises(blockcalc.BlockcalcError, match="2 sizes are expected"):
        layer_file(open_checkpoint(str(tmp_path / "opt")), 0, tmp_path / "a.yaml")
