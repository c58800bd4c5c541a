"""Bounds too wide to tell mistakes are reported; another way is named if later steps are right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blockcalc.answers.answer import Answers, written
from blockcalc.check.data import check_data
from blockcalc.check.explain import check_document
from blockcalc.check.judge import Tolerance
from blockcalc.check.run import Checked, check
from blockcalc.explain.document import Heading
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.table import MISTAKES
from blockcalc.program.bounds import NUMBERS
from tests.check.helpers import check_arrays, right, small, verdicts


def dump(*steps: str, form: str = "bfloat16") -> dict[str, np.ndarray]:
    """Round some steps of the small block to a format."""
    values = right(small())
    return {step: NUMBERS[form](values[step]) for step in steps}


def head(found: Checked) -> str:
    """Give the first sentence of the report."""
    pieces = list(check_document(small().spec, [found]).pieces())
    assert isinstance(pieces[0], Heading)
    return str(pieces[0].prose)


def test_a_result_alone_in_16_bits_tells_little_and_it_is_said() -> None:
    found = check_arrays(small(), dump("residual2"), "bfloat16")
    assert verdicts(found) == {"residual2": "rounded"}
    (hidden, of) = found.blind["residual2"]
    assert 0 < of - hidden < hidden
    assert f"residual2 ({hidden} of the {of} mistakes that change it stay within it)" in head(found)
    assert check_data(found)["blind"] == {"residual2": {"hidden": hidden, "of": of}}


@pytest.mark.parametrize(("form", "steps"), [("float32", ["norm2"]), ("bfloat16", ["norm2.std", "norm2.centered", "norm2"])])  # fmt: skip
def test_a_bound_that_tells_is_not(form: str, steps: list[str]) -> None:
    before = ["residual2"] if form == "bfloat16" else []
    found = check_arrays(small(), dump(*before, *steps, form=form), form)
    assert not set(found.blind) & set(steps)


def test_a_chosen_tolerance_is_not_a_bound() -> None:
    found = check_arrays(small(), dump("norm2"), "bfloat16", tolerance=Tolerance(0.1))
    assert found.blind == {}


def test_another_way_goes_before_a_mistake_where_all_that_follows_is_right() -> None:
    block, way = small(), MISTAKES["scale_on_q"]
    alike = replace(MISTAKES["weight_transposed"], alternatives=way.alternatives)
    values = right(block)
    own = {"attn.q": values["attn.q"] / np.sqrt(3), "attn.scaled": values["attn.scaled"]}
    for after, verdict, names in (
        (values["attn.weights"], "equivalent", {("scale_on_q",)}),
        (values["attn.weights"] * 1.5, "wrong", {("weight_transposed",)}),
    ):
        arrays = {**own, "attn.weights": after}
        given = tuple(written(n, a, read_as="float64") for n, a in arrays.items())
        found = check(block.trace, Answers("a", given, dump=True), Catalogue(block, [way, alike]))
        assert found.steps["attn.q"].verdict == verdict
        assert {r.names for r in found.reasons if r.step == "attn.q"} == names
