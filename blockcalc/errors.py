"""One family of exceptions: what is wrong, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in something a person wrote; ``line`` and ``column`` count from 1.

    ``text`` is the whole line there, for the caret; ``line`` is None where only the
    file is known.
    """

    file: str
    line: int | None = None
    column: int | None = None
    text: str | None = None

    def __str__(self) -> str:
        if self.line is None:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: a message, its place, and a hint."""

    message: str
    place: Place | None = None
    hint: str | None = None


class BlockcalcError(Exception):
    """Everything blockcalc refuses is one of these; ``exit_code`` is the process's.

    Parameters
    ----------
    faults : Fault
        At least one. ``str()`` of the error is the first message with its place and its hint.
    """

    exit_code = 2

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        first = faults[0]
        text = f"{first.place}: {first.message}" if first.place else first.message
        super().__init__(f"{text} ({first.hint})" if first.hint else text)


class InputError(BlockcalcError):
    """The file, or a value given for it, is at fault."""


class UsageError(BlockcalcError):
    """The command line, or a call from Python, is at fault."""


class LookupFault(UsageError, KeyError):
    """A step was asked for that is not there, or that could be several."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class WriteError(BlockcalcError):
    """A file could not be written; nothing half-written is left."""

    exit_code = 3


class OurFault(BlockcalcError):
    """Something that blockcalc itself did wrong."""

    exit_code = 70
