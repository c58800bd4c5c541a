"""The bound carried through a run holds, and tells which printed digits are certain."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Listing, Remark
from blockcalc.explain.grids import Shown
from blockcalc.explain.round_off import certainty
from blockcalc.explain.steps import Explainer, explain
from blockcalc.notation.digits import fraction_of, unit_of
from blockcalc.ops.op import Array, Ref
from blockcalc.program.bounds import run_bounds
from blockcalc.program.trace import Trace
from tests.helpers import SAMPLES, cli

TOLD = 16  # how many times finer the true numbers are, so that their own errors do not count


def true_numbers(trace: Trace) -> dict[str, Array]:
    """Work a block in extended precision, from inputs as their shortest texts have them."""
    values: dict[str, Array] = {}
    for ref in trace.program.inputs:
        flat = [np.longdouble(repr(float(x))) for x in trace.arrays[ref.name].ravel()]
        values[ref.name] = np.array(flat, dtype=np.longdouble).reshape(ref.shape)
    for eq in trace.program.equations:
        with np.errstate(all="ignore"):
            values[eq.out.name] = eq.op.forward([values[r.name] for r in eq.inputs])
    return values


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_no_number_of_a_sample_lies_outside_its_bound(path: Path) -> None:
    if np.finfo(np.longdouble).eps * TOLD > np.finfo(np.float64).eps:
        return  # this machine has no finer numbers to hold ours against
    trace = blockcalc.run(path)
    bounds = run_bounds(trace.program, trace.arrays)
    for name, true in true_numbers(trace).items():
        if true.dtype != np.longdouble:
            continue
        both = np.isfinite(trace.arrays[name]) & np.isfinite(true)
        off = np.abs(trace.arrays[name][both] - true[both])
        assert (off <= bounds[name][both] * (1 + 1 / TOLD)).all(), name


def shown(value: float, digits: int) -> Shown:
    return Shown(Ref("a", "A", ("token",), (1,), "computed"), np.array([value]), digits)


@pytest.mark.parametrize(
    ("value", "off", "digits", "uncertain"),
    [
        (0.123456789, 0.0, 17, 0),
        (0.123456789, 4e-10, 9, 0),
        (0.123456789, 6e-10, 8, 1),
        (0.123456789, np.inf, 0, 1),
        (123456.789, 4e-4, 9, 0),
    ],
)
def test_a_digit_is_certain_where_the_bound_is_half_a_unit_of_it(
    value: float, off: float, digits: int, uncertain: int
) -> None:
    found = certainty(shown(value, 9), np.array([off]))
    assert (found.digits, found.uncertain, found.printed) == (digits, uncertain, 1)


def test_printed_digits_that_are_certain_are_those_of_the_true_number() -> None:
    trace = blockcalc.run(blockcalc.sample("llama_style"))
    spec = blockcalc.sample("llama_style")
    explainer, true = Explainer(spec, trace, Depth(digits=12)), true_numbers(trace)
    bounds = run_bounds(trace.program, trace.arrays)
    held = 0
    for eq in trace.program.equations:
        matrix = explainer.matrix(eq.out)
        for at in matrix.places():
            figure = matrix.figure(at)
            unit = unit_of(figure) if "inf" not in figure.digits else None
            if unit is None or 2 * bounds[eq.out.name][at] > unit:
                continue
            exact = Decimal(np.format_float_positional(true[eq.out.name][at], precision=18))
            printed = fraction_of(figure)
            assert abs(float(printed) - float(exact)) <= float(unit) * (1 + 1e-9), eq.out.name
            held += 1
    assert held > 200


def test_many_digits_have_a_remark_and_few_have_none() -> None:
    spec = blockcalc.sample("tiny")
    trace = blockcalc.run(spec)

    def said(digits: int) -> list[str]:
        pieces = explain(spec, trace, Depth(digits=digits))
        return [p.text for p in pieces if isinstance(p, Remark) and "not certain" in p.text]

    assert said(4) == []
    (text,) = said(17)
    assert "end in digits that are not certain" in text


def test_verify_lists_the_steps_that_are_chosen() -> None:
    spec = blockcalc.sample("tiny")
    depth = Depth(patterns=("attn.q", "norm1.std"), verify=True)
    *_, table, remark = explain(spec, blockcalc.run(spec), depth)
    assert isinstance(table, Listing)
    assert [row[0] for row in table.rows] == ["attn.q", "norm1.std"]
    assert isinstance(remark, Remark)
    assert remark.text.startswith("All digits of the ")


def test_verify_is_not_for_rounded_steps() -> None:
    done = cli("run", "--verify", "--round", "3")
    assert done.returncode == 2
    assert b"--verify bounds the rounding of floating point" in done.stderr
