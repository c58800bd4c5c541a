"""Errors as Python shows them: the first message with its place and its hint."""

from __future__ import annotations

import json
from typing import Any

import pytest

import blockcalc
from blockcalc.errors import BlockcalcError, Fault, LookupFault, Place
from tests.helpers import cli


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("it is wrong"), "it is wrong"),
        (Fault("it is wrong", hint="mend it"), "it is wrong (mend it)"),
        (Fault("it is wrong", Place("a.yaml")), "a.yaml: it is wrong"),
        (Fault("it is wrong", Place("a.yaml", 2, 3, "x: y"), "mend it"), "a.yaml:2:3: it is wrong (mend it)"),
    ],
)  # fmt: skip
def test_what_str_gives(fault: Fault, said: str) -> None:
    assert str(BlockcalcError(fault)) == said
    assert str(LookupFault(fault)) == said
    assert str(BlockcalcError(fault, Fault("more"))) == said


def test_the_text_of_an_error_has_its_hint() -> None:
    data: dict[str, Any] = {"x": [[1]], "nrom": "pre", "attn": {"out": [[1]]}}
    with pytest.raises(blockcalc.BlockcalcError) as caught:
        blockcalc.load(data)
    assert str(caught.value) == "nrom: unknown key 'nrom' (did you mean 'norm'?)"
    with pytest.raises(blockcalc.BlockcalcError) as caught:
        blockcalc.load({"x": [[1, "a"]], "attn": {"out": [[1, 1]]}})
    assert str(caught.value) == "x.0.1: a number is expected; this is the text 'a'"
    trace = blockcalc.run(blockcalc.load({"x": [[1]], "attn": {"out": [[1]]}}))
    with pytest.raises(blockcalc.BlockcalcError) as caught:
        trace["Norm1"]
    assert str(caught.value) == "there is no step 'Norm1' (did you mean 'norm1'?)"


@pytest.mark.parametrize(
    "args",
    [
        ("run", "--digits", "x"),
        ("run", "--bogus"),
        ("run", "a", "b"),
        ("run", "--norm", "zz"),
        ("weights",),
    ],
)
def test_every_error_is_json_where_it_is_asked_for(args: tuple[str, ...]) -> None:
    done = cli(*args, "--error-format", "json")
    assert done.returncode == 2
    assert json.loads(done.stderr)["exit_code"] == 2


def test_an_option_is_no_file() -> None:
    done = cli("run", "--set", "x=a", "--error-format", "json")
    (error,) = json.loads(done.stderr)["errors"]
    assert (error["file"], error["option"]) == (None, "--set x=a")
