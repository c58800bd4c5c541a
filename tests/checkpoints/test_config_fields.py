"""Every field of a config.json is used, refused, noted, or known to change no number of a layer.

``checkpoints/fields.json`` has the fields of the config class of every kind of model, with their
defaults, in three versions of Hugging Face transformers: 4.30 and 4.57 write what most models on
its hub have, 5.24 the newer form.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockcalc.checkpoints.configs import FACTS, IDLE, OUTSIDE, shown
from blockcalc.checkpoints.families import FAMILIES
from tests.small_models import CHECKPOINTS, TOKENS, changed, outcome, refusal, saved, written

pytestmark = pytest.mark.slow

pytest.importorskip("safetensors", reason="safetensors is an extra")
VERSIONS: dict[str, dict[str, dict[str, Any]]] = json.loads(
    (CHECKPOINTS / "fields.json").read_text()
)
KINDS = [(v, kind) for v, kinds in VERSIONS.items() for kind in kinds if kind != "every"]
# what a model has by itself, and the class gives only a default for
OWN = {*FACTS, "layer_types", "word_embed_proj_dim"} - {"rope_theta"}


def defaults(version: str, kind: str) -> dict[str, Any]:
    """Give the config that a version writes for the small checkpoint."""
    fields = {**VERSIONS[version]["every"], **VERSIONS[version][kind]}
    sizes = {k: v for k, v in saved(kind).items() if k in OWN and k in fields}
    if kind == "whisper" and "num_hidden_layers" in fields:
        sizes["num_hidden_layers"] = saved(kind)["encoder_layers"]
    if kind == "qwen2":
        sizes |= {k: {"rope_theta": 1e6} for k in ("rope_parameters",) if k in fields}
        sizes |= {k: 1e6 for k in ("rope_theta",) if k in fields}
    sizes |= {k: 2 for k in ("num_key_value_heads",) if kind == "llama" and k in fields}
    return {**fields, **sizes, "model_type": kind}


# The fields of each family's classes that can change a number; the rest are known not to.
COMMON = "add_cross_attention cross_attention_hidden_size is_decoder pruned_heads"
ROPE = "rope_parameters rope_theta"
LLAMA = f"""{COMMON} {ROPE} hidden_act hidden_size intermediate_size num_attention_heads num_hidden_layers
    num_key_value_heads rms_norm_eps"""
MATTERING = {
    "BERT": f"""{COMMON} hidden_act hidden_size intermediate_size layer_norm_eps num_attention_heads
        num_hidden_layers position_embedding_type""",
    "GPT-2": f"""{COMMON} activation_function layer_norm_epsilon n_embd n_head n_inner n_layer
        scale_attn_by_inverse_layer_idx scale_attn_weights""",
    "Llama": f"{LLAMA} rope_scaling attention_bias mlp_bias head_dim",
    "Mistral": f"{LLAMA} head_dim sliding_window",
    "Qwen2": f"{LLAMA} rope_scaling layer_types max_window_layers sliding_window use_sliding_window",
    "Gemma": f"{LLAMA} attention_bias head_dim hidden_activation use_bidirectional_attention",
    "OPT": f"""{COMMON} _remove_final_layer_norm activation_function do_layer_norm_before enable_bias ffn_dim
        hidden_size layer_norm_elementwise_affine num_attention_heads num_hidden_layers word_embed_proj_dim""",
    "Whisper": f"""{COMMON} activation_function d_model encoder_attention_heads encoder_ffn_dim encoder_layers
        num_hidden_layers scale_embedding""",
}


# every field -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_the_fields_that_can_change_a_number(family: str) -> None:
    kinds = FAMILIES[family].types
    fields = {
        name
        for version, kind in KINDS
        if kind in kinds
        for name in {**VERSIONS[version]["every"], **VERSIONS[version][kind]}
    }
    assert {name for name in fields if not IDLE.fullmatch(name)} == set(MATTERING[family].split())


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_the_defaults_of_every_version_say_what_the_checkpoint_says(
    version: str, kind: str, tmp_path: Path
) -> None:
    if version == "4.30" and kind == "llama":  # had no heads that share their keys
        said = outcome(tmp_path, kind, defaults(version, kind))
        assert "k_proj.weight is 4×8; according to config.json it should be 8×8" in said
        return
    found = written(tmp_path, kind, defaults(version, kind))
    want = written(tmp_path, kind, {**saved(kind), "model_type": kind})
    notes, usual = found.data.pop("notes", ""), want.data.pop("notes", "")
    assert found.data == want.data
    window = "sliding_window 4096 masks no key for 4 tokens; for more than 4096 tokens"
    assert (window in notes) == (kind == "mistral")
    assert len(notes.splitlines()) - len(usual.splitlines()) <= (kind == "mistral")


def other(name: str, value: Any) -> Any:
    """Give another value than the default of a field, of its kind."""
    special = {
        "rope_scaling": {"type": "linear", "factor": 2.0},
        "rope_parameters": {"rope_type": "linear", "factor": 2.0},
        "layer_types": ["chunked_attention", "chunked_attention"],
        "pruned_heads": {"0": [1]},
        "cross_attention_hidden_size": 8,
        "sliding_window": 2,
        "use_bidirectional_attention": True,
        "hidden_activation": "silu",
        "position_embedding_type": "relative_key",
        "n_inner": 13,
        "word_embed_proj_dim": 3,
        "model_type": "mamba",
    }
    if name in special:
        return special[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return "tanh" if isinstance(value, str) else "another"


@pytest.mark.parametrize(
    ("version", "kind"),
    [pytest.param(*own, marks=[pytest.mark.slow] * (own[0] == "4.57")) for own in KINDS],
)
def test_every_field_is_used_refused_noted_or_changes_nothing(
    version: str, kind: str, tmp_path: Path
) -> None:
    config = defaults("4.57" if kind == "llama" and version == "4.30" else version, kind)
    if kind == "qwen2":  # where the window is used at all, the layer where it begins matters
        config |= {"use_sliding_window": True, "sliding_window": TOKENS - 1}
        config.pop("layer_types", None)
    idle = next(f for f in FAMILIES.values() if kind in f.types).idle
    base = outcome(tmp_path, kind, config, None)
    assert base.startswith("{"), base
    for name in {**VERSIONS[version]["every"], **VERSIONS[version][kind]}:
        value = other(name, config.get(name))
        if kind == "qwen2" and name in ("sliding_window", "use_sliding_window", "layer_types"):
            value = {"sliding_window": "x", "use_sliding_window": 3}.get(name, value)
        if name == "max_window_layers":
            value = 1
        tried = outcome(tmp_path, kind, {**config, name: value}, None)
        if IDLE.fullmatch(name) or name in idle:
            assert tried == base, name
        elif tried == base:
            notes = written(tmp_path, kind, {**config, name: value}, None).data["notes"]
            assert f"{name} {shown(value)}" in notes
        elif not tried.startswith("{"):
            of = "sliding_window 3" if name == "max_window_layers" else name
            assert of in tried, (name, tried)
    if kind == "qwen2" and version != "4.30":
        assert "chunked_attention" in outcome(
            tmp_path, kind, changed(kind, layer_types=["chunked_attention"] * 2)
        )


def test_a_field_that_is_nowhere_known_is_noted_by_name(tmp_path: Path) -> None:
    for kind in ("bert", "gpt2", "llama", "mistral", "qwen2", "gemma", "opt", "whisper"):
        odd = {"mystery": 0.5, "shadow\x1b": None, "long": "x" * 99}
        notes = written(tmp_path, kind, changed(kind, **odd)).data["notes"]
        assert notes.endswith(
            f"Fields of config.json that are not known for {kind}, and not used: mystery 0.5, "
            f"shadow\\x1b null, long {'x' * 39}…."
        )


def test_what_acts_outside_the_layers_is_noted(tmp_path: Path) -> None:
    notes = written(
        tmp_path,
        "gemma",
        changed("gemma", final_logit_softcapping=30.0, logits_scaling=1.0, embed_scale=None),
    ).data["notes"]
    assert notes == (
        "These act before or after the layers, and are not in this file: final_logit_softcapping 30.0."
    )
    notes = written(tmp_path, "whisper", changed("whisper", scale_embedding=True)).data["notes"]
    assert "scale_embedding true" in notes
    notes = written(tmp_path, "opt", changed("opt", word_embed_proj_dim=4)).data["notes"]
    assert notes.startswith(
        "word_embed_proj_dim 4 differs from hidden_size 8: the projections before and after"
    )
    assert "notes" not in written(tmp_path, "opt", changed("opt", word_embed_proj_dim=None)).data
    assert not {name for name in OUTSIDE if IDLE.fullmatch(name)}


# what other families have ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("bert", "is_causal", True),
        ("bert", "add_cross_attention", True),
        ("bert", "position_embedding_type", "relative_key_query"),
        ("bert", "rope_theta", 10000.0),
        ("bert", "do_layer_norm_before", True),
        ("bert", "attention_bias", False),
        ("whisper", "is_causal", True),
        ("whisper", "sliding_window", 4),
        ("gpt2", "position_embedding_type", "alibi"),
        ("gpt2", "cross_attention_hidden_size", 16),
        ("gpt2", "rope_scaling", {"type": "linear", "factor": 1.0}),
        ("gpt2", "pruned_heads", {"0": [1]}),
        ("opt", "layer_norm_eps", 1e-12),
        ("opt", "alibi", True),
        ("llama", "use_bidirectional_attention", True),
        ("llama", "attn_logit_softcapping", 50.0),
        ("llama", "query_pre_attn_scalar", 256),
        ("llama", "attention_multiplier", 0.5),
        ("llama", "residual_multiplier", 0.22),
        ("llama", "use_qk_norm", True),
        ("llama", "qkv_bias", True),
        ("llama", "no_rope_layers", [1, 0]),
        ("llama", "rope_interleaved", True),
        ("llama", "mscale", 0.7),
        ("llama", "position_embedding_type", "absolute"),
        ("llama", "quantization_config", {"quant_method": "awq"}),
        ("llama", "quantization", {"bits": 4}),
        ("llama", "per_layer_config", {"0": {"rms_norm_eps": 0.5}}),
        ("llama", "hidden_activation", "gelu"),
        ("llama", "num_local_experts", 8),
        ("llama", "attention_chunk_size", 2),
        ("llama", "scale_attn_weights", False),
        ("llama", "layer_norm_elementwise_affine", False),
        ("mistral", "attention_bias", True),
        ("mistral", "mlp_bias", True),
        ("qwen2", "attention_bias", False),
        ("gemma", "mlp_bias", True),
    ],
)  # fmt: skip
def test_a_field_by_which_another_family_changes_numbers_is_refused(
    kind: str, name: str, value: Any, tmp_path: Path
) -> None:
    said = refusal(tmp_path, kind, **{name: value})
    assert said.startswith(
        f"config.json has settings that import cannot write: {name} {shown(value)}"
    )
    assert said in refusal(tmp_path, kind, **{name: value, "clip_qkv": 8})


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("bert", {"is_causal": False, "layer_norm_epsilon": 1e-12, "num_key_value_heads": 2, "head_dim": 4,
                  "position_embedding_type": "absolute", "activation_function": "gelu_erf", "rope_theta": None,
                  "attention_bias": True}),
        ("gpt2", {"num_attention_heads": 2, "hidden_act": "gelu_pytorch_tanh", "is_decoder": True,
                  "pruned_heads": {}, "quantization_config": None, "hidden_size": 8}),
        ("llama", {"query_pre_attn_scalar": 2, "rope_interleaved": False, "is_llama_config": True,
                   "pretraining_tp": 2, "per_layer_config": {}, "no_rope_layers": [], "sliding_window": None,
                   "residual_multiplier": 1.0, "position_embedding_type": "rope", "rotary_pct": 1.0}),
        ("qwen2", {"qkv_bias": True, "attention_bias": True}),
        ("opt", {"layer_norm_eps": 1e-5, "activation_dropout": 0.1, "layerdrop": 0.5}),
        ("whisper", {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "d_kv": 4}),
    ],
)  # fmt: skip
def test_a_field_that_says_what_is_done_anyway_changes_nothing(
    kind: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    before = outcome(tmp_path, kind, saved(kind))
    assert outcome(tmp_path, kind, changed(kind, **fields)) == before


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("gpt2", {"num_attention_heads": 4}, "num_attention_heads 4 together with n_head 2"),
        ("whisper", {"num_key_value_heads": 1}, "num_key_value_heads 1"),
        ("whisper", {"num_attention_heads": 4}, "num_attention_heads 4 together with encoder_attention_heads 2"),
        ("bert", {"layer_norm_epsilon": 1e-5}, "layer_norm_epsilon 1e-05 together with layer_norm_eps 1e-12"),
        ("bert", {"activation_function": "x"}, "activation_function x together with hidden_act gelu"),
        ("gemma", {"hidden_act": "gelu", "hidden_activation": "gelu"}, "hidden_activation gelu together with hidden_act gelu"),
        ("gemma", {"hidden_act": ..., "hidden_activation": "silu"}, "hidden_activation silu together with hidden_act gelu_pytorch_tanh"),
        ("gemma", {"is_causal": True, "use_bidirectional_attention": True}, "use_bidirectional_attention true together with is_causal true"),
    ],
)  # fmt: skip
def test_fields_that_contradict_each_other_are_refused(
    kind: str, fields: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert (
        refusal(tmp_path, kind, **fields)
        == f"config.json has settings that import cannot write: {said}"
    )


def test_second_names_stand_in_where_transformers_lets_them(tmp_path: Path) -> None:
    names = {"n_head": ..., "n_embd": ..., "n_layer": ..., "num_attention_heads": 2, "hidden_size": 8,
             "num_hidden_layers": 2}  # fmt: skip
    before = outcome(tmp_path, "gpt2", saved("gpt2"), None)
    assert outcome(tmp_path, "gpt2", changed("gpt2", **names), None) == before
    names = {"encoder_attention_heads": ..., "num_attention_heads": 2}
    before = outcome(tmp_path, "whisper", saved("whisper"))
    assert outcome(tmp_path, "whisper", changed("whisper", **names)) == before


# wrong values ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "value", "said"),
    [
        ("llama", "num_attention_heads", "4", "a whole number of at least 1 is expected; this is the text '4'"),
        ("llama", "num_attention_heads", True, "a whole number of at least 1 is expected; this is true"),
        ("llama", "num_attention_heads", None, "a whole number of at least 1 is expected; this is nothing"),
        ("llama", "num_key_value_heads", 0, "a whole number of at least 1 is expected; this is the number 0"),
        ("llama", "head_dim", 2.0, "a whole number of at least 1 is expected; this is the number 2.0"),
        ("llama", "rms_norm_eps", "1e-6", "a number is expected; this is the text '1e-6'"),
        ("llama", "rms_norm_eps", -1e-6, "eps must not be negative"),
        ("llama", "rms_norm_eps", float("nan"), "a number is expected; this is the number nan"),
        ("llama", "rms_norm_eps", 10**400, "a number is expected; this is a number of very many digits"),
        ("llama", "attention_bias", None, "true or false is expected; this is nothing"),
        ("llama", "is_causal", None, "true or false is expected; this is nothing"),
        ("llama", "is_causal", "false", "true or false is expected; this is the text 'false'"),
        ("llama", "rope_theta", "1e4", "a number above 0 is expected; this is the text '1e4'"),
        ("llama", "rope_scaling", [1], "a mapping is expected; this is a list"),
        ("llama", "partial_rotary_factor", -1, "a number above 0 is expected; this is the number -1"),
        ("llama", "layer_types", "full_attention", "a list with the kind of each of 2 layers is expected"),
        ("llama", "layer_types", ["full_attention"], "a list with the kind of each of 2 layers is expected"),
        ("gemma", "use_bidirectional_attention", "all", "true or false is expected; this is the text 'all'"),
        ("mistral", "sliding_window", 0, "a whole number of at least 1 is expected; this is the number 0"),
        ("qwen2", "max_window_layers", -1, "a whole number of at least 0 is expected; this is the number -1"),
        ("gpt2", "scale_attn_weights", None, "true or false is expected; this is nothing"),
        ("gpt2", "n_inner", "12", "a whole number of at least 1 is expected; this is the text '12'"),
        ("opt", "do_layer_norm_before", 1, "true or false is expected; this is the number 1"),
    ],
)  # fmt: skip
def test_a_field_of_the_wrong_kind_is_refused_by_name(
    kind: str, name: str, value: Any, said: str, tmp_path: Path
) -> None:
    want = f"config.json cannot be used: {name}: {said}"
    assert refusal(tmp_path, kind, **{name: value}) == want


def test_null_stands_for_what_is_worked_out(tmp_path: Path) -> None:
    before = outcome(tmp_path, "llama", saved("llama"))
    null = {"head_dim": None, "rope_parameters": None, "rope_scaling": None, "sliding_window": None,
            "use_sliding_window": None, "layer_types": None}  # fmt: skip
    assert outcome(tmp_path, "llama", changed("llama", **null)) == before
    left_out = dict.fromkeys(
        ("head_dim", "num_hidden_layers", "rope_parameters", "hidden_size"), ...
    )
    assert outcome(tmp_path, "llama", changed("llama", **left_out)) == before
    said = outcome(tmp_path, "gpt2", changed("gpt2", n_inner=None))
    assert "h.0.mlp.c_fc.weight is 8×12; according to config.json it should be 8×32" in said
    switches = ("enable_bias", "layer_norm_elementwise_affine", "do_layer_norm_before")
    left_out = dict.fromkeys((*switches, "_remove_final_layer_norm"), ...)
    before = outcome(tmp_path, "opt", saved("opt"), None)
    assert outcome(tmp_path, "opt", changed("opt", **left_out), None) == before
    left_out = dict.fromkeys(("n_embd", "n_inner"), ...)
    assert outcome(tmp_path, "gpt2", changed("gpt2", **left_out)).startswith("{")
