"""All texts for users, one table per language; rarely needed parts are separate modules."""

from __future__ import annotations

from blockcalc.errors import Fault, InternalError
from blockcalc.messages.en import TEXTS


def _table(key: str) -> dict[str, str]:
    """Find the table that contains a key."""
    if key in TEXTS:
        return TEXTS
    from blockcalc.messages import (
        en_check,
        en_cost,
        en_faults,
        en_grad,
        en_mistakes,
        en_new,
        en_notebook,
    )

    parts = (en_grad, en_faults, en_cost, en_check, en_mistakes, en_notebook, en_new)
    return next((part.TEXTS for part in parts if key in part.TEXTS), TEXTS)


def say(key: str, /, **fields: object) -> str:
    """Give the text of a key with its fields filled in.

    Raises
    ------
    InternalError
        There is no such text, or it has a field that is not given.

    Examples
    --------
    >>> say("numbers.many", n=3)
    '3 numbers'
    """
    text = _table(key).get(key)
    if text is None:
        raise InternalError(Fault(say("text.missing", key=key), hint=say("text.missing.hint")))
    try:
        return text.format(**fields)
    except (KeyError, IndexError) as field:
        there = ", ".join(fields)
        raise InternalError(Fault(say("text.field", key=key, field=field, there=there))) from None


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
    from string import Formatter

    found = (name for _, name, _, _ in Formatter().parse(_table(key)[key]) if name)
    return tuple(dict.fromkeys(found))
