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
WIDEST = 4  # cells of a Chinese character with a comma
INDENT = 5
_WIDTH = re.compile("[0-9]{1,9}")
# a wide character, with what must not begin a line, or a run of others
_UNIT = re.compile("[\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uffe6][、。，．：；！？）」』》】]*"
                   "|[^\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uffe6]+")  # fmt: skip
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
    "shade0": "color(16) on color(231)",  # on a dark screen too the darkest ground is the largest
    "shade1": "color(16) on color(189)",
    "shade2": "color(16) on color(147)",
    "shade3": "color(231) on color(62)",
    "shade4": "bold color(231) on color(55)",
}


@cache
def style_of(name: str) -> Style:
    """Give the style of a part of the screen by its name, or one that Rich knows."""
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


Span = tuple[str, str]  # a text and its style
Part = str | Span


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
        lines = self.lines(*parts, indent=indent, hang=hang)
        self.console.file.write("\n".join(map(self.styled, lines)) + "\n")

    def lines(self, *parts: Part, indent: int = 0, hang: int = 0) -> list[list[Span]]:
        """Wrap one paragraph at spaces; give its lines, each of styled parts."""
        lines: list[list[Span]] = [[(" " * indent, "")]]

        def add(text: str, style: str) -> None:
            last, own = lines[-1][-1]
            if style == own:
                lines[-1][-1] = (last + text, style)
            else:
                lines[-1].append((text, style))

        used = indent
        for i, word in enumerate(self.words(parts)):
            length = sum(cell_len(w) for w, _ in word)
            wide = length > sum(len(w) for w, _ in word)
            fold = wide and length > self.width - indent - hang
            room = WIDEST if fold else length
            if i and used + 1 + room > self.width and used > indent + hang:
                if not length:  # a second space, which would end the line
                    continue
                while not lines[-1][-1][0].strip(" ") and len(lines[-1]) > 1:
                    lines[-1].pop()
                text, style = lines[-1][-1]
                lines[-1][-1] = (text.rstrip(" "), style)
                lines.append([(" " * (indent + hang), "")])
                used = indent + hang
            elif i:
                add(" ", lines[-1][-1][1] if lines[-1][-1][1] == word[0][1] else "")
                used += 1
            if fold:
                word, used = self.folded(word, indent + hang, used)
            else:
                used += length
            for text, style in word:
                first, *others = text.split("\n")
                add(first, style)
                lines += [[(other, style)] for other in others]
        return lines

    def folded(
        self, word: Sequence[tuple[str, str]], indent: int, used: int
    ) -> tuple[list[tuple[str, str]], int]:
        """Break a word longer than a line at its wide characters, as Chinese is broken.

        Gives the word, and the cells used on its last line.
        """
        parts: list[tuple[str, str]] = []
        for text, style in word:
            out = ""
            for unit in _UNIT.findall(text):
                own = cell_len(unit)
                if used > indent and used + own > self.width:
                    out += "\n" + " " * indent
                    used = indent
                out += unit
                used += own
            parts.append((out, style))
        return parts, used

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
            style_of(style).render(self.safe(text), color_system=ColorSystem.EIGHT_BIT)
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
