"""How often the reason of a wrong answer is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from blockcalc.check.judge import judge
from blockcalc.check.reasons import Catalogue, Diagnosis
from blockcalc.mistakes.alternative import Alternative, Block, Mistake
from blockcalc.mistakes.table import MISTAKES
from tests.mistakes.wrong_answers import (
    Rng,
    as_answers,
    blocks,
    moved,
    random_block,
    values_under,
)

FORMS = ("2", "3", "5", "float64", "float32", "bfloat16")
Miss = tuple[str, dict[str, Any], str, list[str], list[tuple[str, tuple[str, ...]]]]


def trials(
    mistake: Mistake, seed: int, count: int, backward: bool = False, **fixed: Any
) -> Iterator[tuple[Block, Alternative]]:
    """Yield blocks, each with a place where the mistake can be made, until there are so many."""
    done = 0
    for number, block in enumerate(blocks(seed, 60 * count, backward=backward, **fixed)):
        places = list(mistake.alternatives(block))
        if places:
            yield block, places[number % len(places)]
            done += 1
        if done == count:
            return


def found_rate(
    mistake: Mistake,
    seed: int = 0,
    blocks: int = 4,
    forms: Sequence[str] = FORMS,
    backward: bool = False,
    **fixed: Any,
) -> tuple[int, int, list[Miss]]:
    """Count wrong answers that a mistake shows in, and those in which it is told, by name and at the right step.

    Returns
    -------
    (int, int, list)
        Shown, told, and what was said instead.
    """
    shown = told = 0
    missed: list[Miss] = []
    for block, change in trials(mistake, seed, blocks, backward, **fixed):
        catalogue = Catalogue(block, list(MISTAKES.values()))
        for form in forms:
            answers = as_answers(values_under(block, change, form), form)
            wrong = moved(block, answers)
            if not wrong:
                continue
            shown += 1
            diagnosis = Diagnosis(judge(block.trace, answers), catalogue)
            judgement, given = diagnosis.judgement, diagnosis.reasons
            names = {name for r in given if r.step == judgement.first_wrong for name in r.names}
            if mistake.name in names or (mistake.same_result and judgement.first_wrong is None):
                told += 1
            else:
                verdicts = [
                    f"{n}: {s.verdict}"
                    for n, s in judgement.steps.items()
                    if s.verdict not in ("right", "rounded")
                ]
                missed.append(
                    (
                        form,
                        dict(change.words),
                        f"{block.spec.order} {wrong[:3]}",
                        verdicts[:6],
                        [(r.step, r.names) for r in given][:4],
                    )
                )
    return shown, told, missed


def false_rate(seed: int, count: int) -> tuple[int, int]:
    """Count plain random slips, one number of one step changed by chance, and those that seem to have a reason."""
    rng = Rng(seed)
    tried = false = 0
    while tried < count:
        block = random_block(rng)
        catalogue = Catalogue(block, list(MISTAKES.values()))
        for form in ("2", "3", "5", "float64", "float32"):
            values = {name: np.array(value) for name, value in block.trace.items()}
            at = _slipped(rng, block, values)
            answers = as_answers(values, form)
            if at is None or not moved(block, answers):
                continue
            tried += 1
            false += bool(Diagnosis(judge(block.trace, answers), catalogue).reasons)
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
