"""What each key does: one table for the program, the line at the bottom and the page of keys."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from blockcalc.records import dataclass


class Mode(StrEnum):
    """What the keys are for: steps, cells of one, a number or a name typed, the page of keys."""

    steps = "steps"
    cells = "cells"
    typing = "typing"
    finding = "finding"
    helping = "helping"


LOOKING = (Mode.steps, Mode.cells)


@dataclass(frozen=True)
class Keys:
    """Some keys that belong together.

    Attributes
    ----------
    name : str
        The end of the keys of its texts: ``stepper.key.`` says what they do, ``stepper.foot.`` in
        a word or two.
    sign : str
        How the keys are written.
    modes : tuple of Mode
        Where they do that.
    commands : mapping
        The method of ``Session`` that each key calls. A character stands for itself, other keys
        have the names of Textual.
    foot : int
        Their place among those in the line at the bottom that give way where it is narrow: those
        with 1 stay, the largest goes first; 0 if they are not in it.
    plain : str
        How they are written where there are no arrows.
    """

    name: str
    sign: str
    modes: tuple[Mode, ...]
    commands: Mapping[str, str]
    foot: int = 1
    plain: str = ""


KEYS = (
    Keys("steps", "←→", (Mode.steps,), {"left": "previous", "right": "next"}, plain="left right"),
    Keys(
        "enter",
        "↓",
        (Mode.steps,),
        {"down": "enter", "tab": "enter", "enter": "enter"},
        plain="down",
    ),
    Keys(
        "cells",
        "←↑↓→",
        (Mode.cells,),
        {"left": "left", "up": "up", "down": "down", "right": "right"},
        plain="arrows",
    ),
    Keys("turn", "[ ]", LOOKING, {"[": "turn_back", "]": "turn_on"}, foot=3),
    Keys("leave", "esc", (Mode.cells,), {"escape": "leave", "tab": "leave"}),
    Keys(
        "pages",
        "n p",
        (Mode.cells,),
        {"n": "next", "p": "previous", "pagedown": "next", "pageup": "previous"},
        foot=4,
    ),
    Keys(
        "more",
        "n p",
        (Mode.steps,),
        {"n": "next", "p": "previous", "pagedown": "next", "pageup": "previous"},
        foot=0,
    ),
    Keys("ends", "home end", LOOKING, {"home": "first", "end": "last"}, foot=0),
    Keys("reveal", "space", LOOKING, {"space": "reveal"}, foot=2),
    Keys("digits", "0 … 9 -", LOOKING, {}, foot=0),
    Keys("guess", "g", LOOKING, {"g": "guess"}, foot=0),
    Keys("find", "/", LOOKING, {"/": "find"}, foot=5),
    Keys("help", "?", LOOKING, {"?": "help"}),
    Keys("quit", "q", LOOKING, {"q": "quit", "ctrl+q": "quit"}),
    Keys("judge", "enter", (Mode.typing,), {"enter": "judge"}),
    Keys("drop", "esc", (Mode.typing,), {"escape": "drop"}),
    Keys(
        "choose",
        "↑↓",
        (Mode.finding,),
        {"up": "match_before", "down": "match_after", "tab": "match_after"},
        plain="up down",
    ),
    Keys("take", "enter", (Mode.finding,), {"enter": "take"}),
    Keys("stop", "esc", (Mode.finding,), {"escape": "drop"}),
    Keys("back", "esc", (Mode.helping,), dict.fromkeys(("escape", "?", "enter", "space"), "leave")),
    Keys("out", "q", (Mode.helping,), {"q": "leave"}, foot=0),
)
ALWAYS = {"ctrl+c": "quit"}
COMMANDS = {
    (mode, key): command
    for row in KEYS
    for mode in row.modes
    for key, command in row.commands.items()
}


def of_mode(mode: Mode) -> list[Keys]:
    """List the keys of a mode."""
    return [row for row in KEYS if mode in row.modes]
