"""How often the reason of a wrong answer is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT, Answer
from blockcalc.check.judge import RIGHT, ROUNDED, Judgement, judge
from blockcalc.check.reasons.diagnosis import Diagnosis
from blockcalc.mistakes.alternative import Alternative, Block, Mistake
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.table import MISTAKES
from tests.mistakes.wrong_answers import (
    Rng,
    as_answers,
    blocks,
    moved,
    random_block,
    values_under,
)

CORRECT = (RIGHT, ROUNDED)
FORMS = ("2", "3", "5", "float64", "float32", "bfloat16")
KINDS: dict[str, dict[str, Any]] = {  # what random blocks seldom have, by the beginning of names
    "window": {"mask": "window", "tokens": 5},
    "mask_padding_entr": {"mask": "entries"},
}
Said = list[tuple[str, tuple[str, ...]]]


@dataclass
class Rate:
    """Wrong answers that a mistake shows in, and those in which it is told.

    Attributes
    ----------
    shown, told : int
        Answers in which a given cell is past its tolerance, and those with the right name at the
        right step.
    equal : int
        Answers left aside: a step copied, or two conventions at once, where another mistake gives
        the same numbers, which is named instead.
    missed : list
        Form, words, first steps moved, verdicts, and what was said instead.
    """

    shown: int = 0
    told: int = 0
    equal: int = 0
    missed: list[tuple[str, dict[str, Any], list[str], list[str], Said]] = field(
        default_factory=list
    )

    @property
    def part(self) -> float:
        return self.told / max(self.shown, 1)


def trials(
    mistake: Mistake, seed: int, count: int, backward: bool = False, **fixed: Any
) -> Iterator[tuple[Block, Alternative]]:
    """Yield blocks, each with a place where the mistake can be made, until there are so many."""
    kind = next((own for key, own in KINDS.items() if mistake.name.startswith(key)), {})
    done = 0
    for number, block in enumerate(blocks(seed, 60 * count, backward=backward, **kind, **fixed)):
        places = list(mistake.alternatives(block))
        if places:
            yield block, places[number % len(places)]
            done += 1
        if done == count:
            return


def shows(
    mistake: Mistake, block: Block, answers: Mapping[str, Answer], judgement: Judgement
) -> bool:
    """Tell whether a given cell is past its tolerance.

    In a dump, or where the mistake itself is rounding or copying, that is outside what the numbers
    before it lead to; in written numbers half a unit of the last digit from the right one, even if
    the rounding of earlier ones may lead to it.
    """
    if judgement.first_wrong is not None:
        return True
    written = all(a.read_as == TEXT for a in answers.values())
    return written and not mistake.general and bool(moved(block, answers))


def measured(
    mistake: Mistake,
    seed: int = 0,
    blocks: int = 4,
    forms: Sequence[str] = FORMS,
    backward: bool = False,
    **fixed: Any,
) -> Rate:
    """Make a mistake in random blocks, one place in each, and see if it is named at its step."""
    rate = Rate()
    for block, change in trials(mistake, seed, blocks, backward, **fixed):
        catalogue = Catalogue(block, list(MISTAKES.values()))
        for form in forms:
            answers = as_answers(values_under(block, change, form), form)
            judged = judge(block.trace, answers)
            if not shows(mistake, block, answers, judged):
                continue
            diagnosis = Diagnosis(judged, catalogue)
            first, given = diagnosis.judgement.first_wrong, diagnosis.reasons
            at_first = [r for r in given if r.step == first]
            names = {name for r in at_first for name in r.names}
            if (mistake.name == "copied_step" or mistake.compound) and any(
                len(r.names) == 1 and not r.mistakes[0].late and r.at is None for r in at_first
            ):
                rate.equal += 1
                continue
            rate.shown += 1
            if mistake.name in names or (mistake.same_result and first is None):
                rate.told += 1
                continue
            steps = diagnosis.judgement.steps.items()
            verdicts = [f"{n}: {s.verdict}" for n, s in steps if s.verdict not in CORRECT]
            said = [(r.step, r.names) for r in given]
            moves = moved(block, answers)[:3]
            rate.missed.append((form, dict(change.words), moves, verdicts[:6], said[:4]))
    return rate


def found_rate(mistake: Mistake, seed: int = 0, **more: Any) -> tuple[int, int, list[Any]]:
    """Count answers that show a mistake and those in which it is named; list the others."""
    rate = measured(mistake, seed, **more)
    return rate.shown, rate.told, rate.missed


def false_rate(
    seed: int,
    count: int,
    forms: Sequence[str] = ("2", "3", "5", "float64", "float32"),
    one: bool = False,
) -> tuple[int, list[Said]]:
    """Change one number of one step by chance, in random blocks.

    Parameters
    ----------
    seed, count : int
    forms : sequence of str
    one : bool
        Whether only that step is given, and not every one.

    Returns
    -------
    (int, list)
        How many such answers there were, and the reasons of those that seem to have one.
    """
    rng = Rng(seed)
    tried, false = 0, []
    while tried < count:
        block = random_block(rng)
        catalogue = Catalogue(block, list(MISTAKES.values()))
        for form in forms:
            values = {name: np.array(value) for name, value in block.trace.items()}
            at = _slipped(rng, block, values)
            if at is None:
                continue
            answers = as_answers({at: values[at]} if one else values, form)
            if not moved(block, answers):
                continue
            tried += 1
            reasons = Diagnosis(judge(block.trace, answers), catalogue).reasons
            if reasons:
                false.append([(f"{form} {r.step}", r.names) for r in reasons])
    return tried, false


def _slipped(rng: Any, block: Block, values: dict[str, Any]) -> str | None:
    """Change one number of one step by a random amount of its own size."""
    names = [eq.out.name for eq in block.program.equations if eq.op.worked]
    name = names[rng.randint(len(names))]
    value = values[name]
    at = tuple(rng.randint(n) for n in value.shape)
    if not np.isfinite(value[at]):
        return None
    value[at] += rng.normal() * max(1.0, abs(value[at]))
    return str(name)
