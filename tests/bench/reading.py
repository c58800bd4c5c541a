"""Reading a 768 x 3072 matrix: against PyYAML's C loader, and against the standard library's JSON.

Run as ``python tests/bench/reading.py``: each reading in a process of its own, all in one run;
times are medians without the start of Python, memory is the peak of the process.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROUNDS = 5
COMMON = "import resource, time\n"
AFTER = "print(time.perf_counter() - t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
READINGS = {
    "blockcalc, YAML": "import numpy, yaml, blockcalc\nfrom blockcalc.reader import load\nt = time.perf_counter()\nload('{yaml}')\n",
    "PyYAML's C loader": "import yaml\nt = time.perf_counter()\nyaml.load(open('{yaml}'), yaml.CSafeLoader)\n",
    "blockcalc, JSON": "import numpy, yaml, blockcalc\nfrom blockcalc.reader import load\nt = time.perf_counter()\nload('{json}')\n",
    "json.load": "import json\nt = time.perf_counter()\njson.load(open('{json}'))\n",
}  # fmt: skip


def measure(code: str, rounds: int) -> tuple[float, float]:
    """Give the median time in seconds and the peak memory in MiB."""
    pairs = []
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-c", COMMON + code + AFTER], capture_output=True, check=True
        )
        pairs.append(tuple(map(float, done.stdout.split())))
    return statistics.median(p[0] for p in pairs), max(p[1] for p in pairs)


def main() -> None:
    """Print times, memory and ratios."""
    weight = np.random.RandomState(0).normal(0, 0.02, (768, 3072)).round(6).tolist()
    data = {"x": [[1] * 768], "attn": {"out": [[0.5] * 768]}, "stop": "residual1"}
    with tempfile.TemporaryDirectory() as folder:
        names = {"yaml": f"{folder}/a.yaml", "json": f"{folder}/a.json"}
        Path(names["json"]).write_text(json.dumps({**data, "ffn": {"w_1": weight}}))
        rows = "\n".join(f"    - {row}" for row in weight)
        head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in data.items())
        Path(names["yaml"]).write_text(f"{head}ffn:\n  w_1:\n{rows}\n")
        found = {}
        for name, code in READINGS.items():
            rounds = 1 if name.startswith("PyYAML") else ROUNDS
            found[name] = measure(code.format(**names), rounds)
            print(f"{name:20} {found[name][0]:7.2f} s {found[name][1]:8.0f} MiB")
    for ours, other in (("blockcalc, YAML", "PyYAML's C loader"), ("blockcalc, JSON", "json.load")):
        (a, m), (b, n) = found[ours], found[other]
        print(f"{ours} / {other}: {a / b:.3f} of the time, {m / n:.2f} of the memory")


if __name__ == "__main__":
    main()
