"""Heads, layouts, gated FFNs and batches: published values and conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.explain.document import StepPiece
from blockcalc.explain.steps import explain
from blockcalc.explain.summary import composed_formulas
from blockcalc.notation.alphabets import Text
from blockcalc.ops.movement import Columns, Join, Movement, Repeat, Split
from blockcalc.ops.op import Ref
from tests.blocks import TO_Z, WEIGHTS
from tests.helpers import close, matrix, work


@pytest.mark.parametrize(("layout", "q"), [("in_out", [7, 10]), ("out_in", [5, 11])])
def test_which_way_round_a_weight_is(layout: str, q: list[float]) -> None:
    w = [[1, 2], [3, 4]]
    data = {
        "x": [[1, 2]],
        "weight_layout": layout,
        "attn": {"w_q": w, "w_k": w, "w_v": w},
        "stop": "attn.q",
    }
    spec = blockcalc.load(data)
    assert blockcalc.run(spec)["q"].tolist() == [q]
    step = next(p for p in explain(spec, blockcalc.run(spec)) if isinstance(p, StepPiece))
    assert Text().render(step.formula) == ("X W_Q" if layout == "in_out" else "X W_Qᵀ")


def test_a_sheet_with_one_token_a_column() -> None:
    data = {**TO_Z, "x": {"value": [[1, 0, 5], [0, 1, 6]], "transpose": True}, "attn": WEIGHTS}
    assert work(data)["x"].tolist() == [[1, 0], [0, 1], [5, 6]]


@pytest.mark.parametrize(
    ("layout", "want"),
    [
        ("blocks", [[0.8068242641, 1.5], [1.5, 1.2689414214]]),
        ("per_head", [[1.2689414214, 1.9525741268], [1.5, 1.5]]),
    ],
)
def test_fused_layouts(layout: str, want: Any) -> None:
    data = {"x": [[1, 0], [0, 1]], "stop": "attn.concat",
            "attn": {"n_heads": 2, "qkv_layout": layout, "w_qkv": [[1, 0, 2, 1, 0, 1], [0, 1, 1, 0, 3, 2]]}}  # fmt: skip
    close(work(data)["attn.concat"], want)


def test_fused_and_separate_agree_for_grouped_heads() -> None:
    rng = np.random.RandomState(1)
    x, w, bias = matrix(rng, 3, 8), np.array(matrix(rng, 8, 16)), np.array(matrix(rng, 16))
    parts = {
        "w_q": w[:, :8],
        "w_k": w[:, 8:12],
        "w_v": w[:, 12:],
        "b_q": bias[:8],
        "b_k": bias[8:12],
        "b_v": bias[12:],
    }
    common: dict[str, Any] = {"x": x, "stop": "attn.concat"}
    heads = {"n_heads": 4, "n_kv_heads": 2}
    a = work({**common, "attn": {**heads, **parts}})
    b = work({**common, "attn": {**heads, "w_qkv": w, "b_qkv": bias}})
    close(a["attn.concat"], b["attn.concat"], 0)
    order = [*range(4), 8, 9, 12, 13, *range(4, 8), 10, 11, 14, 15]
    c = work(
        {
            **common,
            "attn": {**heads, "w_qkv": w[:, order], "b_qkv": bias[order], "qkv_layout": "per_head"},
        }
    )
    close(a["attn.concat"], c["attn.concat"], 0)


def test_query_heads_share_key_heads_in_order() -> None:
    data = {"x": [[1, 0, 0, 0]], "stop": "attn.concat",
            "attn": {"n_heads": 4, "n_kv_heads": 2, "w_q": np.zeros((4, 4)), "w_k": np.zeros((4, 2)),
                     "w_v": [[10, 20], [0, 0], [0, 0], [0, 0]]}}  # fmt: skip
    spec = blockcalc.load(data)
    trace = blockcalc.run(spec)
    assert trace["attn.concat"].tolist() == [[10, 10, 20, 20]]
    head: Any = next(explain(spec, trace))
    said = " | ".join(line for _, lines in head.facts for line in lines)
    assert "query heads share key heads: 1, 2 use 1; 3, 4 use 2" in said
    assert "4 heads" in said


def test_joining_heads_keeps_tokens_in_rows() -> None:
    op = Join()
    assert op.forward([np.array([[[1, 2], [5, 6]], [[3, 4], [7, 8]]])]).tolist() == [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
    ]
    ref = Ref("z", "Z", ("head", "token", "d_v"), (2, 2, 2), "computed")
    for op_ in (Split(2), Join(), Repeat(2), Columns((1, 0))):
        x = (
            ref
            if isinstance(op_, Join | Repeat)
            else Ref("q", "Q", ("token", "d_q"), (2, 4), "computed")
        )
        values = np.arange(8.0).reshape(x.shape)
        axes, shape = op_.result([x])
        moved = op_.forward([values])
        assert moved.shape == shape
        assert len(axes) == len(shape)
        assert isinstance(op_, Movement)
        for at in np.ndindex(shape):
            assert values[op_.cell(at, [x]).at] == moved[at]  # type: ignore[attr-defined]
    assert Text().render(Columns((0, 1, 2, 5)).formula([])) == "columns(1..3, 6)"


def test_the_half_that_goes_through_silu() -> None:
    data = {"x": [[1]], "norm": "pre", "attn": {"out": [[0]]}, "norm2": {"gamma": [0], "beta": [1]},
            "ffn": {"activation": "swish", "w_gate": [[2]], "w_up": [[3]], "w_down": [[1]]}}  # fmt: skip
    trace = work(data)
    close(trace["ffn.gated"], [[5.2847824679]])
    assert list(trace)[-6:] == [
        "ffn.gate",
        "ffn.gate_act",
        "ffn.up",
        "ffn.gated",
        "ffn.out",
        "residual2",
    ]


def test_a_batch_is_its_sequences_one_by_one() -> None:
    rng = np.random.RandomState(3)
    attn = {f"w_{p}": matrix(rng, 4, 4) for p in "qkvo"} | {"n_heads": 2, "causal": True}
    ffn = {
        "w_1": matrix(rng, 4, 6),
        "b_1": matrix(rng, 6),
        "w_2": matrix(rng, 6, 4),
        "activation": "gelu",
    }
    rest: dict[str, Any] = {"attn": attn, "ffn": ffn, "norm1": {"gamma": matrix(rng, 4)}}
    xs = [matrix(rng, 3, 4), matrix(rng, 3, 4)]
    both = work({"x": xs, **rest})
    for i, x in enumerate(xs):
        close(both["out"][i], work({"x": x, **rest})["out"], 1e-12)
    spec = blockcalc.load({"x": xs, "tokens": [["a", "b", "c"], ["d", "e", "f"]], **rest})
    pieces: list[Any] = list(explain(spec, blockcalc.run(spec)))
    grids = next(p for p in pieces if getattr(p, "name", "") == "attn.scores").grids
    assert [g.caption for g in grids] == [f"batch {b}, head {h}" for b in (1, 2) for h in (1, 2)]
    assert grids[2].row_labels == ("d", "e", "f")


def test_a_later_token_changes_no_earlier_output_under_a_causal_mask() -> None:
    spec = blockcalc.load(folder() / "causal.yaml")
    changed = blockcalc.load(folder() / "causal.yaml", [("x.2", "[5, 5, -5, 1]")])
    close(blockcalc.run(spec)["out"][:2], blockcalc.run(changed)["out"][:2], 0)


def test_one_head_is_no_heads_and_zero_weights_make_pre_norm_the_identity() -> None:
    rng = np.random.RandomState(4)
    attn: dict[str, Any] = {f"w_{p}": matrix(rng, 4, 4) for p in "qkv"} | {"w_o": np.zeros((4, 4))}
    ffn = {"w_1": matrix(rng, 4, 6), "w_2": np.zeros((6, 4))}
    data: dict[str, Any] = {"x": matrix(rng, 3, 4), "norm": "pre", "attn": attn, "ffn": ffn}
    close(work(data)["out"], data["x"], 0)
    assert list(work(data)) == list(work({**data, "attn": {**attn, "n_heads": 1}}))


def test_conventions_are_named() -> None:
    data = {"x": [[1, 2, 4]], "norm": {"order": "pre", "variance": "sample", "eps_place": "outside", "unit_offset": True},
            "attn": {"out": [[0, 0, 0]]}, "norm1": {"gamma": [1, 1, 1]},
            "ffn": {"w_gate": [[1], [1], [1]], "w_up": [[1], [1], [1]], "w_down": [[1, 1, 1]]}}  # fmt: skip
    spec = blockcalc.load(data)
    head: Any = next(explain(spec, blockcalc.run(spec)))
    said = dict(head.facts)["conventions"]
    for words in ("norm1: variance divides by n - 1, eps = 1e-5", "norm1: eps is added after the root",
                  "norm1: multiplied by 1 + gamma", "gated FFN: the activated gate multiplies the up projection"):  # fmt: skip
        assert words in said
    early = blockcalc.load({**TO_Z, "attn": {**WEIGHTS, "n_heads": 2}, "stop": "attn.k"})
    assert next(explain(early, blockcalc.run(early)))


def test_formulas_of_heads_and_gates_are_bracketed_and_short() -> None:
    spec = blockcalc.load(folder() / "llama_style.yaml")
    formulas = [f"{Text().render(a)} = {Text().render(b)}"
                for a, b in composed_formulas(blockcalc.run(spec).program)]  # fmt: skip
    assert formulas == [
        "H⁽¹⁾ = RMSNorm(X)",
        "O = join(softmax(mask(Q_rope K_repeatᵀ / √d_head, C)) V_repeat) W_O",
        "R⁽¹⁾ = X + O",
        "H⁽²⁾ = RMSNorm(R⁽¹⁾)",
        "F = (SiLU(H⁽²⁾ W_gate) ⊙ H⁽²⁾ W_up) W_down",
        "R⁽²⁾ = R⁽¹⁾ + F",
    ]
