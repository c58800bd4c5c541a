"""Mistakes in the softmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from blockcalc.mistakes.alternative import Alternative, Block, Mistake, copied, extra, instead
from blockcalc.mistakes.attention.masks import unmasked
from blockcalc.mistakes.attention.scores import SOFTMAX, Attention, attentions
from blockcalc.mistakes.attention.seen import with_nan
from blockcalc.mistakes.attention.sums import Last, Sum16
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Binary, Expr, Num, Slot, exp, power_of_2
from blockcalc.ops.op import Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.program import Equation
from blockcalc.records import dataclass

RAISED: dict[str, Callable[[Expr], Expr]] = {"e": exp, "2": power_of_2}


@dataclass(frozen=True)
class Softmax:
    """The softmax of an attention: its steps by short name, as far as ``stop`` has them."""

    attention: Attention
    parts: dict[str, Equation]

    @property
    def scores(self) -> Ref:
        """Give the matrix that the softmax is taken of."""
        return (self.parts.get("weights.max") or self.parts["weights.exp"]).inputs[0]

    @property
    def name(self) -> str:
        return f"{self.attention.name}.weights"

    @property
    def shifted(self) -> bool:
        return "weights.max" in self.parts

    @property
    def base(self) -> str:
        """Give the base of its powers, as a sentence writes it."""
        op = self.parts["weights.exp"].op
        assert isinstance(op, Elementwise)
        return "2" if isinstance(op.body, Binary) else "e"

    @property
    def total(self) -> Equation | None:
        return self.parts.get("weights.sum")

    @property
    def weights(self) -> Equation | None:
        return self.parts.get("weights")

    def with_maximum(self) -> dict[str, Equation]:
        """Give its steps in the form that subtracts the row maximum."""
        return self.parts if self.shifted else self.attention.with_maximum()

    def along(self, eq: Equation, axes: tuple[int, ...], *inputs: Ref) -> Equation:
        """Adapt a step whose second operand has one number per row to other reduced axes."""
        assert isinstance(eq.op, Elementwise)
        every = tuple(range(len(self.scores.shape)))
        kept = tuple(i for i in every if i not in axes)
        return instead(eq, replace(eq.op, placements=(every, kept)), *inputs)

    def reduced(self, eq: Equation, axes: tuple[int, ...], x: Ref) -> list[Equation]:
        """Reduce over other axes than the keys: the moved matrix, and its reduction."""
        moved = extra(f"{eq.out.name}.last", Last(axes), x)
        return [moved, extra(f"{eq.out.name}.of", eq.op, moved.out)]


Part = Callable[[Softmax], Iterator[Alternative]]


def _each(make: Part) -> Callable[[Block], Iterator[Alternative]]:
    """Make alternatives of every softmax of a block."""

    def every(block: Block) -> Iterator[Alternative]:
        for attention in attentions(block):
            steps = {part: attention.step(part) for part in SOFTMAX}
            parts = {part: eq for part, eq in steps.items() if eq is not None}
            if "weights.exp" in parts:
                yield from make(Softmax(attention, parts))

    return every


# over what ---------------------------------------------------------------------------------------


def _over(s: Softmax, axes: tuple[int, ...], own: bool) -> tuple[Equation, ...]:
    """Take the softmax over other axes; ``own`` tells if maximum and sum keep their shape."""
    refs: dict[str, Ref] = {}
    found: list[Equation] = []
    for eq in s.parts.values():
        inputs = [refs.get(ref.name, ref) for ref in eq.inputs]
        if isinstance(eq.op, Reduce):
            moved, result = s.reduced(eq, axes, inputs[0])
            found += [moved, instead(eq, eq.op, moved.out) if own else result]
            refs |= {} if own else {eq.out.name: result.out}
        elif len(inputs) == 2:
            found.append(s.along(eq, axes, *inputs))
    return tuple(found)


@_each
def softmax_columns(s: Softmax) -> Iterator[Alternative]:
    """Take the softmax over the queries: each column adds up to 1.

    The steps within may be given for the rows: then the weights alone are taken over columns, or
    only their sums are.
    """
    if s.scores.shape[-1] > 1:
        columns = (len(s.scores.shape) - 2,)
        yield Alternative(_over(s, columns, own=True))
        yield from _weights_over(s, columns)


def _weights_over(s: Softmax, axes: tuple[int, ...], **words: str) -> Iterator[Alternative]:
    """Take the weights alone over other axes: from the scores, or from the exponentials."""
    if s.weights is None:
        return
    yield Alternative(_over(s, axes, own=False), words=words)
    if s.shifted and s.total is not None:
        made = s.reduced(s.total, axes, s.parts["weights.exp"].out)
        weights = s.along(s.weights, axes, s.weights.inputs[0], made[-1].out)
        yield Alternative((*made, weights), words=words)


@_each
def softmax_heads(s: Softmax) -> Iterator[Alternative]:
    """Take the softmax over the heads; where all of them are masked, 0/0 is 0 or nan."""
    if s.weights is None or "head" not in s.scores.axes:
        return
    for change in _weights_over(s, (s.scores.axes.index("head"),)):
        yield from with_nan(change, s.attention.block.trace.arrays[s.scores.name])


@_each
def softmax_all(s: Softmax) -> Iterator[Alternative]:
    """Take one softmax over all scores: those of a head, or of all heads."""
    rank = len(s.scores.shape)
    if s.weights is None or s.scores.shape[-1] == 1:
        return
    yield from _weights_over(s, (rank - 2, rank - 1), over="T × T")
    if "head" in s.scores.axes:
        axes = tuple(range(rank - 3, rank))
        yield from _weights_over(s, axes, over="n_heads × T × T")


@_each
def softmax_sum_of_key(s: Softmax) -> Iterator[Alternative]:
    """Divide column j by the sum of row j, as broadcasting without keepdims does."""
    if s.weights is not None and s.scores.shape[-1] > 1:
        yield Alternative((s.along(s.weights, (len(s.scores.shape) - 2,)),))


# of what -----------------------------------------------------------------------------------------


@_each
def softmax_no_exp(s: Softmax) -> Iterator[Alternative]:
    """Divide the scores themselves by their sum; masked scores count 0."""
    steps, arrays, scores = unmasked(s.attention, zero=True)
    yield Alternative((*steps, copied(s.parts["weights.exp"], scores)), arrays)


@_each
def softmax_base2(s: Softmax) -> Iterator[Alternative]:
    """Use powers of 2 instead of e, or of e instead of 2."""
    other = "e" if s.base == "2" else "2"
    words = {"taken": other, "base": s.base}
    body = RAISED[other](Slot(0))
    yield Alternative((instead(s.parts["weights.exp"], Elementwise(body)),), words=words)


@_each
def softmax_plus_one(s: Softmax) -> Iterator[Alternative]:
    """Add 1 to the sum of the row."""
    if s.total is None:
        return
    plain = extra(f"{s.total.out.name}.plain", s.total.op, *s.total.inputs)
    one = Elementwise(Slot(0) + 1.0)
    yield Alternative((plain, instead(s.total, one, plain.out)), words={"one": "1"})
    if s.weights is not None:
        more = extra(f"{s.total.out.name}.more", one, s.total.out)
        used = instead(s.weights, s.weights.op, s.weights.inputs[0], more.out)
        yield Alternative((more, used), words={"one": "1", "at": "later"})
    if s.shifted:
        unseen = Elementwise(Slot(0) + RAISED[s.base](Num(-1.0) * Slot(1)))
        top = s.parts["weights.max"].out
        yield Alternative(
            (plain, instead(s.total, unseen, plain.out, top)), words={"one": f"{s.base}^(−m)"}
        )


@_each
def softmax_not_normalized(s: Softmax) -> Iterator[Alternative]:
    """Leave out the division by the sum."""
    if s.weights is not None:
        yield Alternative((copied(s.weights, s.parts["weights.exp"].out),))


@_each
def softmax_twice(s: Softmax) -> Iterator[Alternative]:
    """Apply the softmax twice."""
    if s.weights is not None and s.total is not None:
        once = extra(f"{s.name}.once", s.weights.op, *s.weights.inputs)
        again = extra(f"{s.name}.again", s.parts["weights.exp"].op, once.out)
        total = extra(f"{s.name}.again.sum", s.total.op, again.out)
        last = instead(s.weights, s.weights.op, again.out, total.out)
        yield Alternative((once, again, total, last))


# the maximum -------------------------------------------------------------------------------------


def _elsewhere(s: Softmax, eq: Equation, name: str) -> Equation:
    """Copy a step to one that only the alternative has."""
    return extra(f"{s.name}.{name}", eq.op, *eq.inputs)


def _exponentials(s: Softmax) -> tuple[list[Equation], Ref]:
    """Give the exponentials of the other form of softmax: with or without the row maximum."""
    own = s.parts["weights.exp"]
    if s.shifted:
        plain = extra(f"{s.name}.exp.plain", own.op, s.scores)
        return [plain], plain.out
    shifted = s.with_maximum()
    top = _elsewhere(s, shifted["weights.max"], "top")
    less = extra(f"{s.name}.less", shifted["weights.shifted"].op, s.scores, top.out)
    other = extra(f"{s.name}.exp.less", own.op, less.out)
    return [top, less, other], other.out


@_each
def softmax_wrong_max(s: Softmax) -> Iterator[Alternative]:
    """Subtract a maximum that is not the row's own, or only in numerator or denominator."""
    if s.scores.shape[-1] == 1:
        return
    parts, queries = s.with_maximum(), (len(s.scores.shape) - 2,)
    top, less = parts["weights.max"], parts["weights.shifted"]
    more = () if s.shifted else (parts["weights.exp"],)
    own = () if s.shifted else (top,)
    words = {"taken": f"{s.base}^(S_ij − m_j)"}
    yield Alternative((*own, s.along(less, queries), *more), words=words)
    moved = extra(f"{top.out.name}.last", Last(queries), s.scores)
    columns = (moved, instead(top, top.op, moved.out), s.along(less, queries))
    yield Alternative((*columns, *more), words={"taken": f"{s.base}^(S_ij − max_i S_ij)"})
    steps, other = _exponentials(s)
    with np.errstate(all="ignore"):
        power = np.exp2 if s.base == "2" else np.exp
        large = not np.isfinite(power(s.attention.block.trace.arrays[s.scores.name])).all()
    if s.total is None or large:
        return
    above, below = (f"{s.base}^(S − m)", f"{s.base}^S")
    above, below = (above, below) if s.shifted else (below, above)
    words = {"taken": f"{above} / Σ {below}"}
    yield Alternative((*steps, instead(s.total, s.total.op, other)), words=words)
    if s.weights is not None:
        used = instead(s.weights, s.weights.op, other, s.weights.inputs[1])
        yield Alternative((*steps, used), words={"taken": f"{below} / Σ {above}"})


@_each
def softmax_shifted(s: Softmax) -> Iterator[Alternative]:
    """Subtract another number from a row: nothing, its maximum, or the largest of all scores."""
    parts = s.with_maximum()
    top, less, last = (parts[f"weights.{part}"] for part in ("max", "shifted", "exp"))
    if not s.shifted:
        yield Alternative((top, less, last), words={"number": "max_j S_ij"})
    else:
        yield Alternative((instead(last, last.op, s.scores),), words={"number": "0"})
    axes = tuple(range(len(s.scores.shape)))
    if s.scores.shape[-2] > 1:
        moved, largest = s.reduced(top, axes, s.scores)
        own = s.along(less, axes, s.scores, largest.out)
        yield Alternative((moved, largest, own, last), words={"number": "max S"})


@_each
def softmax_sum_16bit(s: Softmax) -> Iterator[Alternative]:
    """Round the sum of a row to 16 bits."""
    if s.total is not None:
        for format in ("float16", "bfloat16"):
            for each in (True, False):
                words = {"format": format, "each": str(each)}
                yield Alternative((instead(s.total, Sum16(format, each)),), words=words)


MISTAKES = (
    Mistake("softmax_columns", "attn.weights", softmax_columns),
    Mistake("softmax_heads", "attn.weights", softmax_heads),
    Mistake("softmax_all", "attn.weights", softmax_all),
    Mistake("softmax_sum_of_key", "attn.weights", softmax_sum_of_key),
    Mistake("softmax_no_exp", "attn.weights.exp", softmax_no_exp),
    Mistake("softmax_base2", "attn.weights.exp", softmax_base2),
    Mistake("softmax_plus_one", "attn.weights.sum", softmax_plus_one),
    Mistake("softmax_not_normalized", "attn.weights", softmax_not_normalized),
    Mistake("softmax_twice", "attn.weights", softmax_twice),
    Mistake("softmax_wrong_max", "attn.weights.exp", softmax_wrong_max),
    Mistake("softmax_shifted", "attn.weights.exp", softmax_shifted, same_result=True),
    Mistake("softmax_sum_16bit", "attn.weights.sum", softmax_sum_16bit, general=True),
)
