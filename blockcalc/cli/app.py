"""The command line: parse, call, print, exit code. Heavy rooms are entered only when needed."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli import cost as costcli
from blockcalc.cli import grad as gradcli
from blockcalc.cli.argv import Command, Group, errors_as_json
from blockcalc.cli.grad import ChainOpt, LossOpt, RateOpt
from blockcalc.cli.inputs import depth_of, read_spec
from blockcalc.cli.options import (
    AllOpt,
    Color,
    ColorOpt,
    DebugOpt,
    Detail,
    DetailOpt,
    DigitsOpt,
    EpsOpt,
    ErrorFormat,
    ErrorOpt,
    FileArg,
    NoColorOpt,
    NoProseOpt,
    NormOpt,
    Order,
    RoundOpt,
    SetOpt,
    StepsOpt,
)
from blockcalc.cli.output import encodable, note, quiet, send, wrote
from blockcalc.errors import BlockcalcError, Fault, OurFault, UsageError, WriteError
from blockcalc.messages import say

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace


app = typer.Typer(
    cls=Group,
    name="blockcalc",
    help=say("help.app"),
    epilog=say("help.epilog"),
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
)


costcli.register(app)
gradcli.register(app)


def _version(asked: bool) -> None:
    if asked:
        import blockcalc

        typer.echo(f"blockcalc {blockcalc.__version__}")
        raise typer.Exit


@app.callback()
def _group(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help=say("help.version"))
    ] = False,
) -> None:
    """Hold what stands before any command."""


def _load(
    file: str | None,
    norm: Order | None,
    eps: str | None,
    sets: list[str] | None,
    rounding: str | None,
    orders: Sequence[str] = (),
) -> tuple[Spec, Trace]:
    """Read a file, and work it in the first of the orders."""
    spec = read_spec(file, norm, eps, sets, rounding, orders)
    from blockcalc.nn.run import run as work

    return spec, work(spec)


@app.command(help=say("help.run"), cls=Command)
def run(
    file: FileArg = None,
    norm: NormOpt = None,
    eps: EpsOpt = None,
    sets: SetOpt = None,
    rounding: RoundOpt = None,
    detail: DetailOpt = Detail.normal,
    steps: StepsOpt = None,
    digits: DigitsOpt = 4,
    whole: AllOpt = False,
    no_prose: NoProseOpt = False,
    color: ColorOpt = Color.auto,
    no_color: NoColorOpt = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """Show every step in the terminal."""
    spec, trace = _load(file, norm, eps, sets, rounding)
    from blockcalc.explain.steps import explain
    from blockcalc.views.screen import make_console
    from blockcalc.views.terminal import Terminal

    screen = Terminal(make_console("never" if no_color else color.value))
    pieces = explain(spec, trace, depth_of(detail, digits, no_prose, whole, steps))
    first = next(pieces, None)
    if file is None:
        screen.write((say("cli.embedded"), "quiet"))
        if not steps:
            screen.blank()
    if first is not None:
        screen.show(first)
    screen.print(pieces)


@app.command(help=say("help.compare"), cls=Command)
def compare(
    file: FileArg = None,
    other: Annotated[str | None, typer.Argument(metavar="[OTHER]", help=say("help.other"))] = None,
    eps: EpsOpt = None,
    sets: SetOpt = None,
    rounding: RoundOpt = None,
    steps: StepsOpt = None,
    digits: DigitsOpt = 4,
    whole: AllOpt = False,
    color: ColorOpt = Color.auto,
    no_color: NoColorOpt = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """Show two runs side by side in the terminal."""
    if file == other == "-":
        raise UsageError(Fault(say("cli.stdin_twice")))
    orders = () if other else ("post", "pre")
    first = _load(file, None, eps, sets, rounding, orders)
    from blockcalc.nn.run import run as work

    if other:
        second = _load(other, None, eps, sets, rounding)
    else:
        spec = first[0].with_order("pre")
        second = spec, work(spec)
    from blockcalc.explain.comparison import compare as pieces
    from blockcalc.views.screen import make_console
    from blockcalc.views.terminal import Terminal

    screen = Terminal(make_console("never" if no_color else color.value))
    screen.print(pieces(first, second, depth_of(Detail.normal, digits, True, whole, steps)))


@app.command(help=say("help.export"), cls=Command)
def export(
    file: FileArg = None,
    latex: Annotated[bool, typer.Option("--latex", help=say("help.latex"))] = False,
    json: Annotated[bool, typer.Option("--json", help=say("help.json"))] = False,
    npz: Annotated[bool, typer.Option("--npz", help=say("help.npz"))] = False,
    grad: Annotated[bool, typer.Option("--grad", help=say("help.export.grad"))] = False,
    loss: LossOpt = None,
    chain: ChainOpt = False,
    lr: RateOpt = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help=say("help.output"))
    ] = None,
    force: Annotated[bool, typer.Option("--force", help=say("help.force"))] = False,
    fragment: Annotated[bool, typer.Option("--fragment", help=say("help.fragment"))] = False,
    norm: NormOpt = None,
    eps: EpsOpt = None,
    sets: SetOpt = None,
    rounding: RoundOpt = None,
    detail: DetailOpt = Detail.normal,
    steps: StepsOpt = None,
    digits: DigitsOpt = 4,
    whole: AllOpt = False,
    no_prose: NoProseOpt = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """Write every step in another format."""
    from blockcalc.views import choose_format

    chosen = choose_format({"latex": latex, "json": json, "npz": npz}, output)
    if fragment and chosen.name != "latex":
        raise UsageError(Fault(say("cli.fragment")))
    if chosen.binary and output in (None, "-") and sys.stdout.isatty():
        raise UsageError(Fault(say("cli.binary", name=chosen.name)))
    if not grad and (loss or chain or lr):
        raise UsageError(Fault(say("cli.needs_grad")))
    if grad:
        from blockcalc.cli.inputs import parse_rate
        from blockcalc.grad.run import work_gradients

        rate = None if lr is None else parse_rate(lr)
        spec = read_spec(file, norm, eps, sets, rounding)
        trace = work_gradients(spec, loss.value if loss else None, chain, rate)
    else:
        spec, trace = _load(file, norm, eps, sets, rounding)
    depth = depth_of(detail, digits, no_prose, whole, steps)
    send(chosen.export(spec, trace, depth, fragment), output, force)


@app.command(help=say("help.samples"), cls=Command)
def samples(
    copy: Annotated[
        str | None, typer.Option("--copy", metavar="DIR", help=say("help.samples.copy"))
    ] = None,
    force: Annotated[bool, typer.Option("--force", help=say("help.force"))] = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """List the samples, or copy them out."""
    from blockcalc.cli import samples as kept

    if copy is None:
        from blockcalc.reading.load import read_file

        width = max(len(path.name) for path in kept.files())
        for path in kept.files():
            typer.echo(f"{path.name:{width}}  {read_file(str(path)).data['title']}")
        return
    from blockcalc.cli.output import write_folder

    for written in write_folder(copy, {p.name: p.read_bytes() for p in kept.files()}, force):
        wrote(written)


@app.command("import", help=say("help.import"), cls=Command)
def import_(
    model: Annotated[str, typer.Argument(metavar="DIR_OR_FILE", help=say("help.import.model"))],
    layer: Annotated[
        int | None, typer.Option("--layer", min=0, help=say("help.import.layer"))
    ] = None,
    all_layers: Annotated[bool, typer.Option("--all-layers", help=say("help.import.all"))] = False,
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, max=4096, help=say("help.import.tokens"))
    ] = 4,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help=say("help.output"))
    ] = None,
    force: Annotated[bool, typer.Option("--force", help=say("help.force"))] = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """Write a file that refers to the weights of a model on disk."""
    if all_layers and layer is not None:
        raise UsageError(Fault(say("cli.formats_two", names="--layer, --all-layers")))
    from pathlib import Path

    from blockcalc.checkpoints.checkpoint import open_checkpoint
    from blockcalc.checkpoints.layer_file import as_yaml, layer_file

    path = None if output in (None, "-") else str(output)
    target = Path(path or "stdout").absolute()
    chosen = None if all_layers else layer or 0
    content = as_yaml(layer_file(open_checkpoint(model), chosen, target, tokens))
    if path is None:
        typer.echo(encodable(content, sys.stdout.encoding), nl=False)
        return
    from blockcalc.cli.output import write_file

    write_file(path, content.encode(), force)
    wrote(output)


@app.command(help=say("help.weights"), cls=Command)
def weights(
    file: Annotated[str, typer.Argument(metavar="FILE", help=say("help.weights.file"))],
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """List the tensors of a weight file."""
    from pathlib import Path

    from blockcalc.files.tensors import tensors
    from blockcalc.messages.words import dims
    from blockcalc.notation.signs import clean

    found = [(clean(t.name or "(the matrix)"), dims(t.shape), t.dtype) for t in tensors(Path(file))]
    widths = [max((len(row[i]) for row in found), default=0) for i in range(2)]
    for name, shape, dtype in found:
        typer.echo(
            encodable(f"{name:{widths[0]}}  {shape:>{widths[1]}}  {dtype}", sys.stdout.encoding)
        )


@app.command(help=say("help.schema"), cls=Command)
def schema(error_format: ErrorOpt = ErrorFormat.text, debug: DebugOpt = False) -> None:
    """Print the JSON Schema of the input file."""
    import json

    from blockcalc.reading.keys import schema as made

    typer.echo(json.dumps(made(), indent=1))


@app.command("format", help=say("help.format"), cls=Command)
def format_(error_format: ErrorOpt = ErrorFormat.text, debug: DebugOpt = False) -> None:
    """Show the page about the input file."""
    from pathlib import Path

    text = (Path(__file__).parents[1] / "docs" / "format.md").read_text(encoding="utf-8")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(encodable(text, sys.stdout.encoding)))
        return
    typer.echo(encodable(text, sys.stdout.encoding), nl=False)


def _tell(error: BlockcalcError) -> None:
    """Write an error on standard error, for a person or a program."""
    from blockcalc.views.errors import as_json, report

    note(as_json(error) if errors_as_json(sys.argv[1:]) else report(error))


def main() -> None:
    """Run the command line; the only place where an exception becomes an exit code."""
    gc.disable()  # a short process has no garbage worth a tenth of its time
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        app()
    except SystemExit as end:
        # click ends with 1 and this wrapper where the reader of a help page has gone away
        gone = type(sys.stdout).__name__ == "PacifyFlushWrapper"
        sys.exit(0 if gone else end.code)
    except OSError as error:
        _tell(WriteError(Fault(say("write.failed", problem=error.strerror or str(error)))))
        quiet()
        sys.exit(3)
    except BlockcalcError as error:
        _tell(error)
        if "--debug" in sys.argv:
            raise
        sys.exit(error.exit_code)
    except MemoryError:
        os.write(2, say("cli.memory").encode() + b"\n")
        os._exit(2)  # nothing that still needs memory may run
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        _tell(OurFault(Fault(say("cli.fault", kind=type(error).__name__))))
        sys.exit(70)
