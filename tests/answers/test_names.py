"""The names of other programs, each held against the numbers of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.answers.answer import Answers, Matched, Unreadable, written
from blockcalc.answers.maps import MAPS
from blockcalc.answers.names import match
from blockcalc.answers.read import read_answers
from blockcalc.ops.op import Array
from blockcalc.program.trace import Trace
from tests.answers.llama_text import tensor_text

T, C, H, D, F = 5, 6, 3, 2, 7
DRAW = np.random.RandomState(5)


def _normal(*shape: int) -> Array:
    return np.round(DRAW.normal(0, 1, shape), 3)


def _block(
    kind: str = "layer", gated: bool = False, fused: bool = False, bias: bool = True, **attn: Any
) -> dict[str, Any]:
    """Give a block with three heads."""
    weights: dict[str, Any] = {"n_heads": H, "w_o": _normal(H * D, C), **attn}
    if fused:
        weights |= {"w_qkv": _normal(C, 3 * H * D), "b_qkv": _normal(3 * H * D)}
    else:
        weights |= {f"w_{p}": _normal(C, H * D) for p in "qkv"}
    ffn: dict[str, Any] = {"activation": "silu" if gated else "gelu"}
    if gated:
        ffn |= {"w_gate": _normal(C, F), "w_up": _normal(C, F), "w_down": _normal(F, C)}
    else:
        ffn |= {"w_1": _normal(C, F), "w_2": _normal(F, C)}
        ffn |= {"b_1": _normal(F), "b_2": _normal(C)} if bias else {}
    own = {"gamma": _normal(C)} | ({"beta": _normal(C)} if kind == "layer" else {})
    return {"attn": weights, "ffn": ffn, "norm1": own, "norm2": own}


def _run(order: str = "pre", kind: str = "layer", final: bool = False, **more: Any) -> Trace:
    data = {"x": _normal(T, C), "norm": {"order": order, "kind": kind}, **_block(kind, **more)}
    if final:
        data["final_norm"] = {"gamma": _normal(C)}
    return blockcalc.run(blockcalc.load(data))


def _stack(order: str = "pre", kind: str = "layer", final: bool = True, **more: Any) -> Trace:
    blocks = [_block(kind, **more) for _ in range(3)]
    data = {"x": _normal(T, C), "norm": {"order": order, "kind": kind}, "blocks": blocks}
    if final:
        data["final_norm"] = {"gamma": _normal(C)}
    return blockcalc.run(blockcalc.load(data))


def _given(arrays: Mapping[str, Array], dump: bool = True) -> Answers:
    return Answers(
        "a.npz", tuple(written(n, a, read_as="float64") for n, a in arrays.items()), dump=dump
    )


def _value(trace: Trace, step: str) -> Array:
    return trace.arrays[trace.program.find(step)]


def _holds(trace: Trace, found: Matched, steps: set[str]) -> None:
    """Check that exactly these steps are matched, each with its own numbers in its own shape."""
    assert not found.unreadable
    assert {trace.program.find(step) for step in steps} == set(found.steps)
    for step, answer in found.steps.items():
        assert np.array_equal(answer.values, trace.arrays[step]), step
        assert answer.judged.shape == answer.half.shape == answer.values.shape


def _tokens_first(heads: Array) -> Array:
    return heads.swapaxes(-3, -2)


# names as they are --------------------------------------------------------------------------------


def test_names_aliases_and_ends() -> None:
    trace = _run()
    names = {"attn.q": "attn.q", "norm1.out": "norm1", "scores": "attn.scores", "ffn": "ffn.out"}
    found = match(_given({n: _value(trace, s) for n, s in names.items()}), trace.program)
    _holds(trace, found, set(names.values()))
    assert found.remarks == ()


def test_gradients_have_names_too() -> None:
    trace = blockcalc.grad(blockcalc.sample("tiny"), "sum")
    arrays = {n: trace.arrays[n] for n in ("grad.x", "grad.attn.w_q", "attn.q")}
    _holds(trace, match(_given(arrays), trace.program), set(arrays))


def test_axes_of_length_1_are_left_out() -> None:
    trace = _run()
    arrays = {
        "attn.q": _value(trace, "attn.q")[None],
        "norm1.mean": _value(trace, "norm1.mean")[None, :, None],
        "attn.weights": _value(trace, "attn.weights")[None],
    }
    found = match(_given(arrays), trace.program)
    _holds(trace, found, set(arrays))


def test_another_shape_stays_as_it_was_given() -> None:
    trace = _run()
    found = match(_given({"attn.q": _value(trace, "attn.q").T}), trace.program)
    assert found.steps["attn.q"].values.shape == (H * D, T)


def test_a_typed_name_that_is_not_a_step_is_an_error() -> None:
    trace = _run()
    arrays = {"attn.scors": np.ones(2), "norm": np.ones(2)}
    typed = match(_given(arrays, dump=False), trace.program)
    assert "did you mean 'attn.scores'" in typed.unreadable[0].text()
    assert len(typed.unreadable) == 2
    dumped = match(_given(arrays), trace.program)
    assert dumped.unmatched == tuple(arrays)
    assert not dumped.unreadable
    assert "attn.scors" in dumped.unmatched
    assert typed.unmatched == ()


def test_an_end_of_several_names_them() -> None:
    trace = _run()
    (line,) = match(_given({"std": np.ones(T)}, dump=False), trace.program).unreadable
    assert "norm1.std" in line.why


def test_two_answers_for_one_step() -> None:
    trace = _run()
    q = _value(trace, "attn.q")
    same = match(_given({"attn.q": q, "q": q}), trace.program)
    assert not same.remarks
    typed = match(_given({"attn.q": q, "q": q + 1}, dump=False), trace.program)
    first, second = typed.unreadable
    assert (first.name, second.name) == ("attn.q", "q")
    assert first.why == "q gives other numbers for the same step, attn.q; keep one of them"
    assert second.why == "attn.q gives other numbers for the same step, attn.q; keep one of them"
    assert not typed.steps
    assert typed.handed_in == {"attn.q"}
    dumped = match(_given({"attn.q": q, "q": q + 1}), trace.program)
    assert np.array_equal(dumped.steps["attn.q"].values, q)
    assert len(dumped.remarks) == 1


def test_a_step_left_open_under_one_name_may_be_given_under_another() -> None:
    trace = _run()
    q = _value(trace, "attn.q")
    blank = written("q", np.full(q.shape, np.nan), judged=False)
    for given in ((blank, written("attn.q", q)), (written("attn.q", q), blank)):
        found = match(Answers("a.yaml", given, left_open=("attn.k",)), trace.program)
        assert np.array_equal(found.steps["attn.q"].values, q)
        assert not found.unreadable
        assert found.named == {"attn.q", "attn.k"}
        assert found.handed_in == {"attn.q"}


def test_new_weights_need_a_learning_rate() -> None:
    trace = _run()
    (line,) = match(_given({"new.attn.w_q": np.eye(2)}, dump=False), trace.program).unreadable
    assert line.text().endswith("which needs its learning rate (write --lr 0.1)")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("norm1.mean: [0,5, 1,5, 2,5, 3,5, 4,5]", False),
        ("norm1.mean: [0,5, -1,5, 2,5, 3,5, 4,5]", False),
        ("norm1.mean: [0, 5, 1, 5, 2, 5, 3, 5, 4, 5]", True),
        ("norm1.mean: [0,5,1,5,2,5,3,5,4,5]", True),
        ("norm1.mean: [0,5, 1,5, 2]", True),
    ],
)
def test_decimal_commas(tmp_path: Path, text: str, read: bool) -> None:
    (tmp_path / "a.yaml").write_text(text)
    found = match(read_answers(tmp_path / "a.yaml"), _run().program)
    assert bool(found.steps) == read
    if not read:
        why = "norm1.mean is 5, and this is 10 (decimals use a point: 0.5, not 0,5)"
        assert found.unreadable[0].why == why


def test_a_map_comes_first() -> None:
    trace = _run()
    arrays = {
        "layer/queries": _value(trace, "attn.q"),
        "attn.k": _value(trace, "attn.v"),
        "odd": np.ones(2),
    }
    renames = {"layer/queries": "q", "attn.k": "attn.v", "odd": "attn.odd"}
    found = match(_given(arrays), trace.program, renames)
    assert set(found.steps) == {"attn.q", "attn.v"}
    assert [u.name for u in found.unreadable] == ["odd"]


def test_a_map_says_which_names_no_answer_has_and_which_targets_are_no_step() -> None:
    trace = _run()
    renames = {"my_q": "attn.q", "my.k": "attn.kk", "layer.v": "attn.v", "gone": "attn.scors"}
    answers = {"my_q": _value(trace, "attn.q"), "my_k": _value(trace, "attn.k")}
    found = match(_given(answers), trace.program, renames)
    absent, targets = found.warnings
    assert absent == (
        "Names of the map that no answer has: my.k (did you mean 'my_k'?), layer.v, gone."
    )
    assert "attn.scors (did you mean 'attn.scores'?)" in targets
    assert "attn.v" not in targets
    assert match(_given(answers), trace.program, {"my_q": "attn.q"}).warnings == ()


def test_a_map_may_name_a_stack_and_what_could_not_be_read() -> None:
    trace = _run()
    answers = _given({"hidden_states": np.ones((2, T, C))})
    answers = replace(answers, unreadable=(Unreadable("odd", "why"),))
    renames = {"hidden_states.1": "out", "hidden_states": "x", "odd": "attn.q"}
    assert match(answers, trace.program, renames).warnings == ()


def test_points_by_step() -> None:
    trace = _run()
    given = Answers("a", (), points=(("scores", 2.0), ("nothing", 1.0)))
    found = match(given, trace.program)
    assert found.points == {"attn.scores": 2.0}
    assert [u.name for u in found.unreadable] == ["points.nothing"]


# TransformerLens ----------------------------------------------------------------------------------


def _lens(trace: Trace, own: str = "", layer: int = 0) -> tuple[dict[str, Array], set[str]]:
    def v(step: str) -> Array:
        return _value(trace, own + step)

    before = "x" if layer == 0 else f"blocks.{layer - 1}.out"
    arrays = {
        "hook_resid_pre": _value(trace, before),
        "ln1.hook_scale": v("norm1.std")[:, None],
        "ln1.hook_normalized": v("norm1.normalized"),
        **{f"attn.hook_{p}": v(f"attn.{p}").reshape(T, H, D) for p in "qkv"},
        "attn.hook_attn_scores": v("attn.masked"),
        "attn.hook_pattern": v("attn.weights"),
        "attn.hook_z": _tokens_first(v("attn.z")),
        "hook_attn_out": v("attn.out"),
        "hook_resid_mid": v("residual1"),
        "ln2.hook_scale": v("norm2.std")[:, None],
        "ln2.hook_normalized": v("norm2.normalized"),
        "mlp.hook_pre": v("ffn.pre"),
        "mlp.hook_post": v("ffn.act"),
        "hook_mlp_out": v("ffn.out"),
        "hook_resid_post": v("residual2"),
    }
    steps = {
        "norm1.std",
        "norm1.normalized",
        "attn.q",
        "attn.k",
        "attn.v",
        "attn.masked",
        "attn.weights",
        "attn.concat",
        "attn.out",
        "residual1",
        "norm2.std",
        "norm2.normalized",
        "ffn.pre",
        "ffn.act",
        "ffn.out",
        "residual2",
    }
    return {f"blocks.{layer}.{n}": a[None] for n, a in arrays.items()}, {own + s for s in steps}


def test_transformer_lens() -> None:
    trace = _run(causal=True)
    arrays, steps = _lens(trace)
    found = match(_given({**arrays, "hook_embed": np.ones((1, T, C))}), trace.program)
    _holds(trace, found, steps | {"x"})
    assert found.unmatched == ("hook_embed",)
    assert found.remarks == ("Names of TransformerLens recognized: 17.",)


def test_transformer_lens_of_a_stack() -> None:
    trace = _stack(causal=True)
    arrays: dict[str, Array] = {}
    steps: set[str] = {"x", "final_norm.normalized"}
    for layer in range(3):
        one, own = _lens(trace, f"blocks.{layer}.", layer)
        arrays |= one
        steps |= own
    arrays["ln_final.hook_normalized"] = _value(trace, "final_norm.normalized")[None]
    _holds(trace, match(_given(arrays), trace.program), steps)


def test_transformer_lens_with_rms_norm_rotary_and_gate() -> None:
    trace = _run(kind="rms", gated=True, rope={"theta": 100, "style": "half"})
    arrays = {
        "ln1.hook_scale": _value(trace, "norm1.rms")[:, None],
        "attn.hook_rot_q": _tokens_first(_value(trace, "attn.q_rope")),
        "attn.hook_rot_k": _tokens_first(_value(trace, "attn.k_rope")),
        "mlp.hook_pre": _value(trace, "ffn.gate"),
        "mlp.hook_pre_linear": _value(trace, "ffn.up"),
        "mlp.hook_post": _value(trace, "ffn.gated"),
    }
    given = _given({f"blocks.0.{n}": a[None] for n, a in arrays.items()})
    steps = {"norm1.rms", "attn.q_rope", "attn.k_rope", "ffn.gate", "ffn.up", "ffn.gated"}
    _holds(trace, match(given, trace.program), steps)


def test_a_block_takes_the_layer_that_is_asked_for() -> None:
    trace = _stack(causal=True)
    one = _run(causal=True)
    arrays: dict[str, Array] = {}
    for layer in range(3):
        arrays |= _lens(trace, f"blocks.{layer}.", layer)[0]
    for asked in (None, 2):
        found = match(_given(arrays), one.program, layer=asked)
        at = asked or 0
        assert np.array_equal(
            found.steps["attn.out"].values, _value(trace, f"blocks.{at}.attn.out")
        )
        assert f"layer {at}; answers of other layers: 34" in found.remarks[1]
    few = {n: a for n, a in arrays.items() if n.startswith("blocks.2")}
    assert len(match(_given(few), one.program).steps) == 17


# Hugging Face and PyTorch -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", ["hidden_states.{}", "hidden_states[{}]", "decoder.hidden_states_{}"]
)
def test_hidden_states(form: str) -> None:
    trace = _stack()
    arrays = {
        form.format(k): _value(trace, n)
        for k, n in enumerate(("x", "blocks.0.out", "blocks.1.out", "out"))
    }
    attentions = {f"attentions.{k}": _value(trace, f"blocks.{k}.attn.weights") for k in range(3)}
    found = match(_given({n: a[None] for n, a in {**arrays, **attentions}.items()}), trace.program)
    _holds(
        trace,
        found,
        {
            "x",
            "blocks.0.residual2",
            "blocks.1.residual2",
            "final_norm",
            *(f"blocks.{k}.attn.weights" for k in range(3)),
        },
    )


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("prefix", ["", "encoder_", "outputs."])
def test_hidden_states_and_attentions_in_one_array_each(prefix: str, batch: bool) -> None:
    trace = _stack()
    states = np.stack([_value(trace, n) for n in ("x", "blocks.0.out", "blocks.1.out", "out")])
    weights = np.stack([_value(trace, f"blocks.{k}.attn.weights") for k in range(3)])
    last = _value(trace, "out")
    arrays = {"hidden_states": states, "attentions": weights, "last_hidden_state": last[None]}
    if batch:
        arrays = {n: a if "last" in n else a[:, None] for n, a in arrays.items()}
    found = match(_given({prefix + n: a for n, a in arrays.items()}), trace.program)
    steps = {"x", "blocks.0.residual2", "blocks.1.residual2", "final_norm"}
    _holds(trace, found, steps | {f"blocks.{k}.attn.weights" for k in range(3)})
    assert found.remarks == ("Names of Hugging Face hidden states and attentions recognized: 8.",)


def test_the_last_hidden_state_alone() -> None:
    trace, one = _stack(), _run(final=True)
    for own in (trace, one):
        found = match(_given({"last_hidden_state": _value(own, "out")[None]}), own.program)
        _holds(own, found, {"final_norm"})


def test_the_last_hidden_state_is_not_that_of_an_earlier_layer() -> None:
    one = _run(final=True)
    arrays = {f"attentions.{k}": np.ones((1, H, T, T)) for k in range(3)}
    arrays |= {"last_hidden_state": np.ones((1, T, C)), "cross_attentions.0": np.ones((1, H, T, T))}
    assert set(match(_given(arrays), one.program).steps) == {"attn.weights"}
    assert set(match(_given(arrays), one.program, layer=2).steps) == {"attn.weights", "final_norm"}


def test_an_array_that_is_no_stack_of_a_step_stays_whole() -> None:
    trace = _run()
    found = match(_given({"hidden_states": np.ones((3, T + 1, C))}), trace.program)
    assert found.unmatched == ("hidden_states",)


def test_hidden_states_of_one_block() -> None:
    one = _run(final=True)
    arrays = {"hidden_states.0": _value(one, "x"), "hidden_states.1": _value(one, "out")}
    _holds(one, match(_given(arrays), one.program), {"x", "final_norm"})
    many = {f"hidden_states.{k}": np.full((T, C), float(k)) for k in range(4)}
    for layer, into, out in (
        (None, "x", "residual2"),
        (1, "x", "residual2"),
        (2, "x", "final_norm"),
    ):
        found = match(_given(many), one.program, layer=layer)
        at = layer or 0
        assert {s: a.values[0, 0] for s, a in found.steps.items()} == {into: at, out: at + 1.0}


def _modules(trace: Trace, names: Mapping[str, str], prefix: str) -> tuple[Answers, set[str]]:
    arrays = {f"{prefix}{n}".rstrip("."): _value(trace, s)[None] for n, s in names.items()}
    return _given(arrays), set(names.values())


def test_llama_modules() -> None:
    trace = _run(kind="rms", gated=True)
    names = {
        "input_layernorm": "norm1", "self_attn.q_proj": "attn.q", "self_attn.k_proj": "attn.k",
        "self_attn.v_proj": "attn.v", "self_attn.o_proj": "attn.out", "self_attn": "attn.out",
        "post_attention_layernorm": "norm2", "mlp.gate_proj": "ffn.gate", "mlp.act_fn": "ffn.gate_act",
        "mlp.up_proj": "ffn.up", "mlp.down_proj": "ffn.out", "mlp": "ffn.out", "": "residual2",
    }  # fmt: skip
    for prefix in ("model.layers.0.", "layers.4."):
        given, steps = _modules(trace, names, prefix)
        _holds(trace, match(given, trace.program), steps)


def test_gpt2_modules() -> None:
    trace = _run(fused=True, final=True)
    names = {
        "h.0.ln_1": "norm1", "h.0.attn.c_attn": "attn.qkv", "h.0.attn.attn_dropout": "attn.weights",
        "h.0.attn.c_proj": "attn.out", "h.0.attn": "attn.out", "h.0.ln_2": "norm2",
        "h.0.mlp.c_fc": "ffn.pre", "h.0.mlp.act": "ffn.act", "h.0.mlp.c_proj": "ffn.out",
        "h.0.mlp": "ffn.out", "h.0": "residual2", "ln_f": "final_norm", "drop": "x",
    }  # fmt: skip
    given, steps = _modules(trace, names, "transformer.")
    _holds(trace, match(given, trace.program), steps)


def test_bert_modules() -> None:
    trace = _run("post")
    names = {
        "attention.self.query": "attn.q", "attention.self.key": "attn.k", "attention.self.value": "attn.v",
        "attention.self": "attn.concat", "attention.output.dense": "attn.out",
        "attention.output.LayerNorm": "norm1", "attention": "norm1", "intermediate.dense": "ffn.pre",
        "intermediate": "ffn.act", "output.dense": "ffn.out", "output.LayerNorm": "norm2", "": "norm2",
    }  # fmt: skip
    given, steps = _modules(trace, names, "bert.encoder.layer.0.")
    _holds(trace, match(given, trace.program), steps)


@pytest.mark.parametrize("order", ["post", "pre"])
@pytest.mark.parametrize("prefix", ["", "layers.0.", "encoder.layers.0."])
def test_pytorch_modules(order: str, prefix: str) -> None:
    trace = _run(order)
    names = {
        "self_attn": "attn.out", "dropout1": "attn.out", "norm1": "norm1", "linear1": "ffn.pre",
        "activation": "ffn.act", "dropout": "ffn.act", "linear2": "ffn.out", "norm2": "norm2",
    }  # fmt: skip
    given, steps = _modules(trace, names, prefix)
    _holds(trace, match(given, trace.program), steps)


def test_pytorch_modules_of_a_stack() -> None:
    trace = _stack()
    arrays = {f"layers.{k}.linear1": _value(trace, f"blocks.{k}.ffn.pre") for k in range(3)}
    found = match(
        _given({**arrays, "layers.3.linear1": np.ones(2), "linear1": np.ones(2)}), trace.program
    )
    _holds(trace, found, {f"blocks.{k}.ffn.pre" for k in range(3)})
    assert found.unmatched == ("layers.3.linear1", "linear1")


def test_a_layer_of_a_stack_for_names_without_one() -> None:
    trace = _stack()
    given = _given({"linear1": _value(trace, "blocks.1.ffn.pre")})
    _holds(trace, match(given, trace.program, layer=1), {"blocks.1.ffn.pre"})


def test_a_typed_column_is_the_numbers_of_the_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# norm1.mean\n0.10\n2\n?\n4\n5.5\n")
    found = match(read_answers(tmp_path / "a.csv"), _run().program)
    answer = found.steps["norm1.mean"]
    assert answer.half == pytest.approx(np.array([0.005, 0, 0, 0, 0.05]))
    assert answer.judged.tolist() == [True, True, False, True, True]


def test_axes_that_fit_nothing_stay() -> None:
    trace = _run()
    odd = {"blocks.0.attn.hook_q": np.ones((T + 1, H, D)), "blocks.0.attn.hook_k": np.ones(T)}
    found = match(_given(odd), trace.program)
    assert found.steps["attn.q"].values.shape == (T + 1, H, D)
    assert found.steps["attn.k"].values.shape == (T,)


def test_a_step_that_the_block_lacks_is_unmatched() -> None:
    trace = _run("post")
    found = match(_given({"blocks.0.attn.hook_rot_q": np.ones(3)}), trace.program)
    assert found.unmatched == ("blocks.0.attn.hook_rot_q",)


def test_maps_name_steps_that_are_in_the_vocabulary() -> None:
    """Every step of every map is one of some block."""
    runs = [
        _run(causal=True, final=True),
        _run("post", kind="rms", gated=True, rope={"theta": 10, "style": "half"}),
    ]
    runs.append(_run(fused=True, bias=False))
    known = {n for t in runs for n in (*t.program.refs(), *t.program.aliases)}
    known |= {"<in>", "<out>", "<mid>", "<normalized>", "<scaled>"}
    for table in MAPS:
        names = {*table.steps, *table.outside}
        for step in {*table.steps.values(), *table.outside.values()}:
            assert any(s in known for s in step.split("|")), (table.label, step)
        assert {
            n for name, others in table.instead.items() for n in (name, *others.split("|"))
        } <= names
        assert table.by_token <= set(table.steps)


# llama.cpp ----------------------------------------------------------------------------------------


def _llama(trace: Trace, padded: int = 0, last: bool = False) -> str:
    v = {
        n: _value(trace, n)
        for n in (
            "norm1.normalized",
            "norm1",
            "attn.q",
            "attn.k",
            "attn.v",
            "attn.scores",
            "attn.weights",
            "attn.z",
            "attn.concat",
            "attn.out",
            "residual1",
            "norm2.normalized",
            "norm2",
            "ffn.gate",
            "ffn.gate_act",
            "ffn.up",
            "ffn.gated",
            "ffn.out",
            "residual2",
            "attn.q_rope",
            "attn.k_rope",
        )
    }
    more = ((0, 0), (0, 0), (0, padded))
    end = slice(-1, None) if last else slice(None)
    parts = [
        ("inp_embd", _value(trace, "x"), "GET_ROWS"),
        ("norm-0", v["norm1.normalized"], "RMS_NORM"),
        ("attn_norm-0", v["norm1"], "MUL"),
        ("Qcur-0", v["attn.q"], "MUL_MAT"),
        ("Qcur-0 (reshaped)", v["attn.q"].reshape(T, H, D), "RESHAPE"),
        ("Qcur-0", _tokens_first(v["attn.q_rope"]), "ROPE"),
        ("Kcur-0", v["attn.k"], "MUL_MAT"),
        ("Kcur-0", _tokens_first(v["attn.k_rope"]), "ROPE"),
        ("Vcur-0", v["attn.v"], "MUL_MAT"),
        ("kq-0", np.pad(v["attn.scores"], more), "MUL_MAT"),
        ("kq_soft_max-0", np.pad(v["attn.weights"], more), "SOFT_MAX"),
        ("kqv-0", v["attn.z"], "MUL_MAT"),
        ("__fattn__-0", _tokens_first(v["attn.z"]), "FLASH_ATTN_EXT"),
        ("kqv_out-0", v["attn.concat"], "CONT"),
        ("attn_out-0", v["attn.out"], "MUL_MAT"),
        ("ffn_inp-0", v["residual1"][end], "ADD"),
        ("norm-0", v["norm2.normalized"][end], "RMS_NORM"),
        ("ffn_norm-0", v["norm2"][end], "MUL"),
        ("ffn_gate-0", v["ffn.gate"][end], "MUL_MAT"),
        ("ffn_silu-0", v["ffn.gate_act"][end], "UNARY"),
        ("ffn_up-0", v["ffn.up"][end], "MUL_MAT"),
        ("ffn_gate_par-0", v["ffn.gated"][end], "MUL"),
        ("ffn_out-0", v["ffn.out"][end], "MUL_MAT"),
        ("l_out-0", v["residual2"][end], "ADD"),
    ]
    return "".join(tensor_text(name, array, op) for name, array, op in parts)


STEPS = {
    "x",
    "norm1.normalized",
    "norm2.normalized",
    "norm1",
    "attn.q",
    "attn.k",
    "attn.v",
    "attn.q_rope",
    "attn.k_rope",
    "attn.scores",
    "attn.weights",
    "attn.z",
    "attn.concat",
    "attn.out",
    "residual1",
    "norm2",
    "ffn.gate",
    "ffn.gate_act",
    "ffn.up",
    "ffn.gated",
    "ffn.out",
    "residual2",
}


ALONE = {
    "residual1",
    "norm2.normalized",
    "norm2",
    "residual2",
    *(s for s in STEPS if s.startswith("ffn.")),
}


@pytest.mark.parametrize("padded", [0, 27])
@pytest.mark.parametrize("last", [False, True])
def test_llama_cpp(tmp_path: Path, padded: int, last: bool) -> None:
    trace = _run(kind="rms", gated=True, causal=True, rope={"theta": 100, "style": "half"})
    (tmp_path / "a.log").write_text(_llama(trace, padded, last))
    found = match(read_answers(tmp_path / "a.log"), trace.program)
    assert set(found.steps) == STEPS
    assert found.unmatched == ()
    assert len(found.remarks) == 1 + 9 * last
    for step, answer in found.steps.items():
        value = trace.arrays[step]
        assert answer.values.shape == value.shape, step
        assert np.abs(answer.values - value)[answer.judged].max() <= 0.000051, step
        alone = last and step in ALONE
        assert answer.judged[0].any() != alone
        if answer.total is not None:
            assert answer.total[0] == pytest.approx(value.sum(), abs=1e-4), step
    assert (found.steps["attn.scores"].total is None) == bool(padded)
    assert found.steps["attn.weights"].total is not None


def test_llama_cpp_with_biases(tmp_path: Path) -> None:
    trace = _run()
    array = _value(trace, "attn.q")
    hidden, out = _value(trace, "ffn.pre"), _value(trace, "ffn.out")
    text = (
        tensor_text("Qcur-0", array - 1)
        + tensor_text("Qcur-0", array, "ADD")
        + tensor_text("kqv_out-0", _value(trace, "attn.out"), "ADD")
        + tensor_text("ffn_up-0", hidden - 1)
        + tensor_text("ffn_up_b-0", hidden, "ADD")
        + tensor_text("ffn_down-0", out - 1)
        + tensor_text("ffn_out-0", out, "ADD")
        + tensor_text("inp_embd", out)
        + tensor_text("inpL", _value(trace, "x"), "ADD")
    )
    (tmp_path / "a.txt").write_text(text)
    found = match(read_answers(tmp_path / "a.txt"), trace.program)
    assert set(found.steps) == {"attn.q", "attn.out", "ffn.pre", "ffn.out", "x"}
    for step, answer in found.steps.items():
        assert np.abs(answer.values - trace.arrays[step])[answer.judged].max() <= 0.000051, step


def _norms(trace: Trace, block: str = "", at: int = 0) -> str:
    """Print the norms of a layer as build_norm names them: weights, then a bias."""
    parts = [(n, p) for n in ("norm1", "norm2") for p in ("normalized", "scaled", "")]
    text = ""
    for norm, part in parts:
        own = {"normalized": "norm", "scaled": "norm_w"}.get(
            part, {"norm1": "attn_norm", "norm2": "ffn_norm"}[norm]
        )
        op = {"normalized": "NORM", "scaled": "MUL"}.get(part, "ADD")
        step = f"{block}{norm}.{part}".rstrip(".")
        text += tensor_text(f"{own}-{at}", _value(trace, step), op)
    return text


def _match_llama(tmp_path: Path, text: str, trace: Trace, **more: Any) -> Matched:
    (tmp_path / "a.log").write_text(text)
    return match(read_answers(tmp_path / "a.log"), trace.program, **more)


def _near(trace: Trace, found: Matched) -> None:
    for step, answer in found.steps.items():
        assert np.abs(answer.values - trace.arrays[step])[answer.judged].max() <= 0.000051, step


def test_llama_cpp_norms_of_one_name_are_told_apart_by_their_order(tmp_path: Path) -> None:
    trace = _stack()
    text = "".join(_norms(trace, f"blocks.{k}.", k) for k in range(3))
    last = tensor_text("norm", _value(trace, "final_norm.normalized"), "NORM")
    found = _match_llama(tmp_path, text + last, trace)
    steps = {
        f"blocks.{k}.norm{i}{p}"
        for k in range(3)
        for i in (1, 2)
        for p in ("", ".normalized", ".scaled")
    }
    assert set(found.steps) == steps | {"final_norm.normalized"}
    _near(trace, found)


def test_llama_cpp_norms_of_a_second_evaluation_are_left_out(tmp_path: Path) -> None:
    trace = _run()
    text = tensor_text("inp_embd", _value(trace, "x"), "GET_ROWS") + _norms(trace)
    found = _match_llama(tmp_path, text + text, trace)
    assert set(found.steps) == {
        "x",
        *(f"norm{i}{p}" for i in (1, 2) for p in ("", ".normalized", ".scaled")),
    }
    _near(trace, found)


@pytest.mark.parametrize("n", [1, 3])
def test_llama_cpp_norms_that_are_not_as_many_as_the_block_has_are_ambiguous(
    tmp_path: Path, n: int
) -> None:
    trace = _run()
    text = tensor_text("norm-0", _value(trace, "norm1.normalized"), "NORM") * n
    text += tensor_text("norm", _value(trace, "x"), "NORM") * 2
    found = _match_llama(tmp_path, text, trace)
    assert found.steps == {}
    assert found.unmatched == ("norm-0",) * n + ("norm", "norm")
    (remark,) = found.remarks
    times = "once" if n == 1 else f"{n} times"
    assert f"norm-0 is printed {times}, and the block has 2 norms" in remark


@pytest.mark.parametrize(("order", "step"), [("pre", "residual1"), ("post", "norm1")])
def test_llama_cpp_ffn_inp_is_what_the_second_residual_adds_to(
    tmp_path: Path, order: str, step: str
) -> None:
    trace = _run(order)
    found = _match_llama(tmp_path, tensor_text("ffn_inp-0", _value(trace, step), "ADD"), trace)
    assert set(found.steps) == {step}
    _near(trace, found)


def test_llama_cpp_inputs_are_those_after_scale_or_norm_of_the_embedding(tmp_path: Path) -> None:
    trace = _run()
    text = tensor_text("inp_embd", _value(trace, "x") - 1, "GET_ROWS")
    text += tensor_text("inp_embd", _value(trace, "x") - 2, "ADD")
    found = _match_llama(tmp_path, text + tensor_text("inp_norm", _value(trace, "x"), "ADD"), trace)
    assert set(found.steps) == {"x"}
    _near(trace, found)


def test_llama_cpp_fused_projection_with_a_bias(tmp_path: Path) -> None:
    trace = _run(fused=True)
    array = _value(trace, "attn.qkv")
    text = tensor_text("wqkv-0", array - 1) + tensor_text("wqkv_b-0", array, "ADD")
    found = _match_llama(tmp_path, text, trace)
    assert set(found.steps) == {"attn.qkv"}
    _near(trace, found)
