"""The time of counting costs: the largest published model against the smallest sample.

Run by hand: ``python tests/bench/cost.py [RUNS]``. Nothing but shapes is used, so both should take
the same time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from blockcalc.docs.samples import folder
from tests.bench.startup import pair


def main() -> None:
    """Time the two."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    console = str(Path(sys.executable).with_name("blockcalc"))
    tiny = [console, "cost", str(folder() / "tiny.yaml")]
    pair("llama-3-405b", [console, "cost", "--preset", "llama-3-405b"], tiny, runs, "tiny")


if __name__ == "__main__":
    main()
