"""The language of a command line, found before any text is made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum

from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import ENGLISH, LANGUAGES, of_variable, say

OPTION = "--lang"
LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set counts, as in POSIX


class Language(StrEnum):
    """The words of ``--lang``."""

    _ignore_ = "members key"
    members = vars()
    for key in LANGUAGES:
        members[key] = key


def language_of(args: Sequence[str]) -> str:
    """Find the language: that of ``--lang``, else of ``BLOCKCALC_LANG``, else of the locale.

    An unknown language is ignored here, and is an error in ``without_language``.

    Examples
    --------
    >>> language_of(["run", "--lang", "zh"]), language_of(["--lang=zh", "run"])
    ('zh', 'zh')
    """
    given, _ = _split(args)
    for name in (*reversed(given), of_variable()):
        if name in LANGUAGES:
            return name
    place = next((value for name in LOCALE if (value := os.environ.get(name))), "")
    name = place.partition(".")[0].partition("_")[0].lower()
    return name if name in LANGUAGES else ENGLISH


def without_language(args: Sequence[str]) -> list[str]:
    """Remove ``--lang`` and its value from a command line.

    Raises
    ------
    UsageError
        Its value is missing or names no language, or it is given twice with different values.
    """
    given, rest = _split(args)
    if given and (given[-1] not in LANGUAGES or len(set(given)) > 1):
        words = {"known": ", ".join(LANGUAGES), "got": ", ".join(name or "" for name in given)}
        raise UsageError(Fault(say("language.unknown", **words), Place(OPTION)))
    return rest


def _split(args: Sequence[str]) -> tuple[list[str | None], list[str]]:
    """Separate the values of ``--lang`` from the other words; None where a value is missing."""
    given: list[str | None] = []
    rest: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return given, [*rest, word, *words]
        if word == OPTION:
            given.append(next(words, None))
        elif word.startswith(f"{OPTION}="):
            given.append(word.removeprefix(f"{OPTION}="))
        else:
            rest.append(word)
    return given, rest
