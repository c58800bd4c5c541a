"""Match the steps of two programs that run in different orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import groupby

from blockcalc.program.program import Program

Pair = tuple[int | None, int | None]


def align(a: Program, b: Program) -> Iterator[Pair]:
    """Pair the steps of two programs: equal names in the same order in both.

    Blocks are paired first, then their sections (an attention weighs more than a norm), then steps.
    The steps of each program keep their order.

    Yields
    ------
    (int or None, int or None)
        The indices of two matching equations; None for the one that is missing.
    """
    light = {s.name for program in (a, b) for s in program.top_sections() if s.short}
    return _align(_places(a), _places(b), 0, light)


Place = tuple[tuple[str, str, str], int]  # the block, section and name of an equation; its index


def _places(program: Program) -> list[Place]:
    """Give the place of each equation."""
    found = []
    for index, eq in enumerate(program.equations):
        block, section = program.block_of(index), program.top_section_of(index)
        name = eq.out.name
        holders = (block.name if block else "", section.name if section else name, name)
        found.append((holders, index))
    return found


def _align(a: list[Place], b: list[Place], level: int, light: Set[str]) -> Iterator[Pair]:
    """Pair equations by their blocks (level 0), then by their sections, then by their names."""
    if level == 3:
        yield a[0][1], b[0][1]
        return
    sides = [[list(run) for _, run in groupby(side, key=lambda p: p[0][level])] for side in (a, b)]
    names = [[run[0][0][level] for run in side] for side in sides]
    for i, j in common(names[0], names[1], light):
        if i is not None and j is not None:
            yield from _align(sides[0][i], sides[1][j], level + 1, light)
        else:
            yield from ((index, None) for _, index in ([] if i is None else sides[0][i]))
            yield from ((None, index) for _, index in ([] if j is None else sides[1][j]))


def common(a: Sequence[str], b: Sequence[str], light: Set[str]) -> list[Pair]:
    """Find the heaviest common subsequence; ``light`` items (norms) weigh less than all others.

    Examples
    --------
    >>> common(["norm1", "attn"], ["attn", "norm1"], {"norm1"})
    [(0, None), (1, 0), (None, 1)]
    """
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    n, m = len(a) - start, len(b) - start
    best = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            same = a[start + i] == b[start + j]
            weight = 1 if a[start + i] in light else 10
            kept = best[i + 1][j + 1] + weight if same else 0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], kept)
    pairs: list[Pair] = [(i, i) for i in range(start)]
    i = j = 0
    while i < n or j < m:
        if (
            i < n
            and j < m
            and a[start + i] == b[start + j]
            and best[i][j] > max(best[i + 1][j], best[i][j + 1])
        ):
            pairs.append((start + i, start + j))
            i, j = i + 1, j + 1
        elif i < n and best[i + 1][j] == best[i][j]:
            pairs.append((start + i, None))
            i += 1
        else:
            pairs.append((None, start + j))
            j += 1
    return pairs
