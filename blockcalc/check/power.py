"""The catalogue of mistakes, listed, and what a block can reveal of it: which it hides, and which it cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from blockcalc.check.carried import Carried
from blockcalc.check.reasons import Catalogue
from blockcalc.explain.document import Column, Heading, Listing, Piece, Remark
from blockcalc.messages import fields_of, say
from blockcalc.messages.words import listed
from blockcalc.mistakes.slips import NAMES
from blockcalc.mistakes.table import MISTAKES
from blockcalc.ops.op import Array

Seen = dict[str, Array]


@dataclass(frozen=True)
class Power:
    """What the numbers of some steps tell of mistakes.

    Attributes
    ----------
    revealed : tuple of str
        Mistakes that change a number by more than half a unit of its last digit, wherever they are made.
    hidden : tuple of str
        Mistakes that can be made in the block and that at some place change none.
    alike : tuple of (str, str)
        Pairs that give the same numbers.
    absent : tuple of str
        Mistakes that cannot be made in it.
    """

    revealed: tuple[str, ...]
    hidden: tuple[str, ...]
    alike: tuple[tuple[str, str], ...]
    absent: tuple[str, ...]


def power(catalogue: Catalogue, steps: Sequence[str], decimals: int) -> Power:
    """Try every mistake on a block, and look at some of its steps.

    Parameters
    ----------
    catalogue : Catalogue
    steps : sequence of str
        The steps whose numbers are asked for, by recorded name.
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
    hidden: dict[str, None] = {}
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
        else:
            hidden[name] = None
    known = [m.name for m in catalogue.mistakes if not m.general and not m.same_result]
    revealed = tuple(n for n in known if n in results and n not in hidden)
    absent = tuple(n for n in known if n not in results and n not in hidden)
    return Power(revealed, tuple(n for n in known if n in hidden), _pairs(results, unit), absent)


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


# what is said of them ----------------------------------------------------------------------------


def power_pieces(found: Power, steps: Sequence[str]) -> Iterator[Piece]:
    """Say what a block can reveal."""
    total = len(found.revealed) + len(found.hidden)
    yield Heading(say("power.heading"), prose=say("power.prose", steps=listed(list(steps)[:5])))
    yield Remark(say("power.sum", n=len(found.revealed), of=total))
    for kind, names in (("hidden", found.hidden), ("revealed", found.revealed)):
        if names:
            text = say(f"power.{kind}", n=len(names), names=", ".join(names))
            yield Remark(text, quiet=kind == "revealed")
    if found.alike:
        groups = "; ".join(" = ".join(group) for group in _groups(found.alike))
        yield Remark(say("power.alike", names=groups))
    yield Remark(say("power.absent", n=len(found.absent)), quiet=True)


def _groups(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Join pairs into groups in which all are alike.

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
    """Give the catalogue as plain data: name, steps and sentence of every mistake, and the names of slips."""
    entries = [
        {"name": m.name, "steps": m.steps, "text": _sentence_of(m.name)} for m in MISTAKES.values()
    ]
    slips = [{"name": name, "steps": "*", "text": _sentence_of(name)} for name in NAMES]
    return {"format": "blockcalc-mistakes", "version": 1, "mistakes": [*entries, *slips]}


def _sentence_of(name: str) -> str:
    """Give the sentence of a mistake, with an ellipsis in each field."""
    key = f"mistake.{name}"
    return say(key, **dict.fromkeys(fields_of(key), "…"))


def mistake_pieces() -> Iterator[Piece]:
    """List the catalogue: name, steps, sentence."""
    keys = (("name", "name"), ("step", "name"), ("sentence", "text"))
    columns = tuple(Column(say(f"column.mistakes.{k}"), kind) for k, kind in keys)
    rows = [(m.name, m.steps, _sentence_of(m.name)) for m in MISTAKES.values()]
    yield Heading(say("mistakes.heading", n=len(rows)))
    yield Listing(columns, tuple(rows))
    yield Heading(say("mistakes.slips"), prose=say("mistakes.slips.prose"))
    yield Listing((columns[0], columns[2]), tuple((name, _sentence_of(name)) for name in NAMES))
