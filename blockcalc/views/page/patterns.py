"""The cells of an operation in one form, for a program that has no operations of its own.

An operation gives the tree of any one of its cells. Here the trees of a few cells are compared:
they differ only in the positions of the entries, and these grow by the same amount from cell to
cell. A pattern is such a tree with these amounts, so that every cell can be computed from it.

A pattern is plain data:

- ``["n", value, symbol]``, a constant; without a symbol if it has none;
- ``["c", operand, base, strides, steps]``, an entry of an operand: its position in the flat array
  is base + Σ strides × the indices of the cell + Σ steps × the indices of the sum around it;
- ``["b", operator, left, right]`` and ``["f", function, arguments…]``;
- ``["s", operator, [sizes, body], …]``, a sum or a maximum: each body stands for as many terms as
  the product of its sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from blockcalc.ops.expr import At, Binary, Call, Cell, Expr, Fold, Num, Slot
from blockcalc.ops.op import Op, Ref, Shape

Pattern = list[Any]
MOST_CHECKED = 24  # corners, and cells at random, that are compared with the operation


class NoPattern(Exception):
    """The cells of an operation have no common form."""


def patterns(op: Op, refs: Sequence[Ref]) -> dict[str, Any]:
    """Find the patterns of an operation.

    Parameters
    ----------
    op : Op
    refs : sequence of Ref
        Its operands.

    Returns
    -------
    dict
        ``forms``, and ``axis``: the axis with a form for each index, or None if all cells have one.

    Raises
    ------
    NoPattern
        There is none, whichever axis has a form for each index.
    """
    shape = op.result(refs)[1]
    for axis in (None, *reversed(range(len(shape)))):
        starts: list[dict[int, int]] = [{}]
        if axis is not None:
            starts = [{axis: i} for i in range(shape[axis])]
        try:
            return {"axis": axis, "forms": [_pattern(op, refs, shape, fixed) for fixed in starts]}
        except NoPattern:
            continue
    raise NoPattern(type(op).__name__)


def tree_data(body: Expr) -> Pattern:
    """Write the body of an elementwise function of one operand, ``["x"]`` for the operand."""
    if isinstance(body, Slot):
        return ["x"]
    return [*_label(body), *map(tree_data, _parts(body))]


def _pattern(op: Op, refs: Sequence[Ref], shape: Shape, fixed: Mapping[int, int]) -> Pattern:
    """Find the pattern of the cells with fixed indices along some axes."""
    origin = tuple(fixed.get(axis, 0) for axis in range(len(shape)))
    near: list[Expr | None] = [
        None if axis in fixed or n == 1 else op.cell(_next(origin, axis), refs)
        for axis, n in enumerate(shape)
    ]
    found = _common(op.cell(origin, refs), near, refs)
    for at in _some(shape, fixed):
        if not _gives(found, op.cell(at, refs), at, refs):
            raise NoPattern(type(op).__name__)
    return found


def _next(at: At, axis: int) -> At:
    return tuple(i + (k == axis) for k, i in enumerate(at))


def _some(shape: Shape, fixed: Mapping[int, int]) -> Iterator[At]:
    """Choose the cells at which a pattern is checked."""
    ends = [(fixed[k],) if k in fixed else tuple({0, n - 1}) for k, n in enumerate(shape)]
    yield from (at for at, _ in zip(product(*ends), range(MOST_CHECKED), strict=False))
    random = np.random.default_rng(0)
    for _ in range(MOST_CHECKED):
        yield tuple(fixed.get(k, int(random.integers(n))) for k, n in enumerate(shape))


def _label(e: Expr) -> list[Any]:
    """Give what a node is, without its parts and positions."""
    match e:
        case Num(value=value, symbol=symbol):
            return ["n", value, symbol] if symbol else ["n", value]
        case Cell(operand=operand):
            return ["c", operand]
        case Binary(op=op):
            return ["b", op]
        case Call(function=function):
            return ["f", function]
        case Fold(op=op):
            return ["s", op]
    raise NoPattern(type(e).__name__)


def _parts(e: Expr) -> tuple[Expr, ...]:
    match e:
        case Binary(left=left, right=right):
            return left, right
        case Call(args=parts) | Fold(terms=parts):
            return parts
    return ()


def _position(cell: Expr, refs: Sequence[Ref]) -> int:
    """Give the position of an entry in the flat array of its operand."""
    assert isinstance(cell, Cell)
    return int(np.ravel_multi_index(cell.at, refs[cell.operand].shape))


def _common(first: Expr, near: Sequence[Expr | None], refs: Sequence[Ref]) -> Pattern:
    """Compare the tree of a cell with that of the next one along each axis."""
    label, parts = _label(first), _parts(first)
    others = [e for e in near if e is not None]
    if any(_label(e) != label or len(_parts(e)) != len(parts) for e in others):
        raise NoPattern
    if isinstance(first, Cell):
        base = _position(first, refs)
        strides = [0 if e is None else _position(e, refs) - base for e in near]
        return [*label, base, strides, []]
    inner = [
        _common(part, [None if e is None else _parts(e)[k] for e in near], refs)
        for k, part in enumerate(parts)
    ]
    return [*label, *(_runs(inner) if isinstance(first, Fold) else inner)]


# sums -----------------------------------------------------------------------------------------


def _runs(terms: Sequence[Pattern]) -> list[list[Any]]:
    """Write the terms of a sum as runs of terms of one form."""
    forms = [_form(term) for term in terms]
    starts = [k for k in range(len(terms)) if not k or forms[k] != forms[k - 1]]
    return [_folded(terms[a:b]) for a, b in zip(starts, [*starts[1:], len(terms)], strict=True)]


def _form(pattern: Pattern) -> object:
    """Give a term without the positions of its entries."""
    if pattern[0] == "c":
        return "c", pattern[1], tuple(pattern[3])
    return tuple(_form(part) if isinstance(part, list) else part for part in pattern)


def _entries(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the entries of operands in a pattern, from left to right."""
    if pattern[0] == "c":
        yield pattern
        return
    for part in pattern:
        if isinstance(part, list):
            yield from _entries(part)


def _folded(terms: Sequence[Pattern]) -> list[Any]:
    """Write terms of one form as sizes, and a body whose entries have a step for each size."""
    bases = np.array([[entry[2] for entry in _entries(term)] for term in terms])
    sizes: list[int] = []
    steps: list[Any] = []
    while len(bases) > 1:
        step, n = bases[1] - bases[0], 2
        while n < len(bases) and np.array_equal(bases[n] - bases[n - 1], step):
            n += 1
        if len(bases) % n:
            raise NoPattern
        blocks = bases.reshape(-1, n, bases.shape[1])
        if np.any(blocks - blocks[:, :1] != np.arange(n)[:, None] * step):
            raise NoPattern
        sizes.insert(0, n)
        steps.insert(0, step.tolist())
        bases = bases[::n]
    body = terms[0]
    for k, entry in enumerate(_entries(body)):
        entry[4] = [step[k] for step in steps]
    return [sizes, body]


# checking -------------------------------------------------------------------------------------


def _gives(
    pattern: Pattern, tree: Expr, at: At, refs: Sequence[Ref], inner: tuple[int, ...] = ()
) -> bool:
    """Tell whether a pattern gives the tree of a cell."""
    label = _label(tree)
    if pattern[: len(label)] != label:
        return False
    rest = pattern[len(label) :]
    if isinstance(tree, Cell):
        base, strides, steps = rest
        moved = zip((*strides, *steps), (*at, *inner), strict=True)
        return bool(base + sum(a * b for a, b in moved) == _position(tree, refs))
    places = [(part, inner) for part in rest]
    if isinstance(tree, Fold):
        places = [(body, own) for sizes, body in rest for own in product(*map(range, sizes))]
    parts = _parts(tree)
    return len(places) == len(parts) and all(
        _gives(part, e, at, refs, own) for (part, own), e in zip(places, parts, strict=True)
    )
