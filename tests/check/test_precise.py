"""Numbers whose error in double precision is too wide: worked again, or not judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.answers.answer import Answer, Answers, written
from blockcalc.check import precise
from blockcalc.check.data import check_data, right_text
from blockcalc.check.explain import check_document
from blockcalc.check.judge import Tolerance
from blockcalc.check.precise import Precise
from blockcalc.check.several.table import class_pieces
from blockcalc.check.where import untold_text
from blockcalc.explain.document import Heading, Listing, Remark
from blockcalc.mistakes.alternative import Block
from tests.check.helpers import SMALL, check_arrays, check_block, check_text, made, right, verdicts

EYE = [[1, 0], [0, 1]]
ONES = [[1], [1], [1]]
HUGE = made({"x": [[1e100, 1], [0, 1e-100]], "attn": {"w_q": EYE, "w_k": EYE, "w_v": EYE}})
# the first query is 1, and 0 in double precision
CANCELLED = made(
    {
        "x": [[1e17, 1.0, -1e17], [1, 2, 3]],
        "attn": {"w_q": ONES, "w_k": ONES, "w_v": ONES, "w_o": [[1, 1, 1]]},
    }
)
GELU = made({**SMALL, "ffn": {**SMALL["ffn"], "activation": "gelu"}, "stop": "ffn.act"})


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("attn.weights: [[0.5, 0.5], [?, ?]]", "wrong"),
        ("attn.weights: [[1, 0], [0.5, 0.5]]", "right"),
        ("attn.weights: [[1.00, 0.00], [?, ?]]", "right"),
        ("attn.scaled: [[7e199, 1], [1, 1]]", "wrong"),
        ("attn.weights: [[0.99, 0.01], [?, ?]]", "wrong"),
    ],
)
def test_a_number_whose_bound_is_infinite(text: str, verdict: str) -> None:
    found = check_text(HUGE, text)
    assert set(verdicts(found).values()) == {verdict}
    assert found.ok is (verdict == "right")


@pytest.mark.parametrize(
    ("given", "verdict"), [("1", "right"), ("1.00", "right"), ("0", "wrong"), ("5.0", "wrong")]
)
def test_a_number_whose_error_is_larger_than_itself(given: str, verdict: str) -> None:
    assert CANCELLED.trace["attn.q"][0, 0] == 0
    found = check_text(CANCELLED, f"attn.q: [[{given}], [6]]")
    assert found.verdict("attn.q") == verdict
    assert found.steps["attn.q"].true.numbers[0, 0] == 1


def test_the_report_shows_the_precise_number() -> None:
    found = check_text(CANCELLED, "attn.q: [[0], [6]]")
    assert check_data(found)["steps"]["attn.q"]["worst"]["right"] == 1.0


def gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precise, "MOST_CELLS", 0)


def test_where_no_bound_is_known_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    gives_nothing(monkeypatch)
    text = "attn.weights: [[0.5, 0.5], [0.5, 0.5]]"
    found = check_text(HUGE, text)
    assert not found.ok
    assert found.judgement.untold == {"attn.weights": (2, 4)}
    assert found.verdict("attn.weights") == "right"  # its second row
    assert right_text(found) == "What could be judged of one step is right; not all could be."
    said = untold_text(found.judgement, "attn.weights")
    assert said.startswith("2 of its 4 numbers are not judged")
    document = check_document(HUGE.spec, [found])
    assert f"attn.weights: {said}." in [p.text for p in document.pieces() if isinstance(p, Remark)]
    data = check_data(found)
    assert data["untold"] == {"attn.weights": {"cells": 2, "of": 4}}
    assert data["steps"]["attn.weights"]["why"] == said
    assert str(_row(found)[1]) == "not all could be judged"


def _row(found: Any) -> Any:
    listing = next(p for p in class_pieces([found, found], None) if isinstance(p, Listing))
    return listing.rows[0]


def test_a_step_of_which_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    gives_nothing(monkeypatch)
    found = check_text(HUGE, "attn.weights: [[0.5, ?], [?, ?]]")
    assert (found.ok, found.state, dict(found.steps)) == (False, "untold", {})
    data = check_data(found)
    assert data["steps"]["attn.weights"]["verdict"] == "unreadable"
    assert data["steps"]["attn.weights"]["why"].startswith("one of its 1 numbers is not judged")
    head = next(iter(check_document(HUGE.spec, [found]).pieces()))
    assert isinstance(head, Heading)
    assert head.prose == "Nothing could be judged: no bound on the right numbers is known."
    row = _row(found)
    assert str(row[1]) == "nothing could be judged"
    assert row[-1].startswith("attn.weights: one of its")


def test_what_is_not_judged_gets_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    gives_nothing(monkeypatch)
    assert check_text(HUGE, "attn.weights: [[0.5, ?], [?, ?]]").score() == (0.0, 1.0)


def test_an_infinity_is_wrong_without_a_bound_too(monkeypatch: pytest.MonkeyPatch) -> None:
    gives_nothing(monkeypatch)
    found = check_text(HUGE, "attn.weights: [[0.5, -.inf], [?, ?]]")
    assert found.first_wrong == "attn.weights"


def test_a_dump_far_from_its_numbers_is_not_right_without_a_bound() -> None:
    weights = right(HUGE)["attn.weights"]
    near = check_arrays(HUGE, {"attn.weights": weights})
    assert near.verdict("attn.weights") == "right"
    weights[0] = [0.25, 0.75]
    found = check_arrays(HUGE, {"attn.weights": weights})
    assert not found.ok
    assert found.judgement.untold == {"attn.weights": (2, 4)}


def test_a_sum_that_cannot_be_told() -> None:
    weights = right(HUGE)["attn.weights"]
    given: Answer = written("attn.weights", weights, read_as="float32", total=(77.0, 0.5))
    found = check_block(HUGE, Answers("dump", (given,), dump=True))
    assert found.judgement.untold == {"attn.weights": (1, 5)}
    assert not found.ok


def test_no_precise_number() -> None:
    run = check_text(GELU, "ffn.act: [[1, ?, ?, ?], [?, ?, ?, ?], [?, ?, ?, ?]]").judgement.plain
    assert Precise(run).number(("ffn.act", (0, 0))) is None  # erfc has no precise form
    assert Precise(run).number(("ffn.pre", (0, 0))) == pytest.approx(
        float(run.own["ffn.pre"].numbers[0, 0])
    )


def test_a_number_with_few_digits_before_has_no_precise_one() -> None:
    text = "attn.q: [[1.0, 1], [0, 1]]\nattn.scores: [[1, 1], [1, 1]]"
    carried = check_text(HUGE, text).judgement.carried
    assert Precise(carried).number(("attn.scores", (0, 0))) is None
    assert Precise(carried).number(("attn.scores", (1, 1))) == 1e-100


def test_nan_before_has_no_precise_number() -> None:
    text = "attn.q: [[.nan, 1], [0, 1]]\nattn.scores: [[1, 1], [1, 1]]"
    carried = check_text(HUGE, text).judgement.carried
    assert Precise(carried).number(("attn.scores", (0, 0))) is None


def test_a_drawn_cell_has_no_precise_number() -> None:
    block = made({**SMALL, "dropout": {"p": 0.5, "training": True, "seed": 1}, "stop": "residual1"})
    drawn = [eq.out.name for eq in block.program.equations if not eq.op.worked]
    run = check_text(block, "attn.q: [[1, ?, ?], [?, ?, ?], [?, ?, ?]]").judgement.plain
    keep = next(name for name in drawn if "keep" in name)
    assert Precise(run).number((keep, (0, 0))) is None


def test_precise_numbers_of_every_step_are_those_of_the_run() -> None:
    """Every cell of a block with softmax, norms and masks, against double precision."""
    block: Block = made({**SMALL, "attn": {**SMALL["attn"], "causal": True}})
    run = check_text(block, "x: [[1, ?, ?], [?, ?, ?], [?, ?, ?]]").judgement.plain
    work, seen = Precise(run), 0
    for eq in block.program.equations:
        numbers = run.own[eq.out.name].numbers
        for at in np.ndindex(numbers.shape):
            if np.isfinite(numbers[at]):
                number = work.number((eq.out.name, at))
                assert number == pytest.approx(float(numbers[at]), rel=1e-12, abs=1e-14)
                seen += 1
    assert seen > 100


def test_a_rounded_run_is_not_worked_again() -> None:
    data = {**SMALL, "round": {"decimals": 2}}
    block = Block(blockcalc.load(data), blockcalc.run(blockcalc.load(data)))
    assert check_text(block, "attn.q: [[0.60, ?, ?], [?, ?, ?], [?, ?, ?]]").ok


def test_earlier_digits_that_lead_to_a_bound_as_wide_as_the_step() -> None:
    """The norm of a row whose deviation is within its digits: what follows is not known."""
    rows = [[1.0, 1.001, 0.999], [1.0, 2.0, 3.0], [0.5, 0.0, 1.0]]
    block = made({**SMALL, "x": rows, "norm": "pre"})
    text = "norm1.centered: [[0.0, 0.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -0.5, 0.5]]\n"
    second = "[-1.22, 0.00, 1.22], [0.00, -1.22, 1.22]"
    found = check_text(block, f"{text}norm1: [[0.9, -0.7, 0.1], {second}]")
    assert found.judgement.untold == {"norm1": (3, 9)}
    assert not found.ok
    mine = check_text(block, f"{text}norm1: [[0.00, 0.00, 0.00], {second}]")
    assert mine.ok  # it is what follows from their numbers
    true = right(block)["norm1"][0].round(2).tolist()
    assert check_text(block, f"{text}norm1: [{true}, {second}]").ok


def test_a_chosen_tolerance_is_a_bound() -> None:
    found = check_text(HUGE, "attn.weights: [[0.9, 0.1], [?, ?]]", Tolerance(0.2))
    assert found.ok


def test_precisions_that_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precise, "DIGITS", (12, 24))
    run = check_text(CANCELLED, "attn.q: [[1], [6]]").judgement.plain
    assert Precise(run).number(("attn.q", (0, 0))) is None
    assert Precise(run).number(("attn.q", (1, 0))) == 6
