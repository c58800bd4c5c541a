"""Families of models: how their checkpoints name the tensors of a layer, and what their configs say.

Each family is a row of data. What a file of ours cannot say is named, to be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blockcalc.checkpoints.config import DECODER, ENCODER, Verdict, rope, window
from blockcalc.errors import Fault, InputError
from blockcalc.messages import say
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.reading.block_keys import ALIASES

Config = Mapping[str, Any]
Parts = dict[str, dict[str, Any]]
NOTHING = r"$^"  # a pattern that nothing fits


@dataclass(frozen=True)
class Asked:
    """What is asked of a config: a layer for so many tokens; ``verdict`` takes refusals and notes."""

    layer: int
    rows: int
    verdict: Verdict


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
        From the config and what is asked of it to the plain keys of a block: ``norm``, ``attn``, ``ffn``.
    allowed : mapping
        Fields that a file cannot say, each with the values that change nothing.
    in_out : bool
        Whether weights are stored [in, out].
    spare : str
        A pattern of tensors that hold no weights.
    lacks : callable
        From the config to a pattern of the keys that the model does not have, even where there are tensors.
    depth : str
        Where the config says how many layers there are.
    """

    types: tuple[str, ...]
    layer: str
    names: Mapping[str, str]
    settings: Callable[[Config, Asked], Parts]
    allowed: Mapping[str, tuple[Any, ...]]
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


def _bert(c: Config, asked: Asked) -> Parts:
    return {
        "norm": {"order": "post", "eps": c.get("layer_norm_eps", 1e-12)},
        "attn": {"n_heads": c["num_attention_heads"]},
        "ffn": {"activation": _activation(c.get("hidden_act", "gelu"))},
    }


def _gpt2(c: Config, asked: Asked) -> Parts:
    attn: dict[str, Any] = {"n_heads": c["n_head"], "causal": True}
    if not c.get("scale_attn_weights", True):
        attn["scale"] = 1.0
    if c.get("scale_attn_by_inverse_layer_idx"):
        attn["scale"] = attn.get("scale", (c["n_embd"] / c["n_head"]) ** -0.5) / (asked.layer + 1)
    return {
        "norm": {"order": "pre", "eps": c.get("layer_norm_epsilon", 1e-5)},
        "attn": attn,
        "ffn": {"activation": _activation(c.get("activation_function", "gelu_new"))},
    }


def _llama(c: Config, asked: Asked) -> Parts:
    heads = c["num_attention_heads"]
    own = rope(c, asked.rows, asked.verdict)
    window(c, asked.layer, asked.rows, asked.verdict)
    return {
        "norm": {"order": "pre", "kind": "rms", "eps": c.get("rms_norm_eps", 1e-6)},
        "attn": {"n_heads": heads, "n_kv_heads": c.get("num_key_value_heads") or heads, "causal": True,
                 "rope": own},
        "ffn": {"activation": _activation(c.get("hidden_act", "silu"))},
    }  # fmt: skip


def _gemma(c: Config, asked: Asked) -> Parts:
    found = _llama(c, asked)
    found["norm"]["unit_offset"] = True
    act, older = c.get("hidden_activation"), c.get("hidden_act")
    if act is None:
        act = "gelu_pytorch_tanh"
        if older not in (None, "gelu", "gelu_new", act):
            asked.verdict.refuse("hidden_act", older)
        elif (
            older == "gelu"
        ):  # was written where the tanh form was meant; the field was renamed since
            asked.verdict.note("import.gemma_act")
    found["ffn"]["activation"] = _activation(act)
    return found


def _opt(c: Config, asked: Asked) -> Parts:
    before = c.get("do_layer_norm_before", True)
    return {
        "norm": {"order": "pre" if before else "post", "eps": 1e-5},
        "attn": {"n_heads": c["num_attention_heads"], "causal": True},
        "ffn": {"activation": _activation(c.get("activation_function", "relu"))},
    }


def _whisper(c: Config, asked: Asked) -> Parts:
    return {
        "norm": {"order": "pre", "eps": 1e-5},
        "attn": {"n_heads": c["encoder_attention_heads"]},
        "ffn": {"activation": _activation(c.get("activation_function", "gelu"))},
    }


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
        _bert, {**ENCODER, "position_embedding_type": (None, "absolute")},
    ),
    "GPT-2": Family(
        ("gpt2",), "h.{i}.",
        {**_norms(norm1="ln_1", norm2="ln_2"),
         **_linear({"attn.qkv": "attn.c_attn", "attn.o": "attn.c_proj", "ffn.1": "mlp.c_fc",
                    "ffn.2": "mlp.c_proj"})},
        _gpt2, DECODER, _norms(final_norm="ln_f"), in_out=True, spare=r"attn\.(masked_)?bias$",
        depth="n_layer",
    ),
    "Llama": Family(
        ("llama", "mistral", "qwen2"), "layers.{i}.", _LLAMA_NAMES, _llama, DECODER,
        _norms(final_norm="norm"), spare=r"rotary_emb\.inv_freq$", lacks=_llama_lacks,
    ),
    "Gemma": Family(
        ("gemma",), "layers.{i}.", _LLAMA_NAMES, _gemma, DECODER, _norms(final_norm="norm"),
        spare=r"rotary_emb\.inv_freq$", lacks=_llama_lacks,
    ),
    "OPT": Family(
        ("opt",), "decoder.layers.{i}.", _FAIRSEQ_NAMES, _opt, DECODER,
        final=_norms(final_norm="decoder.final_layer_norm"), lacks=_opt_lacks,
    ),
    "Whisper": Family(
        ("whisper",), "encoder.layers.{i}.", _FAIRSEQ_NAMES, _whisper, ENCODER,
        final=_norms(final_norm="encoder.layer_norm"), lacks=lambda c: r"attn\.b_k$",
        depth="encoder_layers",
    ),
}  # fmt: skip
