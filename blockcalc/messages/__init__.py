"""All texts for users, a table a language and part; rarely needed parts are separate modules."""

from __future__ import annotations

import os
from importlib import import_module

from blockcalc.errors import Fault, InternalError, UsageError

PARTS = ("grad", "faults", "cost", "check", "mistakes", "page", "teach", "design")
LANGUAGES = {"en": "en", "zh": "zh.main"}  # each with the module of its main table
VARIABLE = "BLOCKCALC_LANG"
ENGLISH = "en"


def of_variable() -> str | None:
    """Give the language that ``BLOCKCALC_LANG`` names, if it names one."""
    name = os.environ.get(VARIABLE, "").strip().lower()
    return name if name in LANGUAGES else None


class _Held:
    """The tables in use: those of the language, and English ones for what they lack."""

    def __init__(self) -> None:
        self.language = ""
        self.tables: list[dict[str, str]] = []
        self.complete = False

    def use(self, language: str) -> None:
        """Begin with the main tables of a language."""
        self.language, self.tables, self.complete = language, [], False
        self.add(*dict.fromkeys((LANGUAGES[ENGLISH], LANGUAGES[language])))

    def add(self, *modules: str) -> None:
        """Add tables; the texts of later ones are used before those of earlier ones."""
        found = (import_module(f"blockcalc.messages.{name}").TEXTS for name in modules)
        self.tables = [*reversed(list(found)), *self.tables]

    def begin(self) -> None:
        """Use the language of the environment, unless one is in use."""
        if not self.language:
            self.use(of_variable() or ENGLISH)

    def text(self, key: str) -> str | None:
        """Find a text; the tables of other parts are read when a key is in none so far."""
        self.begin()
        found = next((table[key] for table in self.tables if key in table), None)
        if found is not None or self.complete:
            return found
        self.complete = True
        self.add(*(f"en_{part}" for part in PARTS))
        if self.language != ENGLISH:
            self.add(*(f"{self.language}.{part}" for part in PARTS))
        return self.text(key)


_HELD = _Held()


def language() -> str:
    """Give the language in use; at first that of ``BLOCKCALC_LANG``, without it English."""
    _HELD.begin()
    return _HELD.language


def set_language(name: str) -> None:
    """Use a language for all texts from here on.

    Parameters
    ----------
    name : str
        ``en`` or ``zh``.

    Raises
    ------
    UsageError
        There are no texts in this language.
    """
    if name not in LANGUAGES:
        text = say("language.unknown", got=str(name), known=", ".join(LANGUAGES))
        raise UsageError(Fault(text))
    _HELD.use(name)


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
    text = _HELD.text(key)
    if text is None:
        raise InternalError(Fault(say("text.missing", key=key), hint=say("text.missing.hint")))
    try:
        return text.format(**fields)
    except (KeyError, IndexError) as field:
        there = ", ".join(fields)
        raise InternalError(Fault(say("text.field", key=key, field=field, there=there))) from None


def known(key: str) -> bool:
    """Tell whether a key has a text."""
    return _HELD.text(key) is not None


def fields_of(key: str) -> tuple[str, ...]:
    """Name the fields of the text of a key, each once, in the order of the text.

    Examples
    --------
    >>> fields_of("numbers.many")
    ('n',)
    """
    from string import Formatter

    found = (name for _, name, _, _ in Formatter().parse(_HELD.text(key) or "") if name)
    return tuple(dict.fromkeys(found))
