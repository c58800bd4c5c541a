"""One file per format; a view decides the layout, never the content or the digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import say

if TYPE_CHECKING:
    from blockcalc.explain.document import Document


@dataclass(frozen=True)
class Format:
    """A format: the ending of its files, and the function that writes it.

    ``part`` is the form of a document that it writes, ``pieces``, ``data``, ``arrays`` or ``rows``; ``document`` tells whether its
    output has a frame around the body, so that the body can be written alone.
    """

    name: str
    ending: str
    function: str
    part: str = "pieces"
    binary: bool = False
    document: bool = False

    def write(self, document: Document, fragment: bool = False) -> bytes:
        """Write a document in this format; with ``fragment`` only the body, without its frame."""
        module, _, name = self.function.partition(":")
        made = getattr(import_module(f"blockcalc.views.{module}"), name)(
            getattr(document, self.part)(), fragment
        )
        assert isinstance(made, bytes)
        return made


FORMATS = {
    "latex": Format("latex", ".tex", "latex:latex", document=True),
    "json": Format("json", ".json", "json:json_bytes", "data"),
    "csv": Format("csv", ".csv", "csv:csv_bytes", "rows"),
    "npz": Format("npz", ".npz", "npz:npz_bytes", "arrays", binary=True),
}


def is_format(name: str) -> bool:
    """Tell whether a word, or the ending of a file, names a format, supported or not.

    Examples
    --------
    >>> is_format("--html"), is_format(".JSON"), is_format("norm")
    (True, True, False)
    """
    word = name.lstrip("-.").lower()
    ours = (word in (f.name, f.ending[1:]) for f in FORMATS.values())
    return any(ours) or word in say("cli.other_formats").split()


def target(output: str | None, own: str) -> str | None:
    """Give the file to write, None for standard output, for commands with a single format.

    A name with the ending of another format is an error; ``own`` is the right ending.
    """
    ending = PurePath(output or "").suffix
    if is_format(ending):
        raise UsageError(Fault(say("cli.ending", ending=ending, own=own), Place("--output")))
    return None if output == "-" else output


def choose_format(asked: Mapping[str, bool], output: str | None) -> Format:
    """Choose the requested format, or else the one by the ending of the file to write.

    ``asked`` maps the available formats to whether each is requested.
    """
    named = [name for name, yes in asked.items() if yes]
    if len(named) > 1:
        raise UsageError(Fault(say("cli.formats_two", names=" and ".join("--" + n for n in named))))
    there = [FORMATS[name] for name in named or asked]
    for chosen in there:
        if named or (output and output.lower().endswith(chosen.ending)):
            return chosen
    raise UsageError(_no_format(there, output))


def _no_format(there: Sequence[Format], output: str | None) -> Fault:
    """Make the error that lists the formats if neither an option nor the file name gives one."""
    names = ", ".join(f"--{f.name}" for f in there)
    if output in (None, "-"):
        return Fault(say("cli.formats_none", names=names))
    ending = PurePath(str(output)).suffix
    key = "cli.formats_ending" if ending else "cli.formats_no_ending"
    endings = ", ".join(f.ending for f in there)
    text = say(key, ending=ending, name=output, names=names, endings=endings)
    hint = say("cli.formats_pdf") if ending.lower() == ".pdf" else None
    return Fault(text, Place("--output"), hint)
