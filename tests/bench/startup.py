"""How long the command line takes to answer, against what its libraries take by themselves.

Run by hand: ``python tests/bench/startup.py [--runs N] [--against PYTHON]``. Each pair is run in
turn, whole process against whole process, and the median of the ratios of their processor times is
printed. The floor of a run imports the libraries that a run needs and prints the same text; that of
``--help`` and ``--version`` imports typer. ``--against`` takes the Python of an environment with
another version of the project, and pairs each command with that version's as well.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

TINY = str(Path(__file__).parents[2] / "samples" / "tiny.yaml")
FLOOR = """
import numpy, typer, yaml
from rich.console import Console
Console().file.write(TEXT)
"""
COMMANDS = {
    "run": ["run", TINY],
    "grad": ["grad", TINY],
    "compare": ["compare", TINY],
    "export": ["export", TINY, "--json"],
    "cost": ["cost", TINY],
    "no such file": ["run", "nothing.yaml"],
    "--help": ["--help"],
    "--version": ["--version"],
}


def console_of(python: str) -> str:
    """Give the command of the environment of a Python."""
    return str(Path(python).with_name("blockcalc"))


def timed(command: list[str]) -> float:
    """Measure the processor time of a whole process."""
    quiet = subprocess.DEVNULL
    # bytecode is written and used, as in an installed program
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=env)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def pair(name: str, ours: list[str], other: list[str], runs: int, what: str = "floor") -> None:
    """Time two commands in turn and print medians and the median ratio."""
    times = [(timed(ours), timed(other)) for _ in range(runs + 1)][1:]
    a, b = (statistics.median(t[i] for t in times) for i in (0, 1))
    ratio = statistics.median(x / y for x, y in times)
    print(f"{name:22} {a * 1000:6.0f} ms   {what} {b * 1000:6.0f} ms   ratio {ratio:.2f}")


def main() -> None:
    """Time the commands."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--against")
    asked = parser.parse_args()
    python = sys.executable
    ours = console_of(python)
    text = subprocess.run([ours, "run", TINY], check=True, capture_output=True, text=True).stdout
    floor = [python, "-c", f"TEXT = {text!r}\n{FLOOR}"]
    typer = [python, "-c", "import typer"]
    for name, own in {"run": floor, "--help": typer, "--version": typer}.items():
        pair(name, [ours, *COMMANDS[name]], own, asked.runs)
    if asked.against:
        for name, args in COMMANDS.items():
            other = [console_of(asked.against), *args]
            pair(name, [ours, *args], other, asked.runs, "other")


if __name__ == "__main__":
    main()
