"""What stands in the picture of a step: panels, signs between them, and which entries are lit.

The signs come from the formula of the operation, the lit entries from the tree of the worked cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Panel, Picture, Sign
from blockcalc.explain.grids import Labels, Shown
from blockcalc.messages import say
from blockcalc.messages.words import axis_word
from blockcalc.ops.expr import At, Binary, Call, Cell, Expr, Name, Over, Slot, walk, word
from blockcalc.ops.op import Op
from blockcalc.program.trace import Step

MOST_OF_OPERAND = 8  # rows or columns of an operand that are shown completely
KEPT = (4, 1)  # of a longer one, how many first and last are shown, beside the lit ones
_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, ".": 2, "@": 3}
_FLAT = {"ratio": "/", "over": "/"}

Token = tuple[int, bool] | Sign  # an operand and whether it is transposed, or a sign


class Pictures:
    """Makes the pictures of the steps of one run."""

    def __init__(self, depth: Depth, labels: Labels) -> None:
        self.depth, self.labels = depth, labels
        self.seen: set[str] = set()

    def of(self, step: Step, operands: Sequence[Shown], shown: Shown, at: At) -> Picture:
        """Make the picture of a step whose cell ``at`` is worked."""
        bare = self.depth.brief or self.depth.detail == Detail.tables
        leads = list(product(*(range(n) for n in step.value.shape[:-2])))
        marked = None if bare or not step.equation.op.worked else at
        results = [self.panel(shown, lead, set(), marked) for lead in leads]
        mine = leads.index(at[:-2]) if len(at) > 2 else 0
        new = [m.operand for m in operands if m.ref.name not in self.seen]
        self.seen |= {step.equation.out.name, *(m.ref.name for m in operands)}
        first, others = results[mine], (*results[:mine], *results[mine + 1 :])
        names = [Name(m.ref.symbol) for m in operands]
        formula = step.equation.op.formula(names)
        if bare:
            return Picture(tuple(results), (), Sign("->"), ())
        parts: list[Panel | Sign] = []
        lit = read(step, at) if marked is not None else {}
        for token in tokens(step.equation.op, len(operands)):
            if isinstance(token, Sign):
                parts.append(token)
                continue
            i, turned = token
            parts += self.operand(step, operands[i], lit.get(i, set()), turned)
        last = parts[-1] if parts else None
        named = isinstance(last, Sign) and last.op == "->" and last.body is not None
        arrow = last if named and isinstance(last, Sign) else Sign("->", formula)
        return Picture((*parts, first), others, arrow, tuple(new))

    def left_out(self, shown: Shown) -> Iterator[str]:
        """Say how much of a result is shown, if not all."""
        pairs = list(zip(shown.ref.axes, shown.value.shape, strict=True))[-2:]
        parts = [
            say("picture.part", n=len(shown.indices(n)[0]), total=n, axis=axis_word(axis))
            for axis, n in pairs
            if shown.indices(n)[1]
        ]
        if parts:
            yield say("picture.parts", parts=", ".join(parts))

    def operand(self, step: Step, shown: Shown, lit: set[At], turned: bool) -> Iterator[Panel]:
        """Make the panels of an operand: of the heads that are read, or of all that are moved."""
        leads = list(product(*(range(n) for n in shown.value.shape[:-2])))
        if step.equation.op.worked:
            leads = [lead for lead in leads if any(at[:-2] == lead for at in lit)] or leads[:1]
        for lead in leads:
            yield self.panel(shown, lead, lit, None, turned, few=True)

    def panel(
        self,
        shown: Shown,
        lead: At,
        lit: set[At],
        worked: At | None,
        turned: bool = False,
        few: bool = False,
    ) -> Panel:
        """Make the panel of one table of a matrix.

        Parameters
        ----------
        shown : Shown
        lead : tuple of int
            The head or sequence.
        lit : set of tuple of int
            The entries that the worked cell reads.
        worked : tuple of int, optional
            The worked cell.
        turned : bool
            Whether rows and columns are exchanged.
        few : bool
            Whether a long one is shown in part because it is shown elsewhere.
        """
        frame = shown.frame(lead, self.labels)
        sizes = (len(frame.rows), len(frame.columns))
        marked = {worked} if worked else lit
        places = sorted(shown.place(at) for at in marked if at[: len(lead)] == lead)
        rows, columns = (
            self.indices(shown, n, sorted({place[axis] for place in places}), few)
            for axis, n in enumerate(sizes)
        )
        entries = [[shown.figure(shown.at(lead, i, j)) for j in columns] for i in rows]
        spots = {(rows.index(i), columns.index(j)) for i, j in places if i in rows and j in columns}
        labels = [
            tuple(names[k] for k in chosen) if axis else tuple("" for _ in chosen)
            for axis, names, chosen in (
                (frame.axes[0], frame.rows, rows),
                (frame.axes[1], frame.columns, columns),
            )
        ]
        if not frame.axes[1]:
            labels[1] = ()
        breaks = [_breaks(rows), _breaks(columns)]
        symbol: Expr = Name(shown.ref.symbol)
        if turned:
            entries = [list(row) for row in zip(*entries, strict=True)]
            spots = {(j, i) for i, j in spots}
            labels.reverse()
            breaks.reverse()
            symbol = word("transpose", symbol)
        return Panel(
            symbol,
            frame.caption if math.prod(shown.value.shape[:-2]) > 1 else "",
            (shown.ref.name, lead, turned),
            labels[0],
            labels[1],
            tuple(map(tuple, entries)),
            breaks[0],
            breaks[1],
            frozenset() if worked else frozenset(spots),
            next(iter(spots), None) if worked else None,
        )

    def indices(self, shown: Shown, n: int, lit: Sequence[int], few: bool) -> list[int]:
        """Choose the rows or columns shown; those that are lit are among them."""
        if few and n > MOST_OF_OPERAND and not self.depth.whole:
            first, last = KEPT
            kept = {*range(first), *range(n - last, n)}
        else:
            kept = set(shown.indices(n)[0])
        some = lit if len(lit) <= MOST_OF_OPERAND else []
        return sorted(kept.union(some))


def read(step: Step, at: At) -> dict[int, set[At]]:
    """Find the entries of each operand that a cell reads."""
    eq = step.equation
    lit: dict[int, set[At]] = {}
    for e in walk(eq.op.cell(at, eq.inputs)):
        if isinstance(e, Cell):
            lit.setdefault(e.operand, set()).add(e.at)
    return lit


def _breaks(indices: Sequence[int]) -> tuple[int, ...]:
    """Give after how many of the indices some are left out."""
    pairs = enumerate(pairwise(indices), 1)
    return tuple(k for k, (a, b) in pairs if b > a + 1)


def tokens(op: Op, n: int) -> list[Token]:
    """Write an operation on ``n`` operands as a line: operands, with signs between and after them.

    A formula that needs no brackets is written as it is; others as their operands and an arrow.
    """
    formula = op.formula([Slot(i) for i in range(n)])
    line = _flat(formula, 0)
    used = [token[0] for token in line or () if not isinstance(token, Sign)]
    if line is not None and sorted(used) == list(range(n)) and len(used) == len(set(used)) > 0:
        return [*line, Sign("=")]
    return [*((i, False) for i in range(n)), Sign("->", _function(formula))] if n else []


def _flat(e: Expr, level: int) -> list[Token] | None:
    """Write a formula without brackets; None if it needs some, or is a function."""
    match e:
        case Slot(index=index):
            return [(index, False)]
        case Call(function="transpose", args=(Slot(index=index),)):
            return [(index, True)]
        case Call(function=function, args=(left, right)) if function in _FLAT:
            return _flat(Binary(_FLAT[function], left, right), level)
        case Binary(op=op, left=left, right=right) if _LEVELS.get(op, 0) >= max(level, 1):
            first = _flat(left, _LEVELS[op])
            if first is None:
                return None
            if not any(isinstance(inner, Slot) for inner in walk(right)):
                return [*first, Sign(op, right)]
            second = _flat(right, _LEVELS[op] + 1)
            return None if second is None else [*first, Sign(op), *second]
    return None


def _function(formula: Expr) -> str | None:
    """Name the function of one operand that an arrow stands for."""
    match formula:
        case Call(function=function, args=(Slot(),)):
            return function
        case Over(kind=kind, body=Slot()):
            return kind
    return None
