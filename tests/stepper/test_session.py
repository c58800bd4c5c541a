"""What each key does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from blockcalc.answers.answer import Answer
from blockcalc.check.judge import judge
from blockcalc.program.trace import Trace
from blockcalc.stepper import guess
from blockcalc.stepper.guess import number_of
from blockcalc.stepper.keys import COMMANDS, Mode
from blockcalc.stepper.session import Session
from tests.stepper.walks import go_to, press, session_of, shown, type_in


def name_of(session: Session) -> str:
    return session.step.equation.out.name


def mode_of(session: Session) -> Mode:
    return session.mode  # a type checker does not know that a key changes it


def test_every_key_has_a_method() -> None:
    for command in COMMANDS.values():
        assert callable(getattr(Session, command))


def test_left_and_right_go_through_the_steps() -> None:
    session = session_of("tiny")
    press(session, "right", "right")
    assert name_of(session) == "attn.v"
    press(session, "left")
    assert name_of(session) == "attn.k"
    press(session, "left", "left")
    assert session.position == 0
    assert "first step" in shown(session)
    press(session, "end")
    assert name_of(session) == "norm2"
    press(session, "right")
    assert "last step" in shown(session)
    press(session, "home")
    assert session.position == 0
    assert "first step" not in shown(session)


@pytest.mark.parametrize("key", ["down", "tab", "enter"])
@pytest.mark.parametrize("back", ["escape", "tab"])
def test_inside_a_matrix_arrows_move_the_cell(key: str, back: str) -> None:
    session = session_of("tiny")
    start = session.at
    press(session, key)
    assert mode_of(session) == Mode.cells
    press(session, "up", "right")
    assert session.at == (start[0] - 1, 1)
    assert session.position == 0
    press(session, "left", "down")
    assert session.at == (start[0], 0)
    press(session, "n", "n", "p", "pagedown", "pageup")
    assert session.position == 1
    assert mode_of(session) == Mode.cells
    press(session, back)
    assert mode_of(session) == Mode.steps
    press(session, "right")
    assert session.position == 2


def test_up_does_nothing_among_steps_and_unknown_keys_nothing_at_all() -> None:
    session = session_of("tiny")
    at = session.at
    press(session, "up", "f5", "x", "ctrl+p", "7")
    assert (session.position, session.at, session.mode) == (0, at, Mode.steps)


def test_heads_turn_and_one_matrix_says_so() -> None:
    session = session_of("two_heads")
    go_to(session, "attn.scores")
    first = session.at
    press(session, "]")
    assert session.at == (1 - first[0], *first[1:])
    press(session, "[")
    assert session.at == first
    go_to(session, "attn.q")
    press(session, "]")
    assert "one matrix only" in shown(session)


def test_space_hides_then_shows_a_cell_then_the_step() -> None:
    session = session_of("tiny")
    assert "[1]" in shown(session)
    press(session, "space")
    assert "[?]" in shown(session)
    assert "results are hidden" in shown(session)
    press(session, "space")
    out = shown(session)
    assert "[1]" in out
    assert out.count("?") == 6  # five cells, and the key
    press(session, "space")
    assert not session.any_hidden
    press(session, "space")
    assert "Nothing is hidden" in shown(session)
    press(session, "right")
    assert "[?]" in shown(session)
    assert "press space" in shown(session)
    press(session, "g")
    assert "[?]" not in shown(session)
    press(session, "g")
    assert "[?]" in shown(session)
    press(session, "left")
    assert "[?]" not in shown(session)


def test_a_typed_number_is_judged_as_check_does() -> None:
    session = session_of("tiny")
    go_to(session, "attn.scaled")
    press(session, "g", "down")
    session.cells[session.step.index] = (0, 0)  # 1/√2 = 0.7071
    type_in(session, "0.8")
    assert mode_of(session) == Mode.typing
    assert "S_scaled[1,1] = 0.8" in shown(session)
    press(session, "enter")
    assert "0.8 is not right" in shown(session)
    assert session.hidden
    type_in(session, "0.70")
    press(session, "enter")
    assert "0.70 is not right" in shown(session)
    type_in(session, "0.7")
    press(session, "enter")
    assert "0.7 is right" in shown(session)
    assert not session.hidden
    assert mode_of(session) == Mode.cells
    assert "1 of 3 guesses right" in shown(session)
    type_in(session, "5")  # nothing is hidden here
    assert mode_of(session) == Mode.cells


def test_fractions_minus_infinity_and_what_is_no_number() -> None:
    session = session_of("causal")
    press(session, "g")
    go_to(session, "attn.masked")
    session.cells[session.step.index] = (0, 0, 1)
    type_in(session, "-infx")
    assert session.typed == "-inf"
    press(session, "enter")
    assert "-inf is right" in shown(session)
    session.cells[session.step.index] = (0, 0, 0)
    type_in(session, "1//2")
    press(session, "enter")
    assert "1//2 is not a number" in shown(session)
    assert mode_of(session) == Mode.typing
    press(session, *["backspace"] * 4)
    assert mode_of(session) == Mode.steps
    type_in(session, "12")
    press(session, "ctrl+u")
    assert mode_of(session) == Mode.steps
    type_in(session, "12q")
    assert session.typed == "12"
    press(session, "escape")
    assert mode_of(session) == Mode.steps
    assert not session.done
    type_in(session, "1" * 60)
    assert len(session.typed) == 40
    press(session, "ctrl+c")
    assert session.done


@pytest.mark.parametrize("left", ["no step", "no cell"])
def test_what_cannot_be_judged_is_neither_right_nor_wrong(
    left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untold(trace: Trace, answers: Mapping[str, Answer]) -> SimpleNamespace:
        bare = {
            name: replace(answer, judged=np.zeros_like(answer.judged))
            for name, answer in answers.items()
        }
        return SimpleNamespace(steps={} if left == "no step" else judge(trace, bare).steps)

    monkeypatch.setattr(guess, "judge", untold)
    session = session_of("tiny")
    press(session, "g", "1", "enter")
    assert "1 cannot be judged" in shown(session)
    assert (session.hits, session.tried) == (0, 0)
    assert session.hidden


def test_numbers_as_they_are_typed() -> None:
    assert number_of("−0.5") == (-0.5, 0.05)
    assert number_of("+2") == (2.0, 0.0)
    for text in ("", "?", "-", ".", "1e", "1e999", "1/0", "0x1", "1,5"):
        assert number_of(text) is None, text


def test_a_pasted_text_is_typed() -> None:
    session = session_of("tiny")
    session.paste("0.5")
    assert mode_of(session) == Mode.steps
    press(session, "g")
    session.paste("word")
    assert mode_of(session) == Mode.steps
    session.paste("0.5\n0.6")
    assert session.typed == "0.5"
    press(session, "escape", "/")
    session.paste(" norm1\nx")
    assert session.typed == "norm1"


def test_find_by_name_alias_end_number_and_title() -> None:
    session = session_of("tiny")
    for typed, name in {
        "attn.scores": "attn.scores",
        "scores": "attn.scores",
        "SCORES": "attn.scores",
        "var": "norm1.var",
        "24": "norm2",
        "Queries": "attn.q",
        "out": session.explainer.program.find("out"),
        "norm1.out": "norm1",
    }.items():
        press(session, "/")
        assert session.matches == list(range(24))
        assert session.chosen == session.position
        type_in(session, typed)
        press(session, "enter")
        assert name_of(session) == name, typed
        assert mode_of(session) == Mode.steps


def test_find_lists_chooses_and_can_be_left() -> None:
    session = session_of("tiny")
    press(session, "down", "/")
    type_in(session, "norm")
    assert "norm1.mean" in shown(session)
    first = session.matches[0]
    press(session, "down", "tab", "up")
    assert session.chosen == 1
    press(session, "backspace")
    assert session.typed == "nor"
    press(session, "ctrl+u")
    assert session.typed == ""
    press(session, "escape")
    assert session.position == 0
    assert mode_of(session) == Mode.cells
    press(session, "/")
    type_in(session, "w_q")  # a matrix of the file
    assert not session.matches
    type_in(session, "zzz q?")
    assert not session.matches
    press(session, "down", "up", "enter")
    assert mode_of(session) == Mode.finding
    press(session, "ctrl+u")
    type_in(session, "norm")
    press(session, "enter")
    assert session.position == first


@pytest.mark.parametrize("back", ["escape", "?", "q", "enter", "space"])
def test_the_page_of_keys_leads_back(back: str) -> None:
    session = session_of("tiny")
    press(session, "down", "?")
    assert "leave; also Ctrl-C" in shown(session)
    press(session, back)
    assert mode_of(session) == Mode.cells
    assert not session.done


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
def test_q_leaves(key: str) -> None:
    session = session_of("tiny")
    press(session, key)
    assert session.done


def test_some_steps_may_be_gone_through_alone() -> None:
    whole = session_of("tiny")
    session = Session(whole.explainer, [3, 6], 1)
    assert "step 2 of 2" in shown(session)
    assert shown(session).splitlines()[2].startswith("  7  ")
    press(session, "/")
    assert session.matches == [0, 1]
    press(session, "escape", "left")
    assert name_of(session) == "attn.scores"
