"""One file a format; a view decides layout, never content and never digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say

if TYPE_CHECKING:
    from blockcalc.explain.document import Document

PARTS = ("pieces", "data", "arrays")


@dataclass(frozen=True)
class Format:
    """A format: the ending of its files, and the function that makes the bytes.

    ``part`` is the form of a document that it writes, one of ``PARTS``; ``document`` tells whether what it
    writes has something around its body, so that the body can be had alone.
    """

    name: str
    ending: str
    function: str
    part: str = "pieces"
    binary: bool = False
    document: bool = False

    def write(self, document: Document, fragment: bool = False) -> bytes:
        """Write a document in this format; ``fragment`` is the body without what goes around it."""
        module, _, name = self.function.partition(":")
        made = getattr(import_module(f"blockcalc.views.{module}"), name)(
            getattr(document, self.part)(), fragment
        )
        assert isinstance(made, bytes)
        return made


FORMATS = {
    "latex": Format("latex", ".tex", "latex:latex", document=True),
    "json": Format("json", ".json", "json:json_bytes", "data"),
    "npz": Format("npz", ".npz", "npz:npz_bytes", "arrays", binary=True),
}


def choose_format(
    asked: Mapping[str, bool], output: str | None, parts: Sequence[str] = PARTS
) -> Format:
    """Choose the format that is asked for, or else by the ending of the file to write.

    ``parts`` are the forms that the document has.
    """
    there = {name: f for name, f in FORMATS.items() if f.part in parts}
    named = [name for name, yes in asked.items() if yes]
    if len(named) > 1:
        raise UsageError(Fault(say("cli.formats_two", names=" and ".join("--" + n for n in named))))
    if named:
        return there[named[0]]
    for chosen in there.values():
        if output and output.lower().endswith(chosen.ending):
            return chosen
    raise UsageError(Fault(say("cli.formats_none", names=", ".join("--" + n for n in there))))
