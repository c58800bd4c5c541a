"""How long the command line takes to answer, against what its libraries take by themselves.

Run by hand: ``python tests/bench/startup.py [RUNS]``. Each pair is timed in turn, whole process
against whole process, and the median of the ratios is printed. Goals: run tiny.yaml at most 1.25
times its floor; --help and --version at most 1.25 times importing typer alone.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.explain.document import Given, StepPiece
from blockcalc.explain.steps import explain

TINY = str(folder() / "tiny.yaml")

FLOOR = """
import numpy, typer, yaml
from rich import box
from rich.console import Console
from rich.table import Table
console = Console(width=100000, highlight=False, soft_wrap=True)
for rows, columns in SIZES:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for j in range(columns + 1):
        table.add_column(str(j), no_wrap=True)
    for i in range(rows):
        table.add_row(*["1.234"] * (columns + 1))
    console.print(table, width=console.measure(table).maximum)
"""


def sizes() -> list[tuple[int, int]]:
    """Give the sizes of the tables that a run of the sample prints."""
    spec = blockcalc.load(TINY)
    found = []
    for piece in explain(spec, blockcalc.run(spec)):
        if isinstance(piece, Given):
            grids = [grid for _, given in piece.matrices for grid in given]
        else:
            grids = list(piece.grids) if isinstance(piece, StepPiece) else []
        found += [(len(grid.rows), len(grid.column_labels)) for grid in grids]
    return found


def timed(command: list[str]) -> float:
    """Time a whole process."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def pair(name: str, ours: list[str], floor: list[str], runs: int) -> None:
    """Time two commands in turn and print medians and the median ratio."""
    times = [(timed(ours), timed(floor)) for _ in range(runs + 1)][1:]
    a, b = (statistics.median(t[i] for t in times) for i in (0, 1))
    ratio = statistics.median(x / y for x, y in times)
    print(f"{name:24} {a * 1000:6.0f} ms   floor {b * 1000:6.0f} ms   ratio {ratio:.2f}")


def main() -> None:
    """Time the three commands."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    python = sys.executable
    console = str(Path(python).with_name("blockcalc"))
    floor = [python, "-c", f"SIZES = {sizes()}\n{FLOOR}"]
    typer = [python, "-c", "import typer"]
    pair("run samples/tiny.yaml", [console, "run", TINY], floor, runs)
    pair("--help", [console, "--help"], typer, runs)
    pair("--version", [console, "--version"], typer, runs)


if __name__ == "__main__":
    main()
