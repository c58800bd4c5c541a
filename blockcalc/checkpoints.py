"""Recognise a model on disk, and write the file that refers to its weights in place.

Each family is a row of data: the names that its published checkpoints give to the tensors of a layer, and
what its config calls the conventions. What a file cannot say is refused by name.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blockcalc.errors import Fault, InputError, Place
from blockcalc.keys import ALIASES
from blockcalc.ops import ACTIVATIONS
from blockcalc.program import listed
from blockcalc.titles import say
from blockcalc.weights import Tensor, tensors

Config = Mapping[str, Any]
Parts = dict[str, dict[str, Any]]


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
        Keys of a block, each with the tensor that it is; a bias may lack.
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
    """

    types: tuple[str, ...]
    layer: str
    names: Mapping[str, str]
    settings: Callable[[Config, int], Parts]
    unsaid: Callable[[Config], list[str]] = lambda config: []
    final: Mapping[str, str] = field(default_factory=dict)
    in_out: bool = False
    spare: str = r"$^"


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
    word = ALIASES.get(name, name)
    if word not in ACTIVATIONS:
        raise InputError(Fault(say("import.unsaid", what=f"activation {name}")))
    return str(word)


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
    ),
    "Llama": Family(
        ("llama", "mistral", "qwen2"), "layers.{i}.", _LLAMA_NAMES, _llama, _not_llama,
        _norms(final_norm="norm"), spare=r"rotary_emb\.inv_freq$",
    ),
    "Gemma": Family(
        ("gemma",), "layers.{i}.", _LLAMA_NAMES, _gemma, _not_llama, _norms(final_norm="norm"),
        spare=r"rotary_emb\.inv_freq$",
    ),
    "OPT": Family(
        ("opt",), "decoder.layers.{i}.", _FAIRSEQ_NAMES, _opt,
        final=_norms(final_norm="decoder.final_layer_norm"),
    ),
    "Whisper": Family(
        ("whisper",), "encoder.layers.{i}.", _FAIRSEQ_NAMES, _whisper,
        final=_norms(final_norm="encoder.layer_norm"),
    ),
}  # fmt: skip


# a model on disk ------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """A model on disk: its config, and every tensor with the file that has it."""

    path: Path
    config: Config
    where: Mapping[str, tuple[Path, Tensor]]

    @property
    def family(self) -> tuple[str, Family]:
        """Find the family by ``model_type``.

        Raises
        ------
        InputError
            It is none that is known; the tensors are listed, with how to write the file by hand.
        """
        kind = self.config.get("model_type")
        for name, family in FAMILIES.items():
            if kind in family.types:
                return name, family
        known = ", ".join(t for family in FAMILIES.values() for t in family.types)
        text = say("import.unknown", kind=kind, known=known)
        hint = say("import.by_hand", names=listed(self.where))
        raise InputError(Fault(text, Place(str(self.path)), hint))


def open_checkpoint(name: str) -> Checkpoint:
    """Read config and headers of a folder, or of a safetensors file with its config beside it."""
    path = Path(name)
    if path.is_dir():
        files = sorted(path.glob("*.safetensors"))
        if not files:
            raise InputError(
                Fault(say("import.no_weights"), Place(name), say("import.no_weights.hint"))
            )
    else:
        files = [path]
    where = {tensor.name: (file, tensor) for file in files for tensor in tensors(file)}
    config = files[0].parent / "config.json"
    try:
        data = json.loads(config.read_text(encoding="utf-8"))
    except FileNotFoundError:
        fault = Fault(say("import.no_config"), Place(str(config)),
                      say("import.by_hand", names=listed(where)))  # fmt: skip
        raise InputError(fault) from None
    except (ValueError, OSError) as error:
        raise InputError(
            Fault(say("json.syntax", problem=str(error)), Place(str(config)))
        ) from None
    if not isinstance(data, dict):
        raise InputError(Fault(say("import.config"), Place(str(config))))
    return Checkpoint(path, data.get("text_config") or data, where)


@dataclass(frozen=True)
class Written:
    """The content of a file, as keys and values; ``what`` says of which layers it is."""

    what: str
    data: dict[str, Any]


def layer_file(checkpoint: Checkpoint, layer: int | None, target: Path, rows: int = 4) -> Written:
    """Write the content of a file for one layer, or a stack of all.

    Parameters
    ----------
    checkpoint : Checkpoint
    layer : int or None
        Counted from 0; None is every layer and the final norm.
    target : Path
        Where the file will stand: the weights are named from there.
    rows : int
        How many tokens the placeholder x has.

    Raises
    ------
    InputError
        There is no such layer, or the model has what a file cannot say.
    """
    name, family = checkpoint.family
    place = Place(str(checkpoint.path))
    unsaid = family.unsaid(checkpoint.config)
    if unsaid:
        raise InputError(Fault(say("import.unsaid", what=", ".join(unsaid)), place))
    pattern = re.compile("(.*?)" + re.escape(family.layer).replace(r"\{i\}", "([0-9]+)"))
    layers: dict[int, str] = {}
    for tensor in checkpoint.where:
        if found := pattern.match(tensor):
            layers[int(found[2])] = found[1]
    wanted = sorted(layers) if layer is None else [layer]
    if not layers or any(i not in layers for i in wanted):
        text = say("import.no_layer", n=layer, count=len(layers))
        raise InputError(Fault(text, place))
    blocks = [_block(checkpoint, family, layers[i], i, target) for i in wanted]
    first = family.settings(checkpoint.config, wanted[0])
    width = _width(checkpoint, family, layers[wanted[0]], wanted[0])
    what = say("import.layers", n=len(wanted)) if layer is None else say("import.layer", n=layer)
    data: dict[str, Any] = {
        "title": f"{checkpoint.path.resolve().name} ({name}), {what}",
        "norm": first["norm"],
        "weight_layout": "in_out" if family.in_out else "out_in",
        "x": {"random": [rows, width], "seed": 0},
    }
    if layer is not None:
        return Written(what, {**data, **blocks[0]})
    data["blocks"] = blocks
    prefix = layers[wanted[0]]
    final = _refs(checkpoint, family.final, prefix, target)
    return Written(what, data | final)


def _block(
    checkpoint: Checkpoint, family: Family, prefix: str, layer: int, target: Path
) -> dict[str, Any]:
    """Give the keys of one layer; every tensor of it must have found a place."""
    start = prefix + family.layer.format(i=layer)
    own = [name for name in checkpoint.where if name.startswith(start)]
    names = {key: start + name for key, name in family.names.items()}
    strange = sorted(set(own) - set(names.values()))
    strange = [name for name in strange if not re.search(family.spare, name)]
    if strange:
        text = say("import.strange", names=listed(strange))
        raise InputError(Fault(text, Place(str(checkpoint.path))))
    settings = family.settings(checkpoint.config, layer)
    refs = _refs(checkpoint, names, "", target)
    found: dict[str, Any] = {}
    for part in ("attn", "ffn", "norm1", "norm2"):
        found[part] = {**settings.get(part, {}), **refs.get(part, {})}
    return found


def _refs(
    checkpoint: Checkpoint, names: Mapping[str, str], prefix: str, target: Path
) -> dict[str, dict[str, Any]]:
    """Refer to each tensor that is there."""
    found: dict[str, dict[str, Any]] = {}
    for key, name in names.items():
        there = checkpoint.where.get(prefix + name)
        if there is not None:
            part, _, own = key.partition(".")
            file = os.path.relpath(there[0], target.parent)
            found.setdefault(part, {})[own] = {"file": Path(file).as_posix(), "key": prefix + name}
    return found


def _width(checkpoint: Checkpoint, family: Family, prefix: str, layer: int) -> int:
    """Find d_model: the length of the first norm's gamma."""
    name = prefix + family.layer.format(i=layer) + family.names["norm1.gamma"]
    there = checkpoint.where.get(name)
    if there is None:
        raise InputError(Fault(say("weights.missing", key=name), Place(str(checkpoint.path))))
    return there[1].shape[0]


def as_yaml(written: Written) -> str:
    """Write the content as YAML: blocks by indentation, what lies within in one line.

    Examples
    --------
    >>> print(as_yaml(Written("", {"norm": {"eps": 1e-05}, "blocks": [{"attn": {"n_heads": 2}}]})), end="")
    norm: {"eps": 1e-05}
    blocks:
      - attn:
          n_heads: 2
    """
    lines: list[str] = []
    for key, value in written.data.items():
        if key == "blocks":
            lines.append("blocks:")
            for block in value:
                inner = [line for part, own in block.items() for line in _part(part, own, "    ")]
                lines += ["  - " + inner[0].lstrip(), *inner[1:]]
        elif key in ("attn", "ffn", "norm1", "norm2", "final_norm"):
            lines += _part(key, value, "")
        else:
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _part(name: str, own: Mapping[str, Any], indent: str) -> list[str]:
    inner = [f"{indent}  {k}: {json.dumps(v, ensure_ascii=False)}" for k, v in own.items()]
    return [f"{indent}{name}:", *inner] if own else [f"{indent}{name}: {{}}"]
