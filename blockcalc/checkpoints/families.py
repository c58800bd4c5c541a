"""Families of models: the tensor names of their checkpoints, and how to read their configs.

Each family is a row of data. Settings that an input file cannot express are rejected by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from blockcalc.checkpoints.configs import BIASED, NO, YES, Config, Values
from blockcalc.checkpoints.positions import kind_of_layer, rope, window
from blockcalc.messages import say
from blockcalc.records import dataclass

Parts = dict[str, dict[str, Any]]
# patterns of keys: whether they have a tensor, and the reason
Presence = Mapping[str, tuple[bool, str]]
NOTHING = r"$^"  # a pattern that matches nothing


@dataclass(frozen=True)
class Family:
    """The layout of checkpoints of one kind of model.

    Attributes
    ----------
    types : tuple of str
        The values of ``model_type`` in the config.
    layer : str
        The prefix of layer ``{i}``; a further prefix before it is found automatically.
    names : mapping
        Keys of a block, each with its tensor.
    settings : callable
        From config and layer number to the plain keys of a block: ``norm``, ``attn``, ``ffn``.
    final : mapping
        Keys of the final norm, with their tensors.
    in_out : bool
        Whether weights are stored [in, out].
    spare : str
        A pattern of tensors that hold no weights.
    presence : callable
        From the config to patterns of keys that have a tensor or none, each with the reason.
    depth : str
        The field of the config with the number of layers.
    neutral : mapping
        Fields that this family does not read, with the values that match its behaviour.
    idle : tuple of str
        Fields that change no number in this family.
    """

    types: tuple[str, ...]
    layer: str
    names: Mapping[str, str]
    settings: Callable[[Config, int], Parts]
    final: Mapping[str, str] = field(default_factory=dict)
    in_out: bool = False
    spare: str = NOTHING
    presence: Callable[[Config], Presence] = lambda c: {}
    depth: str = "num_hidden_layers"
    neutral: Mapping[str, Values] = field(default_factory=dict)
    idle: tuple[str, ...] = ()

    def read(self, c: Config, layer: int) -> tuple[Parts, Presence]:
        """Give the plain keys of a layer, and which keys have a tensor or none.

        Raises
        ------
        InputError
            A field has the wrong type, or a setting that an input file cannot express.
        """
        parts, presence = self.settings(c, layer), self.presence(c)
        c.finish(self.types[0], self.neutral, self.idle)
        return parts, presence


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


# reading configs ------------------------------------------------------------------------


def _sizes(c: Config, heads: str, width: str, inner: str, depth: str) -> int:
    """Read the sizes of a family without grouped key heads; return the number of heads."""
    count = c.whole(heads)
    c.whole(width, None)
    c.whole(inner, None, None)
    c.whole(depth, None)
    c.facts["kv_heads"] = count
    if c.facts["width"]:
        c.facts["head_dim"] = c.facts["width"] // count
    return int(count)


def _causal(c: Config) -> bool:
    """Read whether a decoder is causal: the config may switch its mask off."""
    causal = c.flag("is_causal", True)
    if not causal:
        c.note("causal")
    return bool(causal)


def _bert(c: Config, layer: int) -> Parts:
    heads = _sizes(
        c, "num_attention_heads", "hidden_size", "intermediate_size", "num_hidden_layers"
    )
    return {
        "norm": {"order": "post", "eps": c.eps("layer_norm_eps", 1e-12)},
        "attn": {"n_heads": heads},
        "ffn": {"activation": c.activation("hidden_act", "gelu")},
    }


def _gpt2(c: Config, layer: int) -> Parts:
    c.alias(n_head="num_attention_heads", n_embd="hidden_size", n_layer="num_hidden_layers")
    heads = _sizes(c, "n_head", "n_embd", "n_inner", "n_layer")
    if c.facts["width"] and not c.facts["inner"]:
        c.facts["inner"] = 4 * c.facts["width"]
    attn: dict[str, Any] = {"n_heads": heads, "causal": _causal(c)}
    if not c.flag("scale_attn_weights", True):
        attn["scale"] = 1.0
    if c.flag("scale_attn_by_inverse_layer_idx", False):
        attn["scale"] = attn.get("scale", (c.whole("n_embd") / heads) ** -0.5) / (layer + 1)
    return {
        "norm": {"order": "pre", "eps": c.eps("layer_norm_epsilon", 1e-5)},
        "attn": attn,
        "ffn": {"activation": c.activation("activation_function", "gelu_new")},
    }


def _decoder(
    c: Config, activation: str, kv_heads: int | None = None, head_dim: int | None = None
) -> Parts:
    """Read the fields common to Llama and similar families, with their different defaults."""
    heads, width = c.whole("num_attention_heads"), c.whole("hidden_size", None)
    own = width and width // heads
    c.whole("num_key_value_heads", kv_heads or heads, heads)
    c.whole("head_dim", head_dim or own, own)
    c.whole("intermediate_size", None)
    c.whole("num_hidden_layers", None)
    return {
        "norm": {"order": "pre", "kind": "rms", "eps": c.eps("rms_norm_eps", 1e-6)},
        "attn": {"n_heads": heads, "n_kv_heads": c.facts["kv_heads"], "causal": _causal(c),
                 "rope": rope(c)},
        "ffn": {"activation": activation},
    }  # fmt: skip


def _llama(c: Config, layer: int) -> Parts:
    found = _decoder(c, c.activation("hidden_act", "silu"))
    window(c, kind_of_layer(c, layer), None, c.flag("use_sliding_window", False, False))
    return found


def _mistral(c: Config, layer: int) -> Parts:
    found = _decoder(c, c.activation("hidden_act", "silu"), kv_heads=8)
    window(c, kind_of_layer(c, layer), 4096, used=True)
    return found


def _qwen2(c: Config, layer: int) -> Parts:
    found = _decoder(c, c.activation("hidden_act", "silu"), kv_heads=32)
    switch, kind = c.flag("use_sliding_window", False, False), kind_of_layer(c, layer)
    first = c.whole("max_window_layers", 28, least=0)
    window(c, kind, 4096, used=switch and kind is None and layer >= first)
    return found


def _gemma(c: Config, layer: int) -> Parts:
    found = _decoder(c, _gemma_activation(c), kv_heads=16, head_dim=256)
    found["norm"]["unit_offset"] = True
    window(c, kind_of_layer(c, layer), None, c.flag("use_sliding_window", False, False))
    if c.flag("use_bidirectional_attention", False, False):
        if "is_causal" in c.fields and found["attn"]["causal"]:
            c.refuse("use_bidirectional_attention", True, ("is_causal", True))
        found["attn"]["causal"] = False
        c.note("both_ways")
    return found


def _gemma_activation(c: Config) -> str:
    """Read the activation of Gemma, a field that was renamed and later renamed back.

    The first releases have ``gelu`` although the tanh form is meant. Versions of transformers
    differ in which of the two fields they read.
    """
    usual = "gelu_tanh"
    given = {name: c.take(name) for name in ("hidden_act", "hidden_activation")}
    words = {name: c.activation(name, usual) for name, own in given.items() if own is not None}
    old, new = words.get("hidden_act", usual), words.get("hidden_activation")
    old = usual if given["hidden_act"] == "gelu" else old
    if new is not None and new != old:
        other = given["hidden_act"] or "gelu_pytorch_tanh"
        c.refuse("hidden_activation", given["hidden_activation"], ("hidden_act", other))
    elif new is None and "hidden_act" in words and words["hidden_act"] != usual:
        c.note("gelu" if old == usual else "hidden_act", given=given["hidden_act"])
    c.facts["activation"] = old
    return old


def _opt(c: Config, layer: int) -> Parts:
    heads = _sizes(c, "num_attention_heads", "hidden_size", "ffn_dim", "num_hidden_layers")
    before, width = c.flag("do_layer_norm_before", True), c.facts["width"]
    outer = c.whole("word_embed_proj_dim", None, None)
    if None not in (outer, width) and outer != width:
        c.note("projected", size=outer, width=width)
    c.facts["eps"] = 1e-5
    return {
        "norm": {"order": "pre" if before else "post", "eps": 1e-5},
        "attn": {"n_heads": heads, "causal": _causal(c)},
        "ffn": {"activation": c.activation("activation_function", "relu")},
    }


def _whisper(c: Config, layer: int) -> Parts:
    c.alias(encoder_attention_heads="num_attention_heads", d_model="hidden_size",
            encoder_layers="num_hidden_layers")  # fmt: skip
    heads = _sizes(c, "encoder_attention_heads", "d_model", "encoder_ffn_dim", "encoder_layers")
    c.facts["eps"] = 1e-5
    return {
        "norm": {"order": "pre", "eps": 1e-5},
        "attn": {"n_heads": heads},
        "ffn": {"activation": c.activation("activation_function", "gelu")},
    }


# expected tensors --------------------------------------------------------------------------


def _never(**patterns: str) -> Callable[[Config], dict[str, tuple[bool, str]]]:
    """Give the keys that have no tensor in any model of a family, by the name of the reason."""
    return lambda c: {own: (False, say(f"import.absent.{why}")) for why, own in patterns.items()}


def _if(c: Config, **flags: tuple[str, bool]) -> dict[str, tuple[bool, str]]:
    """Give the keys that have a tensor if a field of the config is true, with its default."""
    found = {}
    for name, (pattern, default) in flags.items():
        value = c.flag(name, default)
        if name in c.fields or not value:
            text = say("import.absent.field", field=name, value=str(value).lower())
            found[pattern] = (value, text)
    return found


def _llama_presence(c: Config) -> Presence:
    flags = _if(c, attention_bias=(r"attn\.b_", False), mlp_bias=(r"ffn\.b_", False))
    return {**_never(norm=r"\.beta$")(c), **flags}


def _gemma_presence(c: Config) -> Presence:
    flags = _if(c, attention_bias=(r"attn\.b_", False))
    return {**_never(norm=r"\.beta$", bias=r"ffn\.b_")(c), **flags}


def _opt_presence(c: Config) -> Presence:
    found = _if(c, enable_bias=(r"\.b_", True), layer_norm_elementwise_affine=("norm", True),
                do_layer_norm_before=("^final_norm", True))  # fmt: skip
    if c.flag("_remove_final_layer_norm", False):
        text = say("import.absent.field", field="_remove_final_layer_norm", value="true")
        found["^final_norm"] = (False, text)
    return found


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
_DECODER = ("is_decoder",)  # has no effect in a model that is always a decoder
_TURNING: dict[str, Values] = {"position_embedding_type": ("rope", "rotary")}


def _llama_like(
    kind: str,
    settings: Callable[[Config, int], Parts],
    presence: Callable[[Config], Presence],
    **neutral: Values,
) -> Family:
    """Make the row of a family with the tensor names of Llama."""
    return Family(
        (kind,), "layers.{i}.", _LLAMA_NAMES, settings, _norms(final_norm="norm"),
        spare=r"rotary_emb\.inv_freq$", presence=presence, neutral={**_TURNING, **neutral}, idle=_DECODER,
    )  # fmt: skip


FAMILIES: dict[str, Family] = {
    "BERT": Family(
        ("bert", "roberta", "xlm-roberta", "camembert"),
        "encoder.layer.{i}.",
        {**_norms(norm1="attention.output.LayerNorm", norm2="output.LayerNorm"),
         **_linear({"attn.q": "attention.self.query", "attn.k": "attention.self.key",
                    "attn.v": "attention.self.value", "attn.o": "attention.output.dense",
                    "ffn.1": "intermediate.dense", "ffn.2": "output.dense"})},
        _bert, neutral={**BIASED, "do_layer_norm_before": NO},
    ),
    "GPT-2": Family(
        ("gpt2",), "h.{i}.",
        {**_norms(norm1="ln_1", norm2="ln_2"),
         **_linear({"attn.qkv": "attn.c_attn", "attn.o": "attn.c_proj", "ffn.1": "mlp.c_fc",
                    "ffn.2": "mlp.c_proj"})},
        _gpt2, _norms(final_norm="ln_f"), in_out=True, spare=r"attn\.(masked_)?bias$", depth="n_layer",
        neutral=BIASED, idle=_DECODER,
    ),
    "Llama": _llama_like("llama", _llama, _llama_presence),
    "Mistral": _llama_like("mistral", _mistral, _never(norm=r"\.beta$", bias=r"\.b_")),
    "Qwen2": _llama_like(
        "qwen2", _qwen2, _never(norm=r"\.beta$", bias=r"attn\.b_o|ffn\.b_"),
        **dict.fromkeys(("attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias"), YES),
    ),
    "Gemma": _llama_like("gemma", _gemma, _gemma_presence),
    "OPT": Family(
        ("opt",), "decoder.layers.{i}.", _FAIRSEQ_NAMES, _opt,
        _norms(final_norm="decoder.final_layer_norm"), presence=_opt_presence, neutral=BIASED, idle=_DECODER,
    ),
    "Whisper": Family(
        ("whisper",), "encoder.layers.{i}.", _FAIRSEQ_NAMES, _whisper,
        _norms(final_norm="encoder.layer_norm"), presence=_never(key=r"attn\.b_k"), depth="encoder_layers",
        neutral=BIASED, idle=_DECODER,
    ),
}  # fmt: skip
