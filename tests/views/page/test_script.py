"""What the page computes is what the program computes, digit for digit."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockcalc
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Line, StepPiece
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Text
from blockcalc.notation.digits import column_places, constant, figure
from blockcalc.program.rounding import Rounding
from blockcalc.views.page.data import page_data
from blockcalc.views.page.forms import Live, live
from tests.helpers import SAMPLES, random_data
from tests.views.page.node import node

TEXT = Text()
MODEL = """
import { Model, isRight, numberOf } from "PAGE/model.mjs";
import { figureText } from "PAGE/digits.mjs";
const plain = (values) => Object.fromEntries(Object.entries(values).map(([k, v]) => [k, [...v].map(String)]));
"""


def _live(spec: Spec, **depth: Any) -> Live:
    return live(spec, blockcalc.run(spec), Depth(**depth))


def _numbers(texts: list[str]) -> Any:
    return np.array([float(text.replace("Infinity", "inf")) for text in texts])


def _apart(own: Any, other: Any) -> float:
    """Give the largest difference, relative to the largest number of the matrix."""
    mine, theirs = own.ravel(), _numbers(other)
    finite = np.isfinite(mine)
    assert np.array_equal(mine[~finite], theirs[~finite])
    size = np.abs(mine[finite]).max(initial=0.0) or 1.0
    return float(np.abs(mine[finite] - theirs[finite]).max(initial=0.0)) / size


# sums are added in another order, and exp and tanh are those of the browser
CLOSE = 1e-13

EVERY = (
    MODEL
    + """
function result(pages) {
  return pages.map((data) => {
    const model = new Model(data);
    return data.variants.map((v) => {
      Object.assign(model.settings, { order: v.order, mask: v.mask });
      model.compute();
      return plain(model.values);
    });
  });
}
"""
)


def _compare(lives: list[Live]) -> float:
    worst = 0.0
    for own, found in zip(lives, node(EVERY, [page_data(one) for one in lives]), strict=True):
        for variant, values in zip(own.variants, found, strict=True):
            for eq in variant.trace.program.equations:
                name = eq.out.name
                size = eq.op.magnitude([variant.trace.arrays[r.name] for r in eq.inputs])
                if size is not None and np.any(np.abs(variant.trace.arrays[name]) < 1e-9 * size):
                    continue  # its numbers are round-off of larger terms
                worst = max(worst, _apart(variant.trace.arrays[name], values[name]))
    return worst


@pytest.mark.slow
def test_every_number_of_every_form_of_the_samples_is_the_same() -> None:
    assert _compare([_live(blockcalc.load(path)) for path in SAMPLES]) < CLOSE


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(random_data(), min_size=5, max_size=5))
def test_every_number_of_random_blocks_is_the_same(found: list[Any]) -> None:
    lives = []
    for data in found:
        with suppress(blockcalc.BlockcalcError):
            lives.append(_live(blockcalc.load(data)))
    assert _compare(lives) < 1e-9


def _shown(own: Live) -> list[list[tuple[str, list[str], list[Line]]]]:
    found = []
    for variant in own.variants:
        steps = [piece for piece in variant.pieces if isinstance(piece, StepPiece)]
        found.append(
            [
                (
                    p.name,
                    [TEXT.render(f) for g in p.grids for row in g.rows for f in row],
                    [*p.lines],
                )
                for p in steps
            ]
        )
    return found


LINES = (
    MODEL
    + """
function result(pages) {
  return pages.map((data) => {
    const model = new Model(data);
    return data.variants.map((v) => {
      Object.assign(model.settings, { order: v.order, mask: v.mask });
      model.compute();
      return Object.fromEntries(model.steps.map((step) => [step.name, {
        figures: [...model.values[step.name]].map((_, at) => figureText(model.figure(step.name, at))),
        lines: step.worked && step.cells ? [...model.values[step.name]].map((_, at) => model.worked(step, at)) : [],
      }]));
    });
  });
}
"""
)


@pytest.mark.slow
def test_digits_and_arithmetic_of_every_cell_are_the_same() -> None:
    lives = [_live(blockcalc.load(path), detail=Detail.cells) for path in SAMPLES]
    figures = lines = other_figures = other_lines = 0
    for own, found in zip(lives, node(LINES, [page_data(one) for one in lives]), strict=True):
        for steps, values in zip(_shown(own), found, strict=True):
            for name, texts, worked in steps:
                figures += len(texts)
                other_figures += sum(map(str.__ne__, texts, values[name]["figures"]))
                for line, theirs in zip(worked, values[name]["lines"], strict=False):
                    if line.middle is not None:
                        lines += 1
                        mine = [line.relation, TEXT.render(line.middle), line.equals]
                        other_lines += mine != [theirs[k] for k in ("relation", "middle", "equals")]
    assert figures > 14_000
    assert lines > 13_000
    # round-off of terms that cancel may be 0 here and not there
    assert other_figures <= 0.002 * figures
    assert other_lines <= 0.002 * lines


def test_an_edited_number_gives_the_same_as_the_file_with_that_number() -> None:
    body = (
        MODEL
        + """
    function result({ data, edits }) {
      const model = new Model(data);
      for (const [name, at, text] of edits) model.edit(name, at, text);
      const edited = plain(model.values);
      for (const [name, at] of edits) model.edit(name, at, String(data.given[name].values[at]));
      return { edited, back: plain(model.values), left: model.edits.size };
    }
    """
    )
    spec = blockcalc.sample("two_heads")
    edits = [["attn.w_q", 5, "1/3"], ["x", 0, "-2.5"], ["ffn.b_1", 1, "3e-1"]]
    found = node(body, {"data": page_data(_live(spec)), "edits": edits})
    sets = [("attn.w_q.1.1", "1/3"), ("x.0.0", "-2.5"), ("ffn.b_1.1", "3e-1")]
    path = next(path for path in SAMPLES if path.stem == "two_heads")
    assert spec.arrays["attn.w_q"].shape == (4, 4)
    changed = blockcalc.run(blockcalc.load(path, sets))
    for eq in changed.program.equations:
        assert _apart(changed.arrays[eq.out.name], found["edited"][eq.out.name]) < CLOSE
    plain = blockcalc.run(spec)
    assert all(
        _apart(plain.arrays[n.out.name], found["back"][n.out.name]) < CLOSE
        for n in plain.program.equations
    )
    assert found["left"] == 0


SETTINGS = (
    MODEL
    + """
function result({ data, settings }) {
  const model = new Model(data);
  Object.assign(model.settings, settings);
  model.compute();
  return plain(model.values);
}
"""
)


@pytest.mark.parametrize(
    ("chosen", "sets"),
    [
        ({"eps": "0.5"}, [("norm1.eps", 0.5), ("norm2.eps", 0.5)]),
        ({"eps": "0"}, [("norm1.eps", 0), ("norm2.eps", 0)]),
        ({"scale": "0.25"}, [("attn.scale", 0.25)]),
        ({"activation": "gelu"}, [("ffn.activation", "gelu")]),
        ({"activation": "silu", "order": "pre"}, [("ffn.activation", "silu"), ("norm", "pre")]),
        ({"mask": "causal"}, [("attn.causal", True)]),
    ],
)
@pytest.mark.parametrize(
    "sample",
    [
        "tiny",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("three_features", "two_heads")),
    ],
)
def test_a_setting_gives_the_same_as_the_file_with_that_setting(
    sample: str, chosen: dict[str, str], sets: list[tuple[str, Any]]
) -> None:
    path = next(path for path in SAMPLES if path.stem == sample)
    data = page_data(_live(blockcalc.load(path)))
    found = node(SETTINGS, {"data": data, "settings": chosen})
    trace = blockcalc.run(blockcalc.load(path, sets))
    order = chosen.get("order", data["variants"][0]["order"])
    variant = next(v for v in data["variants"] if v["order"] == order)
    assert _apart(trace["out"], found[variant["out"]]) < CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("rounding", [Rounding("decimals", 2), Rounding("significant", 3)])
def test_steps_are_rounded_as_on_paper(rounding: Rounding) -> None:
    spec = blockcalc.sample("pencil_pre").with_rounding(rounding)
    found = node(SETTINGS, {"data": page_data(_live(spec)), "settings": {}})
    trace = blockcalc.run(spec)
    for eq in trace.program.equations:
        assert _apart(trace.arrays[eq.out.name], found[eq.out.name]) < CLOSE


def test_digits_are_chosen_by_the_same_rules() -> None:
    rng = random.Random(3)
    special = [
        0.605,
        2.5,
        0.1 + 0.2,
        1 / 3,
        9.9995,
        99.9995,
        0.00099995,
        9.99999e-5,
        12345678.0,
        5e-324,
    ]
    cases: list[Any] = []
    for i in range(6000):
        x = rng.choice(special) * rng.choice([1, -1, 10, 0.1])
        if i % 2:
            x = rng.gauss(0, 1) * 10 ** rng.randint(-12, 12)
        elif i % 3:
            x = rng.randint(-2000, 2000) / rng.choice([1, 2, 3, 7, 16])
        cases.append([x, rng.randint(0, 6), rng.randint(1, 9)])
    columns: list[Any] = [[[case[0] for case in cases[i : i + 4]], 4] for i in range(0, 400, 4)]
    body = """
    import { columnPlaces, constant, figure } from "PAGE/digits.mjs";
    const result = ({ cases, columns }) => ({
      figures: cases.map(([x, places, digits]) => figure(x, places, digits)),
      constants: cases.map(([x]) => constant(x)),
      places: columns.map(([values, digits]) => columnPlaces(values, digits)),
    });
    """
    found = node(body, {"cases": cases, "columns": columns})
    for (x, places, digits), own, whole in zip(
        cases, found["figures"], found["constants"], strict=True
    ):
        f, c = figure(x, places, digits), constant(x)
        assert (f.digits, f.exponent) == (own["digits"], own["exponent"]), (x, places, digits)
        assert (c.digits, c.exponent) == (whole["digits"], whole["exponent"]), x
    assert found["places"] == [column_places(values, digits) for values, digits in columns]


def test_the_error_function_is_right() -> None:
    xs = [i / 64 for i in range(-640, 1740)]
    body = 'import { erfc } from "PAGE/functions.mjs"; const result = (xs) => xs.map(erfc);'
    for x, own in zip(xs, node(body, xs), strict=True):
        assert own == pytest.approx(math.erfc(x), rel=4e-15, abs=5e-324), x


def test_answers_are_judged_to_half_a_unit_and_carried_forward() -> None:
    body = (
        MODEL
        + """
    function result(data) {
      const model = new Model(data);
      const put = (name, at, text) => { const own = model.guesses.get(name) ?? new Map(); own.set(at, text); model.guesses.set(name, own); };
      const judged = [["attn.scores", 8, "3"], ["attn.scores", 8, "3.4"], ["attn.weights", 0, "0.40"], ["attn.weights", 0, "0.41"], ["attn.scaled", 8, "3/2"]];
      const first = judged.map(([name, at, text]) => model.judge(name, at, text));
      put("attn.scores", 8, "2");
      return [...first, model.judge("attn.scaled", 8, "1.41"), model.judge("attn.scaled", 8, "2.12"), model.judge("attn.scaled", 8, "9")];
    }
    """
    )
    found = node(body, page_data(_live(blockcalc.sample("tiny"))))
    assert found == ["right", "wrong", "right", "wrong", "wrong", "carried", "right", "wrong"]


def test_the_address_keeps_what_is_shown() -> None:
    body = (
        MODEL
        + """
    import { read, written } from "PAGE/address.mjs";
    function result({ data, bad }) {
      const model = new Model(data);
      Object.assign(model.settings, { order: "pre", mask: "causal", eps: "0.5", scale: "2", activation: "gelu" });
      model.compute();
      model.edit("attn.w_q", 1, "1/3");
      const hash = written(model, { name: "attn.z", at: 2 }, true);
      const other = new Model(data);
      const state = read("#" + hash, other);
      const third = new Model(data);
      return { hash, again: written(other, state.chosen, state.hiding), same: plain(other.values).norm2, own: plain(model.values).norm2,
        bad: bad.map((one) => written(third, read(one, third).chosen, false)) };
    }
    """
    )
    bad = ["#order=side&mask=x&eps=a&cell=no:1&set=x:99:1&set=y:0:1", "#cell=x:77", "#set=", "#%"]
    found = node(body, {"data": page_data(_live(blockcalc.sample("tiny"))), "bad": bad})
    assert found["hash"] == found["again"]
    assert found["same"] == found["own"]
    assert found["bad"] == [""] * len(bad)


@pytest.mark.slow
def test_a_large_matrix_does_not_take_long() -> None:
    x = {"random": [128, 256], "seed": 1}
    weights = {
        f"w_{k}": {"random": [256, 256], "seed": i, "std": 0.05} for i, k in enumerate("qkv")
    }
    spec = blockcalc.load({"x": x, "attn": weights})
    body = (
        MODEL
        + """
    function result(data) {
      const model = new Model(data);
      const begun = performance.now();
      model.edit("x", 0, "2");
      return performance.now() - begun;
    }
    """
    )
    assert node(body, page_data(_live(spec))) < 3000
