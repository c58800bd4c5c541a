"""The marks of the page are those of ``check``."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.answers.answer import TEXT, Answer
from blockcalc.answers.numbers import half_unit
from blockcalc.check.judge import judge
from blockcalc.explain.data import Rerun
from blockcalc.explain.depth import Depth
from blockcalc.program.trace import Trace
from blockcalc.views.page.data import page_data
from blockcalc.views.page.forms import live
from tests.views.page.node import node

BODY = """
import { Model } from "PAGE/compute/model.mjs";
import { Answers } from "PAGE/marks/marking.mjs";
function result({ data, asked }) {
  return asked.map((own) => {
    const answers = new Answers(new Model(data));
    for (const [name, at, text] of own) answers.put({ name, at }, text);
    return own.map(([name, at]) => answers.judge({ name, at }));
  });
}
"""
Written = list[tuple[str, int, str]]


def _sheet(trace: Trace, rng: random.Random) -> Written:
    """Write answers as a person would: rounded, from the own numbers before, with some slips."""
    digits = rng.choice((2, 3, 4))
    values: dict[str, Any] = {ref.name: trace.arrays[ref.name] for ref in trace.program.inputs}
    found: Written = []
    for eq in trace.program.equations:
        with np.errstate(all="ignore"):
            own = np.array(eq.op.forward([values[ref.name] for ref in eq.inputs]))
        values[eq.out.name] = own
        if rng.random() < 0.4:
            continue
        for at, x in enumerate(own.ravel().tolist()):
            if not np.isfinite(x) or rng.random() < 0.2:
                continue
            slip = rng.random()
            x = x + rng.choice((1, 0.1)) if slip < 0.08 else -x if slip < 0.12 else x
            text = f"{x:.{digits}f}"
            found.append((eq.out.name, at, text))
            own.ravel()[at] = float(text)
    return found


def _verdicts(trace: Trace, sheet: Written) -> list[str]:
    """Judge the same answers with the program."""
    answers = {}
    shapes = {eq.out.name: eq.out.shape for eq in trace.program.equations}
    for name in dict.fromkeys(name for name, _, _ in sheet):
        values, half = np.full(shapes[name], np.nan), np.zeros(shapes[name])
        for own, at, text in sheet:
            if own == name:
                values.ravel()[at], half.ravel()[at] = float(text), half_unit(text)
        answers[name] = Answer(name, values, ~np.isnan(values), half, TEXT)
    steps = judge(trace, answers).steps
    found = []
    for name, at, _ in sheet:
        one = steps[name]
        wrong, own = one.wrong.ravel()[at], one.own_wrong.ravel()[at]
        found.append("right" if not wrong else "wrong" if own else "carried")
    return found


@pytest.mark.parametrize(
    "sample",
    ["tiny", *(pytest.param(name, marks=pytest.mark.slow) for name in ("two_heads", "pencil_pre", "llama_style"))],
)  # fmt: skip
def test_answers_have_the_marks_that_check_gives(sample: str) -> None:
    spec = blockcalc.sample(sample)
    trace, rng = blockcalc.run(spec), random.Random(sample)
    sheets = [_sheet(trace, rng) for _ in range(12)]
    data = page_data(live(Rerun(spec, trace, Depth())))
    pairs = [
        (mine, theirs)
        for sheet, found in zip(sheets, node(BODY, {"data": data, "asked": sheets}), strict=True)
        for mine, theirs in zip(_verdicts(trace, sheet), found, strict=True)
    ]
    assert {mine for mine, _ in pairs} == {"right", "carried", "wrong"}
    assert all(mine == theirs for mine, theirs in pairs)
