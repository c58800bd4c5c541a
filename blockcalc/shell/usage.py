"""Check a command line: every option and word, before it is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from blockcalc.errors import Fault, Place, UsageError
from blockcalc.limits import MOST_COUNT
from blockcalc.messages import say
from blockcalc.records import dataclass

HELP = ("-h", "--help")
INPUTS = (".yaml", ".yml", ".json")  # the endings of input files
_PATHS = ("PATH", "DIR")  # the writer checks the name of its file, including an empty one
_DASHES = tuple("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a command line: an option with its value, or a plain word.

    Attributes
    ----------
    index : int
        The index of its first word.
    option : str or None
        None for a plain word, which is then the value.
    value : str or None
        None if there is none.
    """

    index: int
    option: str | None
    value: str | None


def takes_value(param: Any) -> bool:
    """Tell whether an option takes a value."""
    return not (param.is_flag or param.count)


def options_of(commands: Iterable[Any]) -> dict[str, Any]:
    """Collect the options of commands by all their spellings."""
    return {
        name: param
        for command in commands
        for param in command.params
        if param.param_type_name == "option"
        for name in (*param.opts, *param.secondary_opts)
    }


def scan(args: Sequence[str], options: Mapping[str, Any]) -> Iterator[Part]:
    """Split a command line into options with their values, and words.

    A word that begins with two hyphens is not the value of the option before it; ``--steps=--odd``
    passes such a value.

    Parameters
    ----------
    args : sequence of str
    options : mapping
        All known options, by their spellings.
    """
    index = 0
    while index < len(args):
        arg, here = args[index], index
        index += 1
        if arg == "--":
            yield from (Part(i, None, args[i]) for i in range(index, len(args)))
            return
        if not arg.startswith("-") or arg == "-":
            yield Part(here, None, arg)
            continue
        name, equals, after = arg.partition("=")
        if name not in options and _follows(arg[:2], options):
            name, equals, after = arg[:2], "=", arg[2:].removeprefix("=")
        value = after if equals else None
        wanting = value is None and _follows(name, options)
        if wanting and index < len(args) and not args[index].startswith("--"):
            value = args[index]
            index += 1
        yield Part(here, name, value)


def _follows(name: str, options: Mapping[str, Any]) -> bool:
    return name in options and takes_value(options[name])


def errors_as_json(args: Sequence[str]) -> bool:
    """Tell whether errors are written as JSON; works on an invalid command line too."""
    pairs = zip(args, [*args[1:], ""], strict=False)
    return any(f"{a}={b}" == "--error-format=json" or a == "--error-format=json" for a, b in pairs)


def normalized(command: Any, others: Mapping[str, Any], args: Sequence[str]) -> list[str]:
    """Check a command line; return it with options and values separated and words after ``--``.

    Parameters
    ----------
    command
        The command it is for.
    others : mapping
        All commands by name, for the error about an option of another command.
    args : sequence of str

    Raises
    ------
    UsageError
        An option is unknown, has a wrong value or none, or contradicts another; a word is missing
        or superfluous.
    """
    options = options_of([command])
    parts = list(scan(args, options))
    if any(part.option in HELP for part in parts):
        return ["--help"]
    seen: dict[str, Part] = {}
    settled = []
    for part in parts:
        if part.option is None:
            continue
        if part.option not in options:
            raise UsageError(unknown_option(command, others, part.option))
        param = options[part.option]
        check_value(param, part)
        _check_twice(seen, param, part)
        settled += [part.option] if part.value is None else [part.option, part.value]
    words = [part.value or "" for part in parts if part.option is None]
    _check_words(command, options, words)
    return [*settled, "--", *words]


# options ------------------------------------------------------------------------------------


def unknown_option(command: Any, others: Mapping[str, Any], option: str) -> Fault:
    """Make the error for an option that a command does not have, with a suggestion."""
    owners = [name for name, other in others.items() if option in options_of([other])]
    if owners:
        hint = say("usage.owners", option=option, commands=", ".join(owners))
    elif formats := _formats(command, others, option):
        hint = formats
    else:
        hint = _near(_hyphens(option), options_of([command])) or say("usage.see", name=command.name)
    return Fault(say("usage.option", name=command.name, option=_short(option)), hint=hint)


def _formats(command: Any, others: Mapping[str, Any], option: str) -> str | None:
    """Name the available formats if an option requests another one."""
    from blockcalc.views import FORMATS, is_format

    if not is_format(option):
        return None
    there = {f"--{name}" for name in FORMATS}
    own = [name for name in options_of([command]) if name in there]
    names = own or [name for name in options_of([others["export"]]) if name in there]
    return say("usage.formats" if own else "usage.formats.export", names=", ".join(names))


def check_value(param: Any, part: Part) -> None:
    """Raise an error for an invalid value of an option.

    Choices and whole numbers are checked here; other texts are checked by their readers.
    """
    name, value = param.opts[0], part.value
    if not takes_value(param):
        if value is not None:
            text = say("usage.flag", got=_short(value))
            raise UsageError(Fault(text, Place(str(part.option))))
        return
    if value == "" and param.metavar in _PATHS:
        return
    if not value:
        key = "usage.value" if value is None else "usage.empty"
        text = say(key, option=part.option, metavar=param.metavar)
        raise UsageError(Fault(text, Place(name), param.help))
    if hasattr(param.type, "choices"):
        _check_word(name, value, [str(word) for word in param.type.choices])
    elif hasattr(param.type, "min"):
        _check_whole(param, value)


def _check_word(name: str, value: str, known: list[str]) -> None:
    if value not in known:
        text = say("usage.word", known=", ".join(known), got=_short(value))
        raise UsageError(Fault(text, Place(name), _near(value, known)))


def _check_whole(param: Any, value: str) -> None:
    """Raise an error unless the value is a whole number within its limits."""
    low, high = param.type.min, param.type.max
    number = _whole(value)
    if number is not None and low <= number <= (MOST_COUNT if high is None else high):
        return
    key = "usage.whole" if high is not None or (number or 0) > MOST_COUNT else "usage.whole.from"
    text = say(key, low=low, high=high or MOST_COUNT, got=_short(value))
    meant = _meant(value) if number is None else None
    fits = meant is not None and low <= meant <= (high or MOST_COUNT)
    hint = say("hint.did_you_mean", word=meant) if fits else param.help
    raise UsageError(Fault(text, Place(param.opts[0]), hint))


def _whole(text: str) -> int | None:
    digits = text.removeprefix("+").removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        return None
    size = int(digits.lstrip("0")[:20] or "0")  # too many digits for any limit
    return -size if text.startswith("-") else size


def _meant(text: str) -> int | None:
    """Recognise a whole number in another notation: ``six``, ``4.0``, ``1_000``."""
    numerals = say("usage.numerals").split()
    if text.lower() in numerals:
        return numerals.index(text.lower())
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() and abs(number) <= MOST_COUNT else None


def _check_twice(seen: dict[str, Part], param: Any, part: Part) -> None:
    """Raise an error for an option given twice with different values, or with its opposite."""
    if param.multiple:
        return
    first = seen.setdefault(param.name, part)
    if (first.option in param.secondary_opts) != (part.option in param.secondary_opts):
        names = f"{first.option} and {part.option}"
        raise UsageError(Fault(say("cli.formats_two", names=names)))
    if first.value != part.value:
        values = {"first": _short(first.value or ""), "second": _short(part.value or "")}
        raise UsageError(Fault(say("cli.twice", option=part.option, **values)))


# words --------------------------------------------------------------------------------------


def places_of(command: Any) -> list[Any]:
    """Give the arguments of a command."""
    return [param for param in command.params if param.param_type_name == "argument"]


def usage_of(command: Any) -> list[str]:
    """Write the usage of the arguments of a command: ``[FILE] [OTHER]``."""
    words = [f"{p.metavar} ..." if p.nargs == -1 else p.metavar for p in places_of(command)]
    return [
        word if p.required else f"[{word}]"
        for p, word in zip(places_of(command), words, strict=True)
    ]


def _check_words(command: Any, options: Mapping[str, Any], words: list[str]) -> None:
    """Raise an error for a superfluous, a missing or an empty word."""
    places = places_of(command)
    usage = " ".join(["blockcalc", str(command.name), *usage_of(command)])
    for word in words:
        if word[:1] in _DASHES and (hint := meant_option(word, options)):
            raise UsageError(Fault(say("usage.dash", word=_short(word)), hint=hint))
    if len(words) > len(places) and not any(p.nargs == -1 for p in places):
        hints = [meant_option(word, options) for word in words]
        hint = next(filter(None, hints), say("usage.written", usage=usage))
        text = say("usage.spare", name=command.name, word=_short(words[len(places)]))
        raise UsageError(Fault(text, hint=hint))
    for param, word in zip(places, words, strict=False):
        if not word:
            raise UsageError(Fault(say("usage.empty.word", metavar=param.metavar), hint=param.help))
    for param in places[len(words) :]:
        if param.required:
            text = say("usage.needed", metavar=param.metavar, usage=usage)
            raise UsageError(Fault(text, hint=param.help))


def meant_option(word: str, options: Mapping[str, Any]) -> str | None:
    """Suggest an option for a word without its hyphens, or with a dash in their place."""
    name = _hyphens(word).partition("=")[0]
    return say("hint.did_you_mean", word=name) if name in options else None


def _hyphens(word: str) -> str:
    return "--" + word.lstrip("-" + "".join(_DASHES))


def _near(word: str, known: Iterable[str]) -> str | None:
    from blockcalc.messages.words import did_you_mean

    return did_you_mean(word, list(known))


def _short(text: str) -> str:
    from blockcalc.files.source import short

    return short(text)
