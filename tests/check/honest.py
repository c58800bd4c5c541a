"""Answers without a mistake, of people and programs: nothing is wrong, whatever their digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from blockcalc.answers.answer import Answer
from blockcalc.check.carried import Carried
from blockcalc.check.judge import RIGHT, ROUNDED, Judgement, judge
from blockcalc.check.reasons.diagnosis import Diagnosis
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.table import MISTAKES
from blockcalc.ops.op import Array
from blockcalc.program.bounds import NUMBERS
from tests.mistakes.wrong_answers import as_answers

DUMPS = tuple(NUMBERS)
WRITTEN = ("2", "3", "4", "6")


def stored(block: Block, form: str, kernels: bool = False) -> dict[str, Answer]:
    """Run a block as a program does: each step from stored operands in working precision.

    With ``kernels`` the parts of softmaxes and norms stay in the working precision, and are not
    given.
    """
    inner = Carried(block.program, block.trace.arrays, {}).inner if kernels else set[str]()
    number = NUMBERS[form]
    working = np.float64 if form == "float64" else np.float32
    values: dict[str, Any] = {
        ref.name: number(np.asarray(block.trace.arrays[ref.name], np.float64))
        for ref in block.program.inputs
    }
    for eq in block.program.equations:
        xs = [values[ref.name].astype(working) for ref in eq.inputs]
        with np.errstate(all="ignore"):
            worked = np.asarray(eq.op.forward(xs), dtype=np.float64)
        values[eq.out.name] = worked if eq.out.name in inner else number(worked)
    names = (eq.out.name for eq in block.program.equations)
    return as_answers({name: values[name] for name in names if name not in inner}, form)


def kept(block: Block, form: str) -> dict[str, Answer]:
    """Write the right numbers with so many decimals, all digits kept in mind."""
    made = {eq.out.name: block.trace.arrays[eq.out.name] for eq in block.program.equations}
    return as_answers(made, form)


def stepwise(block: Block, form: str) -> dict[str, Answer]:
    """Round each step to so many decimals and go on from the rounded numbers."""
    values: dict[str, Array] = {
        ref.name: np.asarray(block.trace.arrays[ref.name]) for ref in block.program.inputs
    }
    for eq in block.program.equations:
        with np.errstate(all="ignore"):
            worked = np.asarray(eq.op.forward([values[ref.name] for ref in eq.inputs]))
        values[eq.out.name] = np.round(worked, int(form))
    made = {eq.out.name: values[eq.out.name] for eq in block.program.equations}
    return as_answers(made, form)


def diagnosed(block: Block, answers: dict[str, Answer]) -> Diagnosis:
    """Judge answers and look for reasons, as the command does."""
    catalogue = Catalogue(block, tuple(MISTAKES.values()))
    return Diagnosis(judge(block.trace, answers), catalogue)


def alarms(judgement: Judgement, allowed: Sequence[str] = (RIGHT, ROUNDED)) -> Iterator[str]:
    """Name the steps that are called anything but right."""
    for name, own in judgement.steps.items():
        if own.verdict not in allowed:
            yield f"{name}: {own.verdict}"
