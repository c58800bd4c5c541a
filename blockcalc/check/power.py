"""Lists of the catalogue, and of the mistakes that a block reveals, hides or confuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from blockcalc.check.carried import Carried
from blockcalc.explain.document import Column, Heading, Listing, Piece, Remark
from blockcalc.messages import fields_of, say
from blockcalc.messages.words import listed
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.slips import NAMES
from blockcalc.mistakes.table import MISTAKES
from blockcalc.ops.op import Array
from blockcalc.records import dataclass

Seen = dict[str, Array]
MOST_WORDS = 3  # forms of a mistake that its sentence names


@dataclass(frozen=True)
class Power:
    """What the numbers of some steps show of mistakes.

    Attributes
    ----------
    revealed : tuple of str
        Mistakes that change a number by more than half a unit of its last digit, at every
        place.
    hidden : tuple of str
        Mistakes that can be made in the block and change no number at some place.
    alike : tuple of (str, str)
        Pairs of mistakes that give the same numbers.
    absent : tuple of str
        Mistakes that cannot be made in it.
    words : mapping
        What the sentence of a mistake names in this block: of a hidden one, where it is not seen.
    """

    revealed: tuple[str, ...]
    hidden: tuple[str, ...]
    alike: tuple[tuple[str, str], ...]
    absent: tuple[str, ...]
    words: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)


def power(catalogue: Catalogue, steps: Sequence[str], decimals: int) -> Power:
    """Make every mistake in a block, and compare some of its steps.

    Parameters
    ----------
    catalogue : Catalogue
    steps : sequence of str
        The steps to compare, by recorded name.
    decimals : int
        How many decimals they are written with.
    """
    trace = catalogue.block.trace
    inputs = {
        ref.name: np.asarray(trace.arrays[ref.name], np.float64) for ref in trace.program.inputs
    }
    plain = Carried(trace.program, inputs, {}, rounding=trace.rounding)
    unit = 10.0**-decimals
    right = {name: plain.own[name].numbers for name in steps}
    results: dict[str, list[Seen]] = {}
    hidden: dict[str, list[Mapping[str, Any]]] = {}
    shown: dict[str, list[Mapping[str, Any]]] = {}
    for tried in catalogue.tried:
        name = tried.mistake.name
        if tried.mistake.general or tried.mistake.same_result:
            continue
        seen = {}
        for step in steps:
            value = plain.under(tried.change, step, bounded=False)
            if value is not None and not _same(value.numbers, right[step], unit):
                seen[step] = value.numbers
        if seen:
            results.setdefault(name, []).append(seen)
        (shown if seen else hidden).setdefault(name, []).append(tried.change.words)
    known = [m.name for m in catalogue.mistakes if not m.general and not m.same_result]
    revealed = tuple(n for n in known if n in results and n not in hidden)
    absent = tuple(n for n in known if n not in results and n not in hidden)
    words = {name: _merged(forms) for name, forms in (shown | hidden).items()}
    unseen = tuple(n for n in known if n in hidden)
    return Power(revealed, unseen, _pairs(results, unit), absent, words)


def _merged(forms: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """List what the forms of a mistake name, each once."""
    keys = dict.fromkeys(key for form in forms for key in form)
    return {
        key: list(dict.fromkeys(str(form[key]) for form in forms if key in form)) for key in keys
    }


def _same(a: Array, b: Array, unit: float) -> bool:
    with np.errstate(all="ignore"):
        near = (a == b) | (np.abs(a - b) <= unit / 2) | (np.isnan(a) & np.isnan(b))
    return a.shape == b.shape and bool(np.all(near))


def _pairs(results: dict[str, list[Seen]], unit: float) -> tuple[tuple[str, str], ...]:
    """Find the mistakes that give the same numbers in some form."""
    found = []
    names = list(results)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if any(_alike(x, y, unit) for x in results[a] for y in results[b]):
                found.append((a, b))
    return tuple(found)


def _alike(a: Seen, b: Seen, unit: float) -> bool:
    return a.keys() == b.keys() and all(_same(a[name], b[name], unit) for name in a)


# lists -------------------------------------------------------------------------------------------


def power_pieces(found: Power, steps: Sequence[str]) -> Iterator[Piece]:
    """List what a block can reveal."""
    total = len(found.revealed) + len(found.hidden)
    yield Heading(say("power.heading"), prose=say("power.prose", steps=listed(list(steps)[:5])))
    yield Remark(say("power.sum", n=len(found.revealed), of=total))
    for kind, names in (("hidden", found.hidden), ("revealed", found.revealed)):
        if names:
            yield Heading(say(f"power.{kind}", n=len(names)))
            rows = [(name, _sentence_of(name, found.words.get(name))) for name in names]
            yield Listing(_columns("name", "sentence"), tuple(rows))
    if found.alike:
        yield Heading(say("power.alike"), prose=say("power.alike.prose"))
        groups = [(" = ".join(group),) for group in _groups(found.alike)]
        yield Listing((Column(say("column.mistakes.same"), "text"),), tuple(groups))
    yield Remark(say("power.absent", n=len(found.absent)), quiet=True)


def _columns(*keys: str) -> tuple[Column, ...]:
    kinds = {"sentence": "text"}
    return tuple(Column(say(f"column.mistakes.{k}"), kinds.get(k, "name")) for k in keys)


def _groups(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Join pairs into groups in which every two are a pair.

    Examples
    --------
    >>> _groups([("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")])
    [['a', 'b', 'c'], ['c', 'd']]
    """
    known = {frozenset(pair) for pair in pairs}
    groups: list[list[str]] = []
    for a, b in pairs:
        if any(a in group and b in group for group in groups):
            continue
        for group in groups:
            if a in group and all(frozenset((own, b)) in known for own in group):
                group.append(b)
                break
        else:
            groups.append([a, b])
    return groups


def mistakes_data() -> dict[str, object]:
    """Give the catalogue as plain data: names, steps and sentences, and the names of slips."""
    entries = [
        {"name": m.name, "steps": m.steps, "text": _sentence_of(m.name)} for m in MISTAKES.values()
    ]
    slips = [{"name": name, "steps": "*", "text": _sentence_of(name)} for name in NAMES]
    return {"format": "blockcalc-mistakes", "version": 1, "mistakes": [*entries, *slips]}


def _sentence_of(name: str, words: Mapping[str, Sequence[str]] | None = None) -> str:
    """Give the sentence of a mistake, with its fields in a block or with ellipses."""
    key = f"mistake.{name}"
    return say(key, **{word: _some((words or {}).get(word, ())) for word in fields_of(key)})


def _some(values: Sequence[str]) -> str:
    """Write the first of several words, and an ellipsis for more, or for none."""
    more = ["…"] * (len(values) > MOST_WORDS or not values)
    return say("words.or").join([*values[:MOST_WORDS], *more])


def mistake_pieces() -> Iterator[Piece]:
    """List the catalogue: name, steps, sentence."""
    columns = _columns("name", "step", "sentence")
    rows = [(m.name, m.steps, _sentence_of(m.name)) for m in MISTAKES.values()]
    yield Heading(say("mistakes.heading", n=len(rows)))
    yield Listing(columns, tuple(rows))
    yield Heading(say("mistakes.slips"), prose=say("mistakes.slips.prose"))
    yield Listing((columns[0], columns[2]), tuple((name, _sentence_of(name)) for name in NAMES))
