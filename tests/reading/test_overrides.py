"""Keys set over those of a file: one place each, blamed by what was typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.errors import InputError, UsageError
from blockcalc.program.rounding import Rounding
from blockcalc.reading.load import load
from blockcalc.reading.overrides import parse_eps, parse_round, parse_sets
from tests.blocks import ATTENTION, GIVEN, SQUARE
from tests.helpers import HERE, TINY, cli, refused


@pytest.mark.slow
def test_set_changes_one_place_only(tmp_path: Path) -> None:
    path = tmp_path / "alias.yaml"
    path.write_text("x: [[1,2],[3,5]]\nattn: {out: [[1,2],[0,1]]}\nnorm1: &n {eps: 0}\nnorm2: *n\n"
                    "ffn: {w_1: &w [[1,2],[0,1]], w_2: *w}\n")  # fmt: skip
    spec = blockcalc.load(path, [("norm1.eps", "1000"), ("ffn.w_1.0.0", "77")])
    assert (spec.blocks[0].norms[0].eps, spec.blocks[0].norms[1].eps) == (1000, 0)
    assert spec.arrays["ffn.w_1"][0, 0] == 77
    assert spec.arrays["ffn.w_2"][0, 0] == 1


@pytest.mark.slow
def test_what_is_set_is_what_is_blamed() -> None:
    for value, said in (("x=[[1,2],[3]]", "x: row 2 has 1 number"), ("x.0=[1,2,3]", "x: row 2 has 2 numbers"),
                        ("expect.attn.scores=[[9]]", "attn.scores is 3×3"), ("norm1.eps=", "there is nothing after"),
                        ("x=[", "not YAML"), ("tokens.1=q", "a list of labels")):  # fmt: skip
        said_of = cli("run", TINY, "--set", value).stderr.decode()
        assert said in said_of
        assert said_of.startswith("--set ") or value == "x.0=[1,2,3]"


@pytest.mark.slow
@pytest.mark.parametrize("key", ["x.².0", "x." + "9" * 5000 + ".0"])
def test_strange_places_to_set(key: str) -> None:
    assert cli("run", TINY, "--set", f"{key}=1").returncode == 2
    assert cli("run", TINY, COLUMNS="²").returncode == 0


@pytest.mark.slow
def test_set_keeps_a_short_dropout_and_reaches_into_patterns() -> None:
    data = {"x": SQUARE, "attn": ATTENTION, "dropout": 0.5}
    sets = [("dropout.training", "true"), ("dropout.seed", "1")]
    assert "attn.out_dropped" in list(blockcalc.run(blockcalc.load(data, sets)))
    stack = {"x": SQUARE, "blocks": [{"attn": ATTENTION}], "expect": {"blocks.0.attn.q": SQUARE},
             "dropout": {"p": 0.5, "training": True, "at": ["attn.out"], "keep": {"blocks.0.attn.out": SQUARE}}}  # fmt: skip
    sets = [("dropout.keep.blocks.0.attn.out.0.1", "1"), ("expect.blocks.0.attn.q.1.0", "7")]
    spec = blockcalc.load(stack, sets)
    assert spec.arrays["blocks.0.attn.out_keep"].tolist() == [[1, 1], [0, 1]]
    assert spec.expect["blocks.0.attn.q"].tolist() == [[1, 0], [7, 1]]


@pytest.mark.slow
def test_an_entry_of_what_is_no_list() -> None:
    data = {"x": {"value": [[1, 2]]}, "attn": {"out": [[1, 2]]}}
    said = refused(lambda: load(data, [("x.0.0", "5")]))
    assert said.startswith("--set x.0.0=5: an index needs a list")


def test_bytes_that_are_no_text_on_the_command_line() -> None:
    with pytest.raises(blockcalc.BlockcalcError, match="bytes that are not text"):
        parse_sets(["title=\udcff"], {})
    assert "there is nothing after the equals sign" in refused(
        lambda: blockcalc.load(GIVEN, [("x", " ")])
    )


def test_a_star_sets_every_block() -> None:
    data = {"x": SQUARE, "blocks": [{"attn": {"w_q": SQUARE, "w_k": SQUARE, "w_v": SQUARE}}] * 3}
    spec = blockcalc.load(data, [("blocks.*.attn.padding", "[keep, pad]")])
    assert all(f"blocks.{i}.attn.padding" in spec.arrays for i in range(3))
    assert "unknown key" in refused(lambda: blockcalc.load(GIVEN, [("attn.*.padding", "1")]))


def test_a_misfit_is_blamed_on_what_was_set() -> None:
    with pytest.raises(InputError) as caught:
        load(str(HERE.parent / "samples" / "tiny.yaml"), [("attn.w_q", "[[1, 2, 3], [4, 5, 6]]")])
    (fault,) = caught.value.faults
    assert fault.message.startswith("attn.w_k has 2 columns, but attn.w_q has 3")
    assert fault.place is not None
    assert fault.place.file.startswith("--set attn.w_q")


def test_what_the_command_line_sets() -> None:
    none: dict[str, str | None] = {"norm.order": None}
    assert parse_sets(["a.b = 1", "c=[1=2]"], none) == [("a.b", "1"), ("c", "[1=2]")]
    for texts in (["a"], ["=1"], ["a..b=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError):
            parse_sets(texts, none)
    with pytest.raises(UsageError, match="norm is set twice: pre and post"):
        parse_sets(["norm=post"], {"norm.order": "pre"})
    with pytest.raises(UsageError, match="set twice"):
        parse_sets(["norm1.eps=1"], {"eps": "0.5"})
    assert parse_eps("1e-5") == 1e-5
    assert parse_eps("1/4") == 0.25
    assert "--eps -1: eps must not be negative" in refused(lambda: parse_eps("-1"))
    assert "--eps x: a number is expected" in refused(lambda: parse_eps("x"))
    assert parse_round("3") == Rounding("decimals", 3)
    assert parse_round("4sf") == Rounding("significant", 4)
    for text in ("x", "99", "0sf", "-1", "3 sf"):
        with pytest.raises(UsageError):
            parse_round(text)


def test_places_that_can_be_set(tmp_path: Path) -> None:
    spec = blockcalc.load(GIVEN, [("norm.kind", "rms"), ("x.0.1", "5"), ("norm1.eps", "0.5")])
    assert spec.arrays["x"].tolist() == [[1, 5], [0, 1]]
    assert spec.order == "post"
    assert blockcalc.load({**GIVEN, "norm": "pre"}, [("norm.kind", "rms")]).order == "pre"
    assert "there is no such entry" in refused(lambda: blockcalc.load(GIVEN, [("x.7.0", "1")]))
    assert "there is no such entry" in refused(lambda: blockcalc.load(GIVEN, [("x.a", "1")]))
    path = tmp_path / "list.yaml"
    path.write_text("[1]\n")
    assert "a file is a mapping" in refused(lambda: blockcalc.load(path, [("x", "1")]))
    shared = {"x": SQUARE, "attn": {"out": SQUARE}}
    assert blockcalc.load(shared, [("x.0.0", "9")]).arrays["attn.out"].tolist() == SQUARE


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        ({"x.0.0": 1e-7}, "x.0.0=1e-7"),
        ({"x": [[5, "1/2"], [0, 1]]}, "x=[[5, 1/2], [0, 1]]"),
        ({"x": np.eye(2)}, "x=[[1, 0], [0, 1]]"),
        ([["attn.causal", True]], "attn.causal=true"),
        ((("attn", {"out": SQUARE}),), f"attn={{out: {SQUARE}}}"),
        ({"loss.target": [[0, 0]] * 2}, "loss.target=[[0, 0], [0, 0]]"),
    ],
)
def test_values_of_python_are_set_as_their_texts_are(sets: Any, text: str) -> None:
    data = {"x": SQUARE, "attn": ATTENTION}
    ours, typed = blockcalc.load(data, sets), load(data, parse_sets([text], {}))
    assert ours.blocks == typed.blocks
    assert list(ours.arrays) == list(typed.arrays)
    for name, array in ours.arrays.items():
        np.testing.assert_array_equal(array, typed.arrays[name])


def test_a_list_set_in_every_block_is_one_for_each() -> None:
    data = {"x": SQUARE, "blocks": [{"attn": ATTENTION}] * 2}
    sets = {"blocks.*.attn.w_q": [[1, 2], [3, 4]], "blocks.0.attn.w_q.0.0": 9}
    arrays = blockcalc.load(data, sets).arrays
    assert arrays["blocks.0.attn.w_q"][0, 0] == 9
    assert arrays["blocks.1.attn.w_q"][0, 0] == 1


@pytest.mark.parametrize("sets", [["x"], [("x",)], {1: 2}, 5, "ab", [("x", 1, 2)]])
def test_what_is_no_list_of_pairs_is_refused(sets: Any) -> None:
    with pytest.raises(UsageError, match="sets is a mapping of keys to values"):
        blockcalc.load(GIVEN, sets)


def test_values_of_python_are_blamed_in_short() -> None:
    assert refused(lambda: blockcalc.load(GIVEN, {"x.0.0": None})).startswith("x.0.0: ")
    said = refused(lambda: blockcalc.load(GIVEN, {"x": [[1] * 100, [2]]}))
    assert said.startswith("x: x: row 2 has 1 number")
