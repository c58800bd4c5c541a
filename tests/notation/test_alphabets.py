"""The alphabets: expressions as text, as plain text, as LaTeX and as Typst."""

from __future__ import annotations

import pytest

from blockcalc.notation.alphabets import Latex, Text, Typst
from blockcalc.notation.signs import clean, plain_signs
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
    substitute,
)


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


def test_corners_of_the_typst_alphabet() -> None:
    typst = Typst()
    a, half = Name("A"), Binary("/", Name("A"), Num(2.0))
    assert typst.render(Fold("+", (a, Dots(), a))) == "A + ⋯ + A"
    assert typst.render(Fold("max", (a, Figure("-2")))) == r'op("max") \(A\, -2\)'
    assert typst.render(Over("max", a)) == 'op("max")_j A'
    assert typst.render(Over("sum", a)) == "sum_j A"
    assert typst.render(Figure("-inf")) == "-∞"
    assert typst.render(Figure("-1.5", -3)) == "-1.5 × 10^(-3)"
    assert typst.render(half) == "frac(A, 2)"
    long = Binary("/", Fold("+", (a,) * 8), a)
    assert typst.render(long) == "(" + " + ".join("A" * 8) + r") \/ A"
    assert typst.render(Binary("-", a, Binary("-", a, a))) == "A - (A - A)"
    assert typst.render(Binary(".", a, Binary("@", a, a))) == "A ⊙ A thin A"
    assert typst.render(Binary("*", Num(-1.0), Binary("+", a, a))) == "-(A + A)"
    assert typst.render(Binary("^", Figure("-2"), Figure("3"))) == "(-2)^(3)"
    assert typst.render(a**2.0) == "A^(2)"
    assert typst.render(Call("GELU_tanh", (a,))) == r'op("GELU_tanh") \(A\)'
    assert typst.render(Call("ln", (half,))) == 'op("ln") (frac(A, 2))'
    assert typst.render(Call("abs", (a,))) == "abs(A)"
    assert typst.render(Call("exp", (half,))) == "e^(frac(A, 2))"
    assert typst.render(Call("transpose", (a,))) == "A^⊤"
    place = (Name("1"), Name("2"))
    assert typst.render(Call("at", (Name("S_scaled"), *place))) == r'S_"scaled" \[1\, 2\]'
    assert typst.render(Call("at", (a, *place))) == r"A_(1\, 2)"
    assert typst.render(Num(2.5)) == "2.5"
    names = {"mean": '"mean"', "dX": "d X", "mu^(1)": r"μ^(\(1\))", "W_Q": "W_Q", "_": '"_"',
             "grad:W_Q": "upright(d) W_Q", "x^1+f": 'x^(1"+"f)', 'a"b\\': '"a\\"b\\\\"'}  # fmt: skip
    assert {name: typst.symbol(name) for name in names} == names
    with pytest.raises(TypeError):
        typst.render(Expr())


def test_functions_of_trees() -> None:
    text, tex = Text(), Latex()
    a, quotient = Name("A"), Binary("/", Name("A"), Num(2.0))
    assert text.render(Call("abs", (a - Num(1.0),))) == "|A - 1|"
    assert text.render(Call("ln", (a,))) == "ln(A)"
    assert tex.render(Call("abs", (a,))) == r"\lvert A\rvert"
    assert tex.render(Call("ln", (a,))) == r"\ln(A)"
    assert tex.render(Call("ln", (quotient,))) == r"\ln\left(\frac{A}{2}\right)"
    assert text.render(a**2.0) == "A²"
    assert text.render(a**-0.5) == "A^-0.5"


def test_signs_and_steering() -> None:
    assert plain_signs("√x ≈ γ 颗", "ascii") == "sqrt(x) ~= gamma ?"
    assert plain_signs("√x ≈ γ 颗", "utf-8") == "√x ≈ γ 颗"
    assert clean("a\u202eb\x9bc\td") == r"a\u202eb\x9bc\td"
