"""How long the numbers of a block are, step by step, and whether each step is of use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from blockcalc.nn.run import run
from blockcalc.ops.op import Array
from blockcalc.records import dataclass
from blockcalc.teach.design.exact import Exact

NO_FRACTION = 3.0  # the cost of a number that is no fraction
MOST_SIZE = 99  # a number that is longer than two digits before the point is not short


@dataclass(frozen=True)
class StepScore:
    """The numbers of one step.

    Attributes
    ----------
    name : str
    denominator : int
        The largest.
    worst : Fraction or None
        The number that is longest to write; None if some number is no fraction.
    whole : int
        How many are whole numbers.
    numbers : int
    rounded : float
        The largest where some are no fractions, as the rounded run has it.
    """

    name: str
    denominator: int
    worst: Fraction | None
    whole: int
    numbers: int
    rounded: float = 0.0

    @property
    def text(self) -> str:
        """Write the longest number."""
        return f"{self.rounded:g}" if self.worst is None else written(self.worst)


@dataclass(frozen=True)
class Design:
    """A block that was found, with the length of its numbers.

    ``cost`` is the mean length of a number; ``hidden`` names the mistakes that its result does not
    show, and ``unseen`` those that no step shows.
    """

    data: Mapping[str, Any]
    steps: tuple[StepScore, ...]
    cost: float
    revealed: int = 0
    hidden: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def denominator(self) -> int:
        """The largest denominator of a number that is not a variance."""
        return max(s.denominator for s in self.steps if not is_variance(s.name))

    @property
    def exact(self) -> bool:
        """Whether every number is a fraction."""
        return all(s.worst is not None for s in self.steps)


def is_variance(name: str) -> bool:
    """Tell whether a step is a variance, whose denominator is the square of that of σ."""
    return name.rpartition(".")[2] == "var"


def length(x: Fraction) -> int:
    """Count the characters of a number: of its decimals if they are few, else of the fraction.

    Examples
    --------
    >>> [length(Fraction(x)) for x in ("-3", "1/2", "1/3", "17/8")]
    [1, 2, 2, 3]
    """
    digits = len(str(abs(x.numerator)))
    if x.denominator == 1:
        return digits
    plain = x.denominator
    for prime in (2, 5):
        while plain % prime == 0:
            plain //= prime
    written = digits + len(str(x.denominator))
    if plain > 1:
        return written
    places = next(n for n in range(1, 99) if 10**n % x.denominator == 0)
    return min(written, places + len(str(int(abs(x)))))


def scored(data: Mapping[str, Any], most: int, exact_only: bool) -> Design | None:
    """Work a block in fractions, and rate its steps; None if it is not as wanted."""
    own = Exact(data)
    steps = tuple(_steps(own))
    if exact_only:
        for step in steps:
            limit = most**2 if is_variance(step.name) else most
            if step.worst is None or step.denominator > limit:
                return None
    if any(s.worst is not None and abs(s.worst) > MOST_SIZE for s in steps) or not useful(own):
        return None
    lengths = [length(v) if isinstance(v, Fraction) else NO_FRACTION
               for eq in own.program.equations for v in own.values[eq.out.name].flat
               if not isinstance(v, float)]  # fmt: skip
    return Design(data, steps, sum(lengths) / len(lengths))


def _steps(own: Exact) -> Iterator[StepScore]:
    trace = run(own.spec)
    for eq in own.program.equations:
        values = [v for v in own.values[eq.out.name].flat if not isinstance(v, float)]
        known = [v for v in values if v is not None]
        worst = max(known, key=lambda v: (length(v), v.denominator, abs(v)), default=None)
        if len(known) < len(values):
            worst = None
        bottom = max((v.denominator for v in known), default=1)
        whole = sum(v.denominator == 1 for v in known)
        own_run = np.abs(trace.arrays[eq.out.name])
        largest = float(own_run[np.isfinite(own_run)].max())
        yield StepScore(eq.out.name, bottom, worst, whole, len(values), largest)


TELLING = ("query", "key", "value", "out", "residual", "hidden", "weighted")


def useful(own: Exact) -> bool:
    """Tell whether no step is trivial.

    No matrix between input and result has a row of zeros, two tokens alike or one number alone,
    and none repeats the matrix that it is computed from.
    """
    result = own.program.equations[-1].out.name
    arrays = own.values
    if any(v is None for a in arrays.values() for v in a.flat):
        trace = run(own.spec)
        arrays = {name: np.asarray(trace.arrays[name]) for name in arrays}
    for eq in own.program.equations:
        value = arrays[eq.out.name]
        if eq.out.part not in TELLING and eq.out.name != result:
            continue
        rows = [tuple(row) for row in value.reshape(-1, value.shape[-1])]
        if not _varied(rows) or (value.ndim == 2 and len(set(rows)) < len(rows)):
            return False
        if any(_same(arrays[ref.name], value) for ref in eq.inputs):
            return False
    return True


def _varied(rows: list[tuple[Any, ...]]) -> bool:
    """Tell whether there is a number but 0 in each row, and not one number alone."""
    return all(any(row) for row in rows) and len({v for row in rows for v in row}) > 1


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool((a == b).all())


def written(x: Fraction) -> str:
    """Write a number as the table has it: as a decimal if it is short, else as a fraction.

    Examples
    --------
    >>> [written(Fraction(x)) for x in ("1/4", "-1/3", "2")]
    ['0.25', '-1/3', '2']
    """
    short = any(10**n % x.denominator == 0 for n in range(3))
    return f"{float(x):g}" if short else str(x)
