"""Parse command lines: the command may be anywhere, and every word is checked."""

from __future__ import annotations

import os
import sys
from collections import UserDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.language import without_language
from blockcalc.shell.pages import usage_pieces, write_commands, write_options, write_page
from blockcalc.shell.usage import (
    HELP,
    INPUTS,
    check_value,
    meant_option,
    normalized,
    options_of,
    scan,
)

COMMANDS = {  # in the order of the help page, each with its module and function in ``cli``
    "run": "run:run",
    "step": "step:step",
    "grad": "run:grad",
    "check": "check:check",
    "worksheet": "teach.worksheet:worksheet",
    "quiz": "teach.quiz:quiz",
    "compare": "run:compare",
    "cost": "cost:cost",
    "shapes": "cost:shapes",
    "export": "run:export",
    "mistakes": "check:mistakes",
    "new": "files:new",
    "design": "teach.design:design",
    "import": "files:import_",
    "weights": "files:weights",
    "samples": "files:samples",
    "schema": "files:schema",
    "format": "files:format_",
    "docs": "files:docs",
}
SCRIPTS = {"--show-completion", "--install-completion"}
VARIABLE = "_BLOCKCALC_COMPLETE"  # set by a shell that requests completion


def quiet() -> None:
    """Discard all further output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Commands(UserDict[str, Any]):
    """The commands by name; each is made, and its module imported, when it is first used."""

    def __missing__(self, name: str) -> Any:
        module, _, function = COMMANDS[name].partition(":")
        home = import_module(f"blockcalc.cli.{module}")
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        text = say(f"help.{name}", **getattr(home, "HELP", {}))
        app.command(name, help=text, cls=Command)(getattr(home, function))
        self.data[name] = get_group(app).commands[name]
        return self.data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS


@contextmanager
def verdict(code: int) -> Iterator[None]:
    """Print inside, then exit with a code, also if the reader of a pipe goes away."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        quiet()
    if code:
        raise typer.Exit(code)


class Group(TyperGroup):
    """Finds the command anywhere on the line; without one, the command is ``run``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Commands = Commands()
        self.subcommand_metavar = say("help.usage")

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command, or answer a shell that requests completion."""
        how = os.environ.get(VARIABLE, "")
        if how.startswith("complete_"):
            from blockcalc.shell.completion import complete

            sys.exit(complete(how, self.commands, options_of([self])))
        return super().main(*args, **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = without_language(args)
        if any(arg in HELP for arg in args):  # help is shown, and nothing is installed
            args = [arg for arg in args if arg not in SCRIPTS]
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

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [say("help.usage.options"), say("help.usage")]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_page(formatter, ctx, self)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_options(formatter, self.get_params(ctx))
        write_commands(formatter, COMMANDS)

    def arrange(self, args: list[str]) -> list[str]:
        """Move the command to the front, after the options of the program itself."""
        own = options_of([self])
        if not args:
            return ["run"]
        if len(args) == 1 and (args[0] in own or args[0] in HELP):
            return args
        # only the command that is used is imported; on another line any option may come first
        asked = [args[0]] if args[0] in COMMANDS else COMMANDS
        options = {**options_of(self.commands[name] for name in asked), **own}
        parts = list(scan(args, options))
        flags = [part for part in parts if part.option in own]
        for part in flags:
            check_value(own[str(part.option)], part)
        words = [part for part in parts if part.option is None]
        own_flags = [str(part.option) for part in flags]
        if words and words[0].value in COMMANDS:
            left = {part.index for part in flags} | {words[0].index}
            return [
                *own_flags,
                str(words[0].value),
                *(a for i, a in enumerate(args) if i not in left),
            ]
        if own_flags or (not words and any(part.option in HELP for part in parts)):
            return own_flags or ["--help"]
        known = {None, *HELP, *options}
        if words and all(part.option in known for part in parts):
            raise UsageError(self.unknown_word(str(words[0].value), options))
        return ["run", *args]

    def unknown_word(self, word: str, options: Mapping[str, Any]) -> Fault:
        """Make the error for a word that is not a command, with a suggestion."""
        if word.startswith("@") or os.path.exists(word) or word.lower().endswith(INPUTS):
            return Fault(say("cli.bare_file", word=word))
        from blockcalc.messages.words import did_you_mean

        names = ", ".join(self.commands)
        hint = did_you_mean(word, list(self.commands)) or meant_option(word, options)
        return Fault(say("cli.unknown_word", word=word, names=names), hint=hint)


class Command(TyperCommand):
    """A command that checks its words before parsing, and ends quietly on a closed pipe."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, normalized(self, ctx.parent.command.commands, args))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return usage_pieces(self)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_page(formatter, ctx, self)

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
