"""The whole check: what to write next, points, and what is said of each step."""

from __future__ import annotations

import json

from blockcalc.check.data import check_data, class_rows
from blockcalc.check.power import power
from blockcalc.check.reasons import Catalogue
from blockcalc.mistakes.table import MISTAKES
from blockcalc.views.json import json_bytes
from tests.check.helpers import check_arrays, check_text, made, right, small, verdicts

KEYS = {"format", "version", "answers", "ok", "read_as", "tolerance", "first_wrong", "steps", "reasons",
        "frame", "next", "score"}  # fmt: skip
OF_STEP = {"verdict", "judged", "wrong", "own_wrong", "max_abs", "max_rel", "max_ulp", "bound_ratio",
           "where", "worst"}  # fmt: skip


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


def test_nothing_is_to_be_written_where_all_is_right_or_explained() -> None:
    values = right(small())
    assert check_arrays(small(), {"norm2": values["norm2"]}).next is None
    unscaled = check_arrays(small(), {"attn.scaled": values["attn.scores"]})
    assert [n for r in unscaled.reasons for n in r.names] == ["scale_missing"]
    assert unscaled.next is None


def test_no_reason_that_an_earlier_step_speaks_against() -> None:
    values = right(small())
    own = {"attn.q": values["attn.q"], "attn.k": values["attn.k"], "attn.scaled": values["attn.scores"]}  # fmt: skip
    names = [n for r in check_arrays(small(), own).reasons for n in r.names]
    assert names == ["scale_missing"]


def test_the_words_that_programs_read() -> None:
    values = right(small())
    found = check_arrays(small(), {"attn.q": values["attn.q"], "attn.scaled": values["attn.scores"]})  # fmt: skip
    data = json.loads(json_bytes(check_data(found, True)))
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


def test_numbers_that_json_has_no_word_for() -> None:
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
    assert class_rows([found])[0]["points"] == 1
    assert not found.ok


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
