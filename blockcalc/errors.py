"""The exceptions: what is wrong, where, and how to fix it."""

from __future__ import annotations

from blockcalc.records import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the input; ``line`` and ``column`` count from 1.

    ``text`` is the whole line, for the caret; ``line`` is None if only the file is known.
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
    """One error: a message, its position, and a hint."""

    message: str
    place: Place | None = None
    hint: str | None = None


class BlockcalcError(Exception):
    """Base class of all errors of blockcalc; ``exit_code`` is that of the process.

    Parameters
    ----------
    faults : Fault
        At least one. ``str()`` of the error is the first message with its position and its hint.
    """

    exit_code = 2

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        first = faults[0]
        text = f"{first.place}: {first.message}" if first.place else first.message
        super().__init__(f"{text} ({first.hint})" if first.hint else text)


class InputError(BlockcalcError):
    """The input file, or a value set for it, is wrong."""


class UsageError(BlockcalcError):
    """The command line, or a call from Python, is wrong."""


class LookupFault(UsageError, KeyError):
    """The name of a step matches no step, or several."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class WriteError(BlockcalcError):
    """A file could not be written; no partial file is left."""

    exit_code = 3


class InternalError(BlockcalcError):
    """An internal error of blockcalc."""

    exit_code = 70
