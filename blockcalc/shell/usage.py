"""What stands on a command line: every option and word looked at before it is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import say

HELP = ("-h", "--help")
MOST = 10**15  # what an option that has no limit of its own may say
_PATHS = ("PATH", "DIR")  # what is written judges the name of its file, an empty one too
_DASHES = tuple("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a command line: an option with its value, or a plain word.

    Attributes
    ----------
    index : int
        Where it begins.
    option : str or None
        None for a plain word, which is then the value.
    value : str or None
        None where there is none.
    """

    index: int
    option: str | None
    value: str | None


def takes_value(param: Any) -> bool:
    """Tell whether an option is followed by a value."""
    return not (param.is_flag or param.count)


def options_of(commands: Iterable[Any]) -> dict[str, Any]:
    """Collect the options of commands by every spelling that they have."""
    return {
        name: param
        for command in commands
        for param in command.params
        if param.param_type_name == "option"
        for name in (*param.opts, *param.secondary_opts)
    }


def scan(args: Sequence[str], options: Mapping[str, Any]) -> Iterator[Part]:
    """Walk a command line: which are options, which are their values, which are words.

    What begins with two hyphens is no value of the option before it; ``--steps=--odd`` gives such a value.

    Parameters
    ----------
    args : sequence of str
    options : mapping
        Every option that is known, by its spellings.
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
    """Tell whether errors are for a program; asked where the command line may be at fault itself."""
    pairs = zip(args, [*args[1:], ""], strict=False)
    return any(f"{a}={b}" == "--error-format=json" or a == "--error-format=json" for a, b in pairs)


def settle(command: Any, others: Mapping[str, Any], args: Sequence[str]) -> list[str]:
    """Check a command line, and give it with every option apart from its value and words after ``--``.

    Parameters
    ----------
    command
        The command it is for.
    others : mapping
        All commands by name, for what to say of an option of another.
    args : sequence of str

    Raises
    ------
    UsageError
        An option is unknown, has a wrong value or none, or stands against another; a word is missing
        or one too many.
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
    """Say what to type instead of an option that a command has not."""
    owners = [name for name, other in others.items() if option in options_of([other])]
    if owners:
        hint = say("usage.owners", option=option, commands=", ".join(owners))
    elif formats := _formats(command, others, option):
        hint = formats
    else:
        hint = _near(_hyphens(option), options_of([command])) or say("usage.see", name=command.name)
    return Fault(say("usage.option", name=command.name, option=_short(option)), hint=hint)


def _formats(command: Any, others: Mapping[str, Any], option: str) -> str | None:
    """Name the formats that there are, where an option asks for another."""
    from blockcalc.views import FORMATS, is_format

    if not is_format(option):
        return None
    there = {f"--{name}" for name in FORMATS}
    own = [name for name in options_of([command]) if name in there]
    names = own or [name for name in options_of([others["export"]]) if name in there]
    text = say("usage.formats" if own else "usage.formats.export", names=", ".join(names))
    return f"{text}; {say('cli.formats_pdf')}" if option.lower() == "--pdf" else text


def check_value(param: Any, part: Part) -> None:
    """Refuse a value that an option does not take.

    Words to choose from and whole numbers are looked at here; any other text is read by what it is for.
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
    """Refuse what is no whole number in decimal digits, or not within its limits."""
    low, high = param.type.min, param.type.max
    number = _whole(value)
    if number is not None and low <= number <= (MOST if high is None else high):
        return
    key = "usage.whole" if high is not None or (number or 0) > MOST else "usage.whole.from"
    text = say(key, low=low, high=high or MOST, got=_short(value))
    meant = _meant(value) if number is None else None
    fits = meant is not None and low <= meant <= (high or MOST)
    hint = say("hint.did_you_mean", word=meant) if fits else param.help
    raise UsageError(Fault(text, Place(param.opts[0]), hint))


def _whole(text: str) -> int | None:
    digits = text.removeprefix("+").removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        return None
    size = int(digits.lstrip("0")[:20] or "0")  # beyond any limit long before its end
    return -size if text.startswith("-") else size


def _meant(text: str) -> int | None:
    """Tell which whole number is written in another way: ``six``, ``4.0``, ``1_000``."""
    numerals = say("usage.numerals").split()
    if text.lower() in numerals:
        return numerals.index(text.lower())
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() and abs(number) <= MOST else None


def _check_twice(seen: dict[str, Part], param: Any, part: Part) -> None:
    """Refuse an option that stands twice with different values, or against its contrary."""
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
    """Give the places for words that a command has."""
    return [param for param in command.params if param.param_type_name == "argument"]


def usage_of(command: Any) -> list[str]:
    """Write how the words of a command go: ``[FILE]``, ``[OTHER]``."""
    return [p.metavar if p.required else f"[{p.metavar}]" for p in places_of(command)]


def _check_words(command: Any, options: Mapping[str, Any], words: list[str]) -> None:
    """Refuse a word that is one too many, one that is missing, and one that is empty."""
    places = places_of(command)
    usage = " ".join(["blockcalc", str(command.name), *usage_of(command)])
    for word in words:
        if word[:1] in _DASHES and (hint := meant_option(word, options)):
            raise UsageError(Fault(say("usage.dash", word=_short(word)), hint=hint))
    if len(words) > len(places):
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
    """Offer the option that a word means if it has no hyphens before it, or a dash in their place."""
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
