"""Parse command lines: the command may be anywhere, and every word is checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.pages import usage_pieces, write_commands, write_options
from blockcalc.shell.usage import HELP, check_value, meant_option, options_of, scan, settle

COMMANDS = (
    "run", "grad", "check", "compare", "cost", "shapes", "export",
    "mistakes", "import", "weights", "samples", "schema", "format", "docs",
)  # fmt: skip
SCRIPTS = {"--show-completion", "--install-completion"}
VARIABLE = "_BLOCKCALC_COMPLETE"  # set by a shell that requests completion


def quiet() -> None:
    """Discard all further output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Group(TyperGroup):
    """Finds the command anywhere on the line; without one, the command is ``run``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: self.commands[name] for name in COMMANDS}
        self.subcommand_metavar = say("help.usage")

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command, or answer a shell that requests completion."""
        how = os.environ.get(VARIABLE, "")
        if how.startswith("complete_"):
            from blockcalc.shell.completion import complete

            sys.exit(complete(how, self.commands, options_of([self])))
        return super().main(*args, **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = self.arrange(args)
        if SCRIPTS.isdisjoint(args):
            return super().parse_args(ctx, args)
        said = StringIO()
        try:
            with redirect_stdout(said), redirect_stderr(said):
                return super().parse_args(ctx, args)
        except (SystemExit, typer.Exit) as end:
            if isinstance(end, typer.Exit) and end.exit_code:
                # typer could not detect the shell
                fault = Fault(say("cli.no_shell"), hint=say("cli.no_shell.hint"))
                raise UsageError(fault) from None
            print(said.getvalue(), end="")
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_options(formatter, self.get_params(ctx))
        write_commands(formatter, self.commands)

    def arrange(self, args: list[str]) -> list[str]:
        """Move the command to the front, after the options of the program itself."""
        own = options_of([self])
        options = {**options_of(self.commands.values()), **own}
        parts = list(scan(args, options))
        flags = [part for part in parts if part.option in own]
        for part in flags:
            check_value(own[str(part.option)], part)
        words = [part for part in parts if part.option is None]
        asked = [str(part.option) for part in flags]
        if words and words[0].value in self.commands:
            left = {part.index for part in flags} | {words[0].index}
            return [*asked, str(words[0].value), *(a for i, a in enumerate(args) if i not in left)]
        if asked or (not words and any(part.option in HELP for part in parts)):
            return asked or ["--help"]
        known = {None, *HELP, *options}
        if words and all(part.option in known for part in parts):
            raise UsageError(self.unknown_word(str(words[0].value), options))
        return ["run", *args]

    def unknown_word(self, word: str, options: Mapping[str, Any]) -> Fault:
        """Make the error for a word that is not a command, with a suggestion."""
        if os.path.exists(word) or word.lower().endswith((".yaml", ".yml", ".json")):
            return Fault(say("cli.bare_file", word=word))
        from blockcalc.messages.words import did_you_mean

        names = ", ".join(self.commands)
        hint = did_you_mean(word, list(self.commands)) or meant_option(word, options)
        return Fault(say("cli.unknown_word", word=word, names=names), hint=hint)


class Command(TyperCommand):
    """A command that checks its words before parsing, and ends quietly on a closed pipe."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, settle(self, ctx.parent.command.commands, args))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return usage_pieces(self)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_options(formatter, self.get_params(ctx))

    def get_short_help_str(self, limit: int = 0) -> str:
        return say(f"short.{self.name}")  # not wrapped here: the table wraps long lines

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            quiet()
            raise typer.Exit(0) from None
        return result
