"""Helpers for texts: suggestions, lists of names, shapes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from numbers import Real
from operator import index
from typing import Any

from blockcalc.errors import Fault, UsageError
from blockcalc.limits import MOST_COUNT
from blockcalc.messages import known, say

MOST_LISTED = 40


def listed(names: Iterable[str]) -> str:
    """List names for a message, at most ``MOST_LISTED``."""
    all_names = list(names)
    text = ", ".join(all_names[:MOST_LISTED])
    more = len(all_names) - MOST_LISTED
    return say("step.more", names=text, n=more) if more > 0 else text


MOST_OFFERED = 4
NEAR = 0.6  # the least similarity of two words, by difflib
NEARER = 0.75  # the same for the last part of a name


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Suggest known words for an unknown one, as a sentence.

    Words with the same letters in another case or with other separators come first, then dotted
    names that end with it, then the nearest name, then the name with the nearest end.

    Examples
    --------
    >>> did_you_mean("Gelu", ["relu", "gelu"])
    "did you mean 'gelu'?"
    >>> did_you_mean("n_heads", ["norm", "attn.n_heads"])
    "did you mean 'attn.n_heads'?"
    """
    names = list(dict.fromkeys(known))
    bare = _bare(word)
    same = [name for name in names if _bare(name) == bare] if bare else []
    ends = [name for name in names if _bare(name).endswith("." + bare)] if bare else []
    found = (same or ends)[:MOST_OFFERED] or _near(word, names)
    return say("hint.did_you_mean", word=say("hint.or").join(found)) if found else None


def _bare(word: str) -> str:
    """Remove differences of spelling from a word: case, hyphens, underscores, spaces."""
    return "".join(c for c in word.casefold() if c.isalnum() or c in ".*+")


def _near(word: str, names: list[str]) -> list[str]:
    """Find the nearest name; for dotted names also by the last part."""
    import difflib  # imported only for errors

    whole = {name.casefold(): name for name in reversed(names)}
    last = {k.rpartition(".")[2]: name for k, name in whole.items() if "." in k}
    for table, cutoff in ((whole, NEAR), (last, NEARER)):
        near = difflib.get_close_matches(word.casefold(), table, n=1, cutoff=cutoff)
        if near:
            return [table[near[0]]]
    return []


def described(value: object) -> str:
    """Describe a value of Python: a text in quotes, a number or None as it is, else the type.

    Examples
    --------
    >>> described("a"), described(2.0), described([1])
    ("'a'", '2.0', 'a value of type list')
    """
    if isinstance(value, str):
        return f"'{value[:MOST_SHOWN]}'"
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return say("kind.huge")
    if value is None or isinstance(value, int | float):
        return str(value)
    return say("kind.type", name=type(value).__name__)


MOST_SHOWN = 40  # characters of a text
MOST_BITS = 1000  # of a whole number


def require_word(what: str, value: object, known: Collection[str]) -> None:
    """Raise an error for a value that is not one of the known words."""
    if not isinstance(value, str) or value not in known:
        text = say("word.unknown", what=what, known=", ".join(known), got=described(value))
        hint = did_you_mean(value, known) if isinstance(value, str) else None
        raise UsageError(Fault(text, hint=hint))


def require_whole(what: str, value: Any, low: int) -> int:
    """Convert a whole number of any type, also one of NumPy; raise an error for anything else."""
    words = {"name": what, "low": low, "got": described(value)}
    with suppress(TypeError):
        if not isinstance(value, bool) and index(value) > MOST_COUNT:
            raise UsageError(Fault(say("size.whole.to", high=MOST_COUNT, **words)))
        if not isinstance(value, bool) and index(value) >= low:
            return index(value)
    raise UsageError(Fault(say("size.whole", **words)))


def require_flag(what: str, value: object) -> None:
    """Raise an error for anything but True or False."""
    if not isinstance(value, bool):
        raise UsageError(Fault(say("size.flag", name=what, got=described(value))))


def require_finite(what: str, value: Any) -> float:
    """Convert a real number that float64 can hold, of at least 0; else raise an error."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    with suppress(OverflowError):
        if real and 0 <= float(value) < math.inf:
            return float(value)
    raise UsageError(Fault(say("api.finite", name=what, got=described(value))))


def dims(shape: Sequence[int]) -> str:
    """Write a shape: 3×2."""
    return "×".join(map(str, shape)) or say("numbers.single")


def say_count(key: str, n: int, **fields: object) -> str:
    """Give the text of a key for ``n`` things: ``key.one`` for 1, else ``key`` or ``key.many``.

    Without a text ``key.one``, that of the plural is used for 1 too.

    Examples
    --------
    >>> say_count("check.all_right", 1), say_count("check.all_right", 3)
    ('The step is right.', 'All 3 steps are right.')
    >>> say_count("heads", 1), say_count("heads", 2)
    ('1 head', '2 heads')
    """
    single, plural = f"{key}.one", key if known(key) else f"{key}.many"
    return say(single if n == 1 and known(single) else plural, n=n, **fields)


AXES = (
    "head",
    "kv_head",
    "query",
    "key",
    "batch",
    "pair",
    "one",
    "loss",
)  # the others are named by symbols


def axis_word(axis: str) -> str:
    """Name an axis in the language in use; ``d_model`` and the like are symbols and stay.

    Examples
    --------
    >>> axis_word("query"), axis_word("d_model")
    ('query', 'd_model')
    """
    return say(f"axis.{axis}") if axis in AXES else axis


def sentences(said: Iterable[str]) -> str:
    """Put sentences one after the other; Chinese ones have no space between them.

    Examples
    --------
    >>> sentences(["One.", "Two."])
    'One. Two.'
    """
    return say("words.between").join(said)


def clauses(said: Iterable[str]) -> str:
    """Join clauses by semicolons, which are wide ones in Chinese.

    Examples
    --------
    >>> clauses(["one", "two"])
    'one; two'
    """
    return say("words.semicolon").join(said)


def count(n: int) -> str:
    """Write a count of numbers."""
    return say_count("numbers", n)
