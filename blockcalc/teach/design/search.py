"""The search for a block, part by part: input, scores, values, FFN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np

from blockcalc.nn.orders import NORM_KEYS
from blockcalc.ops.op import Array
from blockcalc.records import dataclass
from blockcalc.teach.design.attention import draw_masks, draw_scores
from blockcalc.teach.design.exact import Exact, whole
from blockcalc.teach.design.pools import (
    ColumnSearch,
    Found,
    alike,
    columns_of,
    denominators,
    is_square,
    plain,
    rational_rows,
)
from blockcalc.teach.design.score import useful
from blockcalc.teach.design.wanted import Wanted

TRIES = 400  # inputs and scores that are tried
DRAWN = 400  # weights of an FFN that are drawn at once
INPUT = (-1, 0, 1, 2, 3)
INPUT_CHANCES = (0.15, 0.25, 0.3, 0.2, 0.1)
RANGES = {4: (-1, 0, 1, 2, 3), 5: (-2, -1, 0, 1, 2, 3), 6: (-1, 0, 1, 2, 3), 8: (-1, 0, 1, 2)}
ENOUGH = 20  # rows to choose from, at least
DECIMALS = 3  # of the steps of a block that cannot be worked in fractions
USED = 4  # solutions of the attention for which an FFN is sought
SHORT = 2  # the largest denominator of a normalized input
CLIPPED = (0.2, 0.65)  # the share of entries that the activation may clip

Data = dict[str, Any]


@dataclass
class Near:
    """How near a search came: the most rows with a rational σ at each norm, and candidates."""

    rows: dict[str, int] = field(default_factory=dict)
    tried: int = 0
    whole: int = 0  # blocks that were whole, but for the length of their numbers

    def saw(self, norm: str, rows: int) -> None:
        """Record how many rows had a rational σ at once."""
        self.rows[norm] = max(self.rows.get(norm, 0), rows)


def candidates(wanted: Wanted, near: Near, pause: Callable[[], None]) -> Iterator[Data]:
    """Yield blocks, each the content of a file, in an order that depends on the seed alone.

    ``pause`` is called often; it may raise an exception to end the search.
    """
    for attempt in range(TRIES):
        rng = np.random.RandomState([wanted.seed, attempt])
        near.tried = attempt + 1
        pause()
        start = _start(wanted, rng, near)
        if start is None:
            continue
        for data in _values(wanted, start, rng, near, pause):
            yield from _ffn(wanted, data, rng, near, pause)


# input and scores --------------------------------------------------------------------------------


def _start(wanted: Wanted, rng: np.random.RandomState, near: Near) -> Data | None:
    """Choose the input, the mask, and the weights of queries and keys."""
    data: Data = {"norm": wanted.order, **wanted.given}
    data.setdefault("tokens", [f"t{i + 1}" for i in range(wanted.tokens)])
    data["attn"], data["ffn"] = wanted.part("attn"), wanted.part("ffn")
    for key in NORM_KEYS[:2]:
        data[key] = {"eps": 0, **wanted.part(key)}
    if "x" not in data:
        x = _input(wanted, rng)
        if x is None:
            return None
        data["x"] = x.tolist()
    attn = data["attn"]
    if wanted.heads > 1:
        attn["n_heads"] = wanted.heads
    if wanted.scale is not None:
        attn["scale"] = wanted.scale
    if wanted.softmax == "base2":
        attn["softmax"] = {"base": 2}
    elif wanted.softmax == "exact":
        attn.setdefault("softmax", "shifted")
    if not wanted.exact:
        data.setdefault("round", {"decimals": DECIMALS})
    draw_masks(wanted, data, rng)
    entered = _entered(wanted, data)
    if entered is None:
        (x,), _ = whole(Exact({"x": data["x"], "attn": {"out": data["x"]}}, "residual1")["x"])
        spread = wanted.d_model * (x**2).sum(axis=1) - x.sum(axis=1) ** 2
        near.saw(NORM_KEYS[0], int(is_square(spread).sum()))
    return data if entered is not None and draw_scores(wanted, data, entered, rng) else None


def _input(wanted: Wanted, rng: np.random.RandomState) -> Array | None:
    """Draw tokens, no two alike; in pre-norm, rows whose σ is a fraction."""
    t, d = wanted.tokens, wanted.d_model
    if wanted.order == "pre":
        pool = _short_rows(d)
        x = pool[rng.randint(len(pool), size=t)]
    else:
        x = rng.choice(INPUT, (t, d), p=INPUT_CHANCES)
    return x if plain(x.T) and not alike(x) and x.any(axis=1).all() else None


@cache
def _short_rows(d: int) -> Array:
    """List the rows of small whole numbers whose normalized rows are the shortest."""
    pool = rational_rows(d, RANGES[d])
    pool = pool[np.abs(pool).sum(axis=1) <= 2 * d]
    cost = np.array([denominators(row[None], d, 1) for row in pool])
    return np.asarray(pool[cost <= max(SHORT, np.sort(cost)[ENOUGH])])


def _entered(wanted: Wanted, data: Data) -> Array | None:
    """Give what enters the attention: x, or its norm."""
    sizes = np.zeros((wanted.d_model, wanted.heads * wanted.d_head), int).tolist()
    attn = {f"w_{part}": sizes for part in "qkv"} | {
        k: v for k, v in data["attn"].items() if k in ("n_heads", "scale")
    }
    own = Exact({**data, "attn": attn, "ffn": {}}, "attn.q")
    ref = own.program.equations[-1].inputs[0]
    x = own[ref.name]
    return None if any(v is None for v in x.flat) else x


# values and output -------------------------------------------------------------------------------


def _zeros(rows: int, columns: int) -> list[list[int]]:
    return np.zeros((rows, columns), int).tolist()


def _with(data: Data, part: str, **keys: Any) -> Data:
    return {**data, part: {**data[part], **keys}}


def _values(
    wanted: Wanted, data: Data, rng: np.random.RandomState, near: Near, pause: Callable[[], None]
) -> Iterator[Data]:
    """Choose the weights of values and output, by which the rows of the residual are rational."""
    d, attn = wanted.d_model, data["attn"]
    last = "w_o" if wanted.heads > 1 or "w_o" in attn else "w_v"
    if last == "w_o" and "w_v" not in attn:
        data = _with(data, "attn", w_v=_drawn(rng, d, d).tolist())
    if last in attn or not wanted.exact:
        yield data if last in attn else _with(data, "attn", **{last: _drawn(rng, d, d).tolist()})
        return
    weight = Exact(_with(data, "attn", **{last: _zeros(d, d)}), "residual1")
    maps = _maps(wanted, weight, last)
    base, used = weight["residual1"], 0
    for found in _searched(
        wanted,
        base,
        maps,
        rng,
        near,
        NORM_KEYS[0] if wanted.order == "post" else NORM_KEYS[1],
        True,
    ):
        pause()
        own = _with(data, "attn", **{last: found.weight.tolist()})
        if useful(Exact(own, "residual1")):
            used += 1
            yield own
        if used >= USED:
            break


def _maps(wanted: Wanted, own: Exact, last: str) -> list[Array]:
    """Give what multiplies each column of the last weight of the attention."""
    if last == "w_o":
        return [own["attn.concat"]] * wanted.d_model
    weights = own["attn.weights"]
    x = own[next(eq for eq in own.program.equations if eq.out.part == "value").inputs[0].name]
    return [weights.dot(x)] * wanted.d_model


def _drawn(rng: np.random.RandomState, rows: int, columns: int) -> Array:
    """Draw a weight without rows or columns of zeros, and no two columns alike."""
    while True:
        weight = columns_of(rng, 8 * columns, rows, sparse=True)[:columns].T
        if weight.shape[1] == columns and plain(weight):
            return weight


def _searched(
    wanted: Wanted,
    base: Array,
    maps: list[Array],
    rng: np.random.RandomState,
    near: Near,
    norm: str,
    normed: bool,
) -> list[Found]:
    """Search the columns of a weight; without a norm after it, any small ones will do."""
    if not normed:
        return [Found(_drawn(rng, maps[0].shape[1], base.shape[1]), 0.0)]
    if any(v is None for m in (base, *maps) for v in m.flat):
        return []
    (first, *rest), common = whole(base, *maps)
    search = ColumnSearch(first, rest, common, wanted.most)
    found = search.found(rng)
    near.saw(norm, search.nearest)
    return found


# FFN ---------------------------------------------------------------------------------------------


def _ffn(
    wanted: Wanted, data: Data, rng: np.random.RandomState, near: Near, pause: Callable[[], None]
) -> Iterator[Data]:
    """Choose the weights of the FFN: the first clips some entries, the second suits the norm."""
    d, f = wanted.d_model, wanted.width
    for own in _hidden(wanted, data, rng):
        pause()
        if "w_2" in own["ffn"] or not wanted.exact:
            yield own if "w_2" in own["ffn"] else _with(own, "ffn", w_2=_drawn(rng, f, d).tolist())
            continue
        exact = Exact(_with(own, "ffn", w_2=_zeros(f, d)), "residual2")
        base, act = exact["residual2"], exact["ffn.act"]
        post = wanted.order == "post"
        for found in _searched(wanted, base, [act] * d, rng, near, NORM_KEYS[1], post):
            yield _with(own, "ffn", w_2=found.weight.tolist())


def _hidden(wanted: Wanted, data: Data, rng: np.random.RandomState) -> Iterator[Data]:
    """Draw first weights of the FFN, and yield those with the shortest results."""
    if "w_1" in data["ffn"]:
        yield data
        return
    d, f = wanted.d_model, wanted.width
    if not wanted.exact:
        yield _with(data, "ffn", w_1=_drawn(rng, d, f).tolist())
        return
    own = Exact(_with(data, "ffn", w_1=_zeros(d, f)), "ffn.pre")
    entered = own[own.program.equations[-1].inputs[0].name]
    if any(v is None for v in entered.flat):
        return
    (x, bias), common = whole(entered, own["ffn.pre"])
    ways: list[tuple[float, int, Array]] = []
    for i in range(DRAWN):
        weight = _drawn(rng, d, f)
        hidden = bias + x @ weight
        if clips(hidden):
            size = float(np.abs(hidden).mean()) / common + 0.1 * float(np.abs(weight).sum())
            ways.append((size, i, weight))
    for _, _, weight in sorted(ways, key=lambda way: way[:2])[:2]:
        yield _with(data, "ffn", w_1=weight.tolist())


def clips(hidden: Array) -> bool:
    """Tell whether an activation clips some entries, none of its columns is dead, no row empty."""
    live = hidden > 0
    share = float((hidden < 0).mean())
    whole_columns = live.any(axis=0).all() and live.any(axis=1).all()
    return bool(CLIPPED[0] <= share <= CLIPPED[1] and whole_columns) and not alike(hidden)
