"""Characters that any terminal can show: ASCII substitutes, and escapes of control characters."""

from __future__ import annotations

import re
import unicodedata

GREEK = {
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
    **{v: k for k, v in GREEK.items()},
    "×": "x", "√": "sqrt", "≈": "~=", "∞": "inf", "→": "->", "⊙": "(*)",
    "Σ": "sum", "…": "...", "–": "-", "—": "-", "·": "*", "±": "+/-", "’": "'", "−": "-",
    "│": "|", "─": "-", "‘": "'", "“": '"', "”": '"', "≠": "!=", "≤": "<=", "‖": "|", "█": "#", "░": ".", "═": "=", "╭": "+", "┬": "+", "≥": ">=", "▶": ">", "◀": "<", "└": "+", "┘": "+", "┌": "+", "┐": "+", "←": "<-",
}  # fmt: skip


def clean(text: str) -> str:
    r"""Replace control and invisible characters by escapes such as ``\x1b``; keep everything else.

    Examples
    --------
    >>> clean("a" + chr(27) + "[2J")
    'a\\x1b[2J'
    """
    return "".join(shown(text))


def _harmless(c: str) -> bool:
    return unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def shown(text: str) -> list[str]:
    """Give the output of ``clean`` for each character of a text."""
    return [
        c if _harmless(c) or _joins(text[i - 1 : i], c, text[i + 1 : i + 2]) else _escaped(c)
        for i, c in enumerate(text)
    ]


def _joins(before: str, c: str, after: str) -> bool:
    """Tell whether a joiner is allowed: within an emoji, or in a script that uses joiners."""
    neighbours = (before, after)
    return c in "\u200d\u200c" and all(
        b and not b.isascii() and unicodedata.category(b)[0] in "LMS" for b in neighbours
    )


def _escaped(c: str) -> str:
    return c.encode("unicode_escape").decode()


_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁽⁾⁻⁺ᵀᶠ"
_LOWERED = str.maketrans(_RAISED, "0123456789()-+Tf")
_RUN = re.compile(f"[{_RAISED}]+")
_ROOT = re.compile(f"√((?:\\.?\\w+)+[{_RAISED}]*)")  # a full stop ends the sentence, not the root


def plain_signs(text: str, encoding: str) -> str:
    """Replace characters that an encoding lacks: known signs by ASCII, others by a question mark.

    Examples
    --------
    >>> plain_signs("√d_head, σ⁽¹⁾, 2 C², 7×10⁻⁴, Q Kᵀ", "ascii")
    'sqrt(d_head), sigma^(1), 2 C^2, 7x10^-4, Q K^T'
    >>> plain_signs("divided by √d_head. Or by √0.5.", "ascii")
    'divided by sqrt(d_head). Or by sqrt(0.5).'
    """

    def fits(run: str) -> bool:
        try:
            run.encode(encoding)
        except UnicodeEncodeError:
            return False
        return True

    if fits(text):
        return text
    if not fits("√"):
        text = _ROOT.sub(r"sqrt(\1)", text)
    text = _RUN.sub(lambda m: m[0] if fits(m[0]) else "^" + m[0].translate(_LOWERED), text)
    return "".join(c if fits(c) else PLAIN_SIGNS.get(c, "?") for c in text)
