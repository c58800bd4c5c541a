"""How often mistakes are named at their step, and how often plain slips get a reason.

    python tests/bench/mistakes.py [--entry NAME] [--every N] [--blocks N] [--slips N] [--one]
        [--seed N]

Lists the entries of the catalogue that are told less often than they should be, and prints the
rates: of all mistakes, and of slips where every step is given; with ``--one`` also of slips where
only one step is. Ends with 1 where one misses its goal.
"""

from __future__ import annotations

import argparse
import sys
import time

from blockcalc.mistakes.table import MISTAKES
from tests.mistakes.rates import Rate, false_rate, measured

RIGHT, FALSE = 0.95, 0.02  # the goals
WRITTEN = ("2", "3", "5", "float64", "float32")


def asked() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--entry", action="append", help="only this entry, with all that was missed"
    )
    parser.add_argument("--every", type=int, default=1, help="a sample: each Nth entry")
    parser.add_argument("--blocks", type=int, default=20, help="random blocks for each entry")
    parser.add_argument("--slips", type=int, default=200, help="random slips")
    parser.add_argument("--one", action="store_true", help="slips in the only step given, too")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def rates(names: list[str], given: argparse.Namespace) -> dict[str, Rate]:
    """Measure each entry."""
    found = {}
    for name in names:
        backward = name.startswith(("grad_", "loss_"))
        found[name] = measured(MISTAKES[name], given.seed, given.blocks, backward=backward)
        if given.entry or found[name].part < RIGHT:
            for miss in found[name].missed:
                print(f"{name}: {miss}", flush=True)
    return found


def low(found: dict[str, Rate]) -> list[str]:
    """List the entries below the goal, and those that no block had a place for."""
    lines = []
    for name, rate in found.items():
        if rate.part < RIGHT and rate.shown:
            aside = f", {rate.equal} left aside" if rate.equal else ""
            lines.append(f"{name:28} {rate.told:5} of {rate.shown:<5} {rate.part:6.1%}{aside}")
    unseen = [name for name, rate in found.items() if not rate.shown]
    return [*lines, *([f"shown in no answer: {', '.join(unseen)}"] if unseen else [])]


def slips(given: argparse.Namespace, one: bool) -> float:
    """Measure how often plain slips seem to have a reason, by form and over all."""
    tried = false = 0
    which = "the only step given" if one else "every step given"
    for form in WRITTEN:
        some, seeming = false_rate(given.seed + 1, given.slips // len(WRITTEN), (form,), one)
        tried, false = tried + some, false + len(seeming)
        print(f"  {which}, {form}: {len(seeming)} of {some}")
    print(
        f"plain slips with a reason, {which}: {false} of {tried}, {false / tried:.1%}", flush=True
    )
    return false / tried


def main() -> int:
    """Measure and print."""
    given = asked()
    began = time.process_time()
    found = rates(given.entry or list(MISTAKES)[:: given.every], given)
    print("\n".join([f"entries below {RIGHT:.0%}:", *(low(found) or ["none"])]))
    shown, told = (sum(getattr(r, key) for r in found.values()) for key in ("shown", "told"))
    right = told / max(shown, 1)
    print(f"told at the right step: {told} of {shown}, {right:.1%} (goal {RIGHT:.0%})", flush=True)
    wrong = [] if given.entry else [slips(given, False)]
    wrong += [slips(given, True)] if given.one else []
    print(f"goal at most {FALSE:.0%}; {time.process_time() - began:.0f} s of processor time")
    return int(right < RIGHT or any(part > FALSE for part in wrong))


if __name__ == "__main__":
    sys.exit(main())
