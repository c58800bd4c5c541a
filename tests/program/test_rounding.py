"""Rounded runs against the same block in exact fractions, rounded half away from zero."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc import BlockcalcError
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.op import Ref
from blockcalc.program.rounding import Rounding

Matrix = list[list[Fraction]]
WIDE = Context(prec=60)


class Paper:
    """A block worked by hand: every result is rounded before the next."""

    def __init__(self, kind: str, digits: int) -> None:
        self.kind, self.digits = kind, digits
        self.steps: dict[str, Matrix] = {}

    def rounded(self, x: Fraction) -> Fraction:
        if x == 0:
            return x
        number = decimal(x)
        places = self.digits if self.kind == "decimals" else self.digits - 1 - number.adjusted()
        return Fraction(number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))

    def step(self, name: str, rows: Any) -> Matrix:
        self.steps[name] = [[self.rounded(x) for x in row] for row in rows]
        return self.steps[name]

    def exp(self, x: Fraction) -> Fraction:
        return Fraction(decimal(x).exp(WIDE))

    def root(self, x: Fraction) -> Fraction:
        return Fraction(decimal(x).sqrt(WIDE))

    def norm(self, name: str, x: Matrix, kind: str, eps: Fraction) -> Matrix:
        n = len(x[0])
        if kind == "layer":
            mean = self.step(f"{name}.mean", [[sum(r, Fraction(0)) / n] for r in x])
            x = self.step(
                f"{name}.centered", [[v - m[0] for v in r] for r, m in zip(x, mean, strict=True)]
            )
        square = "var" if kind == "layer" else "mean_square"
        v = self.step(f"{name}.{square}", [[sum((a * a for a in r), Fraction(0)) / n] for r in x])
        root = "std" if kind == "layer" else "rms"
        s = self.step(f"{name}.{root}", [[self.root(a[0] + eps)] for a in v])
        return self.step(name, [[a / d[0] for a in r] for r, d in zip(x, s, strict=True)])

    def attention(self, x: Matrix, w: dict[str, Matrix]) -> Matrix:
        q, k, v = (self.step(f"attn.{p}", product(x, w[f"w_{p}"])) for p in "qkv")
        s = self.step("attn.scores", product(q, transposed(k)))
        s = self.step("attn.scaled", [[a / self.root(Fraction(len(q[0]))) for a in r] for r in s])
        e = self.step("attn.weights.exp", [[self.exp(a) for a in r] for r in s])
        total = self.step("attn.weights.sum", [[sum(r, Fraction(0))] for r in e])
        p = self.step(
            "attn.weights", [[a / t[0] for a in r] for r, t in zip(e, total, strict=True)]
        )
        return self.step("attn.z", product(p, v))

    def ffn(self, x: Matrix, w: dict[str, Matrix]) -> Matrix:
        pre = self.step("ffn.pre", [[a + b for a, b in zip(r, w["b_1"][0], strict=True)]
                                    for r in product(x, w["w_1"])])  # fmt: skip
        act = self.step("ffn.act", [[max(a, Fraction(0)) for a in r] for r in pre])
        return self.step("ffn.out", product(act, w["w_2"]))

    def residual(self, name: str, x: Matrix, y: Matrix) -> Matrix:
        return self.step(
            name, [[a + b for a, b in zip(r, q, strict=True)] for r, q in zip(x, y, strict=True)]
        )


def decimal(x: Fraction) -> Decimal:
    return WIDE.divide(Decimal(x.numerator), Decimal(x.denominator))


def product(a: Matrix, b: Matrix) -> Matrix:
    return [[sum((x * y for x, y in zip(row, col, strict=True)), Fraction(0)) for col in zip(*b, strict=True)]
            for row in a]  # fmt: skip


def transposed(a: Matrix) -> Matrix:
    return [list(col) for col in zip(*a, strict=True)]


def short(rng: np.random.RandomState, rows: int, cols: int, decimals: int) -> list[list[str]]:
    """Draw decimals as a person writes them."""
    top = 2 * 10**decimals
    return [[str(Decimal(int(n)).scaleb(-decimals)) for n in rng.randint(-top, top + 1, cols)]
            for _ in range(rows)]  # fmt: skip


def exactly(text: list[list[str]]) -> Matrix:
    return [[Fraction(v) for v in row] for row in text]


def on_paper(data: dict[str, Any], order: str, kind: str, rule: tuple[str, int]) -> Paper:
    paper = Paper(*rule)
    x = exactly(data["x"])
    attn = {k: exactly(v) for k, v in data["attn"].items()}
    ffn = {k: exactly(v if k[0] == "w" else [v]) for k, v in data["ffn"].items()}
    eps = Fraction(1, 1000)
    if order == "post":
        x = paper.norm("norm1", paper.residual("residual1", x, paper.attention(x, attn)), kind, eps)
        paper.norm("norm2", paper.residual("residual2", x, paper.ffn(x, ffn)), kind, eps)
    else:
        x = paper.residual("residual1", x, paper.attention(paper.norm("norm1", x, kind, eps), attn))
        paper.residual("residual2", x, paper.ffn(paper.norm("norm2", x, kind, eps), ffn))
    return paper


def floats(value: Any) -> Any:
    return [floats(v) for v in value] if isinstance(value, list) else float(value)


RULES = [("decimals", 1), ("decimals", 2), ("decimals", 3), ("significant", 2), ("significant", 3)]


@pytest.mark.parametrize("seed", range(60))
def test_every_cell_is_what_paper_gives(seed: int) -> None:
    rng = np.random.RandomState(seed)
    t, d, f, places = rng.randint(1, 4), rng.randint(2, 5), rng.randint(1, 5), rng.randint(1, 3)
    e = int(rng.choice([1, 2, 4]))
    data: dict[str, Any] = {
        "x": short(rng, t, d, places),
        "attn": {
            "w_q": short(rng, d, e, 1),
            "w_k": short(rng, d, e, 1),
            "w_v": short(rng, d, d, places),
        },
        "ffn": {
            "w_1": short(rng, d, f, 1),
            "b_1": short(rng, 1, f, places)[0],
            "w_2": short(rng, f, d, 2),
        },
    }
    order, kind = rng.choice(["post", "pre"]), rng.choice(["layer", "rms"])
    rule = RULES[seed % len(RULES)]
    spec = blockcalc.load({**{k: floats(v) if k == "x" else {n: floats(m) for n, m in v.items()}
                              for k, v in data.items()},
                           "norm": {"order": order, "kind": kind, "eps": 0.001}, "round": {rule[0]: rule[1]}})  # fmt: skip
    try:
        paper = on_paper(data, order, kind, rule)
    except ZeroDivisionError:
        with pytest.raises(BlockcalcError, match="rounded to 0"):
            blockcalc.run(spec)
        return
    trace = blockcalc.run(spec)
    for name, want in paper.steps.items():
        got = trace[name].reshape(len(want), -1).tolist()
        assert got == [[float(v) for v in row] for row in want], name


def test_a_tie_after_cancellation_is_rounded_as_on_paper() -> None:
    data: dict[str, Any] = {"x": [[1, 1.1]], "round": {"decimals": 2}, "stop": "attn.v",
            "attn": {"w_q": [[1, 0], [0, 1]], "w_k": [[1, 0], [0, 1]], "w_v": [[0.5, 0], [-0.45, 1]]}}  # fmt: skip
    assert blockcalc.run(blockcalc.load(data))["attn.v"].tolist() == [[0.01, 1.1]]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ties_in_both_precisions(dtype: str) -> None:
    data: dict[str, Any] = {"x": [[1, 1.1, 0.2], [0.3, 0.1, 0.2]], "round": {"decimals": 1}, "stop": "residual1",
            "attn": {"out": [[0.25, -0.75, 0.15], [0.35, -0.15, -0.25]]}}  # fmt: skip
    got = blockcalc.run(blockcalc.load(data), dtype)["residual1"]
    want = np.array([[1.3, 0.4, 0.4], [0.7, -0.1, -0.1]], dtype)
    assert got.tolist() == want.tolist()


def test_what_cancels_to_nothing_is_0_in_significant_digits() -> None:
    data: dict[str, Any] = {"x": [[0.1, 0.2, 0.3]], "round": {"significant": 3}, "stop": "attn.q",
            "attn": {"w_q": [[1], [1], [-1]], "w_k": [[1], [0], [0]], "w_v": [[1, 0, 0]] * 3}}  # fmt: skip
    assert blockcalc.run(blockcalc.load(data))["attn.q"].tolist() == [[0.0]]


def test_a_row_of_exponentials_rounded_to_0_is_refused() -> None:
    data: dict[str, Any] = {"x": [[3, 0], [0, 3]], "round": {"decimals": 2}, "stop": "attn.out",
            "attn": {"w_q": [[-3, -3], [-3, -3]], "w_k": [[1, 1], [1, 1]], "w_v": [[1, 0], [0, 1]]}}  # fmt: skip
    with pytest.raises(
        BlockcalcError, match=r"attn.weights\[0\] divides by a number that has been rounded to 0"
    ):
        blockcalc.run(blockcalc.load(data))
    whole = blockcalc.run(blockcalc.load({**data, "attn": {**data["attn"], "softmax": "shifted"}}))
    assert whole["attn.weights"].tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_deviations_rounded_to_0_are_refused_and_equal_rows_are_not(kind: str) -> None:
    row = [0.001, -0.001] if kind == "layer" else [0.001, 0.002]
    data: dict[str, Any] = {"x": [row], "round": {"decimals": 2}, "norm": {"order": "pre", "kind": kind, "eps": 0}, "stop": "norm1",
            "attn": {"w_q": [[1], [1]], "w_k": [[1], [1]], "w_v": [[1, 0], [0, 1]]}}  # fmt: skip
    with pytest.raises(BlockcalcError, match="rounded to 0"):
        blockcalc.run(blockcalc.load(data))
    equal = [[0.3, 0.3]] if kind == "layer" else [[0.0, 0.0]]
    assert blockcalc.run(blockcalc.load({**data, "x": equal}))["norm1"].tolist() == [[0, 0]]


def test_a_masked_row_stays_a_convention_in_a_rounded_run() -> None:
    data: dict[str, Any] = {"x": [[1, 0], [0, 1]], "round": {"decimals": 2}, "stop": "attn.out",
            "attn": {"w_q": [[1], [1]], "w_k": [[1], [1]], "w_v": [[1, 0], [0, 1]], "padding": ["pad", "pad"]}}  # fmt: skip
    assert blockcalc.run(blockcalc.load(data))["attn.weights"].tolist() == [[0, 0], [0, 0]]


def test_the_exact_path_is_for_doubtful_cells_alone() -> None:
    """A block of a hundred thousand cells is rounded in seconds."""
    seen = []

    class Watched(Rounding):
        def of(self, x: Decimal) -> float:
            seen.append(x)
            return super().of(x)

    rng = np.random.RandomState(0)
    a, b = rng.normal(size=(64, 32)), rng.normal(size=(32, 64))
    refs = (
        Ref("a", "A", ("token", "d"), (64, 32), "data"),
        Ref("b", "B", ("d", "e"), (32, 64), "weight"),
    )
    Watched("decimals", 3).result(MatMul(), refs, [a, b], a @ b)
    assert len(seen) == 64 * 64
