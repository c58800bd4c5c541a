"""The names that other programs give to the steps of a block, as data.

A step is written without its block; ``a|b`` is the first that the block has. ``<in>`` and ``<out>``
are the input and the output of a block, ``<mid>`` what the last residual adds to. ``<normalized>``
and ``<scaled>`` are parts of any norm that has weights: several tensors have the one name, in the
order of the block.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

from blockcalc.errors import LookupFault
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean, listed
from blockcalc.program.program import Program
from blockcalc.records import dataclass


@dataclass(frozen=True)
class NameMap:
    """The names of one program.

    Attributes
    ----------
    label : str
        What these names are called in a remark.
    inside : pattern
        A name in a layer, with groups ``layer`` (optional) and ``name``.
    steps : mapping
        The step of each name in a layer. If a name depends on the operation, the operation comes
        first: ``ROPE Qcur``.
    outside : mapping
        The step of each name outside the layers.
    instead : mapping
        A name that means the step only if the other is missing: ``ffn_up`` without its bias.
        ``a|b``: if neither is there.
    by_token : frozenset
        Names whose axes are token, head, feature.
    padded : bool
        Whether keys may be padded, and the last layer may have only the last token.
    """

    label: str
    inside: re.Pattern[str]
    steps: Mapping[str, str]
    outside: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    by_token: frozenset[str] = frozenset()
    padded: bool = False


def _lens_norms(theirs: str, ours: str) -> dict[str, str]:
    return {
        f"{theirs}.hook_scale": f"{ours}.std|{ours}.rms",
        f"{theirs}.hook_normalized": f"{ours}.normalized",
    }


TRANSFORMER_LENS = NameMap(
    "TransformerLens",
    re.compile(r"blocks\.(?P<layer>\d{1,6})\.(?P<name>[\w.]+)"),
    {
        "hook_resid_pre": "<in>",
        **_lens_norms("ln1", "norm1"),
        "attn.hook_q": "attn.q",
        "attn.hook_k": "attn.k",
        "attn.hook_v": "attn.v",
        "attn.hook_rot_q": "attn.q_rope",
        "attn.hook_rot_k": "attn.k_rope",
        "attn.hook_attn_scores": "attn.masked",
        "attn.hook_pattern": "attn.weights",
        "attn.hook_z": "attn.concat",
        "hook_attn_out": "attn.out",
        "hook_resid_mid": "residual1",
        **_lens_norms("ln2", "norm2"),
        "mlp.hook_pre": "ffn.pre|ffn.gate",
        "mlp.hook_pre_linear": "ffn.up",
        "mlp.hook_post": "ffn.act|ffn.gated",
        "hook_mlp_out": "ffn.out",
        "hook_resid_post": "residual2",
        "hook_normalized_resid_post": "norm2",
    },
    _lens_norms("ln_final", "final_norm"),
    by_token=frozenset(f"attn.hook_{part}" for part in ("q", "k", "v", "z", "rot_q", "rot_k")),
)

LLAMA = NameMap(
    "Hugging Face Llama",
    re.compile(r"(?:[\w.]*\.)?layers\.(?P<layer>\d{1,6})(?:\.(?P<name>[\w.]+))?"),
    {
        "input_layernorm": "norm1",
        "self_attn.q_proj": "attn.q",
        "self_attn.k_proj": "attn.k",
        "self_attn.v_proj": "attn.v",
        "self_attn.o_proj": "attn.out",
        "self_attn": "attn.out",
        "post_attention_layernorm": "norm2",
        "mlp.gate_proj": "ffn.gate",
        "mlp.act_fn": "ffn.gate_act|ffn.act",
        "mlp.up_proj": "ffn.up",
        "mlp.down_proj": "ffn.out",
        "mlp": "ffn.out",
        "": "<out>",
    },
    {"model.norm": "final_norm", "norm": "final_norm"},
)

GPT2 = NameMap(
    "Hugging Face GPT-2",
    re.compile(r"(?:[\w.]*\.)?h\.(?P<layer>\d{1,6})(?:\.(?P<name>[\w.]+))?"),
    {
        "ln_1": "norm1",
        "attn.c_attn": "attn.qkv",
        "attn.attn_dropout": "attn.weights_dropped|attn.weights",
        "attn.c_proj": "attn.out",
        "attn.resid_dropout": "attn.out_dropped|attn.out",
        "attn": "attn.out",
        "ln_2": "norm2",
        "mlp.c_fc": "ffn.pre",
        "mlp.act": "ffn.act",
        "mlp.c_proj": "ffn.out",
        "mlp.dropout": "ffn.out_dropped|ffn.out",
        "mlp": "ffn.out",
        "": "<out>",
    },
    {"transformer.drop": "x", "drop": "x", "transformer.ln_f": "final_norm", "ln_f": "final_norm"},
)

BERT = NameMap(
    "Hugging Face BERT",
    re.compile(r"(?:[\w.]*\.)?layer\.(?P<layer>\d{1,6})(?:\.(?P<name>[\w.]+))?"),
    {
        "attention.self.query": "attn.q",
        "attention.self.key": "attn.k",
        "attention.self.value": "attn.v",
        "attention.self.dropout": "attn.weights_dropped|attn.weights",
        "attention.self": "attn.concat",
        "attention.output.dense": "attn.out",
        "attention.output.dropout": "attn.out_dropped|attn.out",
        "attention.output.LayerNorm": "norm1",
        "attention.output": "norm1",
        "attention": "norm1",
        "intermediate.dense": "ffn.pre",
        "intermediate.intermediate_act_fn": "ffn.act",
        "intermediate": "ffn.act",
        "output.dense": "ffn.out",
        "output.dropout": "ffn.out_dropped|ffn.out",
        "output.LayerNorm": "norm2",
        "output": "norm2",
        "": "<out>",
    },
    {"bert.embeddings": "x", "embeddings": "x"},
)

PYTORCH = NameMap(
    "torch.nn.TransformerEncoderLayer",
    re.compile(
        r"(?:(?:[\w.]*\.)?layers\.(?P<layer>\d{1,6})\.)?(?P<name>[a-z_]+[12]?(?:\.out_proj)?)"
    ),
    {
        "self_attn": "attn.out",
        "self_attn.out_proj": "attn.out",
        "dropout1": "attn.out_dropped|attn.out",
        "norm1": "norm1",
        "linear1": "ffn.pre",
        "activation": "ffn.act",
        "dropout": "ffn.act_dropped|ffn.act",
        "linear2": "ffn.out",
        "dropout2": "ffn.out_dropped|ffn.out",
        "norm2": "norm2",
    },
    {"encoder.norm": "final_norm"},
)

_ATTENTION_ADDED = {f"{op} kqv_out": "attn.out" for op in ("MUL_MAT", "ADD")}
LLAMA_CPP = NameMap(
    "llama.cpp",
    re.compile(r"(?P<name>[A-Za-z_]+)-(?P<layer>\d{1,6})"),
    {
        "norm": "<normalized>",
        "norm_w": "<scaled>",
        "attn_norm": "norm1",
        **dict.fromkeys(("wqkv", "bqkv", "wqkv_b"), "attn.qkv"),
        **{f"{part.upper()}cur": f"attn.{part}" for part in "qkv"},
        **{f"ROPE {part.upper()}cur": f"attn.{part}_rope" for part in "qk"},
        "kq": "attn.scores",
        "kq_scaled": "attn.scaled",
        "kq_masked": "attn.masked",
        "kq_soft_max": "attn.weights",
        "kq_soft_max_ext": "attn.weights",
        "kqv": "attn.z",
        "kqv_merged_cont": "attn.concat",
        "kqv_out": "attn.concat",
        "__fattn__": "attn.concat",
        **_ATTENTION_ADDED,
        "attn_out": "attn.out",
        **dict.fromkeys(("ffn_inp", "sa_out"), "<mid>"),
        "ffn_norm": "norm2",
        "ffn_up": "ffn.pre|ffn.up",
        "ffn_up_b": "ffn.pre|ffn.up",
        "ffn_gate": "ffn.gate",
        "ffn_gate_b": "ffn.gate",
        **dict.fromkeys(("ffn_silu", "ffn_gelu", "ffn_relu"), "ffn.act|ffn.gate_act"),
        **dict.fromkeys(("ffn_gate_par", "ffn_swiglu", "ffn_geglu", "ffn_reglu"), "ffn.gated"),
        "ffn_down": "ffn.out",
        "ffn_out": "ffn.out",
        "l_out": "<out>",
    },
    {
        **dict.fromkeys(("inp_embd", "embd", "inpL", "inp_scaled", "inp_norm"), "x"),
        "result_norm": "final_norm",
        "result_embd": "out",
        **{f"{op} norm": "<normalized>" for op in ("NORM", "RMS_NORM")},
        "MUL norm_w": "<scaled>",
    },
    {
        "wqkv": "bqkv|wqkv_b",
        "ffn_up": "ffn_up_b",
        "ffn_gate": "ffn_gate_b",
        "ffn_down": "ffn_out",
        **dict.fromkeys(("inp_embd", "embd"), "inpL|inp_scaled|inp_norm"),
        "inpL": "inp_scaled|inp_norm",
    },
    frozenset({"Qcur", "Kcur", "Vcur", "__fattn__"}),
    padded=True,
)

MAPS = (TRANSFORMER_LENS, LLAMA_CPP, GPT2, BERT, LLAMA, PYTORCH)

# the lists that Hugging Face models return: the first hidden state is the input of block 0
_PART = r"(?:[\w.]*\.)?(?:(?:encoder|decoder)_)?"
OUTPUTS = re.compile(_PART + r"(?P<list>hidden_states|attentions)(?:[._]?\[?)(?P<at>\d{1,6})\]?")
STACKED = re.compile(
    _PART + r"(?P<list>hidden_states|attentions)"
)  # all in one array, layers first
LAST = re.compile(_PART + r"last_hidden_state")
OUTPUTS_LABEL = "Hugging Face hidden states and attentions"


def useless(renames: Mapping[str, str], names: Collection[str], program: Program) -> Iterator[str]:
    """State what is unused in a map: names that no answer has, targets that are not steps."""
    absent = [_meant(name, names) for name in renames if name not in names]
    if absent:
        yield say("answers.map.absent", names=listed(absent))
    targets = []
    for name, target in renames.items():
        try:
            program.find(target)
        except LookupFault:
            if name not in names:  # else said with the answer
                targets.append(_meant(target, [*program.refs(), *program.aliases]))
    if targets:
        yield say("answers.map.targets", names=listed(targets))


def _meant(name: str, names: Collection[str]) -> str:
    """Write a name with one that is like it."""
    hint = did_you_mean(name, names)
    return f"{name} ({hint})" if hint else name
