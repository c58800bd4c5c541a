"""Every text a person reads, one table a language."""

from __future__ import annotations

from blockcalc.titles.en import TEXTS


def say(key: str, /, **fields: object) -> str:
    """Give the text of a key with its fields filled in.

    Examples
    --------
    >>> say("numbers.many", n=3)
    '3 numbers'
    """
    return TEXTS[key].format(**fields)


def known(key: str) -> bool:
    """Tell whether there is a text."""
    return key in TEXTS
