"""What the tests of printed lines read back: every function, in every alphabet."""

from __future__ import annotations

import pytest

from blockcalc.nn.activations import ACTIVATIONS, Activation
from blockcalc.notation.alphabets import Latex, Text, Typst
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.evaluate import evaluate
from blockcalc.ops.expr import Expr, Num, Slot, call, exp
from tests.helpers import TINY_SPEC, every_line
from tests.read_back import check, from_latex, from_text, from_typst, plain_text, printed, value

WAYS = ((Text(), from_text), (Text(plain=True), plain_text), (Latex(), from_latex),
        (Typst(), from_typst))  # fmt: skip


@pytest.mark.parametrize(
    "tree",
    [
        call("ln", 1.0 + exp(Num(-2.5))) * call("abs", Num(-0.5) - call("abs", Num(2.0))),
        call("abs", call("ln", Num(3.0)) / call("ln", Num(0.5))) + call("abs", Num(-2.0)),
        call("abs", call("abs", Num(-1.5)) * call("abs", Num(2.0)) - Num(-4.0)),
        call("tanh", call("ln", Num(1.0)) + call("sqrt", Num(2.0))),
    ],
)
def test_a_tree_has_the_value_that_is_read_back(tree: Expr) -> None:
    for alphabet, translate in WAYS:
        got = value(translate(alphabet.render(tree)))
        assert float(got) == pytest.approx(evaluate(tree, lambda leaf: 0.0), rel=1e-14)


@pytest.mark.parametrize("tree", [call("abs", Slot(0)), call("ln", 1.0 + exp(Slot(0)))])
def test_lines_of_an_activation_with_other_functions(
    tree: Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ACTIVATIONS, "relu", Activation(Elementwise(tree, "Other")))
    lines = [line for line in every_line(TINY_SPEC) if line.middle and not line.shortened]
    assert len(lines) > 20
    for alphabet, translate in WAYS:
        for line in lines:
            check(printed(line, alphabet), translate)
