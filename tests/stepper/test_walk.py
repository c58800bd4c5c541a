"""The walk: which cell is selected, which entries are lit, what is shown of a large matrix."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockcalc
from blockcalc.explain.document import Panel, StepPiece
from blockcalc.explain.picture.parts import read
from blockcalc.explain.steps import explain
from blockcalc.gradients.explain import GradientExplainer
from blockcalc.gradients.run import work_gradients
from blockcalc.notation.alphabets import Text
from blockcalc.ops.expr import Figure
from blockcalc.stepper.scene import FEWEST, Extent, window
from blockcalc.stepper.walk import Walk
from tests.helpers import FEW_SAMPLES, SAMPLES
from tests.stepper.walks import explained, go_to, press, session_of

WHOLE = Extent(64)


def panels(walk: Walk, extent: Extent = WHOLE) -> list[Panel]:
    return [part for part in walk.parts(extent) if isinstance(part, Panel)]


@given(st.integers(1, 60), st.data(), st.integers(FEWEST, 20))
def test_a_window_has_the_first_the_last_and_what_is_lit(
    n: int, data: st.DataObject, most: int
) -> None:
    lit = sorted(data.draw(st.sets(st.integers(0, n - 1), max_size=n)))
    found = window(n, lit, most)
    assert found == sorted(set(found))
    assert {0, n - 1} <= set(found)
    assert len(found) == min(n, most) or len(lit) > most - 2
    assert len(found) <= most
    if len(lit) <= most - 2:
        assert set(lit) <= set(found)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_the_cell_selected_at_first_is_the_one_that_run_works(sample: Path) -> None:
    session = session_of(sample)
    pieces = explain(session.explainer.spec, session.explainer.trace, session.explainer.depth)
    worked = {p.name: p.lines[0].left for p in pieces if isinstance(p, StepPiece) and p.lines}
    assert len(worked) > 5
    session.jump(len(session.numbers) - 1)  # however one comes to a step
    for position in reversed(range(len(session.numbers))):
        session.jump(position)
        name = session.step.equation.out.name
        if name in worked:
            assert session.line().left == worked[name], name


@pytest.mark.parametrize("sample", FEW_SAMPLES, ids=lambda p: p.stem)
@pytest.mark.slow
def test_every_cell_of_every_step_is_worked_and_its_sources_are_lit(sample: Path) -> None:
    session = session_of(sample)
    explainer = session.explainer
    for position in range(len(session.numbers)):
        session.jump(position)
        step = session.step
        for at in product(*map(range, step.value.shape)):
            session.cells[step.index] = at
            *operands, result = panels(session)
            shown = explainer.matrix(step.equation.out)
            assert result.worked == shown.place(at)
            assert result.rows[result.worked[0]][result.worked[1]] == shown.figure(at)
            assert session.line().left == explainer.line(step, shown, at).left
            sources = read(step, at)
            lit = sum(len(panel.lit) for panel in operands)
            assert lit == sum(map(len, sources.values())), (step.equation.out.name, at)


def test_a_moved_entry_has_its_source_lit_in_the_right_head() -> None:
    session = session_of("two_heads")
    go_to(session, "attn.concat")
    session.cells[session.step.index] = (1, 3)
    operand, result = panels(session)
    assert operand.key == ("attn.z", (1,), False)
    assert operand.lit == {(1, 1)}
    assert result.worked == (1, 3)
    assert Text().render(session.line().left) == "Z_concat[2,4]"
    assert session.line().words == "unchanged"


def test_arrows_stop_at_the_edges_and_heads_go_round() -> None:
    session = session_of("two_heads")
    go_to(session, "attn.scores")
    session.cells[session.step.index] = (0, 0, 0)
    assert not session.move(-1, 0)
    assert not session.move(0, -1)
    assert session.move(2, 1)
    assert session.at == (0, 2, 1)
    assert not session.move(5, 0)
    assert session.turn(1)
    assert session.at == (1, 2, 1)
    assert session.turn(1)
    assert session.at == (0, 2, 1)
    assert session.turn(-1)
    assert session.at == (1, 2, 1)
    go_to(session, "attn.q")
    assert not session.turn(1)


def test_a_vector_has_one_column() -> None:
    session = session_of("three_features")
    go_to(session, "norm1.mean")
    session.cells[session.step.index] = (0,)
    assert not session.move(0, 1)
    assert session.move(1, 0)
    assert session.at == (1,)


def test_each_step_keeps_its_cell() -> None:
    session = session_of("tiny")
    press(session, "down", "up", "up", "right")
    at = session.at
    press(session, "n", "p")
    assert session.at == at


def test_row_and_cell_choose_what_is_selected_at_first() -> None:
    assert session_of("tiny", row="t2").at[0] == 1
    assert session_of("tiny", cell=(1, 2)).at == (0, 1)


def test_of_a_large_matrix_what_is_around_the_cell_is_shown() -> None:
    session = session_of("tiny")
    go_to(session, "attn.scores")
    session.cells[session.step.index] = (2, 2)
    extent = Extent(FEWEST, lean=True)
    q, k, s = panels(session, extent)
    assert (len(q.rows), len(k.rows[0])) == (1, 1)
    assert q.row_labels == ("t3",)
    assert len(s.rows) == 3


def test_backward_steps_are_worked_too() -> None:
    spec = explained(session_of("three_features").explainer.spec).spec
    explainer = GradientExplainer(spec, work_gradients(spec, None, False, None), session_of("tiny").explainer.depth)  # fmt: skip
    walk = Walk(explainer, range(len(explainer.program.equations)))
    for position in range(len(walk.numbers)):
        walk.jump(position)
        line, parts = walk.line(), walk.parts(WHOLE)
        assert line.result.digits
        assert any(isinstance(part, Panel) and part.worked for part in parts)
        title, _ = walk.section()
        assert title


def test_a_stack_says_in_which_block_a_step_is() -> None:
    session = session_of("stack")
    titles = []
    for position in range(len(session.numbers)):
        session.jump(position)
        titles.append(session.section()[0])
    assert sum(title.startswith("Block 1") for title in titles) > 5
    assert sum(title.startswith("Block 2") for title in titles) > 5


def test_what_is_hidden_has_its_arithmetic_in_names() -> None:
    session = session_of("tiny")
    session.guessing = True
    go_to(session, "attn.scores")
    session.cells[session.step.index] = (1, 2)
    *_, result = panels(session)
    assert {figure for row in result.rows for figure in row} == {Figure("?")}
    line = session.line()
    text = f"{Text().render(line.left)} = {Text().render(line.middle)}"  # type: ignore[arg-type]
    assert text == "S[2,3] = Q[2,1]×K[3,1] + Q[2,2]×K[3,2]"
    session.reveal()
    *_, result = panels(session)
    seen = [
        (i, j) for i, row in enumerate(result.rows) for j, f in enumerate(row) if f.digits != "?"
    ]
    assert seen == [(1, 2)]
    assert session.line().result.digits == "2"
    assert session.any_hidden
    session.reveal()
    assert not session.any_hidden
    *_, result = panels(session)
    assert Figure("?") not in [figure for row in result.rows for figure in row]


def test_other_heads_are_hidden_too() -> None:
    session = session_of("two_heads")
    session.guessing = True
    go_to(session, "attn.scores")
    *_, first, second = panels(session, Extent(64, others=True))
    assert {f.digits for panel in (first, second) for row in panel.rows for f in row} == {"?"}
    assert (first.worked is None) != (second.worked is None)


def test_a_long_sum_in_names_is_shortened() -> None:
    eye = [[float(i == j) for j in range(9)] for i in range(9)]
    spec = blockcalc.load(
        {"x": eye[:2], "attn": {"w_q": eye, "w_k": eye, "w_v": eye}, "stop": "attn"}
    )
    session = session_of(spec)
    session.guessing = True
    middle = session.line().middle
    assert middle is not None
    assert Text().render(middle).count("×") == 5
    assert "… + X[" in Text().render(middle)
