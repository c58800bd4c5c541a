"""Helpers for texts: near words, lists of names, shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blockcalc.messages import say

MOST_LISTED = 40


def listed(names: Iterable[str]) -> str:
    """List names for a message, not more than a person would read."""
    all_names = list(names)
    text = ", ".join(all_names[:MOST_LISTED])
    more = len(all_names) - MOST_LISTED
    return say("step.more", names=text, n=more) if more > 0 else text


def did_you_mean(word: str, known: Mapping[str, Any] | list[str]) -> str | None:
    """Make a sentence that offers the nearest known word, if one is near."""
    import difflib  # only where something went wrong

    near = difflib.get_close_matches(word, list(known), n=1) or difflib.get_close_matches(
        word.lower(), list(known), n=1
    )
    return say("hint.did_you_mean", word=near[0]) if near else None


def dims(shape: Sequence[int]) -> str:
    """Write a shape: 3×2."""
    return "×".join(map(str, shape)) or say("numbers.single")
