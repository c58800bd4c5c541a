"""Groups of options as dataclasses: a command takes the group, the command line its options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Without:
    """Options that a command lacks in a group: ``Annotated[Showing, Without("detail")]``."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of every dataclass among its parameters.

    A dataclass that has a ``close`` is closed when the command ends.

    Examples
    --------
    >>> @dataclass
    ... class Size:
    ...     rows: int = 1
    ...     columns: int = 2
    >>> @grouped
    ... def show(name: str, *, size: Size) -> None:
    ...     print(name, size)
    >>> list(inspect.signature(show).parameters)
    ['name', 'rows', 'columns']
    >>> show(name="a", rows=3, columns=4)
    a Size(rows=3, columns=4)
    """
    plain = inspect.signature(command, eval_str=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    found: list[inspect.Parameter] = []
    for name, parameter in plain.parameters.items():
        kind, without = _group(parameter.annotation)
        if kind is None:
            found.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        own = [field for field in fields(kind) if field.name not in without]
        hints = _hints(kind)
        groups[name] = kind, [field.name for field in own]
        found += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=hints[field.name],
            )
            for field in own
        ]

    @wraps(command)
    def called(**given: Any) -> None:
        made = {
            name: kind(**{key: given.pop(key) for key in own})
            for name, (kind, own) in groups.items()
        }
        try:
            command(**given, **made)
        finally:
            for group in made.values():
                if close := getattr(group, "close", None):
                    close()

    return signed(called, found)


def signed(
    called: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """Set the signature and the annotations of a function, which Typer reads."""
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


@cache  # several commands take the same group
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _group(annotation: Any) -> tuple[Any, tuple[str, ...]]:
    """Find the dataclass of a parameter and the fields to omit; None for a plain option."""
    without: tuple[str, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        without = tuple(name for note in notes if isinstance(note, Without) for name in note.names)
    return (annotation if is_dataclass(annotation) else None), without
