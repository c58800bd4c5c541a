"""One flag for each format that a document can be written in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any

import typer

from blockcalc.cli.groups import signed
from blockcalc.messages import known, say
from blockcalc.views import FORMATS


def with_formats(parts: Sequence[str], texts: str = "help") -> Callable[..., Callable[..., None]]:
    """Give a command a flag for each format that writes one of some parts of a document.

    The command takes ``asked``, from the name of a format to whether it is asked for.

    Parameters
    ----------
    parts : sequence of str
        ``pieces``, ``data``, ``arrays``: what the documents of the command have.
    texts : str
        Where the texts of the flags are looked for first: ``help.cost`` for ``help.cost.json``.
    """
    names = [name for name, form in FORMATS.items() if form.part in parts]

    def flag(name: str) -> Any:
        own = f"{texts}.{name}"
        text = say(own if known(own) else f"help.{name}")
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
