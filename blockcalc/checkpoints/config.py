"""What each field of a model's config does: it is used, refused by its name, noted, or changes no layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from blockcalc.messages import say

SHOWN = 12  # unknown fields that a note lists

_HARMLESS = """
model_type architectures transformers_version _name_or_path name_or_path torch_dtype dtype auto_map
_attn_implementation _attn_implementation_internal attn_implementation _commit_hash torchscript
use_bfloat16 vocab_size type_vocab_size max_position_embeddings n_positions n_ctx max_length
min_length max_source_positions max_target_positions num_mel_bins bos_token_id eos_token_id
pad_token_id sep_token_id cls_token_id unk_token_id mask_token_id decoder_start_token_id
forced_bos_token_id forced_eos_token_id forced_decoder_ids suppress_tokens begin_suppress_tokens
bad_words_ids prefix tokenizer_class initializer_range initializer_factor init_std use_cache
tie_word_embeddings tie_encoder_decoder pretraining_tp hidden_dropout_prob
attention_probs_dropout_prob attention_dropout hidden_dropout embd_pdrop attn_pdrop resid_pdrop
dropout activation_dropout layerdrop encoder_layerdrop decoder_layerdrop classifier_dropout
summary_type summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout
id2label label2id num_labels problem_type finetuning_task task_specific_params return_dict
return_dict_in_generate output_attentions output_hidden_states output_scores do_sample
early_stopping num_beams num_beam_groups diversity_penalty temperature top_k top_p typical_p
repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size
num_return_sequences exponential_decay_length_penalty remove_invalid_values chunk_size_feed_forward
gradient_checkpointing cross_attention_hidden_size word_embed_proj_dim scale_embedding
intermediate_size ffn_dim n_inner encoder_ffn_dim decoder_ffn_dim decoder_layers
decoder_attention_heads num_hidden_layers n_layer encoder_layers reorder_and_upcast_attn
final_logit_softcapping use_weighted_layer_sum classifier_proj_size is_encoder_decoder
apply_spec_augment mask_time_prob mask_time_length mask_time_min_masks mask_feature_prob
mask_feature_length mask_feature_min_masks median_filter_length tf_legacy_loss median_filter_width
_remove_final_layer_norm
"""
HARMLESS = frozenset(_HARMLESS.split())  # no layer depends on these in evaluation
NEVER: dict[str, tuple[Any, ...]] = {
    "quantization_config": (None,),
    "pruned_heads": (None, {}),
    "add_cross_attention": (None, False),
    "attn_logit_softcapping": (None,),
    "query_pre_attn_scalar": (None,),
    "use_bidirectional_attention": (None, False),
}
DECODER = {**NEVER, "is_causal": (None, True), "is_decoder": (None, False, True)}
ENCODER = {**NEVER, "is_causal": (None, False), "is_decoder": (None, False)}


class Fields(Mapping[str, Any]):
    """A config that remembers which of its fields were asked for."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return self.config[key]

    def __contains__(self, key: object) -> bool:
        self.read.add(str(key))
        return key in self.config

    def __iter__(self) -> Iterator[str]:
        return iter(self.config)

    def __len__(self) -> int:
        return len(self.config)


@dataclass
class Verdict:
    """What a file cannot say of a model, and what was done where readers of its config differ."""

    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, *names: object) -> None:
        """Refuse a field by its name and value."""
        self.refused.append(" ".join(map(str, names)))

    def note(self, key: str, **fields: object) -> None:
        """Say what was done."""
        text = say(key, **fields)
        if text not in self.notes:
            self.notes.append(text)


def judge(fields: Fields, allowed: Mapping[str, tuple[Any, ...]], verdict: Verdict) -> None:
    """Hold every field of a config that the family did not use against what it may say.

    Parameters
    ----------
    fields : Fields
        The config, with the fields that were used.
    allowed : mapping
        Fields that a file of ours cannot say, each with the values that change nothing.
    verdict : Verdict
        Where refusals and notes go.
    """
    for name, values in allowed.items():
        own = fields.config.get(name)
        if not any(own is value or (own == value and type(own) is type(value)) for value in values):
            verdict.refuse(name, own)
    unknown = [
        name
        for name, value in fields.config.items()
        if name not in fields.read | HARMLESS | allowed.keys() and value is not None
    ]
    if unknown:
        more = len(unknown) - SHOWN
        names = ", ".join(unknown[:SHOWN]) + (f", … ({more})" if more > 0 else "")
        verdict.note("import.unknown_fields", names=names)


def rope(c: Mapping[str, Any], rows: int, verdict: Verdict) -> dict[str, Any]:
    """Read the rotary positions: theta, and a scaling only where it changes nothing."""
    new, old = c.get("rope_parameters"), c.get("rope_scaling")
    if new and old and _rule(new) != _rule(old):
        verdict.refuse("rope_scaling beside rope_parameters")
    own = new or old or {}
    if any(isinstance(value, Mapping) for value in own.values()):
        verdict.refuse("rope_parameters", "by kind of layer")
        own = {}
    kind, factor = _rule(own)
    reach = own.get("original_max_position_embeddings") or c.get("max_position_embeddings")
    if kind == "linear" and factor == 1:
        verdict.note("import.rope_idle", kind=kind)
    elif kind == "dynamic" and isinstance(reach, int) and rows <= reach:
        verdict.note("import.rope_reach", kind=kind, n=reach)
    elif kind != "default":
        verdict.refuse("rope scaling", kind)
    part = own.get("partial_rotary_factor", c.get("partial_rotary_factor"))
    if part not in (None, 1):
        verdict.note("import.rope_part", part=part, kind=c.get("model_type"))
    theta = own.get("rope_theta", c.get("rope_theta"))
    return {"theta": 10000.0 if theta is None else theta, "style": "half"}


def _rule(own: Mapping[str, Any]) -> tuple[str, Any]:
    """Give the kind of a scaling and its factor; the two keys of the kind must agree."""
    kinds = {str(own[key]) for key in ("rope_type", "type") if own.get(key) is not None}
    kind = " and ".join(sorted(kinds)) or "default"
    return kind, own.get("factor") if kind != "default" else None


def window(c: Mapping[str, Any], layer: int, rows: int, verdict: Verdict) -> None:
    """Refuse a sliding window that these tokens reach, and say of one that they do not reach."""
    types, size = c.get("layer_types"), c.get("sliding_window")
    kind = c.get("model_type")
    if types is not None:
        own = types[layer]
        if own not in ("full_attention", "sliding_attention"):
            verdict.refuse("layer_types", own)
        slides = own == "sliding_attention"
    elif kind == "qwen2":
        slides = bool(c.get("use_sliding_window")) and layer >= (c.get("max_window_layers") or 0)
    else:
        slides = kind == "mistral" and size is not None
    if not slides:
        c.get("use_sliding_window"), c.get("max_window_layers")
        return
    if isinstance(size, int) and rows <= size:
        verdict.note("import.window", n=size)
    else:
        verdict.refuse("sliding_window", size)
