"""What the tests of ``step`` share: a session on a sample, its screen, and its lines as text."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from rich.console import Console

import blockcalc
from blockcalc.explain.depth import Depth
from blockcalc.explain.steps import Explainer
from blockcalc.nn.spec import Spec
from blockcalc.stepper.page import Page
from blockcalc.stepper.session import Session

LONG = ("left", "right", "up", "down", "space", "enter", "escape", "tab", "home", "end")


def explained(spec: Spec, **depth: Any) -> Explainer:
    """Explain a run."""
    return Explainer(spec, blockcalc.run(spec), Depth(pictures=True, **depth))


def session_of(sample: str | Path | Spec, **depth: Any) -> Session:
    """Begin a session on a sample or a spec."""
    spec = blockcalc.sample(sample) if isinstance(sample, str) else sample
    spec = blockcalc.load(spec) if isinstance(spec, Path) else spec
    explainer = explained(spec, **depth)
    return Session(explainer, range(len(explainer.program.equations)))


def page_of(session: Session, encoding: str = "utf-8") -> Page:
    """Make the screen of a session."""
    file = io.TextIOWrapper(io.BytesIO(), encoding)
    return Page(Console(file=file, width=80), session.explainer.spec.title or "block")


def shown(session: Session, width: int = 80, height: int = 24, encoding: str = "utf-8") -> str:
    """Give the screen as text."""
    lines = page_of(session, encoding).draw(session, width, height)
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def type_in(session: Session, text: str) -> None:
    """Press a key for each character."""
    for character in text:
        session.press("space" if character == " " else character, character)


def press(session: Session, *keys: str) -> None:
    """Press keys by name, or characters."""
    for key in keys:
        session.press(key, key if len(key) == 1 else " " if key == "space" else None)


def go_to(session: Session, name: str) -> None:
    """Go to a step."""
    names = [eq.out.name for eq in session.explainer.program.equations]
    session.jump(names.index(name))
