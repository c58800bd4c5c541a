"""All texts for users, one table per language; parts that few commands need are separate modules."""

from __future__ import annotations

from blockcalc.messages.en import TEXTS


def _table(key: str) -> dict[str, str]:
    """Find the table that contains a key."""
    if key in TEXTS:
        return TEXTS
    from blockcalc.messages import en_cost, en_faults, en_grad

    parts = (en_grad.TEXTS, en_faults.TEXTS, en_cost.TEXTS)
    return next((part for part in parts if key in part), TEXTS)


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
