"""Weights by which rows become such that their standard deviation is a fraction.

Columns are chosen two at a time, among all pairs of a pool: with whole numbers over one common
denominator, a row of d entries c has a rational σ if d Σ c² - (Σ c)² is a square.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np

from blockcalc.ops.op import Array
from blockcalc.records import dataclass

POOL = 160  # columns in a pool: its pairs are tried at once
RESTARTS = 8
KEPT = 16  # solutions of one search
ENTRIES = (-2, -1, 0, 1, 2)
CHANCES = (0.06, 0.22, 0.38, 0.26, 0.08)
FEW = 1.6  # entries that are not 0, on average, in a column of few entries


def is_square(n: Array) -> Array:
    """Tell which whole numbers below 2^52 are squares.

    Examples
    --------
    >>> is_square(np.array([0, 8, 9, -4])).tolist()
    [True, False, True, False]
    """
    root = np.rint(np.sqrt(np.maximum(n, 0))).astype(np.int64)
    return np.asarray((root * root == n) & (n >= 0))


def rational_rows(d: int, entries: Sequence[int]) -> Array:
    """List the rows of small whole numbers whose standard deviation is a fraction, not 0.

    Examples
    --------
    >>> rational_rows(4, (0, 1)).tolist()[0]
    [0, 0, 1, 1]
    """
    rows = np.array(list(product(entries, repeat=d)), np.int64)
    spread = d * (rows**2).sum(axis=1) - rows.sum(axis=1) ** 2
    return np.asarray(rows[is_square(spread) & (spread > 0)])


def columns_of(rng: np.random.RandomState, n: int, rows: int, sparse: bool = False) -> Array:
    """Draw columns of small whole numbers, none of them all 0, ``[n, rows]``.

    Those of few entries have only 1 and -1.
    """
    drawn = rng.choice(ENTRIES, (n, rows), p=CHANCES).astype(np.int64)
    if sparse:
        drawn = rng.choice((1, 1, -1), (n, rows)) * (rng.random_sample((n, rows)) < FEW / rows)
    drawn = np.unique(drawn[drawn.any(axis=1)], axis=0)
    return np.asarray(drawn[rng.permutation(len(drawn))])


def denominators(sums: Array, d: int, common: int) -> int:
    """Give the largest denominator of a matrix, its means, σ, deviations and normalized rows.

    The variance has the square of that of σ, which is a fraction in each row.

    Examples
    --------
    >>> denominators(np.array([[1, 1, -1, -1]]), 4, 1), denominators(np.array([[1, 0, 0, 1]]), 4, 1)
    (1, 2)
    """
    largest = common // math.gcd(common, *map(int, sums.ravel()))
    for row in sums.tolist():
        total = sum(row)
        root = math.isqrt(d * sum(c * c for c in row) - total * total)
        centered = [d * c - total for c in row]
        for top, below in (
            (root, math.gcd(root, *centered)),
            (d * common, math.gcd(d * common, *centered)),
        ):
            largest = max(largest, top // below)
        largest = max(largest, d * common // math.gcd(root, d * common))
    return largest


@dataclass(frozen=True)
class Found:
    """A matrix that was found, its cost, and how many rows it makes rational."""

    weight: Array
    cost: float


class ColumnSearch:
    """Looks for W such that every row of base + map W has a rational standard deviation.

    Parameters
    ----------
    base : ndarray
        Whole numbers, ``[T, d]``, over the denominator ``common``.
    maps : sequence of ndarray
        What multiplies each column of W, ``[T, m]`` each, over the same denominator.
    common : int
    most : int
        The largest denominator allowed.
    """

    def __init__(self, base: Array, maps: Sequence[Array], common: int, most: int) -> None:
        self.base, self.maps, self.common, self.most = base, maps, common, most
        self.tokens, self.d = base.shape
        self.nearest = 0  # the largest number of rows that were rational at once

    def found(self, rng: np.random.RandomState) -> list[Found]:
        """Search from several starts; the best solutions, the cheapest first."""
        hits: dict[bytes, Found] = {}
        for _ in range(RESTARTS):
            for weight in self._from(rng):
                hit = self._judged(weight)
                if hit is not None:
                    hits[weight.tobytes()] = hit
            if len(hits) >= KEPT:
                break
        return sorted(hits.values(), key=lambda hit: hit.cost)[:KEPT]

    def _from(self, rng: np.random.RandomState) -> Iterator[Array]:
        pool = columns_of(rng, POOL, self.maps[0].shape[1])
        n = len(pool)
        # what each column of the pool makes of each column of the sum, [d, T, n]
        sums = np.stack(
            [b[:, None] + m @ pool.T for b, m in zip(self.base.T, self.maps, strict=True)]
        )
        chosen = np.array(rng.randint(n, size=self.d))
        pairs = list(combinations(range(self.d), 2))
        for i in rng.permutation(len(pairs))[: 2 * self.d]:
            j, k = pairs[i]
            good = self._pairs(sums, chosen, j, k)
            count = good.sum(axis=0)
            self.nearest = max(self.nearest, int(count.max()))
            every = np.argwhere(count == self.tokens)
            for a, b in every[rng.permutation(len(every))[:60]]:
                own = chosen.copy()
                own[[j, k]] = a, b
                yield pool[own].T
            best = np.argwhere(count == count.max())
            chosen[[j, k]] = best[rng.randint(len(best))]

    def _pairs(self, sums: Array, chosen: Array, j: int, k: int) -> Array:
        """Tell for every pair of columns j and k which rows have a rational σ, ``[T, n, n]``."""
        others = [i for i in range(self.d) if i not in (j, k)]
        kept = (
            np.stack([sums[i, :, chosen[i]] for i in others])
            if others
            else np.zeros((1, self.tokens), np.int64)
        )
        total = kept.sum(axis=0)[:, None, None] + sums[j][:, :, None] + sums[k][:, None, :]
        squares = (
            (kept**2).sum(axis=0)[:, None, None]
            + sums[j][:, :, None] ** 2
            + sums[k][:, None, :] ** 2
        )
        spread = self.d * squares - total**2
        return np.asarray(is_square(spread) & (spread > 0))

    def _judged(self, weight: Array) -> Found | None:
        if not plain(weight):
            return None
        columns = [b + m @ w for b, m, w in zip(self.base.T, self.maps, weight.T, strict=True)]
        sums = np.stack(columns, axis=1)
        largest = denominators(sums, self.d, self.common)
        if largest > self.most or alike(_normalized(sums)):
            return None
        size = float(np.abs(sums).mean()) / self.common
        return Found(weight, 2 * math.log2(largest) + size + 0.1 * float(np.abs(weight).sum()))


def _normalized(sums: Array) -> Array:
    """Give the deviations of each row in lowest terms: alike where the normalized rows are."""
    d = sums.shape[1]
    centered = d * sums - sums.sum(axis=1, keepdims=True)
    return np.asarray(centered // np.maximum(np.gcd.reduce(centered, axis=1), 1)[:, None])


def plain(weight: Array) -> bool:
    """Tell whether a weight has no row and no column of zeros, and no two columns alike."""
    return bool(weight.any(axis=0).all() and weight.any(axis=1).all()) and not alike(weight.T)


def alike(rows: Array) -> bool:
    """Tell whether two rows are the same."""
    return len(np.unique(rows, axis=0)) < len(rows)
