"""Groups of options: each field is an option of the command."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest

from blockcalc.shell.groups import Without, grouped
from tests.shell.commands import COMMANDS


@dataclass(frozen=True)
class Size:
    rows: int = 1
    columns: int = 2


def test_a_field_that_a_command_is_without_keeps_its_default() -> None:
    found = []

    @grouped
    def show(
        name: str = "a", *, size: Annotated[Size, Without("rows")], last: bool = False
    ) -> None:
        found.append((name, size, last))

    assert list(inspect.signature(show).parameters) == ["name", "columns", "last"]
    show(name="b", columns=5, last=True)
    assert found == [("b", Size(1, 5), True)]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_few_things(name: str) -> None:
    """Options that go together come in groups, so that a command says what it works on."""
    command = inspect.unwrap(COMMANDS[name].callback, stop=lambda f: hasattr(f, "__signature__"))
    assert len(inspect.signature(inspect.unwrap(command)).parameters) <= 10
    options = inspect.signature(command, follow_wrapped=False).parameters
    assert {"error_format", "debug"} <= set(options)
