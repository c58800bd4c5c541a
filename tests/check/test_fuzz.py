"""No answers make the check fail: every one is reported, in every format."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from blockcalc.answers.answer import Answers, written
from blockcalc.check.explain import check_document
from blockcalc.check.run import Checked
from blockcalc.explain.steps import Explainer
from blockcalc.gradients.explain import GradientExplainer
from blockcalc.mistakes.alternative import Block
from blockcalc.views.formats.json import json_bytes
from tests.check.helpers import check_block
from tests.fuzz.fuzz import attack
from tests.mistakes.wrong_answers import Rng, as_answers, random_block

pytestmark = pytest.mark.slow

VERDICTS = {"right", "rounded", "wrong", "follows", "equivalent", "trivial"}


def changed(rng: Rng, a: Any) -> Any:
    """Change some numbers of a matrix, their order or their shape."""
    a = np.array(a, dtype=np.float64)
    kind = rng.randint(14)
    at = tuple(rng.randint(n) for n in a.shape)
    if kind == 0:
        a[at] = np.nan
    elif kind == 1:
        a[at] = np.inf
    elif kind == 2:
        a[...] = -np.inf
    elif kind == 3:
        a = a.T
    elif kind == 4:
        a = a[:-1] if len(a) > 1 else a
    elif kind == 5:
        a = a.ravel()
    elif kind == 6:
        a = a * 0
    elif kind == 7:
        a = np.roll(a, 1, axis=rng.randint(a.ndim)) if a.ndim else a
    elif kind == 8:
        a = a * 1e300
    elif kind == 9:
        a[at] += 1
    elif kind == 10:
        a = np.ones_like(a)
    elif kind == 11:
        a = a[None]
    elif kind == 12:
        a = -a
    return a


def answers(rng: Rng, block: Block) -> Answers:
    """Give answers of which some are changed; some cells are not given, some have a sum."""
    refs = block.program.refs()
    given = []
    form = ("2", "5", "float64", "float32", "bfloat16", "float16")[rng.randint(6)]
    whole = as_answers({name: block.trace.arrays[name] for name in refs}, form)
    for name, answer in whole.items():
        if rng.rand() < 0.4:
            continue
        values = changed(rng, answer.values) if rng.rand() < 0.3 else answer.values
        judged = rng.rand(*values.shape) < 0.8 if rng.rand() < 0.2 else True
        half = answer.half.ravel()[0] if answer.half.size else 0.0
        total = (float(rng.normal()), 1e-6) if rng.rand() < 0.05 else None
        given.append(written(name, values, half, judged, read_as=answer.read_as, total=total))
    return Answers("fuzz", tuple(given), dump=bool(rng.randint(2)))


def looked_at(block: Block, checked: Checked) -> None:
    """Write what was found in every format, and look at it."""
    explains = Explainer if block.program.forward is None else GradientExplainer
    document = check_document(block.spec, [checked], True, explains)
    assert list(document.pieces())
    assert document.data is not None
    data = json.loads(json_bytes(document.data()))
    assert data["ok"] is checked.ok
    for own in checked.steps.values():
        assert own.verdict in VERDICTS
        assert own.wrong.shape == own.own_wrong.shape == own.true.numbers.shape
        if own.verdict == "wrong" and not own.total:
            assert own.bad.any()
    for reason in data["reasons"]:
        assert reason["text"]
        assert "{" not in reason["text"]
    first = data["first_wrong"]
    assert (first is None) or data["steps"][first]["verdict"] == "wrong"
    reached, of = checked.score()
    assert 0 <= reached <= of


QUICK = (0, 1, 6, 23)  # 23 has a backward pass
SLOW = (2, 3, 4, 5, 7)


@pytest.mark.parametrize(
    "seed", [*QUICK, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW)]
)
def test_any_answers_are_reported(seed: int) -> None:
    rng = Rng(1000 + seed)
    block = random_block(rng, backward=seed % 4 == 3)
    for _ in range(2):
        looked_at(block, check_block(block, answers(rng, block)))


@pytest.mark.slow
def test_any_text_of_answers_is_reported() -> None:
    fine, refused, wrong = attack(("check", 20, 6))
    assert not wrong
    assert fine + refused == 6
