"""Convert options to a spec, a depth, numbers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from blockcalc.cli.options import Detail, Order
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say

if TYPE_CHECKING:
    from blockcalc.explain.depth import Depth
    from blockcalc.nn.spec import Spec


def read_spec(
    file: str | None,
    norm: Order | None,
    eps: str | None,
    sets: list[str] | None,
    rounding: str | None,
    orders: Sequence[str] = (),
) -> Spec:
    """Read a file with the overrides of the command line."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from blockcalc.docs import samples as embedded
    from blockcalc.reading.load import load
    from blockcalc.reading.overrides import parse_eps, parse_round, parse_sets

    pairs = parse_sets(
        sets or [], {"norm.order": norm.value if norm else None, "eps": eps, "round": rounding}
    )
    if file == "-" and sys.stdin is not None and sys.stdin.isatty():
        print(say("cli.waiting"), file=sys.stderr)
    orders = [norm.value] if norm else orders
    spec = load(embedded.default() if file is None else file, pairs, orders)
    if eps is not None:
        spec = spec.with_eps(parse_eps(eps))
    if rounding is not None:
        spec = spec.with_rounding(parse_round(rounding))
    return spec


def depth_of(
    detail: Detail, digits: int, no_prose: bool, whole: bool, steps: list[str] | None
) -> Depth:
    """Make the Depth from options."""
    from blockcalc.explain.depth import Depth

    patterns = tuple(p.strip() for text in steps or [] for p in text.split(",") if p.strip())
    if steps and not patterns:
        raise UsageError(Fault(say("cli.no_steps")))
    return Depth(detail.value, digits, not no_prose, whole, patterns)


def parse_depths(text: str) -> list[int]:
    """Read ``1,2,4``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and 0 < int(part) <= 64 for part in parts):
        raise UsageError(Fault(say("depths.text", text=text)))
    return [int(part) for part in parts]


def parse_rate(text: str) -> float:
    """Read the value of ``--lr``."""
    from blockcalc.files.yaml_text import plain_scalar

    number: Any = plain_scalar(text.strip())
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float)
        or not 0 < number < float("inf")
    ):
        raise UsageError(Fault(say("lr.finite", text=text)))
    return float(number)
