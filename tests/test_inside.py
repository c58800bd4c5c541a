"""The rooms from inside: choosing steps, wording, and the corners of the alphabets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.errors import UsageError
from blockcalc.explain.depth import Depth, chosen_steps
from blockcalc.explain.document import Closing, Grid, Head, Heading, Remark, Result, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.explain.summary import composed_formulas, flow
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.layers import residual
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.notation.digits import constant, figure, power_figure
from blockcalc.notation.signs import clean, plain_signs
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.evaluate import FUNCTIONS, evaluate
from blockcalc.ops.expr import (
    Binary,
    Call,
    Dots,
    Expr,
    Figure,
    Fold,
    Name,
    Num,
    Over,
    Slot,
    exp,
    substitute,
    walk,
)
from blockcalc.program.builder import Builder, Finished
from blockcalc.program.rounding import Rounding

TINY = blockcalc.load(folder() / "tiny.yaml")


def pieces(spec: Spec, **depth: Any) -> list[Any]:
    return list(explain(spec, blockcalc.run(spec), Depth(**depth)))


def steps(spec: Spec, **depth: Any) -> list[StepPiece]:
    return [p for p in pieces(spec, **depth) if isinstance(p, StepPiece)]


def test_steps_are_chosen_by_name_alias_end_and_pattern() -> None:
    program = blockcalc.run(TINY).program
    assert chosen_steps(program, ["out"]) == {"norm2"}
    assert chosen_steps(program, ["scores"]) == {"attn.scores"}
    assert chosen_steps(program, ["norm?.mean"]) == {"norm1.mean", "norm2.mean"}
    assert chosen_steps(program, ["attn.out", "ffn"]) == {"attn.z", "ffn.out"}
    assert chosen_steps(program, ["x"]) == {"x"}
    for pattern, said in (
        ("mean", "matches several"),
        ("norm7.*", "no step is named"),
        ("y", "there is no step 'y'"),
    ):
        with pytest.raises(UsageError, match=said):
            chosen_steps(program, [pattern])


def test_a_few_chosen_steps_come_without_head_and_closing() -> None:
    kinds = {type(p) for p in pieces(TINY, patterns=("norm1.*",))}
    assert kinds == {Heading, Remark, StepPiece}
    everything = pieces(TINY)
    assert isinstance(everything[0], Head)
    assert [type(p) for p in everything[-2:]] == [Closing, Result]
    assert isinstance(pieces(TINY.with_order("pre"))[-1], Remark)


def test_a_step_may_be_found_by_its_end_unless_several_end_so() -> None:
    trace = blockcalc.run(TINY)
    assert trace["scores"] is trace["attn.scores"]
    with pytest.raises(KeyError, match=r"matches several steps: norm1\.mean, norm2\.mean"):
        trace["mean"]
    with pytest.raises(blockcalc.BlockcalcError, match="there is no step 'zzz'"):
        trace["zzz"]
    assert "attn.scores" in trace
    assert "zzz" not in trace
    assert len(trace) == 24
    with pytest.raises(AttributeError):
        blockcalc.nothing  # noqa: B018
    assert blockcalc.__version__


def test_the_worked_cells_are_named() -> None:
    said = {s.name: s.worked for s in steps(TINY)}
    assert said["attn.scores"] == "worked for t1"
    assert {s.worked for s in steps(TINY, detail="cells")} == {"every cell"}
    assert {s.worked for s in steps(TINY, detail="tables")} == {None}
    rng = np.random.RandomState(0)
    wide = blockcalc.load({"x": rng.normal(0, 1, (2, 12)), "attn": {"out": np.ones((2, 12))}})
    by_name = {s.name: s for s in steps(wide)}
    assert by_name[
        "residual1"
    ].worked == "worked for the first 8 of 12 cells of the row; --detail cells shows all" or (
        by_name["residual1"].worked
        == "the first 8 of 12 cells of the row; --detail cells shows all"
    )
    assert len(by_name["residual1"].lines) == 8
    assert by_name["norm1.mean"].lines[0].shortened is False
    one = blockcalc.load({"x": [[1, 2]], "attn": {"out": [[1, 1]]}})
    assert {s.worked for s in steps(one)} == {"every cell"}


def test_titles_of_the_parts_of_a_norm() -> None:
    data: dict[str, Any] = {"x": [[1, 2, 4]], "attn": {"out": [[1, 1, 0]]}}
    for norm, titles in (
        ({}, ["Normalized rows"]),
        ({"gamma": [1, 2, 3]}, ["Normalized rows", "Times gamma"]),
        ({"beta": [1, 2, 3]}, ["Normalized rows", "Plus beta"]),
        ({"gamma": [1, 2, 3], "beta": [1, 2, 3]}, ["Normalized rows", "Times gamma", "Plus beta"]),
    ):
        found = [s.title for s in steps(blockcalc.load({**data, "norm1": norm}))]
        assert found[5:] == titles


def test_a_function_in_a_formula_is_spelled_out() -> None:
    spec = blockcalc.load(folder() / "three_features.yaml", [("ffn.activation", "gelu")])
    act = next(s for s in steps(spec) if s.name == "ffn.act")
    assert act.definition is not None
    assert [Text().render(side) for side in act.definition] == ["GELU(x)", "0.5×x×erfc((-x) / √2)"]
    assert all(s.definition is None for s in steps(spec, detail="tables"))


def test_rounding_is_said_and_shows_all_its_digits() -> None:
    head = pieces(TINY.with_rounding(Rounding("significant", 3)))[0]
    said = "every step rounded to 3 significant figures before going on, half away from zero"
    assert ("rounding", (said,)) in head.facts


def test_a_row_that_paper_cannot_answer_is_noted() -> None:
    pre = TINY.with_order("pre")
    norm = next(s for s in steps(pre, detail="cells") if s.name == "norm1")
    assert norm.notes == (
        "Row 3 (t3): all its entries are equal and eps is 0, so the norm would divide 0 by 0; "
        "its normalized entries are set to 0.",
    )
    assert [line.middle for line in norm.lines[4:]] == [None, None]
    assert [s.notes for s in steps(pre, detail="tables") if s.name == "attn.weights"] == [()]


def test_other_conventions_are_named() -> None:
    spec = blockcalc.load(
        folder() / "three_features.yaml", [("attn.scale", "0.5"), ("attn.softmax", "shifted")]
    )
    said = "; ".join(dict(pieces(spec)[0].facts)["conventions"])
    assert "scores multiplied by 0.5" in said
    assert "the row maximum is subtracted first" in said
    tiny = blockcalc.load(folder() / "three_features.yaml", [("attn.scale", "1e-7")])
    assert "scores multiplied by 1e-7" in dict(pieces(tiny)[0].facts)["conventions"]


def test_the_block_in_short() -> None:
    text = Text()

    def formulas(spec: Spec) -> list[str]:
        program = blockcalc.run(spec).program
        return [f"{text.render(a)} = {text.render(b)}" for a, b in composed_formulas(program)]

    assert formulas(TINY.with_order("pre")) == [
        "H⁽¹⁾ = LN(X)",
        "O = softmax(Q Kᵀ / √d_head) V",
        "R⁽¹⁾ = X + O",
        "F = ReLU(LN(R⁽¹⁾) W_1) W_2",
        "R⁽²⁾ = R⁽¹⁾ + F",
    ]
    given = blockcalc.load(folder() / "tiny_from_attention.yaml")
    assert formulas(given)[0] == "H⁽¹⁾ = LN(X + O)"
    assert flow(blockcalc.run(given).program)[1] == "attention (given)"
    assert formulas(blockcalc.load(folder() / "tiny.yaml", [("stop", "attn.v")])) == [
        "V = X W_V"]  # fmt: skip


def test_corners_of_the_text_alphabet() -> None:
    text, plain = Text(), Text(plain=True)
    a, b = Name("A"), Name("B^(1)")
    assert text.render(Fold("+", (a, Dots(), b))) == "A + … + B⁽¹⁾"
    assert plain.render(Fold("+", (a, Dots(), b))) == "A + ... + B^(1)"
    assert text.render(Fold("max", (Figure("1"), Figure("-2")))) == "max(1, -2)"
    assert text.render(Over("max", a)) == "max(A)"
    assert plain.render(Over("sum", a)) == "sum A"
    assert text.render(Binary("*", Figure("-1"), Figure("1.5", -3))) == "(-1)×1.5×10⁻³"
    assert plain.render(Figure("1.5", -3)) == "1.5e-3"
    assert text.render(Binary("-", a, Binary("-", b, a))) == "A - (B⁽¹⁾ - A)"
    assert text.render(Binary("/", a, Binary("*", a, b))) == "A / (A×B⁽¹⁾)"
    assert text.render(Binary("^", b, Num(2.0))) == "(B⁽¹⁾)²"
    assert text.render(Binary("^", Figure("2"), Figure("3"))) == "2³"
    assert plain.render(Binary("^", a, Num(2.0))) == "A^2"
    assert text.render(Num(2.5)) == "2.5"
    assert text.render(Call("sqrt", (Figure("1", -3),))) == "√(1×10⁻³)"
    assert plain.render(Call("sqrt", (Num(2.0, "d_head"),))) == "sqrt(d_head)"
    assert text.render(Figure("-inf")) == "-∞"
    assert plain.render(Binary(".", a, b)) == "A (*) B^(1)"
    assert text.symbol("_") == "_"
    assert text.render(substitute(Over("sum", a), lambda e: b)) == "Σ B⁽¹⁾"
    with pytest.raises(TypeError):
        text.render(Expr())


def test_corners_of_the_latex_alphabet() -> None:
    tex = Latex()
    a = Name("A")
    assert tex.render(Fold("+", (a, Dots(), a))) == r"A + \cdots + A"
    assert tex.render(Fold("max", (a, Figure("-2")))) == r"\max(A, -2)"
    assert tex.render(Over("max", a)) == r"\max_{j} A"
    assert tex.render(Figure("-inf")) == r"-\infty"
    assert tex.render(Figure("-1.5", -3)) == r"-1.5 \times 10^{-3}"
    assert tex.render(Binary("/", Fold("+", (a,) * 8), a)) == "(" + " + ".join("A" * 8) + ") / A"
    assert tex.render(Binary("-", a, Binary("-", a, a))) == "A - (A - A)"
    assert tex.render(Binary("*", Num(-1.0), Binary("+", a, a))) == "-(A + A)"
    assert tex.render(Binary("^", Figure("-2"), Figure("3"))) == "(-2)^{3}"
    assert tex.render(Call("GELU_tanh", (a,))) == r"\mathrm{GELU\_tanh}(A)"
    assert tex.render(Call("at", (Name("S_scaled"), Name("1")))) == r"S_{\mathrm{scaled}}[1]"
    assert tex.symbol("mean") == r"\mathrm{mean}"
    assert tex.symbol("_") == "_"
    assert tex.render(Call("ratio", (a, a))) == r"\frac{A}{A}"
    assert tex.render(Call("transpose", (a,))) == r"A^{\top}"
    assert tex.render(Num(2.5)) == "2.5"
    with pytest.raises(TypeError):
        tex.render(Expr())


def test_signs_and_steering() -> None:
    assert plain_signs("√x ≈ γ 颗", "ascii") == "sqrt(x) ~= gamma ?"
    assert plain_signs("√x ≈ γ 颗", "utf-8") == "√x ≈ γ 颗"
    assert clean("a\u202eb\x9bc\td") == r"a\u202eb\x9bc\td"


def test_corners_of_expressions() -> None:
    one = Figure("1")
    assert evaluate(1 - Num(3.0), lambda e: 0.0) == -2
    assert evaluate(1 / Num(4.0), lambda e: 0.0) == 0.25
    assert evaluate(Binary("/", Num(1.0), Num(0.0)), lambda e: 0.0) == np.inf
    assert [type(e) for e in walk(Over("sum", one))] == [Over, Figure]
    assert evaluate(Fold("max", (Num(1.0), Num(2.0))), lambda e: 0.0) == 2


def test_digits_of_numbers() -> None:
    assert figure(12345678.0, 0, 4) == Figure("1.235", 7)
    assert figure(-0.0, 2, 4) == Figure("0")
    assert figure(-1e-18, 2, 4, noise=1e-15) == Figure("0.00")
    assert figure(1.5624999999999998, 3, 4) == Figure("1.563")
    assert figure(9.9999e-7, 0, 2) == Figure("1.0", -6)
    assert power_figure(5e-324, 3).exponent == -324
    assert constant(1e-5) == Figure("1", -5)
    assert constant(0.25) == Figure("0.25")
    assert constant(0.0) == Figure("0")
    assert Rounding("significant", 2)(np.array([0.0, 123.4, -0.00555])).tolist() == [
        0,
        120,
        -0.0056,
    ]
    assert Rounding("decimals", 1)(np.array([-0.04])).tolist() == [0]


def test_tables_elide_and_say_where() -> None:
    x = np.arange(40 * 2.0).reshape(40, 2)
    step = next(
        s for s in steps(blockcalc.load({"x": x, "attn": {"out": x}})) if s.name == "norm1.mean"
    )
    grid = step.grids[0]
    assert isinstance(grid, Grid)
    assert grid.row_gap == (8, 24)
    assert len(grid.rows) == 16
    whole = steps(blockcalc.load({"x": x, "attn": {"out": x}}), whole=True)[0]
    assert len(whole.grids[0].rows) == 40


def test_a_builder_stops_where_it_is_told() -> None:
    b = Builder({"x": (1, 2), "y": (1, 2)}, stop="s")
    x = b.given("x", "X", ("token", "d_model"), role="data")
    assert b.given("x", "X", ("token", "d_model")) is x
    with b.section("part", "ffn", x):
        s = residual(b, "s", "1", x, x)
    assert b.aliases == {"part": "s", "part.out": "s"}
    with pytest.raises(Finished), b.section("late", "ffn", s):
        b.given("y", "Y", ("token", "d_model"))
    with pytest.raises(Finished):
        residual(b, "t", "2", s, s)
    assert [section.name for section in b.program().sections] == ["part"]


def test_a_function_needs_no_place_in_the_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, "log1p", np.log1p)
    softplus = Elementwise(Call("log1p", (exp(Slot(0)),)), "Softplus")
    monkeypatch.setitem(ACTIVATIONS, "relu", softplus)
    act = next(s for s in steps(replace(TINY), detail="cells") if s.name == "ffn.act")
    assert Text().render(act.formula) == "Softplus(U)"
    line = act.lines[0]
    assert line.middle is not None
    assert f"{line.equals} {Text().render(line.result)}" == "≈ 1.3133"
    assert Text().render(line.middle) == "log1p(exp(1))"
