"""Blocks computed by PyTorch and Hugging Face transformers, recorded in ``framework/``."""

from __future__ import annotations

import re
from typing import Any

from tests.helpers import HERE

CASES = sorted((HERE / "framework").glob("*.npz"))
ORDER_AND_ACT = {
    "tiny_d2_h1_post_relu_plain": ("post", "relu", 1), "tiny_d2_h1_pre_relu_plain": ("pre", "relu", 1),
    "tiny_d2_h2_post_relu": ("post", "relu", 2), "tiny_d2_h1_post_gelu_affine": ("post", "gelu", 1),
    "tiny_d2_h1_pre_gelu_affine": ("pre", "gelu", 1), "fn_unscaled_h1": ("post", "relu", 1),
    "fn_no_output_projection_h2": ("post", "relu", 2), "tel_post_relu_h2_both_f64": ("post", "relu", 2),
    "tel_pre_gelu_h4_causal_f64": ("pre", "gelu", 4), "tel_pre_gelu_h4_none_f64": ("pre", "gelu", 4),
    "tel_post_gelu_h1_padding_f64": ("post", "gelu", 1), "tel_pre_relu_h2_causal_f64": ("pre", "relu", 2),
    "tel_post_relu_h4_none_f64": ("post", "relu", 4), "ragged_pre_gelu_h2_f64": ("pre", "gelu", 2),
    "hf_gpt2_h3_f64": ("pre", "gelu_tanh", 3), "hf_bert_h3_f64": ("post", "gelu", 3),
    "hf_opt_pre_relu_f64": ("pre", "relu", 3), "extreme_logits_1e4_f64": ("post", "gelu", 2),
    "extreme_constant_row_pre_f64": ("pre", "gelu", 2), "extreme_large_mean_pre_f64": ("pre", "gelu", 2),
    "fully_masked_row_policy_zero": ("post", "relu", 2),
    "hf_llama_gqa4q2kv_f64": ("pre", "silu", 4), "dropout_train_pre_f64": ("pre", "relu", 2),
    "stack2_tel_pre_causal_f64": ("pre", "gelu", 2),
}  # fmt: skip
NAMES = {
    "scores": "attn.scores", "scores_scaled": "attn.scaled", "scores_masked": "attn.masked",
    "softmax.max": "attn.weights.max", "softmax.exp": "attn.weights.exp", "softmax.sum": "attn.weights.sum",
    "weights": "attn.weights", "heads": "attn.z", "concat": "attn.concat", "attn_out": "attn.out",
    "res1": "residual1", "res2": "residual2", "ffn.pre": "ffn.pre", "ffn.act": "ffn.act", "ffn.out": "ffn.out",
    "q": "attn.q_heads", "k": "attn.k_heads", "v": "attn.v_heads", "out": "out",
    **{f"ln{n}.{theirs}": f"norm{n}{ours}" for n in (1, 2) for theirs, ours in (
        ("mean", ".mean"), ("var", ".var"), ("std", ".std"), ("xhat", ".normalized"), ("out", ""),
        ("meansq", ".mean_square"))},
    "q_rope": "attn.q_rope", "k_rope": "attn.k_rope", "ffn.gate_pre": "ffn.gate",
    "ffn.gate_act": "ffn.gate_act", "ffn.up": "ffn.up",
    "weights_dropped": "attn.weights_dropped", "attn_out_dropped": "attn.out_dropped",
    "ffn.act_dropped": "ffn.act_dropped", "ffn.out_dropped": "ffn.out_dropped",
}  # fmt: skip


def as_data(name: str, z: Any) -> dict[str, Any]:
    """Write a case as the content of a file."""
    order, activation, heads = ORDER_AND_ACT[name]
    if name.startswith("stack"):
        blocks = [as_block(name, z, f"blocks.{i}.", activation, heads) for i in range(2)]
        final = {part: z[f"final.{part}"] for part in ("gamma", "beta")}
        return {"x": z["x"], "norm": order, "blocks": blocks, "final_norm": final}
    data: dict[str, Any] = {"x": z["x"], "norm": order}
    if name.startswith("hf_llama"):
        data["norm"] = {"order": order, "kind": "rms"}
    if name.startswith("dropout"):
        places = {"attn": "attn.weights", "sa": "attn.out", "ffn": "ffn.act", "out": "ffn.out"}
        keep = {place: (z[f"drop.{key}"] > 0).astype(int) for key, place in places.items()}
        data["dropout"] = {"p": 0.3, "training": True, "keep": keep}
    return {**data, **as_block(name, z, "", activation, heads)}


def as_block(name: str, z: Any, prefix: str, activation: str, heads: int) -> dict[str, Any]:
    """Write one block of a case."""
    given = {k.removeprefix(prefix): z[k] for k in z.files if k.startswith(prefix)}
    attn: dict[str, Any] = {k[5:]: v for k, v in given.items() if k.startswith("attn.")}
    attn |= {"n_heads": heads, "softmax": "shifted"}
    if name == "fn_unscaled_h1":
        attn["scale"] = "none"
    if "mask.causal" in z.files and bool(z["mask.causal"]):
        attn["causal"] = True
    if "mask.key_valid" in z.files:
        valid = z["mask.key_valid"].tolist()
        words = {True: "keep", False: "pad"}
        attn["padding"] = [
            [words[v] for v in row] if isinstance(row, list) else words[row] for row in valid
        ]
    if name == "fully_masked_row_policy_zero":
        attn["mask"] = {"keep": z["mask.allowed"]}
    if name.startswith("hf_llama"):
        attn |= {"n_kv_heads": 2, "causal": True, "rope": {"theta": 10000, "style": "half"}}
    keys = {"ffn.w1": "w_1", "ffn.b1": "b_1", "ffn.w2": "w_2", "ffn.b2": "b_2",
            "ffn.w_gate": "w_gate", "ffn.w_up": "w_up", "ffn.w_down": "w_down"}  # fmt: skip
    ffn = {ours: given[theirs] for theirs, ours in keys.items() if theirs in given}
    norms = {
        f"norm{n}": {k[4:]: v for k, v in given.items() if k.startswith(f"ln{n}.")} for n in (1, 2)
    }
    return {"attn": attn, "ffn": {"activation": activation, **ffn}, **norms}


def our_name(case: str, theirs: str) -> str:
    """Find the step of ours that a recorded intermediate is."""
    block = re.match(r"blocks\.[0-9]\.", theirs)
    prefix = block[0] if block else ""
    part = theirs.removeprefix(prefix)
    if part.startswith("final."):
        own = {"mean": ".mean", "var": ".var", "std": ".std", "xhat": ".normalized", "out": ""}
        return f"final_norm{own[part[6:]]}"
    own = {"ln1.std": "norm1.rms", "ln2.std": "norm2.rms", "ffn.act": "ffn.gated"}
    rms = case.startswith("hf_llama") and part in own
    return prefix + (own[part] if rms else NAMES[part])
