"""The screen: paragraphs that wrap with their styles, plain when piped."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style

from blockcalc.explain.document import Operand
from blockcalc.notation.alphabets import Text
from blockcalc.notation.signs import PLAIN_SIGNS, clean, plain_signs
from blockcalc.views.layout import Whole, shape_text

PIPE_WIDTH = 1_000_000
INDENT = 5
_WIDTH = re.compile("[0-9]{1,9}")
_STYLES = {
    "title": "bold",
    "section": "bold cyan",
    "number": "bold cyan",
    "name": "cyan",
    "quiet": "dim",
    "note": "yellow",
    "result": "bold",
    "wrong": "bold red",
    "right": "green",
    "symbol": "bold cyan",
    "sign": "bold",
    "lit": "magenta",
    "cell": "bold magenta",
    "shade0": "",
    "shade1": "color(16) on color(189)",
    "shade2": "color(16) on color(147)",
    "shade3": "color(231) on color(62)",
    "shade4": "bold color(231) on color(55)",
}


@cache
def _style(name: str) -> Style:
    return Style.parse(_STYLES.get(name, name) or "none")


class _Console(Console):
    """A console that leaves the handling of a closed pipe to the command line."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def make_console(color: str = "auto") -> Console:
    """Open the terminal: ``color`` is auto, always or never.

    Output to a pipe has no colour and is not wrapped unless COLUMNS is set.
    """
    environ = os.environ
    for name in ("COLUMNS", "LINES"):
        if not _WIDTH.fullmatch(environ.get(name, "1")):
            del environ[name]
    never = color == "never" or (color == "auto" and bool(environ.get("NO_COLOR")))
    forced = color == "always" or (
        color == "auto" and not never and environ.get("FORCE_COLOR", "") not in ("", "0")
    )
    terminal = sys.stdout.isatty()
    width = None
    if not terminal:
        width = int(environ.get("COLUMNS", "0")) or PIPE_WIDTH
    return _Console(
        file=sys.stdout,
        width=width,
        force_terminal=forced or (terminal and not never),
        force_jupyter=False,  # in a notebook Rich would show every line as HTML of its own
        color_system=None if never else "auto" if not forced else "standard",
        no_color=True if never else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


Part = str | tuple[str, str]


class Screen:
    """Prints paragraphs, wrapped to the width of the console."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.encoding = console.encoding or "utf-8"
        signs = "".join(PLAIN_SIGNS)
        self.plain = plain_signs(signs, self.encoding) != signs
        self.alphabet = Text(plain=self.plain)
        self.width = max(console.width, 20)
        console.width = PIPE_WIDTH  # lines are wrapped here, not by Rich, which would break numbers

    # text -------------------------------------------------------------------------------

    def write(self, *parts: Part, indent: int = 0, hang: int = 0) -> None:
        """Print one paragraph of styled parts, wrapped at spaces with a hanging indent."""
        runs: list[list[str]] = [[" " * indent, ""]]

        def add(text: str, style: str) -> None:
            if style == runs[-1][1]:
                runs[-1][0] += text
            else:
                runs.append([text, style])

        used = indent
        for i, word in enumerate(self.words(parts)):
            length = sum(cell_len(w) for w, _ in word)
            if i and used + 1 + length > self.width and used > indent + hang:
                if not length:  # a second space, which would end the line
                    continue
                while not runs[-1][0].strip(" ") and len(runs) > 1:
                    runs.pop()
                runs[-1][0] = runs[-1][0].rstrip(" ")
                add("\n" + " " * (indent + hang), "")
                used = indent + hang
            elif i:
                add(" ", runs[-1][1] if runs[-1][1] == word[0][1] else "")
                used += 1
            for text, style in word:
                add(text, style)
            used += length
        for text, style in runs:
            line_by_line = (self.styled([(line, style)]) for line in text.split("\n"))
            self.console.file.write("\n".join(line_by_line))
        self.console.file.write("\n")

    def words(self, parts: Sequence[Part]) -> list[list[tuple[str, str]]]:
        """Break styled parts at their spaces."""
        words: list[list[tuple[str, str]]] = [[]]
        for part in parts:
            text, style = (part, "") if isinstance(part, str) else part
            safe = self.safe(text)
            for i, word in enumerate([safe] if isinstance(text, Whole) else safe.split(" ")):
                if i:
                    words.append([])
                words[-1].append((word, style))
        return words

    def styled(self, parts: Sequence[Part]) -> str:
        """Join styled parts, with the codes of their styles if colour is on."""
        spans = [(part, "") if isinstance(part, str) else part for part in parts]
        if self.console.color_system is None:
            return "".join(self.safe(text) for text, _ in spans)
        return "".join(
            _style(style).render(self.safe(text), color_system=ColorSystem.EIGHT_BIT)
            if text.strip()
            else text
            for text, style in spans
        )

    def safe(self, text: str) -> str:
        """Escape control characters, and replace characters that the terminal cannot show."""
        if text.isascii() and text.isprintable():
            return text
        return plain_signs(clean(text), self.encoding)

    def blank(self) -> None:
        """Print an empty line."""
        self.console.file.write("\n")

    def operand(self, operand: Operand) -> list[Part]:
        """Write an operand: symbol, name, axes and shape."""
        symbol = self.alphabet.symbol(operand.symbol)
        return [symbol + " ", (operand.name, "name"), " ", (shape_text(operand), "quiet")]

    def put(self, lines: Iterable[str], indent: int = INDENT) -> None:
        """Print rendered lines with the indent."""
        for line in lines:
            self.console.file.write((" " * indent + line).rstrip() + "\n")
