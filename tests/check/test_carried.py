"""A program worked from a person's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

from blockcalc.check.carried import Carried, Pin
from blockcalc.mistakes.alternative import Alternative, copied
from blockcalc.program.bounds import NUMBERS
from tests.check.helpers import SMALL, made, small
from tests.check.test_judge import small_data


def pin(numbers: object, given: object = True, half: float = 0.0) -> Pin:
    array = np.asarray(numbers, dtype=np.float64)
    return Pin(array, np.broadcast_to(np.asarray(given), array.shape), np.full(array.shape, half))


def worked(pins: dict[str, Pin], storage: str | None = None) -> Carried:
    block = small()
    inputs = {ref.name: np.asarray(block.trace.arrays[ref.name]) for ref in block.program.inputs}
    return Carried(block.program, inputs, pins, NUMBERS[storage] if storage else None)


def test_without_numbers_it_is_the_run() -> None:
    own = worked({}).own
    for eq in small().program.equations:
        assert np.allclose(own[eq.out.name].numbers, small().trace[eq.out.name], rtol=1e-14)


def test_given_cells_go_in_place_of_computed_ones() -> None:
    scores = np.array(small().trace["attn.scores"])
    given = np.zeros((3, 3), dtype=bool)
    given[0, 1] = True
    carried = worked({"attn.scores": pin(np.full((3, 3), 5.0), given, 0.5)}).carried["attn.scores"]
    assert carried.numbers[0, 1] == 5
    assert np.allclose(carried.numbers[~given], scores[~given])
    assert carried.error[0, 1] == 0.5
    assert (carried.error[~given] < 1e-12).all()


def test_the_rounding_of_given_numbers_is_carried_on() -> None:
    scores = np.array(small().trace["attn.scores"])
    own = worked({"attn.scores": pin(scores.round(2), half=0.005)}).own["attn.weights"]
    assert (np.abs(own.numbers - small().trace["attn.weights"]) <= own.error).all()
    assert 1e-4 < own.error.max() < 0.05


def test_the_cone_ends_at_what_is_given() -> None:
    scores = np.array(small().trace["attn.scores"])
    carried = worked({"attn.scores": pin(scores)})
    assert "attn.q" not in carried.names("attn.weights")
    assert {"attn.weights", "attn.scaled"} <= carried.names("attn.weights")
    some = np.ones((3, 3), dtype=bool)
    some[2, 2] = False
    assert "attn.q" in worked({"attn.scores": pin(scores, some)}).names("attn.weights")


def test_a_mistake_before_a_given_step_changes_nothing() -> None:
    block = small()
    eq = block.equation("attn.scaled")
    assert eq is not None
    change = Alternative((copied(eq, eq.inputs[0]),))
    assert worked({}).under(change, "attn.weights") is not None
    pinned = worked({"attn.scaled": pin(block.trace["attn.scaled"])})
    assert pinned.under(change, "attn.weights") is None
    assert not pinned.touches(change, "attn.weights")


def test_inputs_that_do_not_fit_the_format_were_rounded_to_it() -> None:
    own = worked({}, "float32").own["x"]
    number = NUMBERS["float32"]
    assert (np.abs(number(own.numbers) - own.numbers) <= own.error).all()
    block = made({**small_data(), "x": [[1.0, 0.5, -0.25]] * 3})
    inputs = {ref.name: np.asarray(block.trace.arrays[ref.name]) for ref in block.program.inputs}
    assert not Carried(block.program, inputs, {}, number).own["x"].error.any()


def test_errors_in_double_precision_do_not_double_from_step_to_step() -> None:
    part = {"attn": SMALL["attn"], "ffn": SMALL["ffn"], "repeat": 4}
    block = made({"x": SMALL["x"], "blocks": [part]})
    program, arrays = block.program, block.trace.arrays
    inputs = {ref.name: arrays[ref.name] for ref in program.inputs}
    last = program.equations[-1].out.name
    plain = Carried(program, inputs, {}).own[last].error
    dumped = Carried(program, inputs, {}, NUMBERS["float64"]).own[last].error
    assert (dumped <= 1.1 * plain).all()


def test_what_a_mistake_makes_of_a_step_is_kept_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = worked({})
    eq, first = own.equation("attn.scores"), own.equation("attn.q")
    assert eq is not None
    assert first is not None
    changes = [Alternative((copied(eq, eq.inputs[0]),)), Alternative((copied(first, eq.out),))]
    scores, begun = own.under(changes[0], "attn.scores", bounded=False), own.worked
    assert own.under(changes[0], "attn.scores", bounded=False) is scores
    assert own.worked == begun
    monkeypatch.setattr("blockcalc.check.carried.MOST_KEPT", 1)
    own.under(changes[1], "attn.q", bounded=False)
    again = own.under(changes[0], "attn.scores", bounded=False)
    assert scores is not None
    assert again is not None
    assert again is not scores
    assert np.array_equal(again.numbers, scores.numbers)
