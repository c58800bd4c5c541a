"""Masks, and weights of queries and keys by which the softmax has short results."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from blockcalc.ops.op import Array
from blockcalc.records import dataclass
from blockcalc.teach.design.exact import as_fraction, whole
from blockcalc.teach.design.pools import alike, columns_of, plain
from blockcalc.teach.design.wanted import Wanted

STARTS, POOL = 8, 60  # starts of the search for a head, and columns in its pool
MOST_SCORE = 4  # a score, after the scale, by which powers stay short
TIES = 3  # pairs of visible keys whose scores are to be equal, in all, under a causal mask
BROKEN = 1000.0  # the cost of a row of scores that does not suit


def draw_masks(wanted: Wanted, data: dict[str, Any], rng: np.random.RandomState) -> None:
    """Choose what each query may see, unless it is given: with equal scores, rows that differ."""
    attn = data["attn"]
    if wanted.softmax != "exact" or "mask" in attn or "causal" in attn:
        return
    t = wanted.tokens
    if t * (t - 1) // 2 <= TIES:
        attn["causal"] = True
        return
    keep = np.eye(t, dtype=int)
    for i in range(t):
        keep[i, (i + 1 + rng.randint(t - 1)) % t] = 1
    attn["mask"] = {"keep": keep.tolist()}


def visible(wanted: Wanted, attn: Mapping[str, Any]) -> Array:
    """Tell which keys each query sees, ``[heads, T, T]``."""
    shape = (wanted.heads, wanted.tokens, wanted.tokens)
    seen = np.ones(shape, bool)
    if attn.get("causal"):
        seen &= np.tri(wanted.tokens, dtype=bool)
    keep = (attn.get("mask") or {}).get("keep")
    return seen if keep is None else seen & np.array(keep, bool)


def draw_scores(
    wanted: Wanted, data: dict[str, Any], entered: Array, rng: np.random.RandomState
) -> bool:
    """Choose the weights of queries and keys that are not given; False if none suit."""
    attn = data["attn"]
    if "w_q" in attn and "w_k" in attn:
        return True
    (x,), common = whole(entered)
    chosen: list[tuple[Array, Array]] = []
    for i, seen in enumerate(visible(wanted, attn)):
        given = [_given(attn, key, i, wanted.d_head) for key in ("w_q", "w_k")]
        pair = _Head(wanted, x, common, seen).found(given, rng)
        if pair is None:
            return False
        chosen.append(pair)
    for part, i in (("w_q", 0), ("w_k", 1)):
        if part not in attn:
            weight = np.concatenate([pair[i] for pair in chosen], axis=1)
            if not plain(weight):
                return False
            attn[part] = weight.tolist()
    return True


def _given(attn: Mapping[str, Any], key: str, head: int, width: int) -> Array | None:
    """Give the columns of a head in a weight that is given."""
    if key not in attn:
        return None
    rows = [[round(as_fraction(float(v))) for v in row] for row in attn[key]]
    return np.array(rows, np.int64)[:, head * width : (head + 1) * width]


@dataclass
class _Head:
    """The scores of one head: the weight of its queries, or of its keys, column by column."""

    wanted: Wanted
    x: Array
    common: int
    seen: Array

    def found(
        self, given: list[Array | None], rng: np.random.RandomState
    ) -> tuple[Array, Array] | None:
        d, e = self.wanted.d_model, self.wanted.d_head
        best: tuple[float, Array, Array] | None = None
        for _ in range(STARTS):
            right = given[0] is None  # whether the keys are fixed, and the queries sought
            fixed = given[1] if right else given[0]
            if fixed is None:
                fixed = columns_of(rng, 8 * e, d, sparse=True)[:e].T
            if fixed.shape[1] < e:
                continue
            sought, cost = self._sought(self.x @ fixed, right, rng)
            pair = (sought, fixed) if right else (fixed, sought)
            total = cost + 0.3 * float(np.abs(fixed).sum() + np.abs(sought).sum())
            if cost < BROKEN and self._good(*pair) and (best is None or total < best[0]):
                best = total, *pair
            if best is not None:
                break
        return None if best is None else best[1:]

    def _sought(self, fixed: Array, right: bool, rng: np.random.RandomState) -> tuple[Array, float]:
        """Find columns by which the scores suit, two at a time; the weight and its cost."""
        e = fixed.shape[1]
        pool = columns_of(rng, POOL, self.x.shape[1], sparse=True)
        made = self.x @ pool.T  # [T, n]
        parts = [np.einsum("in,j->nij", made, k) if right else np.einsum("i,jn->nij", k, made)
                 for k in fixed.T]  # fmt: skip
        chosen = np.array(rng.randint(len(pool), size=e))
        pairs = list(combinations(range(e), 2)) or [(0, 0)]
        least = np.inf
        for n in rng.permutation(len(pairs))[: 2 * e]:
            j, k = pairs[n]
            rest = sum(
                (parts[i][chosen[i]] for i in range(e) if i not in (j, k)),
                np.zeros_like(self.seen, np.int64),
            )
            if j == k:
                costs = self._cost(rest + parts[0])
                chosen[0] = int(costs.argmin())
            else:
                costs = self._cost(rest + parts[j][:, None] + parts[k][None, :])
                chosen[[j, k]] = np.unravel_index(int(costs.argmin()), costs.shape)
            least = float(costs.min())
        return pool[chosen].T, least

    def _good(self, w_q: Array, w_k: Array) -> bool:
        """Tell whether no column is 0, no two tokens are alike, and queries differ from keys."""
        q, k = self.x @ w_q, self.x @ w_k
        if np.array_equal(w_q, w_k) or not (w_q.any(axis=0).all() and w_k.any(axis=0).all()):
            return False
        if not (q.any(axis=1).all() and k.any(axis=1).all()):
            return False
        alone = self.wanted.heads == 1
        return not alone or (plain(w_q) and plain(w_k) and not alike(q) and not alike(k))

    def _cost(self, scores: Array) -> Array:
        """Rate scores ``[..., T, T]`` by how short their softmax is; unfit rows count most."""
        wanted, seen = self.wanted, self.seen
        below = self.common**2 * wanted.factor.denominator if wanted.exact else self.common**2
        s = scores * (wanted.factor.numerator if wanted.exact else float(wanted.factor)) / below
        low, high = np.where(seen, s, 99).min(axis=-1), np.where(seen, s, -99).max(axis=-1)
        shown = np.where(seen, s, 0)
        several = seen.sum(axis=1) > 1
        same = np.isclose(low, high) | ~several
        broken = (np.abs(shown) > (9 if wanted.softmax == "exact" else MOST_SCORE)).sum(axis=-1)
        if wanted.softmax == "exact":
            broken = broken + ~same + (np.abs(high) < 1e-9)
            flat = np.isclose(high, high[..., :1]).all(axis=-1)
        else:
            flat = (same & several).sum(axis=-1) > (1 if several.sum() > 2 else 0)
        if wanted.softmax == "base2":
            broken = broken + (shown != np.rint(shown)).any(axis=-1) + (low < -1)
            power = 2.0 ** np.clip(shown - low[..., None], 0, 30)
            total = np.where(seen, power, 0).sum(axis=-1)
            broken = broken + (total > wanted.most)
        cost = np.abs(shown).sum(axis=(-2, -1)) + BROKEN * (broken.sum(axis=-1) + flat)
        if wanted.softmax == "base2":
            cost = cost + 3.0 * (np.log2(total) % 1 > 0).sum(axis=-1) + 4.0 * (low < 0).sum(axis=-1)
        return np.asarray(cost)
