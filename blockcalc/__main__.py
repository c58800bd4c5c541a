"""``python -m blockcalc``."""

from __future__ import annotations

from blockcalc.cli.app import main

if __name__ == "__main__":
    main()
