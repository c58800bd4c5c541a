"""From what was typed to what is worked: shared by the commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from blockcalc.errors import Fault, UsageError
from blockcalc.options import Detail, Order
from blockcalc.titles import say

if TYPE_CHECKING:
    from blockcalc.explain import Depth
    from blockcalc.spec import Spec


def read_spec(
    file: str | None,
    norm: Order | None,
    eps: str | None,
    sets: list[str] | None,
    rounding: str | None,
    orders: Sequence[str] = (),
) -> Spec:
    """Read a file with what the command line sets over it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from blockcalc import embedded
    from blockcalc.reader import load, parse_eps, parse_round, parse_sets

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
    """Make the depth of what is said."""
    from blockcalc.explain import Depth

    patterns = tuple(p.strip() for text in steps or [] for p in text.split(",") if p.strip())
    if steps and not patterns:
        raise UsageError(Fault(say("cli.no_steps")))
    return Depth(detail.value, digits, not no_prose, whole, patterns)
