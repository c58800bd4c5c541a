"""Published models by name, with shapes from their papers and configs."""

from __future__ import annotations

from collections.abc import Callable

from blockcalc.costs.plan import Model, Outside
from blockcalc.messages.words import require_word


def _norm(name: str, width: int, beta: bool = True) -> tuple[Outside, ...]:
    parts = ("gamma", "beta") if beta else ("gamma",)
    return tuple(Outside(f"{name}.{part}", (width,)) for part in parts)


def _bert(title: str, source: str, c: int, layers: int, heads: int) -> Model:
    def outside(c: int) -> tuple[Outside, ...]:
        return (
            Outside("token embedding", (30522, c)),
            Outside("position embedding", (512, c)),
            Outside("segment embedding", (2, c)),
            *_norm("embedding norm", c),
            Outside("pooler.w", (c, c)),
            Outside("pooler.b", (c,)),
        )

    sizes = {
        "d_model": c,
        "d_ff": 4 * c,
        "heads": heads,
        "layers": layers,
        "tokens": 512,
        "order": "post",
    }
    return Model(title, source, sizes, outside, positions=512)


def _tied(vocabulary: int, positions: int) -> Callable[[int], tuple[Outside, ...]]:
    """Learned positions, a final norm, and a head tied to the token embedding."""

    def outside(c: int) -> tuple[Outside, ...]:
        return (
            Outside("token embedding", (vocabulary, c)),
            Outside("position embedding", (positions, c)),
            *_norm("final norm", c),
            Outside("language model head", (vocabulary, c), tied=True, product=True),
        )

    return outside


def _gpt2(title: str, c: int, layers: int, heads: int) -> Model:
    sizes = {"d_model": c, "d_ff": 4 * c, "heads": heads, "layers": layers, "tokens": 1024,
             "activation": "gelu_tanh", "causal": True}  # fmt: skip
    source = "Radford et al. (2019), table 2; config of openai-community/gpt2"
    return Model(title, source, sizes, _tied(50257, 1024), positions=1024)


def _opt(title: str, c: int, layers: int, heads: int) -> Model:
    sizes = {"d_model": c, "d_ff": 4 * c, "heads": heads, "layers": layers, "tokens": 2048,
             "activation": "relu", "causal": True}  # fmt: skip
    source = "Zhang et al. (2022), table 1; config of facebook/opt"
    return Model(title, source, sizes, _tied(50272, 2050), positions=2048)


def _llama(
    title: str, source: str, c: int, f: int, layers: int, heads: int, few: int = 0, vocabulary: int = 32000,
    tied: bool = False, tokens: int = 2048, positions: int = 0, **more: object,
) -> Model:  # fmt: skip
    def outside(c: int) -> tuple[Outside, ...]:
        return (
            Outside("token embedding", (vocabulary, c)),
            *_norm("final norm", c, beta=False),
            Outside("language model head", (vocabulary, c), tied=tied, product=True),
        )

    sizes = {"d_model": c, "d_ff": f, "heads": heads, "kv_heads": few, "layers": layers, "tokens": tokens,
             "gated": True, "norm_kind": "rms", "activation": "silu", "bias": False, "rope": True,
             "causal": True, **more}  # fmt: skip
    return Model(title, source, sizes, outside, positions or tokens)


_LLAMA = "Touvron et al., LLaMA (2023), table 2"
_LLAMA_2 = "Touvron et al., Llama 2 (2023); config of meta-llama/Llama-2"
_LLAMA_3 = "Grattafiori et al., The Llama 3 Herd of Models (2024), table 3"
_DEVLIN = "Devlin et al., BERT (2019), section 3"

PRESETS: dict[str, Model] = {
    "transformer-base": Model(
        "Transformer, base encoder", "Vaswani et al. (2017), table 3",
        {"d_model": 512, "d_ff": 2048, "heads": 8, "layers": 6, "tokens": 512, "order": "post", "activation": "relu"},
    ),
    "bert-base": _bert("BERT base", _DEVLIN, 768, 12, 12),
    "bert-large": _bert("BERT large", _DEVLIN, 1024, 24, 16),
    "minilm-l6": _bert("all-MiniLM-L6-v2", "config of sentence-transformers/all-MiniLM-L6-v2", 384, 6, 12),
    "gpt2": _gpt2("GPT-2", 768, 12, 12),
    "gpt2-medium": _gpt2("GPT-2 medium", 1024, 24, 16),
    "gpt2-large": _gpt2("GPT-2 large", 1280, 36, 20),
    "gpt2-xl": _gpt2("GPT-2 XL", 1600, 48, 25),
    "opt-125m": _opt("OPT 125M", 768, 12, 12),
    "llama-7b": _llama("LLaMA 7B", _LLAMA, 4096, 11008, 32, 32),
    "llama-13b": _llama("LLaMA 13B", _LLAMA, 5120, 13824, 40, 40),
    "llama-65b": _llama("LLaMA 65B", _LLAMA, 8192, 22016, 80, 64),
    "llama-2-70b": _llama("Llama 2 70B", _LLAMA_2, 8192, 28672, 80, 64, 8, tokens=4096),
    "llama-3-8b": _llama("Llama 3 8B", _LLAMA_3, 4096, 14336, 32, 32, 8, 128256, tokens=8192),
    "llama-3-70b": _llama("Llama 3 70B", _LLAMA_3, 8192, 28672, 80, 64, 8, 128256, tokens=8192),
    "llama-3-405b": _llama("Llama 3.1 405B", _LLAMA_3, 16384, 53248, 126, 128, 8, 128256, tokens=8192, positions=131072),
    "mistral-7b": _llama("Mistral 7B", "Jiang et al., Mistral 7B (2023), table 1", 4096, 14336, 32, 32, 8, tokens=8192),
    "qwen2-7b": _llama("Qwen2 7B", "Yang et al., Qwen2 (2024), table 1", 3584, 18944, 28, 28, 4, 152064, tokens=8192,
                       positions=32768, qkv_bias=True),
    "qwen2.5-0.5b": _llama("Qwen2.5 0.5B", "config of Qwen/Qwen2.5-0.5B", 896, 4864, 24, 14, 2, 151936, tied=True,
                           tokens=8192, positions=32768, qkv_bias=True),
    "smollm-135m": _llama("SmolLM 135M", "config of HuggingFaceTB/SmolLM-135M", 576, 1536, 30, 9, 3, 49152, tied=True),
    "gemma-2b": _llama("Gemma 2B", "Gemma Team, Gemma (2024), table 1", 2048, 16384, 18, 8, 1, 256000, tied=True,
                       tokens=8192, d_head=256, activation="gelu_tanh"),
    "gemma-7b": _llama("Gemma 7B", "Gemma Team, Gemma (2024), table 1", 3072, 24576, 28, 16, 16, 256000, tied=True,
                       tokens=8192, d_head=256, activation="gelu_tanh"),
}  # fmt: skip


def published(name: str) -> Model:
    """Give a published model by its name.

    Raises
    ------
    UsageError
        There is no such model.
    """
    require_word("preset", name, PRESETS)
    return PRESETS[name]
