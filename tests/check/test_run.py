"""The whole check: what to write next, points, and what is said of each step."""

from __future__ import annotations

import json

import numpy as np
import pytest

from blockcalc.answers.answer import written
from blockcalc.check.data import check_data, step_rows
from blockcalc.check.explain import Report
from blockcalc.check.judge import judge
from blockcalc.check.power import power
from blockcalc.check.run import next_step
from blockcalc.check.several.points import points_of
from blockcalc.check.several.table import class_pieces, class_rows
from blockcalc.explain.steps import Explainer
from blockcalc.messages.words import say_count
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.table import MISTAKES
from blockcalc.ops.op import Array
from blockcalc.views.formats.json import json_bytes
from tests.check.helpers import SMALL, check_arrays, check_text, made, right, small, verdicts

KEYS = {"format", "version", "answers", "ok", "read_as", "tolerance", "first_wrong", "steps", "reasons",
        "frame", "next", "score"}  # fmt: skip
OF_STEP = {"verdict", "judged", "wrong", "own_wrong", "max_abs", "max_rel", "max_ulp", "bound_ratio",
           "where", "worst"}  # fmt: skip


@pytest.mark.slow
def test_the_step_to_write_next_lies_between() -> None:
    values = right(small())
    own = {"attn.q": values["attn.q"], "norm2": values["norm2"] + 0.123}
    found = check_arrays(small(), own)
    order = [eq.out.name for eq in small().program.equations]
    assert found.next is not None
    assert order.index("attn.q") < order.index(found.next) < order.index("norm2")
    halves = check_arrays(small(), {**own, found.next: values[found.next]})
    assert halves.next is not None
    assert order.index(halves.next) > order.index(found.next)


def _rows(values: Array, blank: int | None = None) -> str:
    """Write a matrix as YAML with three decimals, one row left open."""
    rows = [
        ["?"] * len(row) if i == blank else [f"{x:.3f}" for x in row]
        for i, row in enumerate(values)
    ]
    return "[" + ", ".join(f"[{', '.join(row)}]" for row in rows) + "]"


def test_the_rest_of_a_step_given_in_part_is_written_next() -> None:
    """Not a part of its norm: what is given in part is not yet known to be right."""
    block = made({**SMALL, "norm": "pre"})
    values = right(block)
    wrong = values["attn.q"] + np.array([[0, 0, 0], [7, 8, 9.5], [0, 0, 0]])
    text = f"norm1: {_rows(values['norm1'], 1)}\nattn.q: {_rows(wrong)}\n"
    assert check_text(block, text).next == "norm1"
    given = f"norm1: {_rows(values['norm1'], 0)}\nattn.q: {_rows(wrong)}\n"
    assert check_text(block, given).next is None  # the wrong row is worked from a row that is given


def test_the_step_to_write_next_is_one_that_a_person_writes() -> None:
    """Name no part of a norm or softmax, and no moved entries if there is another step."""
    block = made({**SMALL, "norm": "pre", "attn": {**SMALL["attn"], "n_heads": 3}})
    equations = {eq.out.name: eq for eq in block.program.equations}
    for name, array in right(block).items():
        judgement = judge(block.trace, {name: written(name, array + 7.1, 0.05)})
        found = next_step(judgement, name)
        if found is None:
            continue
        assert equations[found].op.worked or found.endswith("_heads"), (name, found)
        same = name.startswith(found.rpartition(".")[0])
        assert found not in judgement.carried.inner or same, (name, found)


def test_no_step_to_write_if_all_is_right_or_explained() -> None:
    values = right(small())
    assert check_arrays(small(), {"norm2": values["norm2"]}).next is None
    unscaled = check_arrays(small(), {"attn.scaled": values["attn.scores"]})
    assert [n for r in unscaled.reasons for n in r.names] == ["scale_missing"]
    assert unscaled.next is None


def test_no_reason_that_an_earlier_step_contradicts() -> None:
    values = right(small())
    own = {"attn.q": values["attn.q"], "attn.k": values["attn.k"], "attn.scaled": values["attn.scores"]}  # fmt: skip
    names = [n for r in check_arrays(small(), own).reasons for n in r.names]
    assert names == ["scale_missing"]


def test_the_words_that_programs_read() -> None:
    values = right(small())
    found = check_arrays(small(), {"attn.q": values["attn.q"], "attn.scaled": values["attn.scores"]})  # fmt: skip
    data = json.loads(json_bytes(check_data(found, points_of([found]).of)))
    assert data.keys() >= KEYS
    assert data["format"] == "blockcalc-check"
    assert data["first_wrong"] == "attn.scaled"
    step = data["steps"]["attn.scaled"]
    assert step.keys() >= OF_STEP
    assert step["wrong"] == step["own_wrong"] == 9
    assert step["worst"]["given"] != step["worst"]["right"]
    assert data["steps"]["attn.k"] == {"verdict": "not_given"}
    assert data["reasons"][0]["name"] == "scale_missing"
    assert data["score"] == {"points": 1, "of": 2}


def test_nan_and_infinity_in_json() -> None:
    found = check_text(small(), "attn.q: [[nan, inf, -inf], [?, ?, ?], [?, ?, ?]]")
    data = json.loads(json_bytes(check_data(found)))
    assert data["infinite"] == "attn.q"
    assert data["steps"]["attn.q"]["worst"]["given"] in ("nan", "inf", "-inf")


def test_what_follows_counts_for_the_score() -> None:
    values = right(small())
    scores = values["attn.scores"] + [[0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.4]]
    own = {"attn.scores": scores, "attn.scaled": scores / 3**0.5}
    found = check_arrays(small(), own)
    assert verdicts(found) == {"attn.scores": "wrong", "attn.scaled": "follows"}
    assert found.score() == (1, 2)
    assert class_rows([found], points_of([found]))[0]["points"] == 1
    assert not found.ok


def test_what_is_not_handed_in_counts_in_a_class() -> None:
    q, scores, scaled = (_rows(right(small())[n]) for n in ("attn.q", "attn.scores", "attn.scaled"))
    texts = [
        f"attn.q: {q}\nattn.scores: {scores}\nattn.scaled: {scaled}\n",
        f"attn.q: {q}\n",
        f"attn.q: ?\nattn.scores: {scores}\nattn.scaled: [[x, 1, 1], [1, 1, 1], [1, 1, 1]]\n",
        "nothing.known: 3\n",
    ]
    group = [check_text(small(), text) for text in texts]
    points = points_of(group)
    assert points.of == {"attn.q": 1, "attn.scores": 1, "attn.scaled": 1}
    rows = class_rows(group, points)
    assert [(row["points"], row["of"]) for row in rows] == [(3, 3), (1, 3), (1, 3), (0, 3)]
    assert rows[1]["not_handed_in"] == "attn.scores attn.scaled"
    assert rows[2]["not_handed_in"] == "attn.q"
    assert "the text 'x'" in rows[2]["unreadable"]
    assert "nothing.known" in rows[3]["unreadable"]
    one = check_data(group[1], points.of)
    assert one["score"] == {"points": 1, "of": 3}
    assert one["not_handed_in"] == ["attn.scores", "attn.scaled"]
    assert [row["points"] for row in step_rows(group[1], points.of)] == [1, 0, 0]


def test_the_points_of_the_file_come_first() -> None:
    block = made({**SMALL, "points": {"q": 3, "attn.scores": 1.5, "grad.x": 0}}, True)
    q = _rows(right(block)["attn.q"])
    found = check_text(block, f"attn.q: {q}\nattn.k: {q}\npoints: {{attn.q: 100}}\n")
    assert found.score() == (3, 4.5)
    points = points_of([found])
    assert list(points.of) == ["attn.q", "attn.scores", "grad.x"]
    assert points.rule() == "FILE gives points to 3 steps. Points in the answers are not used."


def test_points_in_the_answers_hold_for_all() -> None:
    q = _rows(right(small())["attn.q"])
    group = [
        check_text(small(), f"attn.q: {q}\npoints: {{attn.q: 3, attn.k: 2}}\n"),
        check_text(small(), f"attn.q: {q}\npoints: {{attn.q: 50}}\n"),
    ]
    points = points_of(group)
    assert points.of == {"attn.q": 3, "attn.k": 2}
    assert "different points to attn.q" in points.rule()
    assert [one.score(points.of) for one in group] == [(3, 5), (3, 5)]


@pytest.mark.parametrize(
    ("text", "state", "ok"),
    [
        ("attn.q: ?", "open", True),
        ("attn.q: [[?, ?, ?], ?, ?]", "open", True),
        ("{}", "empty", False),
        ("attn.q: [[1, 2]]", "unread", False),
        ("attn.q: ?\nattn.kk: 2", "unread", False),
        ("attn.q: [[1, ?, ?], ?, ?]\nattn.kk: 2", "judged", False),
    ],
)
def test_what_is_the_case_where_nothing_is_judged(text: str, state: str, ok: bool) -> None:
    found = check_text(small(), text)
    assert (found.state, found.ok) == (state, ok)
    first = Report(small().spec, found, points_of([found]), Explainer).first()
    said = {
        "open": "No number is given yet.",
        "empty": "There are no answers in it.",
        "unread": "None of the answers could be read, so nothing was judged.",
    }
    assert state == "judged" or first == said[state]


def test_names_of_no_step_in_a_dump() -> None:
    found = check_arrays(small(), {"some.tensor": np.ones(3)})
    assert (found.state, found.ok) == ("unknown", False)


def test_one_thing_is_not_spoken_of_as_many() -> None:
    values = right(small())
    one = check_arrays(small(), {"attn.q": values["attn.q"]})
    said = Report(small().spec, one, points_of([one]), Explainer)
    assert said.first() == "The step is right."
    assert say_count("check.sum.right", 1) == "right (1 step)"
    far = {"attn.q": values["attn.q"] + 1}
    for part in class_pieces([one, check_arrays(small(), far)], None):
        assert "(1 steps)" not in repr(part)
        assert "1 of 1 steps" not in repr(part)


def test_the_size_of_a_mistake_is_that_of_the_wrong_cells() -> None:
    """Not of cells that follow from an earlier mistake; how many more are wrong is said at once."""
    scores = right(small())["attn.scores"] + np.diag([0, 5.0, 0])
    scaled = scores / 3**0.5
    scaled[0, 0] += 0.25
    found = check_arrays(small(), {"attn.scores": scores, "attn.scaled": scaled})
    report = Report(small().spec, found, None, Explainer)
    first, second = report.table().rows
    assert (first[3], second[3]) == ("5", "0.25")
    assert report.first().endswith("One more step is wrong by itself.")


def test_right_steps_are_not_all_where_some_could_not_be_read() -> None:
    found = check_text(small(), f"attn.q: {_rows(right(small())['attn.q'])}\nk: [[1]]\n")
    said = Report(small().spec, found, points_of([found]), Explainer).first()
    assert said == "The only step that could be read is right."


@pytest.mark.slow
def test_two_features_reveal_little_and_more_steps_reveal_more() -> None:
    two = made({
        "x": [[1, 0], [0, 1], [1, 1]],
        "attn": {"w_q": [[1, 0], [0, 1]], "w_k": [[1, 1], [0, 1]], "w_v": [[1, 0], [1, 1]]},
        "ffn": {"w_1": [[1, 0, 1], [0, 1, -1]], "w_2": [[1, 0], [0, 1], [1, 1]]},
    })  # fmt: skip
    catalogue = Catalogue(two, tuple(MISTAKES.values()))
    last = power(catalogue, ["norm2"], 4)
    assert "scale_missing" in last.hidden
    every = power(catalogue, [eq.out.name for eq in two.program.equations], 4)
    assert "scale_missing" in every.revealed
    assert set(last.revealed) < set(every.revealed)
    three = power(Catalogue(small(), tuple(MISTAKES.values())), ["norm2"], 4)
    assert "scale_missing" in three.revealed


def test_what_was_found_is_told_in_one_line() -> None:
    scores = small().trace["attn.scores"]
    found = check_arrays(small(), {"attn.scores": scores, "attn.scaled": scores})
    said = repr(found)
    assert said == "Checked(ok=False, first_wrong='attn.scaled', reasons=[('attn.scaled', ('scale_missing',))])"  # fmt: skip
    assert len(repr(found.reasons[0])) < 120


def test_an_answer_that_cannot_be_read_has_the_name_of_its_step() -> None:
    found = check_text(small(), "scores: [[1]]\nk: √2\nnope: 1")
    data = check_data(found)
    lost = {n for n, own in data["steps"].items() if own["verdict"] == "unreadable"}
    assert lost == {"attn.scores", "attn.k", "nope"}
    assert [one["name"] for one in data["unreadable"]] == ["k", "nope", "scores"]
    assert set(data["steps"]) - {"nope"} == {eq.out.name for eq in small().program.equations}
