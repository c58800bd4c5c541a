"""One flag for each output format."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any

import typer

from blockcalc.messages import known, say
from blockcalc.shell.groups import signed
from blockcalc.views import FORMATS


def formats_of(parts: Sequence[str]) -> list[str]:
    """Name the formats that write one of these parts of a document.

    Examples
    --------
    >>> formats_of(["arrays", "rows"])
    ['csv', 'npz']
    """
    return [name for name, form in FORMATS.items() if form.part in parts]


def with_formats(parts: Sequence[str], texts: str = "help") -> Callable[..., Callable[..., None]]:
    """Add to a command one flag for each format that writes one of these parts of a document.

    The command receives ``asked``, a mapping from formats to whether each is requested.

    Parameters
    ----------
    parts : sequence of str
        ``pieces``, ``data``, ``arrays``, ``rows``: the parts that the documents of the command
        have.
    texts : str
        The prefix of special texts for the flags: ``help.cost`` for ``help.cost.json``.
    """
    names = formats_of(parts)

    def flag(name: str) -> Any:
        own = f"{texts}.{name}"
        plain = f"help.{name}"
        text = say(own if known(own) else plain if known(plain) else "help.format_of", name=name)
        return Annotated[bool, typer.Option(f"--{name}", help=text)]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            command(asked={name: given.pop(name) for name in names}, **given)

        plain = inspect.signature(command, eval_str=True)
        flags = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=flag(name))
            for name in names
        ]  # fmt: skip
        found: list[inspect.Parameter] = []
        for name, parameter in plain.parameters.items():
            own = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            found += flags if name == "asked" else [own]
        return signed(called, found)

    return decorated
