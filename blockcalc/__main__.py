"""``python -m blockcalc``."""

from blockcalc.cli import main

if __name__ == "__main__":
    main()
