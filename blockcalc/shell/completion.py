"""Answer requests for completion from a shell, in the format of that shell.

The scripts that ``--show-completion`` prints are from typer: they pass the line in environment
variables. typer's own completion does not support a command in the middle of the line, ``run`` as
the default command, or values after ``=``, and takes a tenth of a second for styling.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from blockcalc.shell.offers import Line, Offer, offers


def complete(how: str, commands: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    """Print the possible words at the cursor, and return the exit code.

    On an error nothing is printed: it would appear in the line being typed.

    Parameters
    ----------
    how : str
        ``complete_bash``, ``complete_zsh``, ``complete_fish``, ``complete_powershell`` or
        ``complete_pwsh``.
    commands, own : mapping
        The commands by name, and the options of the program itself.
    """
    read, write = SHELLS.get(how.removeprefix("complete_"), SHELLS["bash"])
    line, found = Line([], ""), list[Offer]()
    with suppress(Exception):
        line = read()
        found = offers(commands, own, line)
    text = write(found, line)
    if text:
        sys.stdout.buffer.write(os.fsencode(f"{text}\n"))
    asks = os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args"
    return 1 if asks and how.endswith("fish") and not found else 0


def _split(text: str) -> list[str]:
    """Split a line as a shell does, even if a quote is still open."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    return words


def _read() -> Line:
    """Read the line up to the cursor."""
    text = os.environ["_TYPER_COMPLETE_ARGS"]
    words = _split(text)[1:]
    return Line(words, "") if text.endswith(" ") else Line(words[:-1], words[-1])


def _read_bash() -> Line:
    """Read the line of bash, which splits ``--norm=pre`` into three words.

    It also splits ``@tiny`` into two, but replaces both.
    """
    at, text = int(os.environ["COMP_CWORD"]), os.environ["COMP_WORDS"]
    typed = [*_split(text)[1 : at + 1], ""][:at]
    words: list[str] = []
    for i, word in enumerate(typed):
        if words and ("=" in (word, typed[i - 1]) or typed[i - 1] == "@"):
            words[-1] += word
        else:
            words.append(word)
    last = words.pop()
    held = last if typed[-1] == "=" else last.removesuffix(typed[-1])
    held = "" if held == "@" else held
    return Line(words, last, held, text.split("\n")[-1][:1] in ("'", '"'))


def _read_powershell() -> Line:
    words, text = (
        _split(os.environ["_TYPER_COMPLETE_ARGS"])[1:],
        os.environ["_TYPER_COMPLETE_WORD_TO_COMPLETE"],
    )
    return Line(words[:-1] if text else words, text)


def _write_bash(found: list[Offer], line: Line) -> str:
    words = (offer.word[len(line.held) :] for offer in found)
    escaped = found and found[0].path and not line.quoted
    return "\n".join(re.sub(r"([^\w./~+@%,:=-])", r"\\\1", w) if escaped else w for w in words)


def _write_zsh(found: list[Offer], line: Line) -> str:
    def quoted(text: str) -> str:
        for sign, other in (('"', '""'), ("'", "''"), ("$", r"\$"), ("`", r"\`"), (":", r"\\:")):
            text = text.replace(sign, other)
        return f'"{text}"'

    words = (":".join(quoted(text) for text in (o.word, o.help) if text) for o in found)
    return f"_arguments '*: :(({chr(10).join(words)}))'" if found else "_files"


def _write_fish(found: list[Offer], line: Line) -> str:
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return ""
    return "\n".join(f"{o.word}\t{o.help}" if o.help else o.word for o in found)


def _write_powershell(found: list[Offer], line: Line) -> str:
    return "\n".join(f"{o.word}:::{o.help or ' '}" for o in found)


SHELLS: dict[str, tuple[Callable[[], Line], Callable[[list[Offer], Line], str]]] = {
    "bash": (_read_bash, _write_bash),
    "zsh": (_read, _write_zsh),
    "fish": (_read, _write_fish),
    "powershell": (_read_powershell, _write_powershell),
    "pwsh": (_read_powershell, _write_powershell),
}
