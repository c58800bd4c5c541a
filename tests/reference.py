"""Transformer blocks in plain NumPy, written apart from the package: head by head, row by row.

Takes the content of a file and gives its main intermediates by our step names. Dropout is by given
patterns only.
"""

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


def array(value: Any) -> Any:
    """Read a matrix of a file."""
    if isinstance(value, dict):
        return np.array(value["value"], dtype=float).swapaxes(-1, -2)
    return np.array(value, dtype=float)


def conventions(data: dict[str, Any]) -> dict[str, Any]:
    """Fill in what ``norm`` leaves out."""
    norm = data.get("norm", "post")
    norm = {"order": norm} if isinstance(norm, str) else norm
    return {"order": "post", "kind": "layer", "eps": 1e-5, **norm}


def normed(x: Any, part: dict[str, Any], norm: dict[str, Any]) -> Any:
    """LayerNorm or RMSNorm of rows."""
    eps = float(part.get("eps", norm["eps"]))
    d = x.shape[-1]
    if norm["kind"] == "layer":
        x = x - x.sum(axis=-1, keepdims=True) / d
    less = norm["kind"] == "layer" and norm.get("variance") == "sample"
    square = (x * x).sum(axis=-1, keepdims=True) / (d - less)
    outside = norm.get("eps_place") == "outside"
    divisor = np.sqrt(square) + eps if outside else np.sqrt(square + eps)
    gain = array(part["gamma"]) if "gamma" in part else None
    y = x / divisor
    if gain is not None:
        y = y * (1 + gain if norm.get("unit_offset") else gain)
    return y + array(part["beta"]) if "beta" in part else y


def project(x: Any, part: dict[str, Any], letter: str, out_in: bool) -> Any:
    """Multiply by a weight and add its bias."""
    w = array(part[f"w_{letter}"])
    y = np.einsum("...i,oi->...o" if out_in else "...i,io->...o", x, w)
    return y + array(part[f"b_{letter}"]) if f"b_{letter}" in part else y


def columns(a: dict[str, Any], q: int, g: int, width: int) -> dict[str, list[list[int]]]:
    """Find the columns of each head in a fused projection."""
    e = width // (q + 2 * g)
    at = [list(range(i * e, i * e + e)) for i in range(q + 2 * g)]
    if a.get("qkv_layout", "blocks") == "blocks":
        return {"q": at[:q], "k": at[q : q + g], "v": at[q + g :]}
    each = q // g + 2
    groups = [at[i * each : i * each + each] for i in range(g)]
    return {
        "q": [c for group in groups for c in group[:-2]],
        "k": [group[-2] for group in groups],
        "v": [group[-1] for group in groups],
    }


def heads(x: Any, a: dict[str, Any], out_in: bool) -> dict[str, list[Any]]:
    """Project and split: for each of q, k, v a list of heads."""
    q, g = a.get("n_heads", 1), a.get("n_kv_heads", a.get("n_heads", 1))
    if "w_qkv" in a:
        fused = project(x, a, "qkv", out_in)
        where = columns(a, q, g, fused.shape[-1])
        return {part: [fused[..., c] for c in where[part]] for part in "qkv"}
    found = {}
    for part, n in (("q", q), ("k", g), ("v", g)):
        found[part] = np.split(project(x, a, part, out_in), n, axis=-1)
    return found


def turned(x: Any, rope: dict[str, Any]) -> Any:
    """Rotate pairs, as complex numbers."""
    d = x.shape[-1]
    freqs = rope.get("freqs")
    dims = rope.get("dims") or (d if freqs is None else 2 * len(freqs))
    half = dims // 2
    if freqs is None:
        freqs = [rope.get("theta", 10000) ** (-2 * i / dims) for i in range(half)]
    position = np.arange(x.shape[-2]) + rope.get("start", 0)
    turn = np.exp(1j * np.outer(position, np.array(freqs, dtype=float)))
    first, second = slice(0, half), slice(half, dims)
    if rope.get("style", "half") == "interleaved":
        first, second = slice(0, dims, 2), slice(1, dims, 2)
    z = (x[..., first] + 1j * x[..., second]) * turn
    out = x.copy()
    out[..., first], out[..., second] = z.real, z.imag
    return out


def seen(a: dict[str, Any], head: int, batch: int | None, t: int) -> tuple[Any, Any]:
    """Give which keys a query may look at, and what is added to its scores."""
    allowed, added = np.ones((t, t), dtype=bool), np.zeros((t, t))
    if a.get("causal"):
        allowed &= np.arange(t)[:, None] >= np.arange(t)[None, :]
    if "padding" in a:
        words = a["padding"]
        words = words[batch] if isinstance(words[0], list) else words
        allowed &= np.array([word == "keep" for word in words])[None, :]
    for kind, mask in a.get("mask", {}).items():
        m = np.array(mask, dtype=float)
        if m.ndim == 4:
            m = m[batch, 0 if m.shape[1] == 1 else head]
        elif m.ndim == 3:
            m = m[head]
        if kind == "keep":
            allowed &= m != 0
        else:
            added = m
    return allowed, added


def attention(
    x: Any, a: dict[str, Any], out_in: bool, keep: Any = None, p: float = 0.0
) -> dict[str, Any]:
    """Attention of every head, for each of a batch; ``keep`` thins the weights."""
    if "out" in a:
        return {"attn.out": array(a["out"])}
    own = heads(x, a, out_in)
    if "rope" in a:
        own |= {part: [turned(h, a["rope"]) for h in own[part]] for part in "qk"}
    each = len(own["q"]) // len(own["k"])
    scale = a.get("scale", 1 / math.sqrt(own["k"][0].shape[-1]))
    scale = 1.0 if scale == "none" else scale
    batches: list[Any] = list(range(x.shape[0])) if x.ndim == 3 else [None]
    weights = np.zeros((len(batches), len(own["q"]), x.shape[-2], x.shape[-2]))
    joined = []
    for n, batch in enumerate(batches):
        rows = []
        for h, q in enumerate(own["q"]):
            k, v = own["k"][h // each], own["v"][h // each]
            if batch is not None:
                q, k, v = q[batch], k[batch], v[batch]
            allowed, added = seen(a, h, batch, x.shape[-2])
            s = np.where(allowed, q @ k.T * scale + added, -np.inf)
            for i, row in enumerate(s):
                if np.isfinite(row).any():
                    e = np.exp(row - row.max())
                    weights[n, h, i] = e / e.sum()
            thin = weights[n, h]
            if keep is not None:
                own_keep = keep.reshape(weights.shape)[n, h]
                thin = thin * own_keep / (1 - p)
            rows.append(thin @ v)
        joined.append(np.concatenate(rows, axis=-1))
    concat = np.stack(joined) if x.ndim == 3 else joined[0]
    lead = weights if x.ndim == 3 else weights[0]
    lead = lead.squeeze(axis=-3) if len(own["q"]) == 1 else lead
    out = project(concat, a, "o", out_in) if "w_o" in a else concat
    return {"attn.weights": lead, "attn.concat": concat, "attn.out": out}


def ffn(x: Any, f: dict[str, Any], out_in: bool) -> tuple[str, Any, str]:
    """Give the name and value of what the last projection takes, and its letter."""
    act = ACT[f.get("activation", "relu")]
    if "w_gate" in f:
        product = act(project(x, f, "gate", out_in)) * project(x, f, "up", out_in)
        return "ffn.gated", product, "down"
    return "ffn.act", act(project(x, f, "1", out_in)), "2"


def one_block(
    x: Any, data: dict[str, Any], norm: dict[str, Any], out_in: bool, dropout: dict[str, Any]
) -> dict[str, Any]:
    """Work a block that stands alone."""
    found: dict[str, Any] = {}
    p, keeps = dropout.get("p", 0.0), dropout.get("keep", {})

    def thinned(place: str, y: Any) -> Any:
        return y * np.array(keeps[place]) / (1 - p) if place in keeps else y

    def attn(y: Any) -> Any:
        keep = np.array(keeps["attn.weights"]) if "attn.weights" in keeps else None
        found.update(attention(y, data["attn"], out_in, keep, p))
        return thinned("attn.out", found["attn.out"])

    def feed(y: Any) -> Any:
        name, hidden, letter = ffn(y, data["ffn"], out_in)
        found[name] = hidden
        found["ffn.out"] = project(thinned("ffn.act", hidden), data["ffn"], letter, out_in)
        return thinned("ffn.out", found["ffn.out"])

    layers = [attn] + ([feed] if "ffn" in data else [])
    for i, layer in enumerate(layers, 1):
        part = data.get(f"norm{i}", {})
        if norm["order"] == "post":
            found[f"residual{i}"] = x + layer(x)
            x = found[f"norm{i}"] = normed(found[f"residual{i}"], part, norm)
        else:
            found[f"norm{i}"] = normed(x, part, norm)
            x = found[f"residual{i}"] = x + layer(found[f"norm{i}"])
    return {**found, "out": x}


def work(data: dict[str, Any]) -> dict[str, Any]:
    """Work a whole file: its main intermediates by step name."""
    x, norm = array(data["x"]), conventions(data)
    out_in = data.get("weight_layout") == "out_in"
    dropout = data.get("dropout", {})
    dropout = dropout if isinstance(dropout, dict) and dropout.get("training") else {}
    if "blocks" not in data:
        found = one_block(x, data, norm, out_in, dropout)
    else:
        found = {}
        for i, own in enumerate(data["blocks"]):
            for run in range(own.get("repeat", 1)):
                name = f"blocks.{i}.{run}" if "repeat" in own else f"blocks.{i}"
                part = one_block(x, own, norm, out_in, {})
                found.update({f"{name}.{key}": value for key, value in part.items()})
                x = part["out"]
        found["out"] = x
    if "final_norm" in data:
        found["out"] = found["final_norm"] = normed(found["out"], data["final_norm"], norm)
    return found
