"""Find misleading text: characters that look like others, and escapes.

All readers share one table of characters and one search, so YAML, JSON and csv give the same hints.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from blockcalc.messages import say
from blockcalc.records import dataclass

# the intended character, and its lookalikes; a range is written as first and last
_MEANT = {
    " ": "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000",
    "": "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff",
    "\n": "\u0085\u2028\u2029",
    "-": "\u02d7\u2010-\u2015\u2043\u207b\u2212\u2796\ufe58\ufe63",
    "+": "\u207a\u2795\ufe62",
    "'": "\u00b4\u02b9\u02bc\u2018-\u201b\u2032\u2035\u2039\u203a",
    '"': "\u00ab\u00bb\u02ba\u201c-\u201f\u2033\u2036\u300c-\u300f\u301d-\u301f",
    ",": "\u060c\u3001\ufe10\ufe11\ufe50\ufe51\uff64",
    ".": "\u066b\u2024\u3002\ufe12\ufe52\uff61",
    ":": "\u02d0\u2236\ua789\ufe13\ufe55",
    ";": "\u061b\ufe14\ufe54",
    "/": "\u2044\u2215\u29f8",
    "[": "\u27e6\u3010\u3014\u301a\ufe47\ufe5d",
    "]": "\u27e7\u3011\u3015\u301b\ufe48\ufe5e",
    "{": "\u2774\ufe5b",
    "}": "\u2775\ufe5c",
    "#": "\ufe5f",
    "?": "\u061f\ufe16\ufe56",
}
_LETTERS = dict(zip("асеіјорѕухАВСЕНІЈКМОРЅТХοΟ", "aceijopsyxABCEHIJKMOPSTXoO", strict=True))
_NAMED = {"\u0085": "sign.next_line", "\ufeff": "sign.byte_order"}
_SCRIPTS = re.compile(r"\b(arabic|cyrillic|devanagari|greek|latin)\b")
_SPAN = re.compile(r"(.)-(.)", re.DOTALL)


def _spelled(signs: str) -> str:
    """Expand ranges of characters."""
    return _SPAN.sub(lambda s: "".join(map(chr, range(ord(s[1]), ord(s[2]) + 1))), signs)


_TABLE = {sign: meant for meant, signs in _MEANT.items() for sign in _spelled(signs)}
_TABLE |= {chr(n): chr(n - 0xFEE0) for n in range(0xFF01, 0xFF5F)}  # full-width ASCII


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A character that looks like ``meant``; ``helps`` tells whether replacing it helps."""

    sign: str
    at: int
    meant: str
    helps: bool = True

    def named(self) -> str:
        """Give its name and code point."""
        return say("sign.named", name=_name(self.sign), code=f"U+{ord(self.sign):04X}")

    def message(self) -> str:
        """Give the error message for its position."""
        return say("sign.wrong", sign=self.named())

    def advice(self) -> str | None:
        """Say what to write instead, if that helps."""
        if not self.helps:
            return None
        if not self.meant:
            return say("sign.delete")
        return say("sign.write", meant=_shown(self.meant))

    def hint(self) -> str:
        """Give its name and what to write instead."""
        return say("sign.hint", sign=self.named(), advice=self.advice())


def _name(sign: str) -> str:
    if sign in _NAMED:
        return say(_NAMED[sign])
    name = unicodedata.name(sign, "").lower()
    name = name.replace("fullwidth", "full-width").replace("zero width", "zero-width")
    return _SCRIPTS.sub(lambda script: script[0].capitalize(), name)


def _shown(meant: str) -> str:
    words = {" ": "sign.space", "\n": "sign.line", ": ": "sign.colon"}
    if meant in words:
        return say(words[meant])
    return f'"{meant}"' if "'" in meant else f"'{meant}'"


def _meant(sign: str) -> str | None:
    """Give the intended character for one that is not a letter."""
    if sign in _TABLE:
        return _TABLE[sign]
    number = unicodedata.decimal(sign, None)
    if number is not None:
        return str(number)
    parts = unicodedata.normalize("NFKC", sign)
    return parts.replace("\u2044", "/") if "\u2044" in parts else None  # a fraction such as ½


def lookalikes(text: str, json: bool = False) -> Iterator[Lookalike]:
    """Find every character of a text that looks like another, in order.

    A letter counts only in a text that becomes ASCII with the table: a word in another script is
    not a mistake.
    """
    if text.isascii():
        return
    letters = any(c in _LETTERS for c in text) and _is_latin(text)
    for at, sign in enumerate(text):
        if sign.isascii():
            continue
        meant = _LETTERS.get(sign) if letters and sign in _LETTERS else _meant(sign)
        if meant is not None:
            yield Lookalike(sign, at, '"' if json and meant == "'" else meant)


def _is_latin(text: str) -> bool:
    """Tell whether a text is ASCII once every lookalike is replaced, letters included."""
    return all(c.isascii() or c in _LETTERS or _meant(c) is not None for c in text)


def lookalike(text: str, json: bool = False) -> Lookalike | None:
    """Find the first character of a text that looks like another."""
    return next(lookalikes(text, json), None)


# the cause of a syntax error -----------------------------------------------------------

MOST_TRIED = 12
LONGEST_TRIED = 2**17  # longer texts are not parsed repeatedly
MOST_READ = 2**20  # total number of characters that may be parsed again

Breaks = Callable[[str], int | None]


def culprit(text: str, span: tuple[int, int], breaks: Breaks, json: bool) -> Lookalike | None:
    """Find the character that causes a syntax error.

    Parameters
    ----------
    text : str
    span : tuple of int
        Where the unreadable part begins, and where parsing stopped.
    breaks : callable
        Gives the index at which parsing a text stops, None if it is valid.
    json : bool
        Whether it is JSON, which has only double quotes.

    Returns
    -------
    Lookalike or None
        The first one, or run, whose replacement lets parsing get further; otherwise one at the
        index where parsing stopped, without a replacement.
    """
    since, broken = span
    if len(text) > LONGEST_TRIED:
        here = lookalike(text[broken : broken + 1], json)
        return here and replace(here, at=broken)
    since = min(since, text.rfind("\n", 0, broken) + 1)
    end = text.find("\n", broken)
    read = text[: end if end >= 0 else None]
    found = [_spaced(text, one, json) for one in lookalikes(read, json)]
    near = [one for one in found if one.at >= since] or found
    near = near if len(near) <= 2 * MOST_TRIED else near[:MOST_TRIED] + near[-MOST_TRIED:]
    singles = [[one] for one in sorted(near, key=lambda one: abs(one.at - broken))]
    runs = [near[i:] for i in range(len(near) - 2, -1, -1)]
    for tried in (singles + runs)[: MOST_READ // (len(text) + 1)]:
        changed, grown = _replaced(text, tried)
        at = breaks(changed)
        if at is None or _further(changed, at, broken + grown):
            return tried[0]
    there = next((one for one in found if one.at == broken), None)
    return there and replace(there, helps=False)


def _further(text: str, at: int, before: int) -> bool:
    """Tell whether parsing gets further than before, past the next ordinary character."""
    return at > before + 1 or (at == before + 1 and not text[at : at + 1].isascii())


def _spaced(text: str, one: Lookalike, json: bool) -> Lookalike:
    """Add the space that YAML needs after the colon of a key."""
    if one.meant != ":" or json or text[one.at + 1 : one.at + 2].strip(" \n") == "":
        return one
    return Lookalike(one.sign, one.at, ": ")


def _replaced(text: str, signs: Sequence[Lookalike]) -> tuple[str, int]:
    """Replace lookalikes, or spaces for characters to delete; also return the change in length."""
    parts, at = [], 0
    for one in signs:
        parts += [text[at : one.at], one.meant or " "]
        at = one.at + 1
    changed = "".join([*parts, text[at:]])
    return changed, len(changed) - len(text)


# escapes ----------------------------------------------------------------------------------

ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_READ_AS = "nt0abevfrN_LP"  # each has a message with its meaning
_PLAIN = '"\\/ \n\t'


def escapes_hint(typed: str, json: bool) -> str | None:
    """Explain how backslashes in double quotes were read, and how to keep them.

    Parameters
    ----------
    typed : str
        The text as typed, with its quotes.
    json : bool
        Whether it is JSON, which has no single quotes.
    """
    found = dict.fromkeys(e[1] for e in ESCAPE.finditer(typed) if e[1] not in _PLAIN)
    if not found.keys() & set(_READ_AS):
        return None  # escapes with a code point are assumed to be intended
    told = [
        say("escape.more" if i else "escape.first", escape=f"\\{e}", read=_read_as(e))
        for i, e in enumerate(list(found)[:3])
    ]
    return say("escape.read", read=say("escape.and").join(told), kept=backslashes_kept(typed, json))


def _read_as(escape: str) -> str:
    if escape in _READ_AS:
        return say(f"escape.{escape}")
    return say("escape.code", code=f"U+{int(escape[1:], 16):04X}")


def backslashes_kept(typed: str, json: bool) -> str:
    """Write a text in double quotes so that its backslashes are kept."""
    inside = typed[1:-1] if typed[-1:] == '"' and len(typed) > 1 else typed[1:]
    if json:
        return say("escape.double", text='"' + inside.replace("\\", "\\\\") + '"')
    return say("escape.single", text="'" + inside.replace("'", "''") + "'")


_DECIMAL_COMMA = re.compile(r"[-+]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+),[0-9]+(?:[eE][-+]?[0-9]+)?")
_FORMS = {
    re.compile(r"[-+−]?[0-9]+ [0-9]+/[0-9]+|[-+−]?[0-9]+ ?[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]"): "hint.mixed",
    re.compile(r"[-+−]?[0-9.]+ ?[×*·x] ?10(\^[-+]?[0-9]+|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"): "hint.power",
}
_QUOTED = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
LONGEST = 300  # digits of a number; more exceed float64


def form_hint(text: str) -> str | None:
    """State what to write for a mixed number or a power of ten."""
    for form, key in _FORMS.items():
        if form.fullmatch(text.strip()):
            return say(key)
    return None


def number_hint(text: str) -> str | None:
    """Say what to write instead of a text in place of a number."""
    stripped = text.strip()
    if _DECIMAL_COMMA.fullmatch(stripped):
        return say("hint.decimal_comma")
    if hint := form_hint(text):
        return hint
    if sign := lookalike(text):
        return sign.hint()
    if _QUOTED.fullmatch(stripped):
        long = len(stripped) > LONGEST or re.search("[eE]", stripped)
        return say("hint.too_large" if long else "hint.quoted")
    return None
