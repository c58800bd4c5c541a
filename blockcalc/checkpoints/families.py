"""Families of models: how their checkpoints name the tensors of a layer, and what their configs say.

Each family is a row of data. What a file of ours cannot say is named, to be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blockcalc.errors import Fault, InputError
from blockcalc.messages import say
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.reading.block_keys import ALIASES

Config = Mapping[str, Any]
Parts = dict[str, dict[str, Any]]
NOTHING = r"$^"  # a pattern that nothing fits


@dataclass(frozen=True)
class Family:
    """How checkpoints of one kind of model are laid out.

    Attributes
    ----------
    types : tuple of str
        What ``model_type`` of the config may be.
    layer : str
        Where layer i stands, ``{i}``; what stands before it is found.
    names : mapping
        Keys of a block, each with the tensor that it is.
    final : mapping
        Keys of the final norm, with their tensors.
    settings : callable
        From config and layer number to the plain keys of a block: ``norm``, ``attn``, ``ffn``.
    unsaid : callable
        From the config to what a file cannot say.
    in_out : bool
        Whether weights are stored [in, out].
    spare : str
        A pattern of tensors that hold no weights.
    lacks : callable
        From the config to a pattern of the keys whose tensors need not be there.
    depth : str
        Where the config says how many layers there are.
    """

    types: tuple[str, ...]
    layer: str
    names: Mapping[str, str]
    settings: Callable[[Config, int], Parts]
    unsaid: Callable[[Config], list[str]] = lambda config: []
    final: Mapping[str, str] = field(default_factory=dict)
    in_out: bool = False
    spare: str = NOTHING
    lacks: Callable[[Config], str] = lambda config: NOTHING
    depth: str = "num_hidden_layers"


def _linear(pairs: Mapping[str, str]) -> dict[str, str]:
    """Name a weight and its bias for each: ``q`` gives ``w_q`` and ``b_q``."""
    found = {}
    for key, name in pairs.items():
        part, _, letter = key.rpartition(".")
        found[f"{part}.w_{letter}"] = f"{name}.weight"
        found[f"{part}.b_{letter}"] = f"{name}.bias"
    return found


def _norms(**pairs: str) -> dict[str, str]:
    found = {}
    for key, name in pairs.items():
        found[f"{key}.gamma"], found[f"{key}.beta"] = f"{name}.weight", f"{name}.bias"
    return found


# what configs say -----------------------------------------------------------------------


def _activation(name: Any) -> str:
    word = ALIASES.get(name, name) if isinstance(name, str) else name
    if not isinstance(word, str) or word not in ACTIVATIONS:
        raise InputError(Fault(say("import.unsaid", what=f"activation {name}")))
    return word


def _bert(c: Config, layer: int) -> Parts:
    return {
        "norm": {"order": "post", "eps": c.get("layer_norm_eps", 1e-12)},
        "attn": {"n_heads": c["num_attention_heads"]},
        "ffn": {"activation": _activation(c.get("hidden_act", "gelu"))},
    }


def _gpt2(c: Config, layer: int) -> Parts:
    attn: dict[str, Any] = {"n_heads": c["n_head"], "causal": True}
    if not c.get("scale_attn_weights", True):
        attn["scale"] = 1.0
    if c.get("scale_attn_by_inverse_layer_idx"):
        attn["scale"] = attn.get("scale", (c["n_embd"] / c["n_head"]) ** -0.5) / (layer + 1)
    return {
        "norm": {"order": "pre", "eps": c.get("layer_norm_epsilon", 1e-5)},
        "attn": attn,
        "ffn": {"activation": _activation(c.get("activation_function", "gelu_new"))},
    }


def _llama(c: Config, layer: int) -> Parts:
    heads = c["num_attention_heads"]
    rope = c.get("rope_parameters") or c
    own = {"theta": rope.get("rope_theta", c.get("rope_theta", 10000.0)), "style": "half"}
    part = rope.get("partial_rotary_factor", c.get("partial_rotary_factor", 1.0))
    if part != 1.0:
        own["dims"] = int(part * (c.get("head_dim") or c["hidden_size"] // heads))
        if own["dims"] % 2:
            raise InputError(Fault(say("import.unsaid", what=f"partial_rotary_factor {part}")))
    return {
        "norm": {"order": "pre", "kind": "rms", "eps": c.get("rms_norm_eps", 1e-6)},
        "attn": {"n_heads": heads, "n_kv_heads": c.get("num_key_value_heads") or heads, "causal": True,
                 "rope": own},
        "ffn": {"activation": _activation(c.get("hidden_act", "silu"))},
    }  # fmt: skip


def _gemma(c: Config, layer: int) -> Parts:
    found = _llama(c, layer)
    found["norm"]["unit_offset"] = True
    # a hidden_act of gelu was written where the tanh form was meant; the field was renamed since
    act = c.get("hidden_activation") or "gelu_pytorch_tanh"
    found["ffn"]["activation"] = _activation(act)
    return found


def _opt(c: Config, layer: int) -> Parts:
    before = c.get("do_layer_norm_before", True)
    return {
        "norm": {"order": "pre" if before else "post", "eps": 1e-5},
        "attn": {"n_heads": c["num_attention_heads"], "causal": True},
        "ffn": {"activation": _activation(c.get("activation_function", "relu"))},
    }


def _whisper(c: Config, layer: int) -> Parts:
    return {
        "norm": {"order": "pre", "eps": 1e-5},
        "attn": {"n_heads": c["encoder_attention_heads"]},
        "ffn": {"activation": _activation(c.get("activation_function", "gelu"))},
    }


def _not_bert(c: Config) -> list[str]:
    kind = c.get("position_embedding_type") or "absolute"
    found = [] if kind == "absolute" else [f"position_embedding_type {kind}"]
    return found + (["is_decoder"] if c.get("is_decoder") else [])


def _not_gpt2(c: Config) -> list[str]:
    return ["add_cross_attention"] if c.get("add_cross_attention") else []


def _not_llama(c: Config) -> list[str]:
    rope = c.get("rope_parameters") or c.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default")) if rope else "default"
    found = [] if kind == "default" else [f"rope scaling {kind}"]
    windows = c.get("use_sliding_window", True) and c.get("sliding_window")
    found += [f"sliding_window {c['sliding_window']}"] if windows else []
    for cap in ("attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar"):
        found += [f"{cap} {c[cap]}"] if c.get(cap) else []
    return found


def _llama_lacks(c: Config) -> str:
    """Biases are there only where the config, or the kind of model, says so; shifts of norms never."""
    heads = "o" if c.get("model_type") == "qwen2" else "" if c.get("attention_bias") else "qkvo"
    parts = [r"\.beta$", *([rf"attn\.b_[{heads}]$"] if heads else [])]
    return "|".join(parts if c.get("mlp_bias") else [*parts, r"ffn\.b_"])


def _opt_lacks(c: Config) -> str:
    parts = [] if c.get("enable_bias", True) else [r"\.b_"]
    parts += [] if c.get("layer_norm_elementwise_affine", True) else [r"norm"]
    after = not c.get("do_layer_norm_before", True) or c.get("_remove_final_layer_norm")
    parts += ["final_norm"] if after else []
    return "|".join(parts) or NOTHING


_LLAMA_NAMES = {
    **_norms(norm1="input_layernorm", norm2="post_attention_layernorm"),
    **_linear({"attn.q": "self_attn.q_proj", "attn.k": "self_attn.k_proj", "attn.v": "self_attn.v_proj",
               "attn.o": "self_attn.o_proj", "ffn.gate": "mlp.gate_proj", "ffn.up": "mlp.up_proj",
               "ffn.down": "mlp.down_proj"}),
}  # fmt: skip
_FAIRSEQ_NAMES = {
    **_norms(norm1="self_attn_layer_norm", norm2="final_layer_norm"),
    **_linear({"attn.q": "self_attn.q_proj", "attn.k": "self_attn.k_proj", "attn.v": "self_attn.v_proj",
               "attn.o": "self_attn.out_proj", "ffn.1": "fc1", "ffn.2": "fc2"}),
}  # fmt: skip

FAMILIES: dict[str, Family] = {
    "BERT": Family(
        ("bert", "roberta", "xlm-roberta", "camembert"),
        "encoder.layer.{i}.",
        {**_norms(norm1="attention.output.LayerNorm", norm2="output.LayerNorm"),
         **_linear({"attn.q": "attention.self.query", "attn.k": "attention.self.key",
                    "attn.v": "attention.self.value", "attn.o": "attention.output.dense",
                    "ffn.1": "intermediate.dense", "ffn.2": "output.dense"})},
        _bert, _not_bert,
    ),
    "GPT-2": Family(
        ("gpt2",), "h.{i}.",
        {**_norms(norm1="ln_1", norm2="ln_2"),
         **_linear({"attn.qkv": "attn.c_attn", "attn.o": "attn.c_proj", "ffn.1": "mlp.c_fc",
                    "ffn.2": "mlp.c_proj"})},
        _gpt2, _not_gpt2, _norms(final_norm="ln_f"), in_out=True, spare=r"attn\.(masked_)?bias$",
        depth="n_layer",
    ),
    "Llama": Family(
        ("llama", "mistral", "qwen2"), "layers.{i}.", _LLAMA_NAMES, _llama, _not_llama,
        _norms(final_norm="norm"), spare=r"rotary_emb\.inv_freq$", lacks=_llama_lacks,
    ),
    "Gemma": Family(
        ("gemma",), "layers.{i}.", _LLAMA_NAMES, _gemma, _not_llama, _norms(final_norm="norm"),
        spare=r"rotary_emb\.inv_freq$", lacks=_llama_lacks,
    ),
    "OPT": Family(
        ("opt",), "decoder.layers.{i}.", _FAIRSEQ_NAMES, _opt,
        final=_norms(final_norm="decoder.final_layer_norm"), lacks=_opt_lacks,
    ),
    "Whisper": Family(
        ("whisper",), "encoder.layers.{i}.", _FAIRSEQ_NAMES, _whisper,
        final=_norms(final_norm="encoder.layer_norm"), lacks=lambda c: r"attn\.b_k$",
        depth="encoder_layers",
    ),
}  # fmt: skip
