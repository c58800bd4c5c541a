"""An independent block agrees, and a trace replays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

import blockcalc
from blockcalc.nn.block import build
from blockcalc.nn.spec import Spec
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.op import Ref
from blockcalc.program.builder import Builder
from blockcalc.program.trace import steps
from tests.helpers import random_data, sample_specs
from tests.reference import work

pytestmark = pytest.mark.slow


@settings(max_examples=300)
@given(data=random_data())
def test_any_block_agrees_with_the_reference(data: dict[str, Any]) -> None:
    trace = blockcalc.run(blockcalc.load(data))
    for name, want in work(data).items():
        size = max(1.0, np.abs(want).max())
        np.testing.assert_allclose(trace[name], want, rtol=1e-9, atol=1e-9 * size, err_msg=name)


@settings(max_examples=60)
@given(data=random_data())
def test_float32_is_near_and_never_nan(data: dict[str, Any]) -> None:
    trace = blockcalc.run(blockcalc.load(data), dtype="float32")
    assert all(trace[name].dtype == np.float32 for name in trace)
    assert all(not np.isnan(trace[name]).any() for name in trace)


def _replay(spec: Spec) -> None:
    trace = blockcalc.run(spec)
    names = [eq.out.name for eq in trace.program.equations]
    assert len(set(names)) == len(names)
    assert not set(names) & {ref.name for ref in trace.program.inputs}
    for step in trace.steps():
        again = step.equation.op.forward(step.inputs)
        if spec.rounding:
            eq = step.equation
            again = spec.rounding.result(eq.op, eq.inputs, step.inputs, again)
        np.testing.assert_array_equal(again, step.value)


@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title[:18]}-{s.order}")
def test_every_step_replays(spec: Spec) -> None:
    _replay(spec)


@settings(max_examples=40)
@given(data=random_data())
def test_any_trace_replays(data: dict[str, Any]) -> None:
    try:
        _replay(blockcalc.load({**data, "round": {"decimals": 2}}))
    except blockcalc.BlockcalcError as error:
        if "rounded to 0" not in str(error):
            raise


@settings(max_examples=40)
@given(data=random_data())
def test_stopping_anywhere_gives_the_same_numbers(data: dict[str, Any]) -> None:
    for own in data.get("blocks", [data]):
        own["attn"]["softmax"] = "plain"
    full = blockcalc.run(blockcalc.load(data))
    assume(not any(name.endswith("attn.weights.max") for name in full))
    for name in [*full, *full.program.aliases]:
        part = {**data, "stop": name}
        if name in full.program.aliases and full.program.aliases[name] not in list(full):
            continue
        trace = blockcalc.run(blockcalc.load(part))
        assert list(trace)[-1] == full.program.find(name)
        np.testing.assert_array_equal(trace[name], full[name])


def _without_positions(data: dict[str, Any]) -> dict[str, Any]:
    """Take masks, positions, dropout and the batch away."""
    kept = {key: value for key, value in data.items() if key != "dropout"}
    for own in kept.get("blocks", [kept]):
        for key in ("causal", "padding", "mask", "rope"):
            own["attn"].pop(key, None)
    if np.ndim(kept["x"]) == 3:
        kept["x"] = kept["x"][0]
    return kept


@settings(max_examples=60)
@given(data=random_data())
def test_tokens_permuted_permute_the_output(data: dict[str, Any]) -> None:
    data = _without_positions(data)
    out = blockcalc.run(blockcalc.load(data))["out"]
    order = np.random.RandomState(0).permutation(len(data["x"]))
    permuted = blockcalc.run(blockcalc.load({**data, "x": [data["x"][i] for i in order]}))["out"]
    np.testing.assert_allclose(permuted, out[order], rtol=1e-9, atol=1e-9 * max(1, abs(out).max()))


@settings(max_examples=40)
@given(data=random_data())
def test_a_token_changes_only_its_own_row_of_the_ffn(data: dict[str, Any]) -> None:
    data = _without_positions(data)
    assume("ffn" in data)
    alone = {"x": data["x"], "norm": {**data["norm"], "order": "pre"}, "ffn": data["ffn"],
             "weight_layout": data["weight_layout"],
             "attn": {"out": np.zeros(np.shape(data["x"])).tolist()}}  # fmt: skip
    first = blockcalc.run(blockcalc.load(alone))
    changed = blockcalc.run(
        blockcalc.load({**alone, "x": [*data["x"][:-1], [9.0] * len(data["x"][0])]})
    )
    for name in first:
        if name.startswith(("ffn.", "residual2", "norm2")):
            assert np.array_equal(first[name][:-1], changed[name][:-1]), name


@settings(max_examples=40)
@given(data=random_data())
def test_a_causal_mask_hides_later_tokens(data: dict[str, Any]) -> None:
    data = _without_positions(data)
    for own in data.get("blocks", [data]):
        own["attn"] |= {"causal": True, "softmax": "shifted"}
    first = blockcalc.run(blockcalc.load(data))["out"]
    later = {**data, "x": [*data["x"][:-1], [3.0] * len(data["x"][0])]}
    np.testing.assert_allclose(
        blockcalc.run(blockcalc.load(later))["out"][:-1], first[:-1], rtol=1e-12
    )


def test_a_program_needs_no_numbers() -> None:
    spec = blockcalc.load({"x": [[1, 2]], "attn": {"out": [[1, 1]]}})
    program = build(spec)
    assert [ref.name for ref in program.inputs] == ["x", "attn.out"]
    assert program.equations[0].out.shape == (1, 2)


def test_plain_and_shifted_softmax_agree() -> None:
    rows: dict[str, Any] = {"x": [[1, 2], [3, -1]], "attn": {"w_q": [[1, 0], [0, 1]], "w_k": [[1, 1], [0, 1]],
                            "w_v": [[1, 0], [0, 1]]}}  # fmt: skip
    forms = [{**rows, "attn": {**rows["attn"], "softmax": form}} for form in ("plain", "shifted")]
    plain, shifted = (blockcalc.run(blockcalc.load(data)) for data in forms)
    np.testing.assert_allclose(plain["out"], shifted["out"], rtol=1e-12)
    assert "attn.weights.max" in list(shifted)
    assert "attn.weights.max" not in list(plain)


@pytest.mark.parametrize("score", [501.0, -501.0, 1e4])
def test_scores_out_of_range_are_shifted(score: float) -> None:
    data = {
        "x": [[1, 0], [0, 1]],
        "attn": {"w_q": [[1], [1]], "w_k": [[score], [score + (1 if score > 0 else -1)]],
                 "w_v": [[1, 0], [0, 1]], "softmax": "plain"},
    }  # fmt: skip
    trace = blockcalc.run(blockcalc.load(data))
    assert "attn.weights.shifted" in list(trace)
    want = [0.2689414214, 0.7310585786] if score > 0 else [0.7310585786, 0.2689414214]
    np.testing.assert_allclose(trace["attn.weights"], [want, want], rtol=1e-9)


def test_what_float64_cannot_hold_is_refused_by_name() -> None:
    data = {
        "x": [[1e200, 2]],
        "attn": {"w_q": [[1e200], [1]], "w_k": [[1], [1]], "w_v": [[1, 0], [0, 1]]},
    }
    with pytest.raises(
        blockcalc.BlockcalcError, match=r"attn\.q\[0\]\[0\] is too large for float64"
    ):
        blockcalc.run(blockcalc.load(data))


def test_minus_infinity_stands_only_where_an_operation_blocks() -> None:
    @dataclass(frozen=True)
    class Blocking(Elementwise):
        blocks = True

    ref = Ref("x", "X", ("token", "d_model"), (1, 2), "data")
    for kind, fine in ((Blocking, True), (Elementwise, False)):
        b = Builder({"x": (1, 2)})
        x = b.given("x", "X", ref.axes)
        b.add("y", "Y", kind.on(lambda a: a * 1.0, x), x)
        worked = steps(b.program(), {"x": np.array([[1.0, -np.inf]])})
        if fine:
            assert next(worked).value.tolist() == [[1, -np.inf]]
        else:
            with pytest.raises(blockcalc.BlockcalcError, match="too large"):
                next(worked)
