"""A Transformer block in plain NumPy, written apart from the package."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

ACT: dict[str, Any] = {
    "relu": lambda u: np.where(u > 0, u, 0.0),
    "gelu": np.vectorize(lambda u: u * 0.5 * math.erfc(-u / math.sqrt(2)), otypes=[float]),
    "gelu_tanh": lambda u: 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))),
    "quick_gelu": lambda u: u / (1 + np.exp(-1.702 * u)),
    "tanh": np.tanh,
    "sigmoid": lambda u: 1 / (1 + np.exp(-u)),
    "silu": lambda u: u * (1 / (1 + np.exp(-u))),
    "identity": lambda u: u,
}


def norm(x: Any, part: dict[str, Any]) -> Any:
    """LayerNorm with the population variance, eps inside the root."""
    mean = x.mean(axis=1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    y = (x - mean) / np.sqrt(var + part.get("eps", 1e-5))
    return y * np.array(part.get("gamma", 1.0)) + np.array(part.get("beta", 0.0))


def attention(x: Any, a: dict[str, Any]) -> Any:
    """Single-head attention."""
    if "out" in a:
        return np.array(a["out"], dtype=float)
    q, k, v = (x @ np.array(a[f"w_{p}"]) + np.array(a.get(f"b_{p}", 0.0)) for p in "qkv")
    scale = a.get("scale", 1 / math.sqrt(k.shape[1]))
    s = q @ k.T * (1.0 if scale == "none" else scale)
    s = s - s.max(axis=1, keepdims=True)
    z = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True) @ v
    return z @ np.array(a["w_o"]) + np.array(a.get("b_o", 0.0)) if "w_o" in a else z


def ffn(x: Any, f: dict[str, Any]) -> Any:
    """Two layers with an activation between them."""
    u = x @ np.array(f["w_1"]) + np.array(f.get("b_1", 0.0))
    return ACT[f.get("activation", "relu")](u) @ np.array(f["w_2"]) + np.array(f.get("b_2", 0.0))


def block(data: dict[str, Any]) -> Any:
    """A whole block from the content of a file."""
    x = np.array(data["x"], dtype=float)
    parts: list[Any] = [(attention, data["attn"], data.get("norm1", {}))]
    if "ffn" in data:
        parts.append((ffn, data["ffn"], data.get("norm2", {})))
    for layer, weights, n in parts:
        if data.get("norm", "post") == "post":
            x = norm(x + layer(x, weights), n)
        else:
            x = x + layer(norm(x, n), weights)
    return norm(x, data["final_norm"]) if "final_norm" in data else x
