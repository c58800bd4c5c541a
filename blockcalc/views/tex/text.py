"""Escape text for LaTeX."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len

from blockcalc.notation.signs import clean

LONG_WORD = 24  # a longer word may be broken anywhere

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "-": r"{-}",
    "–": "--", "—": "---", "’": "'", "‘": "`", "“": "``", "”": "''", "…": r"\dots{}",
    "[": "{[}", "]": "{]}",
}  # fmt: skip
_MATHS = {
    "×": r"\times", "√": r"\surd", "≈": r"\approx", "∞": r"\infty", "→": r"\rightarrow",
    "←": r"\leftarrow", "±": r"\pm", "≤": r"\leq", "≥": r"\geq", "·": r"\cdot", "⊙": r"\odot",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon",
    "η": r"\eta", "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi", "ρ": r"\rho",
    "σ": r"\sigma", "τ": r"\tau", "φ": r"\varphi", "ω": r"\omega", "Σ": r"\Sigma",
    "ᵀ": r"^{\top}", "⁻": "^{-}", "⁽": "^{(}", "⁾": "^{)}", **{c: f"^{i}" for i, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    "Δ": r"\Delta", "Ω": r"\Omega", "°": r"^{\circ}",
}  # fmt: skip
_NOT_IN_FONTS = "ĦħĸĿŀŉŦŧ"


def east_asian(c: str) -> bool:
    """Tell whether a character is in the Chinese fonts of TeX."""
    if ord(c) < 0x2E80:
        return False
    try:
        c.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True


def escape(text: str) -> str:
    r"""Escape a text so that LaTeX shows it as typed.

    A character that is not in the fonts of TeX is written as its code point.

    Examples
    --------
    >>> print(escape("50% & #1"), escape("W_q"))
    50\% \& \#1 W\_q
    """
    words = []
    for word in clean(composed(text)).replace(",,", ",\u200c,").split(" "):
        joint = r"\allowbreak{}" if len(word) > LONG_WORD else ""
        words.append(joint.join(_character(c) for c in word))
    return " ".join(words)


def composed(text: str) -> str:
    """Compose letters with their accents, if there is such a character: é for e and accent."""
    return unicodedata.normalize("NFC", text)


def printed_width(c: str) -> float:
    """Estimate the width of a character in digits; a code point is six digits wide."""
    if c in _ESCAPES or c in _MATHS:
        return 1.0
    if _character(c) != c:
        return 6.2 if c != "\u200c" else 0.0
    return 1.7 if c.isupper() else float(cell_len(c))


def _character(c: str) -> str:
    if c in _ESCAPES:
        return _ESCAPES[c]
    if c == "\u200c":
        return "{}"
    if c in _MATHS:
        return rf"\ensuremath{{{_MATHS[c]}}}"
    european = "\xa1" <= c <= "\u017e" and c not in _NOT_IN_FONTS
    if c < "\x7f" or european or east_asian(c):
        return c
    return rf"\texttt{{U+{ord(c):04X}}}\allowbreak{{}}"
