"""Masks: of a head, of a batch, and rows that see nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.steps import explain
from blockcalc.nn.attention import KEEPERS
from blockcalc.nn.block import program_of
from blockcalc.notation.alphabets import Text
from blockcalc.reading.load import load
from tests.blocks import BLOCK, TO_Z, WEIGHTS, changed_block
from tests.helpers import close, every_line, matrix, work
from tests.read_back import check, from_text, printed


@pytest.mark.slow
def test_masks_by_head_where_there_is_one_head() -> None:
    keep = [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    one = blockcalc.run(changed_block(attn={**BLOCK["attn"], "mask": {"keep": keep}}))
    two = blockcalc.run(changed_block(attn={**BLOCK["attn"], "mask": {"keep": keep[0]}}))
    assert np.array_equal(one["out"], two["out"])
    add = [[[0, float("-inf"), 0]] * 3]
    assert blockcalc.run(changed_block(attn={**BLOCK["attn"], "mask": {"add": add}}))[
        "attn.weights"
    ].shape == (3, 3)


@pytest.mark.slow
def test_masks_of_a_batch_in_a_block_that_repeats() -> None:
    keep = [[[[1, 0]] * 2], [[[1, 1]] * 2]]
    own = {**BLOCK["attn"], "mask": {"keep": keep}}
    x = [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]
    trace = blockcalc.run(load({"x": x, "blocks": [{"attn": own, "repeat": 2}]}))
    assert np.array_equal(trace["blocks.0.1.attn.weights"][0], [[1, 0], [1, 0]])
    assert trace["blocks.0.1.attn.weights"][1, 0, 1] > 0


@pytest.mark.parametrize(
    ("mask", "weights"),
    [
        ({"mask": {"keep": [[True, False], [True, True]]}}, [[1, 0], [0.5, 0.5]]),
        ({"mask": {"keep": [[1, 0], [1, 1]]}}, [[1, 0], [0.5, 0.5]]),
        ({"mask": {"add": [[0, "-inf"], [0, 0]]}}, [[1, 0], [0.5, 0.5]]),
        ({"mask": {"add": [[0, "-inf"], [0, 0]], "keep": [[1, 1], [0, 1]]}}, [[1, 0], [0, 1]]),
        ({"causal": True}, [[1, 0], [0.5, 0.5]]),
        ({"padding": ["keep", "pad"]}, [[1, 0], [1, 0]]),
        ({"causal": True, "padding": ["pad", "keep"]}, [[0, 0], [0, 1]]),
    ],
)
def test_masks(mask: dict[str, Any], weights: Any) -> None:
    spec = blockcalc.load({**TO_Z, "attn": {**WEIGHTS, **mask}})
    trace = blockcalc.run(spec)
    close(trace["weights"], weights)
    assert "attn.masked" in trace
    for line in every_line(spec):
        if line.middle:
            check(printed(line, Text()), from_text)


@pytest.mark.parametrize("softmax", ["plain", "shifted"])
def test_a_query_that_sees_nothing_gets_zeros_and_a_note(softmax: str) -> None:
    data = {**TO_Z, "attn": {**WEIGHTS, "softmax": softmax, "mask": {"keep": [[0, 0], [1, 1]]}}}
    spec = blockcalc.load(data)
    trace = blockcalc.run(spec)
    assert trace["weights"][0].tolist() == [0, 0]
    assert trace["z"][0].tolist() == [0, 0]
    notes = [
        n
        for p in explain(spec, trace, Depth(detail=Detail.cells))
        for n in getattr(p, "notes", None) or ()
    ]
    assert any("Row 1 (t1) has all its keys masked" in note for note in notes)


def test_masks_of_every_rank() -> None:
    rng = np.random.RandomState(2)
    w = {f"w_{p}": matrix(rng, 4, 4) for p in "qkv"}
    keep = rng.randint(0, 2, (2, 3, 3))
    keep[:, :, 0] = 1
    single = {"x": matrix(rng, 3, 4), "stop": "attn.weights"}
    by_head = work({**single, "attn": {**w, "n_heads": 2, "mask": {"keep": keep}}})["weights"]
    assert ((by_head > 0) == keep).all()
    batch = {"x": [matrix(rng, 3, 4), matrix(rng, 3, 4)], "stop": "attn.weights"}
    for heads in (1, 2):
        attn = {**w, "n_heads": heads, "mask": {"keep": keep[:, None]}}
        got = work({**batch, "attn": attn})["weights"]
        want = keep[:, None] if heads == 2 else keep
        assert ((got > 0) == want).all()
    full = rng.randint(0, 2, (2, 2, 3, 3))
    full[..., 0] = 1
    got = work({**batch, "attn": {**w, "n_heads": 2, "mask": {"keep": full}}})["weights"]
    assert ((got > 0) == full).all()
    three = {"x": [matrix(rng, 3, 4)] * 3, "stop": "attn.weights"}
    got = work({**three, "attn": {**w, "n_heads": 2, "mask": {"keep": keep}}})["weights"]
    assert ((got > 0) == keep).all()


def test_a_mask_of_ones_and_zeros_is_one_line_in_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEEPERS, "window", ("W", ("query", "key")))
    spec = load({"x": [[1, 0], [0, 1]], "attn": {**WEIGHTS, "causal": True}})
    shapes = {**spec.shapes, "attn.window": (2, 2)}
    program = program_of(spec, {k: v for k, v in shapes.items() if k != "attn.causal"})
    assert program.aliases["attn.allowed"] == "attn.window"
    (settings,) = (s.settings for s in program.sections if s.kind == "attention")
    assert (settings.masked, settings.causal, settings.added) == (True, False, False)
    both = program_of(spec, shapes)
    allowed = next(eq for eq in both.equations if eq.out.name == "attn.allowed")
    assert [ref.symbol for ref in allowed.inputs] == ["C", "W"]
