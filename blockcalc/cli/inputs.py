"""Groups of options that commands share, and their conversion to a spec, a depth, numbers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockcalc.cli.options import (
    AllOpt,
    ChainOpt,
    Color,
    ColorOpt,
    DebugOpt,
    DetailOpt,
    DigitsOpt,
    EpsOpt,
    ErrorFormat,
    ErrorOpt,
    ForceOpt,
    LossOpt,
    NoColorOpt,
    NoProseOpt,
    NormOpt,
    OutputOpt,
    RateOpt,
    RoundOpt,
    SetOpt,
    StepsOpt,
)
from blockcalc.cli.output import send
from blockcalc.errors import Fault, UsageError
from blockcalc.explain.depth import Depth, Detail
from blockcalc.messages import say

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.views.terminal import Terminal


# made at every start: a dataclass that neither compares nor prints takes a third of the time


@dataclass(eq=False, repr=False)
class Reading:
    """Options that override a file."""

    norm: NormOpt = None
    eps: EpsOpt = None
    sets: SetOpt = None
    rounding: RoundOpt = None

    def spec(self, file: str | None, orders: Callable[[str], Sequence[str]] | None = None) -> Spec:
        """Read a file, or the built-in sample, with the overrides of the command line."""
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from blockcalc.docs import samples as embedded
        from blockcalc.reading.load import load
        from blockcalc.reading.overrides import parse_eps, parse_round, parse_sets

        norm = self.norm.value if self.norm else None
        options = {"norm.order": norm, "eps": self.eps, "round": self.rounding}
        pairs = parse_sets(self.sets or [], options)
        if file == "-" and sys.stdin is not None and sys.stdin.isatty():
            print(say("cli.waiting"), file=sys.stderr)
        spec = load(
            embedded.default() if file is None else file, pairs, [norm] if norm else orders or ()
        )
        if self.eps is not None:
            spec = spec.with_eps(parse_eps(self.eps))
        if self.rounding is not None:
            spec = spec.with_rounding(parse_round(self.rounding))
        return spec


@dataclass(eq=False, repr=False)
class Showing:
    """Options for the level of detail and the steps shown."""

    detail: DetailOpt = Detail.normal
    steps: StepsOpt = None
    digits: DigitsOpt = 4
    whole: AllOpt = False
    no_prose: NoProseOpt = False

    def depth(self) -> Depth:
        """Make the Depth from options."""
        patterns = tuple(
            p.strip() for text in self.steps or [] for p in text.split(",") if p.strip()
        )
        if self.steps and not patterns:
            raise UsageError(Fault(say("cli.no_steps")))
        return Depth(self.detail, self.digits, not self.no_prose, self.whole, patterns)


@dataclass(eq=False, repr=False)
class Backward:
    """Options of the backward pass: the loss, closed forms or not, the learning rate."""

    loss: LossOpt = None
    chain: ChainOpt = False
    lr: RateOpt = None

    @property
    def kind(self) -> str | None:
        """The kind of the loss, if given."""
        return self.loss.value if self.loss else None

    def rate(self) -> float | None:
        """Read the value of ``--lr``."""
        return None if self.lr is None else parse_rate(self.lr)


@dataclass(eq=False, repr=False)
class Screen:
    """Options for colours in the terminal."""

    color: ColorOpt = Color.auto
    no_color: NoColorOpt = False

    def terminal(self) -> Terminal:
        """Make the view that prints pieces."""
        from blockcalc.views.screen import make_console
        from blockcalc.views.terminal import Terminal

        return Terminal(make_console("never" if self.no_color else self.color.value))


@dataclass(eq=False, repr=False)
class Writing:
    """Options for the output file."""

    output: OutputOpt = None
    force: ForceOpt = False

    def send(self, content: bytes) -> None:
        """Write the content to the output file, or to standard output."""
        send(content, self.output, self.force)


@dataclass(eq=False, repr=False)
class Errors:
    """Options for the format of errors; ``__main__`` reads them, as parsing the command line may fail."""

    error_format: ErrorOpt = ErrorFormat.text
    debug: DebugOpt = False


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
