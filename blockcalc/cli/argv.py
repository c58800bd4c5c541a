"""The command line as typed: the command word anywhere, no option against itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from blockcalc.cli.output import quiet
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say


def scan(args: Sequence[str], options: dict[str, bool]) -> Iterator[tuple[int, str | None, str]]:
    """Walk a command line as it will be parsed.

    Parameters
    ----------
    args : sequence of str
    options : dict
        Every option, and whether it takes a value.

    Yields
    ------
    (index, option, value)
        ``option`` is None for a plain word, which is then the value.
    """
    index = 0
    while index < len(args):
        arg, here = args[index], index
        index += 1
        if arg == "--":
            yield from ((i, None, args[i]) for i in range(index, len(args)))
            return
        if not arg.startswith("-") or arg == "-":
            yield here, None, arg
            continue
        name, equals, value = arg.partition("=")
        if options.get(arg[:2]) and len(arg) > 2:
            name, equals, value = arg[:2], "=", arg[2:].removeprefix("=")
        if options.get(name) and not equals and index < len(args):
            value = args[index]
            index += 1
        yield here, name, value


def _options(commands: Sequence[Any]) -> dict[str, bool]:
    """Collect options and whether they take a value."""
    found = {}
    for command in commands:
        for param in command.params:
            if param.param_type_name == "option":
                takes = not (param.is_flag or param.count)
                found.update(dict.fromkeys([*param.opts, *param.secondary_opts], takes))
    return found


def errors_as_json(args: Sequence[str]) -> bool:
    """Tell whether errors are for a program; asked where the command line may be at fault itself."""
    pairs = zip(args, [*args[1:], ""], strict=False)
    return any(f"{a}={b}" == "--error-format=json" or a == "--error-format=json" for a, b in pairs)


class Group(TyperGroup):
    """Finds the command word wherever it stands; no word at all means ``run``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            args = self.arrange(args)
        return super().parse_args(ctx, args)

    def arrange(self, args: list[str]) -> list[str]:
        """Put the command word first."""
        own = {"-h", "--help", *_options([self])}
        options = _options([self, *self.commands.values()])
        parts = list(scan(args, options))
        words = [(i, word) for i, option, word in parts if option is None]
        if words and words[0][1] in self.commands:
            at, word = words[0]
            flags = [args[i] for i, option, _ in parts if option in own and i < at]
            before = [a for a in args[:at] if a not in flags]
            return [*flags, word, *before, *args[at + 1 :]]
        if any(option in own for _, option, _ in parts):
            return args
        if words and not any(option and option not in options for _, option, _ in parts):
            raise UsageError(self.unknown_word(words[0][1]))
        return ["run", *args]

    def unknown_word(self, word: str) -> Fault:
        """Say what to type instead of a word that is no command."""
        if os.path.exists(word) or word.lower().endswith((".yaml", ".yml", ".json")):
            return Fault(say("cli.bare_file", word=word))
        from blockcalc.messages.words import did_you_mean

        names = ", ".join(self.commands)
        hint = did_you_mean(word, list(self.commands))
        return Fault(say("cli.unknown_word", word=word, names=names), hint=hint)


class Command(TyperCommand):
    """A command whose options may not contradict each other, and that ends quietly."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        several = {o for p in self.params if getattr(p, "multiple", False) for o in p.opts}
        canonical = {o: p.opts[0] for p in self.params for o in p.opts}
        seen: dict[str, str] = {}
        for _, option, value in scan(args, _options([self])):
            if option is None or option in several or ctx.resilient_parsing:
                continue
            name = canonical.get(option, option)
            if seen.setdefault(name, value) != value:
                raise UsageError(
                    Fault(say("cli.twice", option=option, first=seen[name], second=value))
                )
        as_json = errors_as_json(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            tell = getattr(error, "format_message", None)
            if tell is None or not as_json:
                raise
            raise UsageError(Fault(tell())) from None

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            quiet()
            raise typer.Exit(0) from None
        return result
