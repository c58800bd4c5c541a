"""Numbers and words as the checker takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import InputError, Place
from blockcalc.explain.steps import explain
from blockcalc.files.decode import read_text
from blockcalc.files.source import Source
from blockcalc.program.rounding import Rounding
from blockcalc.reading.checker import (
    MAX_FAULTS,
    Checker,
    Entries,
    is_text,
    is_whole,
    kind_of,
    plain_array,
    quoted,
)
from blockcalc.reading.load import check, load
from tests.blocks import GIVEN, SQUARE
from tests.helpers import refused


def checked(value: object, blocks: bool = False) -> tuple[float | None, Checker]:
    """Read one number beside no file."""
    checker = Checker(Source("<data>", ""))
    return checker.number(value, ("a", 0), Entries(blocks=blocks)), checker


def read(text: str, name: str = "a.yaml") -> str:
    """Give the refusal of a text, checked as a file would be."""
    return refused(lambda: check(Checker(read_text(text, name))))


@pytest.mark.parametrize("value", [float("-inf"), "-inf"])
def test_minus_infinity_is_for_masks(value: object) -> None:
    assert checked(value, blocks=True)[0] == float("-inf")
    number, checker = checked(value)
    assert number is None
    assert "inf" in checker.faults[0].message


def test_only_plus_infinity_is_told_of_minus_infinity() -> None:
    with_hint = checked(float("inf"), blocks=True)[1].faults[0].hint
    assert with_hint
    assert "-" in with_hint
    assert checked(float("nan"), blocks=True)[1].faults[0].hint is None
    assert checked(float("inf"))[1].faults[0].hint is None


def test_a_number_beyond_float64_is_refused_at_its_place() -> None:
    number, checker = checked(10**400)
    assert number is None
    (fault,) = checker.faults
    assert fault.place == Place("a.0")
    assert fault.message == "a number has too many digits"


def test_a_whole_number_that_float64_does_not_hold_is_noted() -> None:
    number, checker = checked(2**53 + 1)
    assert number == 2.0**53
    (told,) = checker.inexact
    assert "a.0" in told
    assert "9007199254740993" in told
    assert "9007199254740992" in told
    assert checked(2**53)[1].inexact == []
    assert checked(2**60)[1].inexact == []


def test_what_is_named_in_messages() -> None:
    assert kind_of(12) == "the number 12"
    assert "1071508" in kind_of(2**1000 - 1)
    assert "digits" in kind_of(2**1000)
    assert kind_of(1.5) == "the number 1.5"
    assert kind_of(True).endswith("true")
    assert "list" in kind_of([])
    assert "mapping" in kind_of({})
    assert kind_of(None)
    assert kind_of(frozenset()) == "a value of type frozenset"
    assert quoted("a") == "'a'"
    assert quoted(3) == kind_of(3)


def test_whole_numbers_have_limits_and_are_no_truth_values() -> None:
    assert is_whole(1, 1)
    assert is_whole(10**30, 1)
    assert is_whole(3, 0, 3)
    assert not is_whole(0, 1)
    assert not is_whole(4, 0, 3)
    assert not is_whole(True, 0, 3)
    assert not is_whole(1.0, 0, 3)
    assert not is_whole("1", 0, 3)


def test_halves_of_surrogate_pairs_are_no_text() -> None:
    assert is_text("a\ud7ff\ue000")
    assert not is_text("a\ud800")
    assert not is_text("\udfff")


def test_matrices_are_float64_and_stay_as_they_are() -> None:
    for rows in ([[1, 2]], [["1/2", 2]]):
        array = load({"x": rows, "attn": {"out": [[0, 1]]}}).arrays["x"]
        assert array.dtype == np.float64
        assert not array.flags.writeable
    assert plain_array([[1, 2]]) is not None
    assert plain_array([[1, True]]) is None
    assert plain_array([[2**53, 1]]) is None
    assert plain_array([[1], [2, 3]]) is None
    assert plain_array([[[1, 2]], [[1, 2], [3, 4]]]) is None
    assert plain_array([[], [1]]) is None
    assert plain_array([[10**400]]) is None
    assert np.array_equal(plain_array([[[1, 2]], [[3, 4.5]]]), [[[1, 2]], [[3, 4.5]]])  # type: ignore[arg-type]


def test_rows_under_value_are_kept_under_the_name_of_the_matrix() -> None:
    data = {"x": {"value": [[1], ["1/2"]], "transpose": True}, "attn": {"out": [[0, 1]]}}
    assert load(data).arrays["x"].tolist() == [[1, 0.5]]
    with pytest.raises(InputError) as caught:
        load({**data, "attn": {"out": {"value": [[0, "b"]]}}})
    assert caught.value.faults[0].place == Place("attn.out.value.0.1")


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("1,5", "decimal"),
        ("-1,5", "decimal"),
        ("\u22121", "U+2212"),
        ("\u20131", "U+2013"),
        ("\uff11", "full"),
        ("\uff01", "full"),
        ("\uff5e", "full"),
        ("1.5", "quotes"),
        ("1e999", "float64"),
        ("1 2", "commas"),
        ("1; 2", "commas"),
        ("one", None),
        ("1,5,6", None),
    ],
)
def test_hints_for_texts_that_stand_for_numbers(value: str, hint: str | None) -> None:
    fault = checked(value)[1].faults[0]
    assert (fault.hint is None) if hint is None else (hint in str(fault.hint))


def test_a_comma_in_a_line_is_taken_for_a_decimal_one_by_its_spaces() -> None:
    checker = Checker(read_text("x: [[1,5, 2,5], [3, 4]]\n", "a.yaml"))
    assert checker.array([[1, 5, 2, 5], [3, 4]], ("x",), (2,)) is None
    assert "decimal" in str(checker.faults[0].hint)
    checker.paths["x"] = ("x",)
    assert checker.has_commas("x")
    assert not checker.has_commas("y") or checker.source.place("y").text == checker.source.text


def test_twenty_faults_are_enough() -> None:
    rows = ", ".join("[a]" for _ in range(30))
    said = read(f"x: [{rows}]\nattn: {{out: [[1]]}}\n")
    assert said.count("a number is expected") == MAX_FAULTS


def test_last_resorts() -> None:
    assert "a number is expected; this is the text '1" in read("x: [[1" + "0" * 250 + "/0." + "0" * 250 + "1]]\nattn: {}\n")  # fmt: skip
    assert "tokens.0: this text holds half" in refused(
        lambda: blockcalc.load({**GIVEN, "tokens": ["\ud800", "b"]})
    )
    assert blockcalc.load({**GIVEN, "tokens": [7, 8]}).tokens == (("7", "8"),)
    assert "attn.rope" not in refused(lambda: blockcalc.load({"x": SQUARE, "attn": {"rope": {}}}))
    source = Source("a", "", {"x": 1})
    assert str(source.place("x.1")) == "x.1"
    assert Source("a", "text").place("x").file == "a"
    checker = Checker(read_text("x: [[0,5, 1]]\n", "a"))
    checker.arrays["x"], checker.paths["x"] = np.ones((1, 3)), ("x",)
    assert checker.has_commas("x")
    checker.fault("x", "wrong")
    assert checker.faults[0].hint == "decimals use a point: 0.5, not 0,5"
    said = refused(lambda: blockcalc.load(GIVEN, [("x.0.0", "a")]))
    assert said.startswith("x.0.0=a: a number is expected")
    keep = {"p": 0.5, "training": True, "seed": 1, "keep": {"attn.out": [[1, "a"], [0, 1]]}}
    assert "a number is expected" in refused(lambda: blockcalc.load({**GIVEN, "dropout": keep}))
    short = {**GIVEN, "ffn": {"b_1": [1]}, "stop": "residual1"}
    assert list(blockcalc.run(blockcalc.load(short))) == ["residual1"]
    assert blockcalc.load({**GIVEN, "round": {"decimals": 2}}).rounding == Rounding("decimals", 2)
    assert "at most" not in refused(lambda: blockcalc.load({**GIVEN, "round": {"decimals": "a"}}))
    folder = Source("some/where/a.yaml", "").folder(("x",))
    assert folder == Path("some/where")


def test_a_whole_number_that_float64_cannot_hold_is_noted() -> None:
    big = 2**53 + 1
    for rows in ([[big, 0], [0, 1]], [[0, -big], [0.5, 1]]):
        spec = blockcalc.load({"x": rows, "attn": {"out": SQUARE}})
        head: Any = next(explain(spec, blockcalc.run(spec)))
        assert any("9007199254740993 in the file" in hint for hint in head.hints)
    for fine in ([[2**53, 0], [0, 1]], [[2.0**60, 0], [0, 1]], [[2**60, 0], [0, 1]]):
        assert blockcalc.load({"x": fine, "attn": {"out": SQUARE}}).remarks == ()


def test_words_for_numbers_get_the_hint_that_helps() -> None:
    cases = {
        "'0,5'": "decimals use a point", "−1": "U+2212", "１": "full-width", "'1'": "remove the quotes",
        "'1e999'": "a number that float64 can represent", "1 2": "with commas", "1;2": "with commas",
    }  # fmt: skip
    for text, hint in cases.items():
        assert hint in read(f"x: [[{text}, 1]]\nattn: {{out: [[1, 1]]}}\n"), text
    assert read("x: [[one, 1]]\nattn: {out: [[1, 1]]}\n").count("\n") == 2
