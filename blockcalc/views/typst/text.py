"""Text for Typst: everything that was typed is a string, so nothing in it is markup or code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from blockcalc.notation.alphabets import Text, Typst
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import Expr
from blockcalc.records import dataclass

_MATH, _TEXT = Typst(), Text()
_TOKEN = re.compile(r"\\, |\\.|.", re.DOTALL)
LONG_WORD = 24  # a longer word may be broken anywhere
LONG_LINE = 60  # characters of a formula that may be broken after its commas


def quoted(text: str) -> str:
    r"""Write a text as a string of Typst.

    Examples
    --------
    >>> print(quoted('say "#x"'))
    "say \"#x\""
    """
    plain = clean(unicodedata.normalize("NFC", text))
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written(text: str, longest: int = LONG_WORD) -> str:
    """Write a text as an argument; words of more than ``longest`` characters may be broken.

    Examples
    --------
    >>> print(written("a word"), written("a word", 3))
    "a word" {"a"; " "; block-word("word")}
    """
    words = text.split(" ")
    broken = [len(clean(word)) > longest for word in words]
    if not any(broken):
        return quoted(text)
    parts = (
        f"block-word({quoted(word)})" if long else quoted(word)
        for word, long in zip(words, broken, strict=True)
    )
    return "{" + '; " "; '.join(parts) + "}"


def code(text: str) -> str:
    """Write a name as it is typed."""
    return f"raw({quoted(text)})"


def asian(c: str) -> bool:
    """Tell whether a character is Chinese, Japanese or Korean.

    Examples
    --------
    >>> [asian(c) for c in "a苹，é"]
    [False, True, True, False]
    """
    code_point = ord(c)
    return (
        0x2E80 <= code_point <= 0xA4CF
        or 0xAC00 <= code_point <= 0xD7AF
        or 0xF900 <= code_point <= 0xFAFF
        or 0xFF00 <= code_point <= 0xFFEF
        or 0x20000 <= code_point <= 0x323AF
    )


def chinese(text: str) -> bool:
    """Tell whether a text has Chinese characters that are not Japanese or Korean.

    Examples
    --------
    >>> chinese("an 苹果"), chinese("りんごの木"), chinese("apple")
    (True, False, False)
    """
    names = {unicodedata.name(c, "").partition(" ")[0] for c in text if asian(c)}
    return "CJK" in names and not names & {"HIRAGANA", "KATAKANA", "HANGUL"}


@dataclass(frozen=True)
class Written:
    """A part of a formula: what is read aloud, and what is shown."""

    said: str
    shown: str


Part = Expr | Written | str


def formula(*parts: Part) -> str:
    """Write a formula with its plain text, which is read aloud.

    Examples
    --------
    >>> from blockcalc.ops.expr import Name
    >>> print(formula(Name("mu"), "=", Name("W_Q")))
    block-formula("μ = W_Q", $μ = W_Q$)
    """
    said, shown = zip(*map(_both, parts), strict=True)
    return _formula(" ".join(said), " ".join(shown))


def breakable(*parts: Part) -> list[str]:
    """Write arithmetic with high fractions, which may break after a comma between arguments."""
    said, shown = map(" ".join, zip(*map(_both, parts), strict=True))
    shown = shown.replace("frac(", "blockfrac(")
    pairs = list(zip(said.split(", "), _arguments(shown), strict=False))
    if len(shown) < LONG_LINE or len(pairs) != said.count(", ") + 1:
        return [_formula(said, shown)]
    *some, last = pairs
    return [*(_formula(f"{a},", rf"{b}\,") + ' + " "' for a, b in some), _formula(*last)]


def _formula(said: str, shown: str) -> str:
    return f"block-formula({quoted(said)}, ${shown}$)"


def _both(part: Part) -> tuple[str, str]:
    match part:
        case Written(said=said, shown=shown):
            return said, shown
        case str():
            return part, part
    return _TEXT.render(part), _MATH.render(part)


def _arguments(shown: str) -> list[str]:
    r"""Cut a formula at the commas that are shown, ``\,``, outside of all calls."""
    found, depth = [""], 0
    for token in _TOKEN.findall(shown):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == r"\, " and depth == 0:
            found.append("")
        else:
            found[-1] += token
    return found


def array(items: Iterable[str]) -> str:
    """Write an array; one of a single item has a comma too.

    Examples
    --------
    >>> array(["1"]), array(["1", "2"]), array([])
    ('(1,)', '(1, 2)', '()')
    """
    every = list(items)
    return f"({every[0]},)" if len(every) == 1 else f"({', '.join(every)})"
