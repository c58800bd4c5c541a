"""The commands about files and pages: samples, import, weights, schema, format and docs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from blockcalc.cli.inputs import Errors, Writing
from blockcalc.cli.options import (
    AllLayersOpt,
    CopyOpt,
    DrawnOpt,
    ForceOpt,
    LayerOpt,
    ModelArg,
    NewDFfOpt,
    NewDModelOpt,
    NewHeadsOpt,
    NewTokensOpt,
    PageArg,
    StyleOpt,
    WeightsArg,
)
from blockcalc.cli.output import encodable, note, wrote
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import ENGLISH, language, say
from blockcalc.messages.words import clauses
from blockcalc.shell.groups import grouped

_PAGES = Path(__file__).parents[1] / "docs"


@grouped
def samples(copy: CopyOpt = None, force: ForceOpt = False, *, errors: Errors) -> None:
    """List the samples, or copy them out."""
    from blockcalc.docs import samples as embedded

    if copy is None:
        from blockcalc.reading.load import read_file

        width = max(len(path.name) for path in embedded.files())
        for path in embedded.files():
            line = f"{path.name:{width}}  {read_file(str(path)).data['title']}"
            typer.echo(encodable(line, sys.stdout.encoding))
        return
    from blockcalc.cli.output import write_folder

    for written in write_folder(copy, {p.name: p.read_bytes() for p in embedded.files()}, force):
        wrote(written)


@grouped
def new(
    tokens: NewTokensOpt = 3,
    d_model: NewDModelOpt = 4,
    heads: NewHeadsOpt = 1,
    style: StyleOpt = "post",
    d_ff: NewDFfOpt = None,
    *,
    writing: Writing,
    errors: Errors,
) -> None:
    """Write a file to fill in."""
    from blockcalc.docs.template import Wanted, template
    from blockcalc.views import target

    path = target(writing.output, ".yaml")
    file = "FILE" if path is None else Path(path).name
    content = template(Wanted(tokens, d_model, heads, style, d_ff), file)
    _write_text(content, path, writing)


def _write_text(
    content: str, path: str | None, writing: Writing, notes: Sequence[str] = ()
) -> None:
    """Write a text to standard output, or to a file, with its notes on standard error."""
    if path is None:
        typer.echo(encodable(content, sys.stdout.encoding), nl=False)
        return
    from blockcalc.cli.output import write_file

    write_file(path, content.encode(), writing.force)
    for text in notes:
        note(text)
    wrote(path)


@grouped
def import_(
    model: ModelArg,
    layer: LayerOpt = None,
    all_layers: AllLayersOpt = False,
    tokens: DrawnOpt = 4,
    *,
    writing: Writing,
    errors: Errors,
) -> None:
    """Write a file that refers to the weights of a model on disk."""
    if all_layers and layer is not None:
        raise UsageError(Fault(say("cli.formats_two", names="--layer, --all-layers")))
    from blockcalc.checkpoints.checkpoint import open_checkpoint
    from blockcalc.checkpoints.layer_file import as_yaml, layer_file
    from blockcalc.views import target

    path = target(writing.output, ".yaml")
    home = Path(path or "stdout").absolute()
    chosen = None if all_layers else layer or 0
    written = layer_file(open_checkpoint(model), chosen, home, tokens)
    _write_text(as_yaml(written), path, writing, written.notes)


@grouped
def weights(path: WeightsArg, *, errors: Errors) -> None:
    """List the tensors of a weight file."""
    from rich.cells import cell_len

    from blockcalc.files.tensors import listed_tensors
    from blockcalc.messages.words import dims
    from blockcalc.notation.signs import clean

    found = [
        (clean(t.name or say("weights.unnamed")), dims(t.shape), t.dtype, clauses(t.remarks))
        for t in listed_tensors(Path(path))
    ]
    widths = [max((cell_len(row[i]) for row in found), default=0) for i in range(2)]
    for name, shape, dtype, told in found:
        first = name + " " * (widths[0] - cell_len(name))
        line = f"{first}  {shape:>{widths[1]}}  {dtype}  {told}".rstrip()
        typer.echo(encodable(line, sys.stdout.encoding))


@grouped
def schema(*, errors: Errors) -> None:
    """Print the JSON Schema of the input file."""
    import json

    from blockcalc.reading.keys import schema as made

    typer.echo(json.dumps(made(), indent=1))


@grouped
def format_(*, errors: Errors) -> None:
    """Show the page about the format of the input file."""
    _show("format")


@grouped
def docs(name: PageArg = None, *, errors: Errors) -> None:
    """List the pages that come with the program, or show one."""
    names = sorted(path.stem for path in _PAGES.glob("*.md") if "." not in path.stem)
    pages = {own: _page(own) for own in names}
    if name is None:
        width = max(map(len, pages))
        for word, path in pages.items():
            title = say(f"docs.title.{word}")
            translated = path.parent != _PAGES or language() == ENGLISH
            own = title if translated else say("docs.english", title=title)
            typer.echo(f"{word:{width}}  {own}")
        return
    if name not in pages:
        from blockcalc.messages.words import did_you_mean

        text = say("docs.unknown", name=name, names=", ".join(pages))
        raise UsageError(Fault(text, hint=did_you_mean(name, list(pages))))
    _show(name)


def _page(name: str) -> Path:
    """Give the file of a page: in the language in use if there is one, else in English."""
    own = _PAGES / language() / f"{name}.md"
    return own if own.exists() else _PAGES / f"{name}.md"


def _show(name: str) -> None:
    """Show a page: formatted in a terminal, as its source in a pipe."""
    text = _page(name).read_text(encoding="utf-8")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(encodable(text, sys.stdout.encoding)))
        return
    typer.echo(encodable(text, sys.stdout.encoding), nl=False)
