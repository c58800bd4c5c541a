"""The commands, as the command line knows them."""

from __future__ import annotations

import typer

from blockcalc.cli.app import app

GROUP = typer.main.get_command(app)
COMMANDS = GROUP.commands  # type: ignore[attr-defined]
