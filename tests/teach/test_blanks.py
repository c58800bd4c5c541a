"""Which cells of a block are left open."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest

import blockcalc
from blockcalc.explain.depth import Depth
from blockcalc.explain.steps import Explainer
from blockcalc.nn.spec import Spec
from blockcalc.ops.expr import Blank, Cell
from blockcalc.program.trace import Trace
from blockcalc.teach.blanks import Cells, Gap, Level, choose, room
from tests.helpers import TINY_SPEC, refused, sample_specs

pytestmark = pytest.mark.slow

ALL = sample_specs()[::2]


def explainer(spec: Spec) -> Explainer:
    return Explainer(spec, blockcalc.run(spec), Depth())


def chosen(spec: Spec, **wanted: object) -> tuple[Gap, ...]:
    given = {"steps": None, "wanted": None, "seed": 0, **wanted}
    return choose(explainer(spec), **given)  # type: ignore[arg-type]


def given_names(trace: Trace) -> set[str]:
    return {ref.name for ref in trace.program.inputs}


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.title[:20])
def test_blanks_are_cells_with_arithmetic_in_order(spec: Spec, level: Level) -> None:
    own = explainer(spec)
    cells = Cells(own)
    gaps = choose(own, None, None, 3, level)
    order = [eq.out.name for eq in own.program.equations]
    assert [gap.number for gap in gaps] == list(range(1, len(gaps) + 1))
    assert all((order.index(a.step), a.at) < (order.index(b.step), b.at) for a, b in pairwise(gaps))
    for gap in gaps:
        assert gap.step not in given_names(own.trace)
        assert not isinstance(cells.tree((gap.step, gap.at)), Cell)
        assert cells.arithmetic((gap.step, gap.at))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.title[:20])
def test_no_blank_follows_from_another_by_a_function_of_one_number(spec: Spec, seed: int) -> None:
    own = explainer(spec)
    cells = Cells(own)
    roots = [cells.root((g.step, g.at)) for g in choose(own, None, None, seed)]
    assert len(set(roots)) == len(roots) == 8


@pytest.mark.parametrize("seed", range(4))
def test_an_easy_blank_has_its_operands_in_view(seed: int) -> None:
    own = explainer(TINY_SPEC)
    cells = Cells(own)
    gaps = choose(own, None, None, seed, Level.easy)
    hidden = {(g.step, g.at) for g in gaps}
    for spot in hidden:
        assert not {cells.origin(r) for r in cells.read(spot, cells.tree(spot))} & hidden


def test_hard_blanks_are_whole_steps() -> None:
    gaps = chosen(TINY_SPEC, wanted=2, level=Level.hard)
    trace = blockcalc.run(TINY_SPEC)
    counts = {
        name: sum(g.step == name for g in gaps) for name in dict.fromkeys(g.step for g in gaps)
    }
    assert len(counts) == 2
    assert counts == {name: trace[name].size for name in counts}


def test_steps_alone_are_left_open_whole() -> None:
    gaps = chosen(TINY_SPEC, steps={"attn.scores"})
    assert [g.at for g in gaps] == [(i, j) for i in range(3) for j in range(3)]
    assert len(chosen(TINY_SPEC, steps={"attn.scores"}, wanted=2)) == 2
    assert len(chosen(TINY_SPEC, steps={"attn.scores"}, level=Level.easy)) == 8


def test_the_seed_alone_decides() -> None:
    every = [chosen(TINY_SPEC, seed=seed) for seed in range(6)]
    assert every == [chosen(TINY_SPEC, seed=seed) for seed in range(6)]
    assert len(set(every)) > 3


def test_blanks_are_spread_over_the_block() -> None:
    program = blockcalc.run(TINY_SPEC).program
    parts = {
        program.top_section_of(list(blockcalc.run(TINY_SPEC)).index(g.step))
        for g in chosen(TINY_SPEC)
    }
    assert len(parts) >= 4


def test_a_copy_has_the_number_of_its_cell_and_what_tells_it_has_none() -> None:
    spec = blockcalc.sample("two_heads")
    own = explainer(spec)
    copied = Cells(own).blanks([Gap(1, "attn.z", (0, 1, 1))])
    assert copied["attn.concat"] == {(1, 1): room(1)} or (1, 1) in copied["attn.z"]
    found = Cells(own).blanks([Gap(1, "attn.z", (0, 1, 1)), Gap(2, "norm1.scaled", (0, 3))])
    assert found["attn.z"] == {(0, 1, 1): room(1)}
    assert found["attn.concat"] == {(1, 1): room(1)}
    assert found["attn.out"] == {(1, 1): room()}  # times 1 plus 0
    assert found["norm1"] == {(0, 3): room()}  # beta is 0
    assert "residual1" not in found


def test_a_mask_and_what_has_no_answer_are_not_asked_for() -> None:
    spec = blockcalc.sample("causal")
    own = explainer(spec)
    asked = {(c.spot[0]) for s in own.trace.steps() for c in Cells(own).candidates(s, 0)}
    assert "attn.allowed" not in asked
    assert all(own.trace[g.step][g.at] > float("-inf") for g in chosen(spec, wanted=30))


def test_more_blanks_than_cells_are_refused() -> None:
    assert refused(lambda: chosen(TINY_SPEC, wanted=900)).startswith("only ")
    said = refused(lambda: chosen(TINY_SPEC, wanted=90, level=Level.hard))
    assert "steps can be left blank together, but 90" in said
    assert "attn.scores" in said
    wide = blockcalc.load({"x": [[i + j / 7 for j in range(30)] for i in range(30)],
                           "attn": {"out": [[j * i / 9 for j in range(30)] for i in range(30)]}})  # fmt: skip
    assert "at most 500" in refused(lambda: chosen(wide, steps={"residual1"}))
    copies = blockcalc.sample("two_heads")
    assert "no cell" in refused(lambda: chosen(copies, steps={"attn.q_heads"}))


def test_a_blank_is_a_figure_in_every_alphabet() -> None:
    from blockcalc.notation.alphabets import Latex, Text, Typst
    from blockcalc.views.formats.markdown_text import Math
    from blockcalc.views.html.text import Html, value_of

    wide = dataclasses.replace(room(), wide=True)
    assert [Text(plain).figure(room(3)) for plain in (False, True)] == ["(3)____"] * 2
    assert Latex().figure(room(3)) == r"(3)\hspace{2pt}\underline{\hspace{4em}}"
    assert Latex().figure(wide) == r"\underline{\hspace{12em}}"
    assert "\\," not in Math().render(room(3))
    assert Typst().figure(room(3)) == r"\(3\) #block-room(5em)"
    assert Typst().figure(wide) == "#block-room(17em)"
    assert Html().figure(room(3)) == '<span class="bc-blank"><sup>3</sup></span>'
    assert Html().figure(wide) == '<span class="bc-room"></span>'
    assert value_of(room(3)) != value_of(room(3))
    assert isinstance(room(), Blank)


def short() -> Spec:
    data = {"x": [[1, 3]], "attn": {"out": [[0.5, 0.25]]}, "stop": "residual1"}
    return blockcalc.load(data)


def test_a_small_block_has_as_many_blanks_as_there_are_cells() -> None:
    assert [g.at for g in chosen(short())] == [(0, 0), (0, 1)]
    assert len(chosen(short(), level=Level.hard)) == 2
    assert "only 2 cells" in refused(lambda: chosen(short(), wanted=3))


def test_of_a_large_step_some_cells_are_tried() -> None:
    rows = [[(i * j) % 7 + j / 4 for j in range(12)] for i in range(12)]
    spec = blockcalc.load({"x": rows, "attn": {"out": rows[::-1]}, "stop": "residual1"})
    own = explainer(spec)
    (step,) = own.trace.steps()
    assert len(list(Cells(own).candidates(step, 0))) == 100
    assert len(list(Cells(own).candidates(step, 0, whole=True))) == 144
    assert len(chosen(spec, steps={"residual1"})) == 144
