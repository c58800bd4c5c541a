"""Read config.json: every field is read, rejected, noted, or known to change no number.

A family reads the fields of its own config. Other fields are looked up in the tables below; a field
that is in none of them is noted by name, so nothing is ignored silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from blockcalc.errors import Fault, InputError, Place
from blockcalc.messages import say
from blockcalc.nn.activations import ACTIVATIONS, ALIASES
from blockcalc.reading.checker import is_whole, kind_of

NEEDED = object()  # no default: the field is required
LONGEST_SHOWN = 40

# Fields that change no number of a layer in inference: training, vocabulary, special tokens,
# generation, heads for tasks, and how a program stores or runs the model.
IDLE = re.compile(
    r"""
    .*(dropout|pdrop|layerdrop|drop_rate)(_prob|_rate)? | init_std | initializer_(range|factor)
    | gradient_checkpointing(_kwargs)? | apply_spec_augment | mask_(time|feature)_\w+
    | use_weighted_layer_sum
    | (type_)?vocab_size | \w+_token_(id|ids|index) | unk_index | tokenizer_class | prefix
    | suppress_tokens | begin_suppress_tokens | forced_decoder_ids
    | (max|min)_(length|new_tokens) | do_sample | early_stopping | num_(return_sequences|beams|beam_groups)
    | diversity_penalty | temperature | top_[kp] | min_p | typical_p | (encoder_)?repetition_penalty
    | length_penalty | (encoder_)?no_repeat_ngram_size | bad_words_ids | remove_invalid_values
    | exponential_decay_length_penalty | output_scores | return_dict_in_generate
    | max_position_embeddings | n_positions | n_ctx | max_(source|target)_positions | seq_length
    | original_max_position_embeddings | model_max_length
    | architectures | task_specific_params | finetuning_task | problem_type | id2label | label2id | num_labels
    | summary_\w+ | pooler_\w+ | directionality | classifier_proj_size | median_filter_width
    | decoder_(layers|attention_heads|ffn_dim) | num_mel_bins
    | model_type | is_encoder_decoder | is_llama_config | tie_(word_embeddings|encoder_decoder)
    | (torch_)?dtype | use_bfloat16 | torchscript | tf_legacy_loss | xla_device | chunk_size_feed_forward
    | pretraining_tp | reorder_and_upcast_attn
    | use_cache | output_(past|attentions|hidden_states) | (use_)?return_dict | tie_last_hidden_states
    | (_?attn|_?experts)_implementation(_internal|_autoset)? | _flash_attn_2_enabled
    | _?name_or_path | _commit_hash | transformers(\.js)?_(version|config) | transformers\.js_config
    | unsloth_\w+
    """,
    re.VERBOSE,
)

# Fields that act before the first layer or after the last one.
OUTSIDE = frozenset(
    {"embedding_multiplier", "embedding_size", "embed_scale", "final_logit_softcapping", "logits_scaling",
     "logit_scale", "scale_embedding", "word_embed_proj_dim"}
)  # fmt: skip

# Fields common to all families, and their names in configs.
WORDS = {
    "heads": ("num_attention_heads", "n_head", "encoder_attention_heads", "num_heads", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_head_kv"),
    "head_dim": ("head_dim", "attention_head_size", "d_kv", "kv_channels", "query_pre_attn_scalar"),
    "width": ("hidden_size", "n_embd", "d_model", "dim"),
    "inner": ("intermediate_size", "n_inner", "ffn_dim", "encoder_ffn_dim", "d_ff"),
    "depth": ("num_hidden_layers", "n_layer", "encoder_layers", "num_layers", "n_layers"),
    "eps": ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "norm_eps", "norm_epsilon",
            "layernorm_epsilon"),
    "activation": ("hidden_act", "hidden_activation", "activation_function", "activation"),
    "theta": ("rope_theta", "rotary_emb_base", "rope_base"),
}  # fmt: skip
FACTS = {name: fact for fact, names in WORDS.items() for name in names}

STORED = ("quantization_config", "quantization", "compression_config")  # how weights are stored

Values = tuple[Any, ...]
NONE: Mapping[str, Values] = {}
NO: Values = (False,)
YES: Values = (True,)
BIASES = ("attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias", "mlp_bias", "use_bias", "bias",
          "enable_bias", "add_bias_linear")  # fmt: skip
BIASED: dict[str, Values] = dict.fromkeys(BIASES, YES)

# Fields with which some model changes the numbers of a layer, each with its neutral values;
# null is neutral too. A family with another default has a table of its own.
ELSEWHERE: dict[str, Values] = {
    # masks
    **dict.fromkeys(("is_causal", "use_bidirectional_attention", "is_decoder", "add_cross_attention",
                     "use_sliding_window", "alibi", "use_alibi"), NO),
    **dict.fromkeys(("cross_attention_hidden_size", "sliding_window", "attention_window", "window_size",
                     "attention_chunk_size", "layer_types"), ()),
    # scores, queries and keys
    **dict.fromkeys(("attn_logit_softcapping", "attention_multiplier", "clip_qkv", "scale_depth"), ()),
    **dict.fromkeys(("use_qk_norm", "qk_norm", "qk_layernorm", "use_qk_layernorm", "attn_temperature_tuning",
                     "scale_attn_by_inverse_layer_idx", "attention_sink_bias"), NO),
    "scale_attn_weights": YES,
    "mscale": (1,),
    # positions
    "position_embedding_type": ("absolute",),
    **dict.fromkeys(("rope_parameters", "rope_scaling"), ({},)),
    **dict.fromkeys(("rotary_dim", "no_rope_layer_interval", "rope_local_base_freq"), ()),
    **dict.fromkeys(("partial_rotary_factor", "rotary_pct"), (1,)),
    **dict.fromkeys(("rope_interleaved", "rotary_interleaved", "rotary_value", "relative_attention"), NO),
    "no_rope_layers": ([],),
    # norms and residuals
    "do_layer_norm_before": YES,
    "layer_norm_elementwise_affine": YES,
    **dict.fromkeys(("apply_residual_connection_post_layernorm", "parallel_attn", "use_parallel_residual",
                     "parallel_residual", "use_post_norm", "norm_before_gate"), NO),
    "residual_multiplier": (1,),
    # biases
    **dict.fromkeys(BIASES, NO),
    # several FFNs, and layers that differ from each other
    **dict.fromkeys(("num_local_experts", "num_experts", "n_routed_experts"), (0,)),
    **dict.fromkeys(("per_layer_config", "pruned_heads"), ({},)),
    # weights stored in another form than used
    **dict.fromkeys(STORED, ({},)),
}  # fmt: skip


def shown(value: Any) -> str:
    """Write the value of a field as a short text.

    Examples
    --------
    >>> shown("relative_key"), shown(False), shown([1, 2]), shown({"a": None})
    ('relative_key', 'false', '[1, 2]', '{"a": null}')
    """
    import json

    from blockcalc.notation.signs import clean

    text = clean(value if isinstance(value, str) else json.dumps(value))
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def activation_of(name: Any) -> str | None:
    """Translate the name of an activation, None if it is unknown."""
    word = ALIASES.get(name, name) if isinstance(name, str) else None
    return word if word in ACTIVATIONS else None


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _any_of(value: Any, values: Iterable[Any]) -> bool:
    return any(_same(value, one) for one in values)


class Config:
    """The fields of a config, and how each was handled.

    Parameters
    ----------
    fields : mapping
        The content of the JSON file.
    tokens : int
        How many tokens x has.
    place : Place, optional
        The file, for errors.

    Attributes
    ----------
    facts : dict
        The values read from the config, by the keys of `WORDS`.
    named : dict
        The names of the fields with these values.
    sizes : dict
        The whole numbers among them, by field name.
    notes : list of str
        Notes about the numbers for the user.
    refused : list of str
        Settings of the config that an input file cannot express.
    """

    def __init__(
        self, fields: Mapping[str, Any], tokens: int = 4, place: Place | None = None
    ) -> None:
        self.fields, self.tokens, self.place = fields, tokens, place
        self.facts: dict[str, Any] = {}
        self.named: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.notes: list[str] = []
        self.refused: list[str] = []
        self._read: set[str] = set()

    # reading ------------------------------------------------------------------------------

    def alias(self, **seconds: str) -> None:
        """Use fields under a second name in place of missing ones."""
        for first, second in seconds.items():
            if first not in self.fields and second in self.fields:
                self.fields = {**self.fields, first: self.take(second)}

    def take(self, name: str) -> Any:
        """Give the raw value of a field, None if it is missing."""
        self._read.add(name)
        return self.fields.get(name)

    def whole(self, name: str, default: Any = NEEDED, null: Any = NEEDED, least: int = 1) -> Any:
        """Read a whole number; ``null`` is the value that null means, if null is allowed."""
        return self._typed(
            name, lambda v: is_whole(v, least), f"import.want.from{least}", default, null
        )

    def eps(self, name: str, default: float) -> Any:
        """Read the eps of a norm."""
        value = self._typed(name, is_number, "import.want.number", default, NEEDED)
        if value < 0:
            self.wrong(name, say("eps.negative"))
        return value

    def flag(self, name: str, default: Any = NEEDED, null: Any = NEEDED) -> Any:
        """Read true or false."""
        return self._typed(name, lambda v: isinstance(v, bool), "want.flag", default, null)

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Read a mapping; null and a missing field give an empty one."""
        found: Mapping[str, Any] = self._typed(name, _is_mapping, "import.want.mapping", {}, {})
        return found

    def activation(self, name: str, default: str) -> str:
        """Read an activation, as a key of ``ACTIVATIONS``."""
        given = self.take(name) if name in self.fields else default
        word = activation_of(given)
        if word is None:
            self.fail(say("import.unsaid", what=f"activation {shown(given)} ({name})"))
        self.facts["activation"], self.named["activation"] = word, name
        return word

    def _typed(
        self, name: str, fits: Callable[[Any], bool], wanted: str, default: Any, null: Any
    ) -> Any:
        value = self.take(name)
        if name not in self.fields:
            if default is NEEDED:
                self.fail(say("import.value", problem=say("import.lacks", key=name)))
            value = default
        elif value is None and null is not NEEDED:
            value = null
        elif not fits(value):
            self.wrong(name, say(wanted, got=kind_of(value)))
        if name in FACTS:
            self.facts[FACTS[name]], self.named[FACTS[name]] = value, name
            self.sizes.update({name: value} if isinstance(value, int) else {})
        return value

    # errors and notes ---------------------------------------------------------------------

    def wrong(self, name: str, problem: str) -> NoReturn:
        """Raise an error for a field with an invalid value."""
        self.fail(say("import.value", problem=f"{name}: {problem}"))

    def fail(self, text: str) -> NoReturn:
        """Raise an error that ends the import."""
        raise InputError(Fault(text, self.place))

    def note(self, key: str, **parts: object) -> None:
        """Add a note about the numbers."""
        self.notes.append(say(f"import.note.{key}", **parts))

    def refuse(self, name: str, value: Any, *others: tuple[str, Any]) -> None:
        """Collect a field that an input file cannot express, or that contradicts others."""
        what = f"{shown(name)} {shown(value)}"
        beside = ", ".join(f"{other} {shown(own)}" for other, own in others)
        self.refused.append(say("import.beside", what=what, other=beside) if beside else what)

    def finish(
        self, family: str, neutral: Mapping[str, Values] = NONE, idle: Iterable[str] = ()
    ) -> None:
        """Handle the fields that were not read.

        Raises
        ------
        InputError
            Some fields have settings that an input file cannot express.
        """
        known = {**ELSEWHERE, **neutral}
        outside, unknown = [], []
        for name, value in self.fields.items():
            if name in self._read or name in idle or IDLE.fullmatch(name):
                continue
            if name in OUTSIDE:
                outside += [] if value is None or _any_of(value, (False, 1)) else [(name, value)]
            elif name in FACTS or name in known:
                self._hold(name, value, known)
            else:
                unknown.append((name, value))
        for key, found in (("outside", outside), ("unknown", unknown)):
            if found:
                names = ", ".join(f"{shown(name)} {shown(value)}" for name, value in found)
                self.note(key, names=names, family=family)
        if self.refused:
            text = say("import.unsaid", what=", ".join(self.refused))
            raise InputError(Fault(text, self.place, say("import.unsaid.hint")))

    def _hold(self, name: str, value: Any, known: Mapping[str, Values]) -> None:
        """Reject a field of another family, unless it has a neutral value."""
        word = FACTS.get(name, "")
        fact, own = self.facts.get(word), self.named.get(word, "")
        said = activation_of(value) if word == "activation" else value
        agrees = fact is not None and _same(said, fact)
        if value is not None and not agrees and not _any_of(value, known.get(name, ())):
            self.refuse(name, value, *([(own, self.fields[own])] if own in self.fields else []))


def is_number(value: Any) -> bool:
    """Tell whether a value is a number that float64 can hold; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e308


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)
