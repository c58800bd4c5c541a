"""Design 200 blocks of five sizes, hold every number against its claim, and time the searches.

PYTHONPATH=. python tests/bench/design.py [--each 40]
"""

from __future__ import annotations

import argparse
import time

from blockcalc.teach.design.choose import with_power
from tests.teach.design.test_found import NAMES, SIZES, first, require_short


def main() -> None:
    """Print for each size the times, the lengths of numbers, and mistakes that no step shows."""
    options = argparse.ArgumentParser()
    options.add_argument("--each", type=int, default=40)
    each = options.parse_args().each
    for name, wanted in zip(NAMES, SIZES, strict=True):
        times, costs, unseen = [], [], set()
        for seed in range(100, 100 + each):
            begun = time.perf_counter()
            design = first(wanted, seed)
            times.append(time.perf_counter() - begun)
            require_short(design, wanted)
            costs.append(design.cost)
            unseen |= set(with_power(design).unseen) if seed % 8 == 0 else set()
        middle = sorted(times)[len(times) // 2]
        print(f"{name}: {each} blocks, {middle:.1f} s each, {max(times):.1f} s at most;", end=" ")
        print(
            f"{min(costs):.2f} to {max(costs):.2f} digits a number; unseen in a sample: {sorted(unseen)}"
        )


if __name__ == "__main__":
    main()
