"""How often mistakes are told by name at their step, and how often plain slips seem to have a reason.

    python tests/bench/mistakes.py [--blocks N] [--slips N] [--only NAME]

Prints one line for each entry of the catalogue, and the two rates; ends with 1 where one misses its goal.
"""

from __future__ import annotations

import argparse
import sys
import time

from blockcalc.mistakes.table import MISTAKES
from tests.mistakes.rates import FORMS, false_rate, found_rate

RIGHT, FALSE = 0.95, 0.02  # the goals


def main() -> int:
    """Measure and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--blocks", type=int, default=20)
    asked.add_argument("--slips", type=int, default=200)
    asked.add_argument("--only", default="")
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    began = time.process_time()
    shown = told = 0
    for mistake in MISTAKES.values():
        if given.only not in mistake.name:
            continue
        backward = mistake.name.startswith("grad_")
        seen, found, missed = found_rate(mistake, given.seed, given.blocks, FORMS, backward)
        shown, told = shown + seen, told + found
        first = f"  {missed[0]}" if missed else ""
        print(f"{mistake.name:32} {found:4}/{seen:<4}{first}"[:200], flush=True)
    right = told / max(shown, 1)
    print(f"told at the right step: {told} of {shown}, {right:.1%} (goal {RIGHT:.0%})")
    tried, false = false_rate(given.seed + 1, given.slips)
    wrong = false / max(tried, 1)
    print(f"plain slips with a reason: {false} of {tried}, {wrong:.1%} (goal at most {FALSE:.0%})")
    print(f"{time.process_time() - began:.0f} s of processor time")
    return int(right < RIGHT or wrong > FALSE)


if __name__ == "__main__":
    sys.exit(main())
