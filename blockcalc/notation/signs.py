"""Signs for any terminal: plain stand-ins, and text made harmless."""

from __future__ import annotations

import unicodedata

_GREEK = {
    "mu": "μ",
    "sigma": "σ",
    "gamma": "γ",
    "beta": "β",
    "eps": "ε",
    "pi": "π",
    "theta": "θ",
    "phi": "φ",
    "rho": "ρ",
}

PLAIN_SIGNS = {
    **{v: k for k, v in _GREEK.items()},
    "×": "x", "√": "sqrt", "≈": "~=", "∞": "inf", "→": "->", "ᵀ": "^T", "⊙": "(*)",
    "Σ": "sum", "…": "...", "–": "-", "—": "-", "·": "*", "±": "+/-", "’": "'", "−": "-",
    "│": "|", "─": "-", "⁻": "-", "⁽": "(", "⁾": ")", "ᶠ": "f",
    "‘": "'", "“": '"', "”": '"', "≠": "!=", "≤": "<=",
}  # fmt: skip


def clean(text: str) -> str:
    r"""Show characters that would steer a terminal as ``\x1b``; keep everything else as typed.

    Examples
    --------
    >>> clean("a" + chr(27) + "[2J")
    'a\\x1b[2J'
    """
    return "".join(c if _harmless(c) else c.encode("unicode_escape").decode() for c in text)


def _harmless(c: str) -> bool:
    return (
        unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        or c in "\u200d\u200c"
    )


def plain_signs(text: str, encoding: str) -> str:
    """Replace what an encoding cannot show: our own signs first, then a question mark."""
    out = []
    for c in text:
        try:
            c.encode(encoding)
        except UnicodeEncodeError:
            c = PLAIN_SIGNS.get(c, "?")
        out.append(c)
    return "".join(out)
