"""The table of the export formats; a view decides the layout, never the content or the digits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import say
from blockcalc.records import dataclass

if TYPE_CHECKING:
    from blockcalc.explain.document import Document


@dataclass(frozen=True, eq=False)
class Format:
    """A format: the ending of its files, and the function that writes it.

    Attributes
    ----------
    name : str
        Its option without the dashes, and the key of its text: ``help.NAME``.
    ending : str
        The ending of its files, with the point.
    function : str
        ``module:function`` in ``views/formats/``. It takes the part of the document and whether
        only the body is asked for, and returns bytes, or an iterator of their parts.
    part : str
        The part of a document that it takes: ``pieces`` (headings, steps and tables to lay out),
        ``data`` (one mapping), ``arrays`` (arrays by name), ``rows`` (one mapping for each entry)
        ``pictures`` (steps by name) or ``live`` (a block in every form). A command offers the
        formats of the parts that its documents have.
    binary : bool
        Whether its bytes are not for a terminal.
    document : bool
        Whether there is a frame around the body, so that ``--fragment`` can leave it out.
    drawn : bool
        Whether its steps are pictures of their equations, if the document has such pieces.
    shades : bool
        Whether its steps can be heat maps.
    each : (str, str), optional
        For a format that writes one file a step into a folder: the part of a document that holds
        them by name, and the function that writes one of them.
    """

    name: str
    ending: str
    function: str
    part: str = "pieces"
    binary: bool = False
    document: bool = False
    drawn: bool = False
    each: tuple[str, str] | None = None
    shades: bool = False

    def write(self, document: Document, fragment: bool = False) -> bytes:
        """Write a document in this format; with ``fragment`` only the body, without its frame."""
        return b"".join(self.chunks(document, fragment))

    def chunks(self, document: Document, fragment: bool = False) -> Iterator[bytes]:
        """Write a document in parts; a format whose function gives bytes has one part.

        Nothing is explained or converted before the first part is asked for.
        """
        part = (self.drawn and document.drawn) or getattr(document, self.part)
        yield from _parts(self.function, part(), fragment and self.document)

    def files(
        self, document: Document, stem: str, fragment: bool = False
    ) -> dict[str, Iterable[bytes]]:
        """Write the files for a folder: one a step, or one that is named ``stem``.

        A format that shares the ending of an earlier one adds its name: ``block.beamer.tex``.
        """
        held = getattr(document, self.each[0]) if self.each else None
        if self.each is None or held is None:
            first = next(form for form in FORMATS.values() if form.ending == self.ending)
            ending = self.ending if first is self else f".{self.name}{self.ending}"
            return {stem + ending: self.chunks(document, fragment)}
        return {name + self.ending: _parts(self.each[1], one) for name, one in held().items()}


def _parts(function: str, content: object, fragment: bool = False) -> Iterable[bytes]:
    """Call the function of a format, which gives bytes or an iterator of their parts."""
    module, _, name = function.partition(":")
    made = getattr(import_module(f"blockcalc.views.formats.{module}"), name)(content, fragment)
    return (made,) if isinstance(made, bytes) else made


FORMATS = {
    "latex": Format("latex", ".tex", "latex:latex", document=True, drawn=True, shades=True),
    "beamer": Format("beamer", ".tex", "latex:beamer", document=True, drawn=True, shades=True),
    "pdf": Format("pdf", ".pdf", "typst:pdf", binary=True, drawn=True, shades=True),
    "typst": Format("typst", ".typ", "typst:typst", document=True, drawn=True, shades=True),
    "markdown": Format("markdown", ".md", "markdown:markdown"),
    "svg": Format(
        "svg",
        ".svg",
        "svg:svg_bytes",
        "pictures",
        each=("pictures", "svg:picture_bytes"),
        shades=True,
    ),
    "html": Format("html", ".html", "html:html_bytes", "live"),
    "json": Format("json", ".json", "json:json_chunks", "data"),
    "csv": Format("csv", ".csv", "csv:csv_chunks", "rows", each=("tables", "csv:table_bytes")),
    "npz": Format("npz", ".npz", "npz:npz_bytes", "arrays", binary=True),
}


def is_format(name: str) -> bool:
    """Tell whether a word, or the ending of a file, names a format, supported or not.

    Examples
    --------
    >>> is_format("--html"), is_format(".JSON"), is_format("norm")
    (True, True, False)
    """
    word = name.lstrip("-.").lower()
    ours = (word in (f.name, f.ending[1:]) for f in FORMATS.values())
    return any(ours) or word in say("cli.other_formats").split()


def target(output: str | None, own: str) -> str | None:
    """Give the file to write, None for standard output, for commands with a single format.

    A name with the ending of another format is an error; ``own`` is the right ending.
    """
    ending = PurePath(output or "").suffix
    if is_format(ending):
        raise UsageError(Fault(say("cli.ending", ending=ending, own=own), Place("--output")))
    return None if output == "-" else output


def is_folder(output: str | None) -> bool:
    """Tell whether an output is a folder: one that exists, or a name that ends with a slash."""
    return bool(output) and (str(output).endswith(("/", os.sep)) or os.path.isdir(str(output)))


def choose_formats(asked: Mapping[str, bool], output: str | None) -> list[Format]:
    """Choose the requested formats; several only for a folder.

    ``asked`` maps the available formats to whether each is requested.
    """
    named = [FORMATS[name] for name, yes in asked.items() if yes]
    return named if named and is_folder(output) else [choose_format(asked, output)]


def choose_format(asked: Mapping[str, bool], output: str | None) -> Format:
    """Choose the requested format, or else the one by the ending of the file to write.

    ``asked`` maps the available formats to whether each is requested. A name with the ending of
    another format is an error; any other ending is free.
    """
    named = [name for name, yes in asked.items() if yes]
    if len(named) > 1:
        text = say("cli.formats_two", names=" and ".join("--" + n for n in named))
        raise UsageError(Fault(text, hint=say("cli.formats_folder")))
    there = [FORMATS[name] for name in named or asked]
    for chosen in there:
        if named:
            _require_ending(chosen, output)
        if named or (output and output.lower().endswith(chosen.ending)):
            return chosen
    raise UsageError(_no_format(there, output))


def _require_ending(chosen: Format, output: str | None) -> None:
    """Raise an error if the name of a file promises another format than the one requested."""
    ending = "" if is_folder(output) else PurePath(output or "").suffix
    word = ending[1:].lower()
    if is_format(ending) and word not in (chosen.name, chosen.ending[1:]):
        text = say("cli.ending_of", name=f"--{chosen.name}", ending=ending, own=chosen.ending)
        raise UsageError(Fault(text, Place("--output")))


def _no_format(there: Sequence[Format], output: str | None) -> Fault:
    """Make the error that lists the formats if neither an option nor the file name gives one."""
    names = ", ".join(f"--{f.name}" for f in there)
    if output in (None, "-") or is_folder(output):
        return Fault(say("cli.formats_none", names=names))
    ending = PurePath(str(output)).suffix
    key = "cli.formats_ending" if ending else "cli.formats_no_ending"
    endings = ", ".join(dict.fromkeys(f.ending for f in there))
    text = say(key, ending=ending, name=output, names=names, endings=endings)
    return Fault(text, Place("--output"))
