"""The session in Textual, which reads the keys and writes the screen; imported only here."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.events import Event, Key, Paste, Resize
from textual.strip import Strip
from textual.widget import Widget

from blockcalc.stepper.page import Lines, Page
from blockcalc.stepper.session import Session
from blockcalc.views.screen import style_of

ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")


class Sheet(Widget, can_focus=True):
    """The whole screen, line by line."""

    def __init__(self, session: Session, page: Page, colored: bool) -> None:
        super().__init__()
        self.session, self.page, self.colored = session, page, colored
        self.drawn: Lines = []
        self.failed: Exception | None = None

    def after(self, act: Callable[[], None]) -> None:
        """Do what a key asks for, and lay the screen out anew; keep what goes wrong for the end."""
        try:
            act()
            self.drawn = self.page.draw(self.session, self.size.width, self.size.height)
        except Exception as error:
            self.failed = error
        if self.failed or self.session.done:
            self.app.exit()
        self.refresh()

    def on_resize(self, event: Resize) -> None:
        self.after(lambda: None)

    def on_key(self, event: Key) -> None:
        alone(event)
        if event.key == "ctrl+z":
            self.app.action_suspend_process()
        else:
            self.after(lambda: self.session.press(event.key, event.character))

    def on_paste(self, event: Paste) -> None:
        alone(event)
        self.after(lambda: self.session.paste(event.text))

    def render_line(self, y: int) -> Strip:
        line = self.drawn[y] if y < len(self.drawn) else []
        styles = [(text, style_of(style)) for text, style in line]
        segments = [
            Segment(text, style if self.colored else style.without_color) for text, style in styles
        ]
        return Strip(segments).adjust_cell_length(self.size.width)


def alone(event: Event) -> None:
    """Keep an event from what Textual itself would do."""
    event.stop()
    event.prevent_default()


class Stepper(App[None]):
    """Leads a session by keys.

    Parameters
    ----------
    session : Session
    page : Page
    colored : bool
        Whether there are colours; without them there are still bold, dim and reversed texts.
    """

    CSS = "Sheet { width: 100%; height: 100%; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, session: Session, page: Page, colored: bool = True) -> None:
        super().__init__(ansi_color=True)
        self.sheet = Sheet(session, page, colored)
        self.ended: int | None = None  # the signal that ended it

    def compose(self) -> ComposeResult:
        yield self.sheet

    def on_mount(self) -> None:
        """Restore the terminal also where a signal ends the process; draw anew after a stop."""
        self.sheet.focus()
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        loop = asyncio.get_running_loop()
        for name in ENDINGS:
            with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                number = getattr(signal, name)
                loop.add_signal_handler(number, self.end, int(number))

    def end(self, number: int) -> None:
        """Leave because of a signal."""
        self.ended = number
        self.exit()


def lead(session: Session, page: Page, colored: bool) -> int:
    """Go through the steps until the person leaves; return the exit code.

    Raises
    ------
    Exception
        What went wrong inside, after the terminal is restored.
    """
    app = Stepper(session, page, colored)
    app.run(mouse=False)  # the terminal's own selection of text goes on working
    if app.sheet.failed is not None:
        raise app.sheet.failed
    return 0 if app.ended is None else 128 + app.ended
