"""The pages of ``--help``: names of options, their values, and what they do."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

from blockcalc.messages import say
from blockcalc.shell.usage import takes_value, usage_of

_HELD = "\xa0"  # a non-breaking space
NAMES = 25  # width for names; a longer name has its own line
LEAST = 28  # width of the narrowest page
_OTHERS = ("help", "install_completion", "show_completion")  # options that typer adds


def write_options(formatter: Any, params: list[Any]) -> None:
    """Write the arguments and the options of a command."""
    for kind in ("argument", "option"):
        rows = [(_names(p), _text(p)) for p in params if p.param_type_name == kind]
        _write(formatter, say(f"help.{kind}s"), rows)


def fitted(formatter: Any, most: int) -> None:
    """Make a page as wide as the terminal, at most ``most`` columns; typer keeps at least 52."""
    from shutil import get_terminal_size

    columns = get_terminal_size().columns
    formatter.width = max(min(columns, most) - 2, LEAST)


def write_commands(formatter: Any, names: Iterable[str]) -> None:
    """Write the name of each command with its short help."""
    _write(formatter, say("help.commands"), [(name, say(f"short.{name}")) for name in names])


def help_of(param: Any) -> str:
    """Give the help text of an option."""
    return say(f"help.{param.name}") if param.name in _OTHERS else str(param.help)


def usage_pieces(command: Any) -> list[str]:
    """Give the parts of the usage line after the name of a command."""
    return [command.options_metavar, *usage_of(command)]


def _write(formatter: Any, heading: str, rows: list[tuple[str, str]]) -> None:
    """Write names and texts in two columns; lines do not break within the name of an option."""
    if not rows:
        return
    widest = max(len(name) for name, _ in rows)
    column = min(widest, NAMES, formatter.width // 3)
    with formatter.section(heading):
        for name, text in rows:
            lines = wrap(text, formatter.width - column - 4, break_on_hyphens=False)
            if len(name) > column:
                head = wrap(name, formatter.width - 2, break_on_hyphens=False)
            else:
                head = [f"{name:{column}}  {lines.pop(0)}"]
            for line in head + [f"{'':{column}}  {line}" for line in lines]:
                formatter.write(f"  {line}\n".replace(_HELD, " "))


def _names(param: Any) -> str:
    """Write the spellings of an option, the short one first, and its value."""
    if param.param_type_name == "argument":
        return str(param.metavar)
    names = ", ".join(sorted(param.opts, key=len))
    if takes_value(param):
        return f"{names} {param.metavar}"
    return " / ".join([names, *param.secondary_opts])


def _text(param: Any) -> str:
    """Write what an option does, its limits, and its default."""
    notes = []
    if (high := getattr(param.type, "max", None)) is not None:
        notes.append(say("help.range", low=param.type.min, high=high))
    if param.default and param.param_type_name == "option" and takes_value(param):
        notes.append(say("help.default", value=param.default))
    held = "; ".join(notes).replace(" ", _HELD)
    return f"{help_of(param)}  [{held}]" if notes else help_of(param)
