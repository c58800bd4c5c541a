"""All texts for users, one table per language; parts that few commands need are separate modules."""

from __future__ import annotations

from string import Formatter

from blockcalc.messages.en import TEXTS


def _table(key: str) -> dict[str, str]:
    """Find the table that contains a key."""
    if key in TEXTS:
        return TEXTS
    from blockcalc.messages import en_check, en_cost, en_faults, en_grad, en_mistakes

    parts = (en_grad, en_faults, en_cost, en_check, en_mistakes)
    return next((part.TEXTS for part in parts if key in part.TEXTS), TEXTS)


def say(key: str, /, **fields: object) -> str:
    """Give the text of a key with its fields filled in.

    Examples
    --------
    >>> say("numbers.many", n=3)
    '3 numbers'
    """
    return _table(key)[key].format(**fields)


def known(key: str) -> bool:
    """Tell whether a key has a text."""
    return key in _table(key)


def fields_of(key: str) -> tuple[str, ...]:
    """Name the fields of the text of a key, each once, in the order of the text.

    Examples
    --------
    >>> fields_of("numbers.many")
    ('n',)
    """
    found = (name for _, name, _, _ in Formatter().parse(_table(key)[key]) if name)
    return tuple(dict.fromkeys(found))
