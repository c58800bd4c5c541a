"""The same numbers in another order are named before any mathematics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.check.reasons.sentences import reasons_text
from blockcalc.docs.samples import folder
from blockcalc.mistakes.alternative import Block
from tests.check.helpers import SMALL, check_arrays, made, right, small, verdicts

WIDE: dict[str, Any] = {
    "x": (np.arange(12).reshape(3, 4) % 5 - 1.7).tolist(),
    "attn": {
        "n_heads": 2,
        **{f"w_{p}": np.random.RandomState(i).normal(size=(4, 4)).round(2).tolist() for i, p in enumerate("qkvo")},
    },
    "ffn": {key: SMALL["ffn"][key] for key in ("activation",)}
    | {"w_1": np.eye(4).tolist(), "w_2": np.eye(4).tolist()},
}  # fmt: skip


# a block without weights, in which few mistakes can be made
GIVEN = {"attn": {"out": [[0.2, 0.7, -0.6], [0.5, 0.1, 0.8], [0.3, 0.4, 0.2]]}}


def wide() -> Block:
    return made(WIDE)


def frames(block: Block, arrays: Any, read_as: str = "float64", **more: Any) -> list[tuple[str, str]]:  # fmt: skip
    return [(f.step, f.name) for f in check_arrays(block, arrays, read_as, **more).frames]


@pytest.mark.parametrize(
    ("step", "change", "name"),
    [
        ("attn.scores", lambda a: a.T, "transposed"),
        ("ffn.pre", lambda a: a.T, "transposed"),
        ("ffn.pre", lambda a: a[[1, 0, 2]], "rows_permuted"),
        ("attn.q", lambda a: a[:, [2, 0, 1]], "columns_permuted"),
    ],
)
@pytest.mark.parametrize("read_as", ["float64", "float32"])
def test_another_order(step: str, change: Any, name: str, read_as: str) -> None:
    arrays = {step: change(right(small())[step])}
    checked = check_arrays(small(), arrays, read_as, tolerance=None)
    assert [(f.step, f.name) for f in checked.frames] == [(step, name)]
    assert verdicts(checked) == {step: "equivalent"}
    assert checked.ok


def test_heads_and_tokens_exchanged() -> None:
    block = wide()
    z = right(block)["attn.z"]
    assert frames(block, {"attn.z": z.swapaxes(0, 1)}) == [("attn.z", "axes_exchanged")]


def test_tokens_before_the_batch() -> None:
    block = made({**SMALL, "x": [SMALL["x"], (np.array(SMALL["x"]) * 2).tolist()]})
    q = right(block)["attn.q"]
    assert frames(block, {"attn.q": q.swapaxes(0, 1)}) == [("attn.q", "axes_exchanged")]
    assert frames(block, {"attn.q": q[::-1]}) == [("attn.q", "batch_exchanged")]


def test_states_of_a_layer_too_early_or_late() -> None:
    block = made({"x": SMALL["x"], "blocks": [GIVEN] * 2})
    values = right(block)
    outs = [b.out.name for b in block.program.blocks]
    assert frames(block, {outs[0]: values[outs[1]]}) == [(outs[0], "layer_off_by_one")]
    assert frames(block, {outs[0]: np.array(SMALL["x"])}) == [(outs[0], "layer_off_by_one")]


def test_the_final_norm_is_in_it() -> None:
    block = made({"x": SMALL["x"], "norm": "pre", "blocks": [GIVEN], "final_norm": {"eps": 1e-5}})
    values = right(block)
    last = block.program.blocks[-1].out.name
    final = block.program.equations[-1].out.name
    found = frames(block, {last: values[final]})
    assert (last, "final_norm_included") in found


def test_right_numbers_have_no_frame() -> None:
    for block in (small(), wide()):
        assert not frames(block, right(block))


def test_equal_numbers_have_no_order() -> None:
    block = made({"x": [[1, 1], [1, 1]], "attn": {"out": [[0, 0], [0, 0]]}, "stop": "residual1"})
    assert not frames(block, {"residual1": np.full((2, 2), 3.0)})


def test_wrong_numbers_in_another_order_are_wrong() -> None:
    q = right(small())["attn.q"].T + 0.1
    checked = check_arrays(small(), {"attn.q": q})
    assert verdicts(checked) == {"attn.q": "wrong"}
    assert not checked.frames


def test_q_and_k_permuted_alike_are_another_way() -> None:
    values = right(small())
    own = {name: values[name][:, [2, 0, 1]] for name in ("attn.q", "attn.k")}
    own["attn.scores"] = values["attn.scores"]
    checked = check_arrays(small(), own)
    assert verdicts(checked)["attn.scores"] in ("right", "rounded")
    assert {verdicts(checked)[n] for n in ("attn.q", "attn.k")} == {"equivalent"}
    assert checked.ok


def test_exchanged_columns_used_later_are_not_another_order() -> None:
    block = small()
    values = right(block)
    exchanged = values["attn.q"][:, ::-1]
    went_on = {"attn.q": exchanged, "attn.scores": exchanged @ values["attn.k"].T}
    assert frames(block, went_on) == []
    assert verdicts(check_arrays(block, went_on)) == {"attn.q": "wrong", "attn.scores": "follows"}
    alone = {"attn.q": exchanged, "attn.scores": values["attn.scores"]}
    assert frames(block, alone) == [("attn.q", "columns_permuted")]


@pytest.mark.slow
def test_a_layer_off_by_one_is_the_reason_of_its_step() -> None:
    block = made({"x": SMALL["x"], "blocks": [{k: SMALL[k] for k in ("attn", "ffn")}] * 2})
    first, second = (b.out.name for b in block.program.blocks)
    checked = check_arrays(block, {first: right(block)[second]})
    said = f"the layer is off by one: these are the numbers of {second}"
    assert reasons_text(checked, first) == said
    assert checked.next is None


@pytest.mark.slow
def test_a_block_before_the_last_is_found_at_the_final_norm() -> None:
    block = made({"x": SMALL["x"], "norm": "pre", "blocks": [{k: SMALL[k] for k in ("attn", "ffn")}] * 2, "final_norm": {}})  # fmt: skip
    first, last = (b.out.name for b in block.program.blocks)
    values = right(block)
    assert frames(block, {"final_norm": values[first]}) == [("final_norm", "layer_off_by_one")]
    assert frames(block, {"final_norm": values[last]}) == []
    assert frames(block, {"final_norm": np.array(SMALL["x"])}) == []


def test_a_split_form_under_the_name_of_the_whole_is_pointed_at() -> None:
    spec = blockcalc.load(folder() / "two_heads.yaml")
    block = Block(spec, blockcalc.run(spec))
    (lost,) = check_arrays(block, {"attn.q": right(block)["attn.q_heads"]}).unreadable
    assert lost.why == "this is 2×3×2; the step is 3×4 (attn.q_heads is 2×3×2)"
