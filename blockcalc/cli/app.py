"""The command line: parse, call, print, exit code. Heavy modules are imported only when needed."""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated

import typer

from blockcalc.cli.output import note
from blockcalc.errors import BlockcalcError, Fault, InternalError, WriteError
from blockcalc.messages import say
from blockcalc.shell.argv import Group, quiet
from blockcalc.shell.language import Language
from blockcalc.shell.usage import errors_as_json

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
    lang: Annotated[
        Language | None, typer.Option("--lang", metavar="|".join(Language), help=say("help.lang"))
    ] = None,
) -> None:
    """Accept the options before a command; ``--lang`` is read before commands are imported."""


def _tell(error: BlockcalcError) -> None:
    """Write an error to standard error, as text or as JSON."""
    from blockcalc.views.errors import as_json, report

    note(as_json(error) if errors_as_json(sys.argv[1:]) else report(error))


def main() -> None:
    """Run the command line; the only place where an exception becomes an exit code."""
    gc.disable()  # garbage collection would take a tenth of the time of a short process
    # starting NumPy's threads would take as long as a small block; to be set before it is imported
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        app()
    except SystemExit as end:
        # click exits with 1 and this wrapper if the reader of a help page has closed the pipe
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
        os._exit(2)  # do not run anything that needs more memory
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        _tell(InternalError(Fault(say("cli.fault", kind=type(error).__name__))))
        sys.exit(70)
