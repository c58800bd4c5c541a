"""The pages of ``--help``: names of options, their values, and what they do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from textwrap import wrap
from typing import Any
from unicodedata import east_asian_width

from blockcalc.messages import say
from blockcalc.messages.words import clauses
from blockcalc.shell.usage import takes_value, usage_of

_HELD = "\xa0"  # a non-breaking space
NAMES = 25  # width for names; a longer name has its own line
LEAST = 28  # width of the narrowest page
_CLOSING, _OPENING = "，。；：、！？）》」』】”’…%", "（《「『【“‘"
# a space, or what stands together: a wide character, or a word, with the marks around it
_PIECE = re.compile(
    rf"[ \n]+|[{_OPENING}]*(?:[\u2e80-\uffef]|[^ \n\u2e80-\uffef{_OPENING}{_CLOSING}]+)?[{_CLOSING}]*"
)
_OTHERS = ("help", "install_completion", "show_completion")  # options that typer adds


def write_page(formatter: Any, ctx: Any, command: Any) -> None:
    """Write the page of a command: how it is called, what it does, and its options."""
    fitted(formatter, ctx.max_content_width)
    pieces = " ".join(command.collect_usage_pieces(ctx))
    formatter.write_usage(ctx.command_path, pieces, say("help.usage.before"))
    for text in cleandoc(command.help or "").split("\n\n"):
        _write_text(formatter, text)
    command.format_options(ctx, formatter)
    _write_text(formatter, cleandoc(command.epilog or ""))


def _write_text(formatter: Any, text: str) -> None:
    lines = wrapped(text, formatter.width - 2)
    formatter.write("".join(["\n" * bool(lines), *(f"  {line}\n" for line in lines)]))


def cells_of(text: str) -> int:
    """Count the columns that a text takes in a terminal: two for a Chinese character."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines; one in Chinese anywhere but within a word or before a mark.

    Examples
    --------
    >>> wrapped("按名称列出 attn.scores，精度完整。", 20)
    ['按名称列出', 'attn.scores，精度完', '整。']
    """
    if cells_of(text) == len(text):
        return wrap(text, width, break_on_hyphens=False)
    return list(_broken(text, width))


def _broken(text: str, width: int) -> Iterator[str]:
    line = ""
    for piece in filter(None, _PIECE.findall(text)):
        own = " " if piece.isspace() and _HELD not in piece else piece
        if cells_of(line + own.rstrip(" ")) > width and line:
            yield line.rstrip(" ")
            line = ""
        while cells_of(own) > width:  # a word longer than the line
            n = next(i for i in range(len(own), 0, -1) if i == 1 or cells_of(own[:i]) <= width)
            yield own[:n]
            own = own[n:]
        line = line + own if line else own.lstrip(" ")
    if line:
        yield line.rstrip(" ")


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
    return [say("help.usage.options"), *usage_of(command)]


def _write(formatter: Any, heading: str, rows: list[tuple[str, str]]) -> None:
    """Write names and texts in two columns; lines do not break within the name of an option."""
    if not rows:
        return
    widest = max(len(name) for name, _ in rows)
    column = min(widest, NAMES, formatter.width // 3)
    formatter.write(f"\n{say('help.heading', title=heading)}\n")
    for name, text in rows:
        lines = wrapped(text, formatter.width - column - 4)
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
    held = clauses(notes).replace(" ", _HELD)
    return f"{help_of(param)}  [{held}]" if notes else help_of(param)
