"""Find completions: commands, options, their values, files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockcalc.messages import say
from blockcalc.nn.orders import compared
from blockcalc.records import dataclass
from blockcalc.shell.pages import help_of
from blockcalc.shell.usage import HELP, INPUTS, options_of, places_of, scan, takes_value

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.program.program import Program

LARGEST = 2**20  # larger files are not read during completion
_STORED = (".csv", ".tsv", ".npz", ".npy", ".safetensors", ".txt", ".log")
ENDINGS = {  # of the files that an argument of a command may name
    "file": INPUTS,
    "other": INPUTS,
    "answers": (*INPUTS, *_STORED),
}


@dataclass(frozen=True, slots=True)
class Offer:
    """A completion, and its description."""

    word: str
    help: str = ""
    path: bool = False


@dataclass(frozen=True)
class Line:
    """A line up to the cursor.

    Attributes
    ----------
    words : list of str
        Those before the cursor, without the name of the program.
    text : str
        The word at the cursor.
    held : str
        The prefix of it that the shell does not complete.
    quoted : bool
        Whether a quote is open before it.
    """

    words: list[str]
    text: str
    held: str = ""
    quoted: bool = False


def offers(commands: Mapping[str, Any], own: Mapping[str, Any], line: Line) -> list[Offer]:
    """Give the completions at the cursor.

    Parameters
    ----------
    commands, own : mapping
        The commands by name, and the options of the program itself.
    line : Line
    """
    found = Asked(commands, own, line).offers()
    return [offer for offer in found if offer.word.startswith(line.text)]


class Asked:
    """The parsed line: its command, the options given, the words."""

    def __init__(self, commands: Mapping[str, Any], own: Mapping[str, Any], line: Line) -> None:
        self.commands, self.own, self.text = commands, own, line.text
        options = {**options_of(commands.values()), **own}
        self.parts = list(scan(line.words, options))
        words = [str(part.value) for part in self.parts if part.option is None]
        named = bool(words) and words[0] in commands
        self.named = words[0] if named else None
        self.command = commands[self.named or "run"]
        self.words = words[1:] if named else words
        self.options = options_of([self.command]) if named else options
        self.given = {part.option for part in self.parts}
        self.words_only = "--" in line.words

    def values(self, name: str) -> list[str]:
        """Give the values that an option has before the cursor."""
        return [str(part.value) for part in self.parts if part.option == name and part.value]

    def value(self, name: str) -> str | None:
        """Give the first value that an option has before the cursor, None if it has none."""
        return next(iter(self.values(name)), None)

    def offers(self) -> Iterable[Offer]:
        """Give the completions at the cursor."""
        last = self.parts[-1] if self.parts else None
        waits = last is not None and last.value is None and self._takes(last.option)
        if last is not None and waits and not self.text.startswith("--"):
            return self._values(str(last.option), self.text)
        if self.text.startswith("-") and not self.words_only:
            name, equals, text = self.text.partition("=")
            if equals:
                return [Offer(f"{name}={o.word}", o.help) for o in self._values(name, text)]
            return self._option_names()
        if self.named is None and not self.words:
            return [Offer(name, c.get_short_help_str()) for name, c in self.commands.items()]
        places = places_of(self.command)
        place = places[min(len(self.words), len(places) - 1)] if places else None
        if place is None or (len(self.words) >= len(places) and place.nargs != -1):
            return []
        return _files(self.text, ENDINGS[place.name]) if place.name in ENDINGS else []

    def _takes(self, option: str | None) -> bool:
        return option in self.options and takes_value(self.options[str(option)])

    def _option_names(self) -> Iterator[Offer]:
        """Give the options of the command that can still be added."""
        given = {self.options[name].name for name in self.given if name in self.options}
        own = {} if self.named else self.own
        for name, param in {**options_of([self.command]), **own}.items():
            if name.startswith("--") and (param.multiple or param.name not in given):
                yield Offer(name, help_of(param))
        yield Offer(HELP[-1], say("help.help"))

    def _values(self, option: str, text: str) -> list[Offer]:
        """Give the values of an option."""
        if not self._takes(option):
            return []
        if choices := getattr(self.options[option].type, "choices", None):
            return [Offer(str(word)) for word in choices]
        if option not in VALUES:
            return []
        before, comma, begun = text.rpartition(",") if option in LISTS else ("", "", text)
        return [Offer(f"{before}{comma}{word}") for word in VALUES[option](self, begun)]


# the values of options ----------------------------------------------------------------------


def _specs(asked: Asked) -> Iterator[Spec]:
    """Read the shapes of the files on the line, or else of the embedded sample."""
    from blockcalc.docs import samples as embedded
    from blockcalc.reading.load import load
    from blockcalc.reading.overrides import parse_sets

    norm = asked.value("--norm")
    pairs = parse_sets(asked.values("--set"), {"norm.order": norm})
    for name in asked.words or [str(embedded.default())]:
        path = Path(embedded.file_of(name))
        if path.is_file() and path.stat().st_size <= LARGEST:
            yield load(path, pairs, [norm] if norm else [], shapes_only=True)


def _programs(asked: Asked) -> Iterator[Program]:
    from blockcalc.nn.block import build

    for spec in _specs(asked):
        program = build(spec)
        if asked.named == "grad" or "--grad" in asked.given:
            from blockcalc.gradients.loss import choose_loss
            from blockcalc.program.backward import with_gradients

            loss = choose_loss(spec, asked.value("--loss"))
            program = with_gradients(program, loss, "--chain" in asked.given)
        yield program
        if asked.named == "compare" and len(asked.words) < 2:
            yield from (build(spec.with_order(order)) for order in compared(spec.order))


def _steps(asked: Asked, text: str) -> Iterable[str]:
    """Give the names of steps; if none begins as typed, the unique ends of names."""
    names: dict[str, None] = {}
    for program in _programs(asked):
        names |= dict.fromkeys(eq.out.name for eq in program.equations)
        names |= dict.fromkeys(program.aliases)
        if "--lr" in asked.given:
            names |= {f"new.{ref.name}": None for ref in program.inputs if ref.role == "weight"}
    if any(name.startswith(text) for name in names):
        return names
    ends = Counter(name[dot.end() :] for name in names for dot in re.finditer(r"\.", name))
    return [end for end, n in ends.items() if n == 1]


def _tokens(asked: Asked, text: str) -> Iterable[str]:
    """Give the labels of the tokens."""
    for spec in _specs(asked):
        yield from dict.fromkeys(label for labels in spec.tokens for label in labels)


def _presets(asked: Asked, text: str) -> Iterable[str]:
    from blockcalc.costs.presets import PRESETS

    return PRESETS


def _styles(asked: Asked, text: str) -> Iterable[str]:
    from blockcalc.docs.template import STYLES

    return STYLES


def _types(asked: Asked, text: str) -> Iterable[str]:
    from blockcalc.costs.plan import BITS

    return BITS


def _stored_types(asked: Asked, text: str) -> Iterable[str]:
    from blockcalc.program.bounds import NUMBERS

    return NUMBERS


def _maps(asked: Asked, text: str) -> Iterable[str]:
    return (offer.word for offer in _files(text))


def _axes(asked: Asked, text: str) -> Iterable[str]:
    from blockcalc.costs.plan import AXES

    return AXES


def _norm_kinds(asked: Asked, text: str) -> Iterable[str]:
    from blockcalc.nn.norms import NORMS

    return NORMS


def _matrices(asked: Asked, text: str) -> Iterable[str]:
    """Give the keys of the weight matrices, without the prefix of their section."""
    for program in _programs(asked):
        names = (ref.name for ref in program.inputs if ref.role == "weight" and len(ref.shape) == 2)
        yield from dict.fromkeys(name.rpartition(".")[2] for name in names)


def _keys(asked: Asked, text: str) -> Iterable[str]:
    """Give the keys of a file for ``--set``, and the allowed words of each."""
    from blockcalc.reading.keys import schema

    found = dict(_leaves(schema(), ""))
    begun = [key for key in found if key.startswith(text)]
    for key, words in found.items():
        if words and ("=" in text or len(begun) == 1):
            yield from (f"{key}={word}" for word in words)
        else:
            yield f"{key}="


def _leaves(schema: Mapping[str, Any], name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the leaf keys of a schema, each with its allowed words."""
    for key, own in schema.get("properties", {}).items():
        forms = own.get("anyOf", [own])
        inside = next((form for form in forms if "properties" in form), None)
        if inside is not None and "$ref" not in own and "value" not in inside["properties"]:
            yield from _leaves(inside, f"{name}{key}.")
        else:
            words = [str(w) for form in forms for w in form.get("enum", ())]
            flags = ["true", "false"] if own.get("type") == "boolean" else []
            yield f"{name}{key}", words + flags


VALUES: dict[str, Callable[[Asked, str], Iterable[str]]] = {
    "--steps": _steps,
    "--row": _tokens,
    "--set": _keys,
    "--preset": _presets,
    "--style": _styles,
    "--dtype": lambda asked, text: (_stored_types if asked.named == "check" else _types)(
        asked, text
    ),
    "--map": _maps,
    "--double": _axes,
    "--lora-on": _matrices,
    "--norm-kind": _norm_kinds,
}
LISTS = {"--steps", "--lora-on"}  # values separated by commas


def _files(text: str, endings: tuple[str, ...] = INPUTS) -> list[Offer]:
    """Give folders and input files; if there is no such file, the names of the samples.

    A single folder is expanded, because a shell would end the word after it.
    """
    from blockcalc.docs import samples as embedded

    if endings == INPUTS and text.startswith(embedded.MARK):
        return [Offer(name) for name in embedded.names()]
    folder, slash, name = text.rpartition("/")
    found = []
    for path in sorted(Path(folder + slash or ".").iterdir()):
        fits = path.name.startswith(name) and path.name.startswith(".") == name.startswith(".")
        if fits and (path.is_dir() or path.name.lower().endswith(endings)):
            found.append(f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}")
    if len(found) == 1 and found[0].endswith("/"):
        return _files(found[0], endings)
    if endings == INPUTS and all(one.endswith("/") for one in found):
        found += embedded.names()
    return [Offer(one, path=True) for one in found]
