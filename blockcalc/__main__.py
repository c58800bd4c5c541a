"""The entry point: ``blockcalc`` and ``python -m blockcalc``.

Ctrl-C ends the process at once, also while libraries are being imported; so nothing is imported before that.
"""

import os
import signal


def _leave(number: int, frame: object) -> None:
    """End at once, with nothing printed."""
    os._exit(130)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)


def main() -> None:
    """Run the command line."""
    from blockcalc.cli.app import main as run

    try:
        run()
    finally:
        # all is written; a signal while Python takes its modules down would end it as killed
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
