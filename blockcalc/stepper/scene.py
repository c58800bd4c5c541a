"""What is seen of a step when one of its cells is selected: the picture and the arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from rich.cells import cell_len, set_cell_size

from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Line, Panel, Sign
from blockcalc.explain.grids import Labels, Shown
from blockcalc.explain.picture.parts import Pictures, read, tokens
from blockcalc.explain.steps import Explainer
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import (
    At,
    Binary,
    Call,
    Cell,
    Dots,
    Expr,
    Figure,
    Fold,
    Name,
    substitute,
    word,
)
from blockcalc.program.trace import Step
from blockcalc.records import dataclass

FEWEST = 3  # rows or columns: the first, the last and one between
MOST_TERMS = 6  # of a sum in names, which are longer than numbers
HIDDEN = "?"


@dataclass(frozen=True)
class Extent:
    """How much of each matrix is shown.

    Attributes
    ----------
    most : int
        The rows, and the columns: the first, the last, and those around the selected cell, or
        around the entries that it is computed from.
    others : bool
        Whether the result of the other heads and sequences is shown, too.
    lean : bool
        Whether of an operand only the rows and columns of these entries are shown.
    label : int
        The columns of the screen that a label may take.
    """

    most: int = FEWEST
    others: bool = False
    lean: bool = False
    label: int = 16


class Windows(Pictures):
    """Makes panels of some rows and columns."""

    def __init__(self, depth: Depth, labels: Labels, extent: Extent) -> None:
        def short(axis: str, n: int, batch: int | None) -> list[str]:
            return [shortened(clean(text), extent.label) for text in labels(axis, n, batch)]

        super().__init__(depth, short)
        self.extent = extent

    def indices(self, shown: Shown, n: int, lit: Sequence[int], few: bool) -> list[int]:
        """Choose the rows or columns shown."""
        if few and self.extent.lean and 0 < len(lit) <= self.extent.most:
            return list(lit)
        return window(n, lit, self.extent.most)


def shortened(text: str, room: int) -> str:
    """Shorten a text to some columns of the screen.

    Examples
    --------
    >>> shortened("token", 5), shortened("tokens", 5), shortened("苹果树", 5)
    ('token', 'toke…', '苹果…')
    """
    if cell_len(text) <= room:
        return text
    return set_cell_size(text, max(room - 1, 0)).rstrip() + "…"


def window(n: int, lit: Sequence[int], most: int) -> list[int]:
    """Choose at most ``most`` of ``n`` indices, among them the first, the last and the lit ones.

    Examples
    --------
    >>> window(5, [2], 5), window(100, [50], 5), window(100, [0], 5)
    ([0, 1, 2, 3, 4], [0, 49, 50, 51, 99], [0, 1, 2, 3, 99])
    >>> window(100, range(100), 5), window(100, [4, 54], 6)
    ([0, 1, 2, 3, 99], [0, 3, 4, 5, 54, 99])
    """
    if n <= most:
        return list(range(n))
    if len(lit) > most - 2:  # not all can be shown: a sum begins with its first terms
        first = lit[0]
        shown = list(lit[: most - 2]) if first else list(lit[: most - 1])
        return sorted({0, *shown, n - 1})
    kept = {0, n - 1, *lit}
    centres = lit or [0]
    others = sorted(
        (k for k in range(n) if k not in kept), key=lambda k: min(abs(k - c) for c in centres)
    )
    return sorted(kept.union(others[: most - len(kept)]))


def parts_of(
    explainer: Explainer,
    step: Step,
    at: At,
    extent: Extent,
    known: frozenset[At] | None,
) -> list[Panel | Sign]:
    """Make the picture of a step with a cell selected.

    Parameters
    ----------
    explainer : Explainer
    step : Step
    at : tuple of int
        The selected cell; the head or sequence that it is in is the one shown.
    extent : Extent
    known : frozenset of tuple of int or None
        The cells of the result that are known, if the others are hidden.
    """
    eq = step.equation
    windows = Windows(explainer.depth, explainer.labels, extent)
    lit = read(step, at)
    found: list[Panel | Sign] = []
    for token in tokens(eq.op, len(eq.inputs)):
        if isinstance(token, Sign):
            found.append(token)
            continue
        index, turned = token
        shown, entries = explainer.matrix(eq.inputs[index]), lit.get(index, set())
        for lead in _leads(shown, entries, at):
            found.append(windows.panel(shown, lead, entries, None, turned, few=True))
    result = explainer.matrix(eq.out)
    for lead in [
        at[:-2],
        *(lead for lead in leads_of(result) if extent.others and lead != at[:-2]),
    ]:
        panel = windows.panel(result, lead, set(), at)
        own = at if lead == at[:-2] else None
        found.append(
            panel if known is None else _hidden(panel, result, lead, own, extent.most, known)
        )
    return found


def _leads(shown: Shown, entries: set[At], at: At) -> list[At]:
    """Choose the heads or sequences of an operand: those that are read, else that of the cell."""
    if shown.value.ndim < 3:
        return [()]
    read_ones = sorted({entry[:-2] for entry in entries})
    own = at[: shown.value.ndim - 2]
    fits = len(own) == shown.value.ndim - 2 and all(map(int.__lt__, own, shown.value.shape))
    return read_ones or [own if fits else (0,) * (shown.value.ndim - 2)]


def _hidden(
    panel: Panel, shown: Shown, lead: At, own: At | None, most: int, known: frozenset[At]
) -> Panel:
    """Hide the numbers of a result that are not known yet; ``own`` is the selected cell in it."""
    places = [] if own is None else [shown.place(own)]
    rows, columns = (
        window(n, [place[axis] for place in places], most) for axis, n in enumerate(shape_of(shown))
    )
    hidden = tuple(
        tuple(
            number if shown.at(lead, i, j) in known else Figure(HIDDEN)
            for j, number in zip(columns, numbers, strict=True)
        )
        for i, numbers in zip(rows, panel.rows, strict=True)
    )
    return replace(panel, rows=hidden)


def shape_of(shown: Shown) -> tuple[int, int]:
    """Count the rows and columns of one table of a matrix."""
    if shown.value.ndim == 1:
        n = shown.value.shape[0]
        return (n, 1) if shown.upright else (1, n)
    return shown.value.shape[-2], shown.value.shape[-1]


def leads_of(shown: Shown) -> list[At]:
    """List the heads and sequences of a matrix."""
    return list(product(*(range(n) for n in shown.value.shape[:-2])))


def sizes_of(explainer: Explainer, step: Step) -> tuple[int, int]:
    """Give the rows of the result, and the largest number of rows or columns in the picture."""
    refs = (step.equation.out, *step.equation.inputs)
    shapes = [shape_of(explainer.matrix(ref)) for ref in refs]
    return shapes[0][0], max(map(max, shapes))


def asked_line(step: Step, at: At) -> Line:
    """Write the line of a cell that is to be guessed: its arithmetic in names.

    Examples
    --------
    A product of two matrices gives ``Q[1,2] = X[1,1]×W_Q[1,2] + X[1,2]×W_Q[2,2] = ?``.
    """
    eq = step.equation

    def leaf(e: Expr) -> Expr:
        return entry(eq.inputs[e.operand].symbol, e.at) if isinstance(e, Cell) else e

    tree = eq.op.cell(at, eq.inputs)
    middle = _shorter(substitute(tree, leaf))
    return Line(entry(eq.out.symbol, at), "=", middle, "=", Figure(HIDDEN))


def entry(symbol: str, at: At) -> Expr:
    """Write an entry of a matrix: ``S[1,2]``."""
    return word("at", Name(symbol), *(Name(str(i + 1)) for i in at))


def _shorter(tree: Expr) -> Expr:
    """Leave out the middle terms of long sums."""
    match tree:
        case Fold(op=op, terms=terms) if len(terms) > MOST_TERMS:
            return Fold(op, (*terms[: MOST_TERMS - 2], Dots(), terms[-1]))
        case Binary(op=op, left=left, right=right):
            return Binary(op, _shorter(left), _shorter(right))
        case Call(function=function, args=args):
            return Call(function, tuple(map(_shorter, args)))
    return tree
