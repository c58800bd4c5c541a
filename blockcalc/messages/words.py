"""Helpers for texts: near words, lists of names, shapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from blockcalc.messages import say

MOST_LISTED = 40


def listed(names: Iterable[str]) -> str:
    """List names for a message, not more than a person would read."""
    all_names = list(names)
    text = ", ".join(all_names[:MOST_LISTED])
    more = len(all_names) - MOST_LISTED
    return say("step.more", names=text, n=more) if more > 0 else text


MOST_OFFERED = 4
NEAR = 0.6  # how alike two words are, as difflib measures it
NEARER = 0.75  # the same for a part of a name


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Make a sentence that offers what a word may mean among known ones.

    The same letters in another case or joined otherwise come first, then a dotted name that ends so,
    then the nearest name, then the nearest end of one.

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
    """Leave out of a word what people write in different ways: case, hyphens, underscores, spaces."""
    return "".join(c for c in word.casefold() if c.isalnum() or c in ".*+")


def _near(word: str, names: list[str]) -> list[str]:
    """Find the nearest name; with dots in them also by its last part."""
    import difflib  # only where something went wrong

    whole = {name.casefold(): name for name in reversed(names)}
    last = {k.rpartition(".")[2]: name for k, name in whole.items() if "." in k}
    for table, cutoff in ((whole, NEAR), (last, NEARER)):
        near = difflib.get_close_matches(word.casefold(), table, n=1, cutoff=cutoff)
        if near:
            return [table[near[0]]]
    return []


def dims(shape: Sequence[int]) -> str:
    """Write a shape: 3×2."""
    return "×".join(map(str, shape)) or say("numbers.single")


def count(n: int) -> str:
    """Say how many numbers."""
    return say("numbers.one") if n == 1 else say("numbers.many", n=n)
