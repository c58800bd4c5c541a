"""The screen of a step: nothing is cut at any width, in any encoding, with any names."""

from __future__ import annotations

import re
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

import blockcalc
from blockcalc.errors import BlockcalcError
from blockcalc.explain.document import Panel
from blockcalc.notation.alphabets import Text
from blockcalc.stepper.keys import KEYS, Mode
from blockcalc.stepper.page import CURSOR
from blockcalc.stepper.scene import Extent
from blockcalc.stepper.session import Session
from tests.helpers import SAMPLES, random_data
from tests.stepper.walks import LONG, go_to, page_of, press, session_of, shown, type_in

HOSTILE = ["[red]W[q]", "[/oops]", "a\x1b[2Jb", "g\th", "e\u202ef"]


def squeezed(text: str) -> str:
    """Drop the spaces of a text, where lines may be wrapped."""
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("mode", ["steps", "cells"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
@pytest.mark.slow
def test_all_of_every_step_is_on_a_screen_of_80_by_24(sample: Path, mode: str) -> None:
    session = session_of(sample)
    if mode == "cells":
        press(session, "down")
    page, text, left_out = page_of(session), Text(), 0
    for position in range(len(session.numbers)):
        session.jump(position)
        lines = page.draw(session, 80, 24)
        out = ["".join(part for part, _ in line) for line in lines]
        assert len(out) == 24
        assert max(map(cell_len, out)) <= 80
        name = session.step.equation.out.name
        line = session.line()
        result = text.render(line.result)
        assert squeezed(text.render(line.left)) in squeezed("".join(out)), name
        if line.middle:
            assert squeezed(f"{text.render(line.middle)}{line.equals}{result}") in squeezed(
                "".join(out)
            )
        assert f"[{result}]" in "".join(out).replace(" ", ""), name
        left_out += bool(missing(panels_of(session), "\n".join(out[2:-2])))
        styles = {style for line in lines for _, style in line}
        assert (CURSOR in styles) == (mode == "cells")
        if any(panel.lit for panel in panels_of(session)):
            assert "lit" in styles
    assert left_out <= 2


def panels_of(session: Session) -> list[Panel]:
    return [part for part in session.parts(Extent(64)) if isinstance(part, Panel)]


def missing(panels: list[Panel], out: str) -> list[Panel]:
    """Hold that every number of the result is seen, and what it is computed from.

    Give the operands of which something else is left out.
    """
    *operands, result = panels
    lit = [panel.rows[i][j] for panel in operands for i, j in panel.lit]
    for figure in [*lit, *(figure for row in result.rows for figure in row)]:
        assert Text().figure(figure) in out, result.key
    return [
        panel
        for panel in operands
        if any(Text().figure(figure) not in out for row in panel.rows for figure in row)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "size", [(20, 5), (30, 10), (40, 12), (60, 20), (120, 40), (200, 60), (1, 1)]
)
def test_at_any_size_the_lines_fit_and_the_selected_cell_is_seen(size: tuple[int, int]) -> None:
    width, height = size
    for name, mode in product(("llama_style", "sentence_zh"), ("steps", "cells")):
        session = session_of(name)
        if mode == "cells":
            press(session, "down")
        page = page_of(session)
        for position in range(len(session.numbers)):
            session.jump(position)
            lines = page.draw(session, width, height)
            assert len(lines) == height
            assert max(cell_len("".join(t for t, _ in line)) for line in lines) <= width
            if width >= 40 and height >= 20:
                spots = [
                    t for line in lines for t, s in line if s in ("cell", CURSOR) and t.strip()
                ]
                assert "[" in "".join(spots)


def test_a_wide_screen_shows_the_other_heads() -> None:
    session = session_of("two_heads")
    go_to(session, "attn.scores")
    assert "S head 2" in shown(session, 120, 40)
    press(session, "]")
    assert "S[2," in shown(session, 120, 40)


@pytest.mark.slow
def test_a_large_matrix_follows_the_cell_and_no_number_is_cut() -> None:
    n = 40
    x = [[-123.456 - i - j / 100 for j in range(n)] for i in range(n)]
    session = session_of(blockcalc.load({"x": x, "attn": {"out": x}}))
    go_to(session, "residual1")
    press(session, "down")
    for _ in range(n):
        press(session, "down", "right")
        out = shown(session)
        shown_cell = session.explainer.matrix(session.step.equation.out).figure(session.at)
        assert f"[{shown_cell.digits}]" in out
        assert out.count("…") >= 2
        for number in re.findall(r"-[0-9]+\.[0-9]+", out):
            assert len(number.partition(".")[2]) >= 1
    assert session.at == (n - 1, n - 1)


def test_an_ascii_terminal_gets_ascii_alone() -> None:
    session = session_of("sentence_zh")
    for keys in ("", "down", "/", "escape", "?", "escape", "g"):
        if keys:
            press(session, keys)
        assert shown(session, encoding="ascii").isascii()
        press(session, "n")
    assert "arrows cell" in shown(session, encoding="ascii")
    press(session, "?")
    assert "left right" in shown(session, encoding="ascii")


def test_hostile_names_are_shown_as_text() -> None:
    spec = {"title": "[b]T[/b]\x1b[2J" + "x" * 300, "tokens": HOSTILE, "x": [[1, 2]] * 5,
            "attn": {"out": [[3, 4]] * 5}}  # fmt: skip
    session = session_of(blockcalc.load(spec))
    out = shown(session)
    assert "\x1b" not in out
    assert "\t" not in out
    for label in ("[red]W[q]", "[/oops]", r"a\x1b[2Jb", r"g\th", r"e\u202ef"):
        assert label in out
    assert "[b]T[/b]" in out
    assert "…" in out.splitlines()[0]
    assert out.splitlines()[0].endswith("step 1 of 6")


def test_long_labels_give_way_to_numbers() -> None:
    tokens = ["a" * 200, "苹果" * 100, r"\x1b" * 50]
    x = [[-1.25, 2.5], [3.75, -4.125], [5.5, 6.625]]
    session = session_of(blockcalc.load({"tokens": tokens, "x": x, "attn": {"out": x}}))
    for width in (40, 80):
        out = shown(session, width, 24)
        for number in ("-1.25", "2.500", "3.75", "-4.125", "5.50", "6.625", "13.25"):
            assert number in out, width
        assert "aaaaaaa…" in out
    attention = {"w_q": [[1, 0], [0, 1]], "w_k": [[1, 0], [0, 1]], "w_v": [[1, 0], [0, 1]]}
    session = session_of(blockcalc.load({"tokens": tokens, "x": x, "attn": attention}))
    go_to(session, "attn.scores")
    panels = panels_of(session)
    assert not missing(panels, shown(session))


def test_the_line_at_the_bottom_says_what_keys_do_and_fits() -> None:
    session = session_of("two_heads")
    go_to(session, "attn.scores")
    assert (
        shown(session).splitlines()[-1]
        == " ←→ step  ↓ cells  [ ] head  space guess  / find  ? keys  q leave"
    )
    press(session, "down")
    bottom = shown(session).splitlines()[-1]
    assert (
        bottom == " ←↑↓→ cell  [ ] head  esc steps  n p step  space guess  / find  ? keys  q leave"
    )
    assert shown(session, 40).splitlines()[-1] == " ←↑↓→ cell  esc steps  ? keys  q leave"
    press(session, "g")
    assert "space show" in shown(session)


def test_the_page_of_keys_has_them_all() -> None:
    session = session_of("tiny")
    press(session, "?")
    out = shown(session)
    for row in KEYS:
        if {Mode.steps, Mode.cells} & {*row.modes}:
            assert row.sign in out
    assert out.splitlines()[-1] == " esc back"


def test_where_there_is_room_stands_what_the_section_is_for() -> None:
    session = session_of("tiny")
    assert "Tokens exchange information" in shown(session)
    assert "takes X x" in shown(session)
    assert "Tokens exchange information" not in shown(session, 80, 14)
    plain = session_of("tiny", prose=False)
    assert "Tokens exchange information" not in shown(plain)


def test_a_named_function_is_defined() -> None:
    session = session_of("llama_style")
    go_to(session, "ffn.gate_act")
    assert "SiLU(x) = " in shown(session)


def test_notes_are_shown_when_nothing_is_hidden() -> None:
    session = session_of("tiny")
    go_to(session, "attn.weights")
    assert "1" in shown(session)
    note = session.notes()[0]
    assert squeezed(note) in squeezed(shown(session))
    press(session, "g")
    assert squeezed(note) not in squeezed(shown(session))


def test_the_steps_found_are_listed_around_the_chosen_one() -> None:
    session = session_of("stack")
    press(session, "end", "/")
    out = shown(session)
    assert f"  {len(session.numbers)}  " in out
    press(session, *["up"] * 200)
    assert "   1  " in shown(session)
    type_in(session, "nothing like this")
    assert "No step has this" in shown(session)


KEYS_AT_RANDOM = [*"npg/?[]q0123456789-.eEx ∞", *LONG, "backspace", "pageup", "pagedown", "ctrl+u"]


@pytest.mark.slow
@given(random_data(), st.lists(st.sampled_from(KEYS_AT_RANDOM), min_size=20, max_size=40))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_keys_in_any_order_leave_a_screen(data: dict[str, Any], keys: list[str]) -> None:
    try:
        session = session_of(blockcalc.load(data))
    except BlockcalcError:
        return
    pages = cycle([page_of(session), page_of(session, "ascii")])
    sizes = cycle([(80, 24), (40, 12), (120, 40), (5, 3)])
    for key in keys:
        press(session, "space" if key == " " else key)
        width, height = next(sizes)
        lines = next(pages).draw(session, width, height)
        assert len(lines) == height
        assert max(cell_len("".join(t for t, _ in line)) for line in lines) <= width
        assert 0 <= session.position < len(session.numbers)
        assert all(map(int.__lt__, session.at, session.step.value.shape))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
@pytest.mark.slow
def test_on_a_small_screen_the_arithmetic_is_whole_or_marked(sample: Path) -> None:
    """The title gives way to it, so that result and arithmetic are seen on 40 by 12."""
    session, text = session_of(sample), Text()
    page, marked = page_of(session), 0
    for position in range(len(session.numbers)):
        session.jump(position)
        out = ["".join(part for part, _ in line) for line in page.draw(session, 40, 12)]
        line = session.line()
        assert f"{position + 1}  " in out[2]
        if line.middle:
            result = text.render(line.result)
            assert f"[{result}]" in "".join(out).replace(" ", "")
            whole = squeezed(f"{text.render(line.middle)}{line.equals}{result}")
            if whole not in squeezed("".join(out)):
                assert any(row.endswith(" …") for row in out[-6:])
                marked += 1
    assert marked <= len(session.numbers) // 10


def test_the_page_of_keys_is_scrolled_where_it_does_not_fit() -> None:
    session = session_of("tiny")
    press(session, "?")
    first = shown(session, 40, 12)
    assert "Ctrl-C" not in first
    assert first.splitlines()[-1] == " esc back  ↑↓ more"
    press(session, "up", *["down"] * 100)
    last = shown(session, 40, 12)
    assert "Ctrl-C" in last
    press(session, "up")
    assert shown(session, 40, 12).splitlines()[3:-2] == last.splitlines()[2:-3]
    press(session, "escape", "?")
    assert shown(session, 40, 12) == first


def test_what_keys_do_stands_in_one_column_in_ascii() -> None:
    session = session_of("tiny")
    press(session, "?")
    rows = [row for row in shown(session, encoding="ascii").splitlines()[5:-1] if row[2:3].strip()]
    assert len({re.match(r"  .*?\S   *(?=\S)", row).end() for row in rows}) == 1  # type: ignore[union-attr]
