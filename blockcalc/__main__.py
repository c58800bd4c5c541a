"""The entry point: ``blockcalc`` and ``python -m blockcalc``.

Ctrl-C ends the process at once, even while libraries are being imported, so the handler is set
first.
"""

import os
import signal
import sys


def _leave(number: int, frame: object) -> None:
    """Exit at once without printing anything."""
    os._exit(130)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)


def main() -> None:
    """Run the command line.

    The language is set first: help texts are made when the commands are imported.
    """
    from blockcalc.messages import set_language
    from blockcalc.shell.language import language_of

    set_language(language_of(sys.argv[1:]))
    from blockcalc.cli.app import main as run

    try:
        run()
    finally:
        # all output is written; a signal during interpreter shutdown would kill the process
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
