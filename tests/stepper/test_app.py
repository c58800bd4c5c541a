"""The session in Textual, driven by its pilot: each key reaches it, and the screen follows."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("textual", reason="the extra tui is not installed")

from rich.color import ColorType
from rich.segment import Segment
from textual.events import Paste
from textual.pilot import Pilot

from blockcalc.stepper.app import Sheet, Stepper, lead
from blockcalc.stepper.keys import Mode
from blockcalc.stepper.session import Session
from tests.stepper.walks import page_of, session_of, shown

Act = Callable[[Pilot[None]], Awaitable[None]]


def driven(
    session: Session, act: Act, size: tuple[int, int] = (80, 24), colored: bool = True
) -> Stepper:
    """Run the program without a terminal, and act on it."""

    async def run() -> Stepper:
        app = Stepper(session, page_of(session), colored)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await act(pilot)
        return app

    return asyncio.run(run())


def screen(app: Any) -> str:
    """Give what is on the screen, as text."""
    sheet: Sheet = app.sheet
    lines = (sheet.render_line(y) for y in range(sheet.size.height))
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines)


def test_every_key_reaches_the_session_and_the_screen_follows() -> None:
    session = session_of("two_heads")
    expected = session_of("two_heads")
    steps = ["right", "n", "n", "pagedown", "left", "p", "pageup", "end", "home", *["right"] * 6]
    cells = ["down", "up", "left", "right", "down", "right_square_bracket", "left_square_bracket"]
    modes = ["escape", "tab", "tab", "enter", "space", "space", "space", "g", "g", "question_mark"]
    finding = ["slash", *"scor", "down", "up", "backspace", *"e", "enter", "n", "p", "escape"]
    keys = [*steps, *cells, *modes, "escape", *finding]
    signs = {"right_square_bracket": "]", "left_square_bracket": "[", "question_mark": "?", "slash": "/"}  # fmt: skip

    async def act(pilot: Pilot[None]) -> None:
        for key in keys:
            await pilot.press(key)
            sign = signs.get(key, key if len(key) == 1 else None)
            expected.press(key, sign)
            assert (session.position, session.mode) == (expected.position, expected.mode), key
            assert screen(pilot.app) == shown(expected), key

    driven(session, act)
    assert not session.done


def test_a_number_is_typed_and_judged() -> None:
    session = session_of("tiny")

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("g", "1", "enter")
        assert "1 is right." in screen(pilot.app)
        await pilot.press("n", "minus", "full_stop", "5", "slash", "2")
        assert session.typed == "-.5/2"
        await pilot.press("escape")

    driven(session, act)
    assert session.mode == Mode.steps


def test_a_paste_is_typed() -> None:
    session = session_of("tiny")

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        pilot.app.post_message(Paste("norm2.var"))
        await pilot.pause()
        await pilot.press("enter")

    driven(session, act)
    assert session.step.equation.out.name == "norm2.var"


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
def test_leaving(key: str) -> None:
    session = session_of("tiny")

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press(key)

    app = driven(session, act)
    assert not app.is_running
    assert app.return_code == 0


def test_the_screen_follows_the_size_of_the_terminal() -> None:
    session = session_of("two_heads")

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("n", "n")
        for width, height in ((120, 40), (40, 12), (80, 24), (1, 1)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            assert screen(pilot.app) == shown(session, width, height)

    driven(session, act)


def test_colours_are_those_of_the_terminal_and_can_be_left_out() -> None:
    session = session_of("tiny")
    found: dict[bool, list[Segment]] = {}

    def act_of(colored: bool) -> Act:
        async def act(pilot: Pilot[None]) -> None:
            await pilot.press("down")
            sheet: Sheet = pilot.app.sheet  # type: ignore[attr-defined]
            found[colored] = [s for y in range(24) for s in sheet.render_line(y)]

        return act

    for colored in (True, False):
        driven(session, act_of(colored), colored=colored)
        session.press("escape")
    kinds = {s.style.color.type for s in found[True] if s.style and s.style.color}
    assert kinds == {ColorType.STANDARD}
    assert not [s for s in found[False] if s.style and (s.style.color or s.style.bgcolor)]
    for segments in found.values():  # the selected cell is told without colour, too
        (cell,) = [s for s in segments if s.style and s.style.reverse and s.text == "[1"]
        assert cell.style
        assert cell.style.bold


def test_what_goes_wrong_inside_comes_out_when_the_terminal_is_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = session_of("tiny")

    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(session, "next", broken)

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("n")

    app = driven(session, act)
    assert isinstance(app.sheet.failed, ZeroDivisionError)
    monkeypatch.setattr(
        Stepper, "run", lambda self, **_: setattr(self.sheet, "failed", RuntimeError())
    )
    with pytest.raises(RuntimeError):
        lead(session, page_of(session), True)


def test_a_signal_ends_it_with_the_code_of_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of("tiny")

    async def act(pilot: Pilot[None]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await pilot.pause(0.1)

    app = driven(session, act)
    assert app.ended == signal.SIGTERM
    for ended, code in ((signal.SIGTERM, 143), (None, 0)):
        monkeypatch.setattr(Stepper, "run", lambda self, e=ended, **_: setattr(self, "ended", e))
        assert lead(session, page_of(session), True) == code


def test_ctrl_z_suspends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(Stepper, "action_suspend_process", lambda self: asked.append(True))

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+z")

    driven(session_of("tiny"), act)
    assert asked


def test_after_a_stop_everything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    async def act(pilot: Pilot[None]) -> None:
        monkeypatch.setattr(pilot.app, "refresh", lambda *, layout: asked.append(layout))
        pilot.app.app_resume_signal.publish(pilot.app)
        await pilot.pause()

    driven(session_of("tiny"), act)
    assert asked == [True]
