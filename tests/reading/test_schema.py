"""The JSON Schema knows every key, takes every sample, and refuses what it can see."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from blockcalc import BlockcalcError
from blockcalc.files.decode import decode, read_text
from blockcalc.reading.keys import schema
from tests.helpers import HERE, SAMPLES, cli, random_data, text

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is a development dependency")
WHOLE = schema()
CHECK = jsonschema.Draft202012Validator(WHOLE)
GOOD = [*SAMPLES, *sorted((HERE / "worked").glob("*.yaml"))]
BAD = sorted(p for p in (HERE / "bad_inputs").iterdir() if p.suffix in (".yaml", ".json"))
# what only a reading of the numbers can tell: shapes, steps, what is needed, what is finite
UNSEEN = re.compile(r"has \d+ (number|row|column)|; expected |would not be used|is required|no step|is given, not|finite"
                    r"|labels for|residual adds|not a place|needs a seed|1/0|but not used|matches several|needs w_qkv"
                    r"|with w_qkv|heads|in the file|tensors|cannot be converted|too many|no such file|not a "
                    r"|within the|sizes are expected|no sample variance|no variance|contradict|dims|pairs|places|no p above|part \d+ is|and this is|to a plain FFN|more than|surrogate")  # fmt: skip


def data_of(path: Path) -> Any:
    return read_text(decode(path.read_bytes(), path.name), path.name).data


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(WHOLE)
    assert json.loads(text(cli("schema"))) == WHOLE


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_it_takes_what_is_read(path: Path) -> None:
    CHECK.validate(data_of(path))


@settings(max_examples=60)
@given(data=random_data())
def test_it_takes_any_block(data: dict[str, Any]) -> None:
    CHECK.validate(data)


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.name)
def test_it_refuses_what_it_can_see(path: Path) -> None:
    try:
        data = data_of(path)
    except BlockcalcError:
        return
    said = path.with_name(path.name + ".txt").read_text(encoding="utf-8")
    messages = [line for line in said.splitlines() if re.match(r"\S+?: ", line)]
    if CHECK.is_valid(data):
        assert all(UNSEEN.search(message) for message in messages), said


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"x": [[1]]},
        {"x": [[1]], "attn": {}, "blocks": [{"attn": {}}]},
        {"x": [[1]], "attn": {}, "norms": "pre"},
        {"x": [[1]], "attn": {"w_q": [1, 2]}},
        {"x": [[True]], "attn": {}},
        {"x": [["1"]], "attn": {}},
        {"x": [[1]], "attn": {}, "norm1": {"eps": -1}},
        {"x": {"zeros": [1], "ones": [1]}, "attn": {}},
        {"x": {"file": "a", "rows": "a"}, "attn": {}},
        {"x": [[1]], "attn": {}, "dropout": 1},
        {"x": [[1]], "attn": {}, "round": {"decimals": 1, "significant": 1}},
        {"x": [[1]], "attn": {}, "round": {"significant": 0}},
        {"x": [[1]], "attn": {}, "dropout": {}},
        {"x": [[1]], "attn": {}, "dropout": "abc"},
        {"x": [[1]], "attn": {}, "dropout": {"p": {"attn.out": "x"}}},
        {"x": [[1]], "attn": {"mask": {"keep": [1, 0]}}},
        {"x": [[1]], "attn": {"rope": {"theta": "abc"}}},
        {"x": [[1]], "attn": {"b_q": {"eye": 2}}},
        {"x": [[1]], "attn": {"b_q": {"zeros": [2, 2]}}},
        {"x": [[1]], "blocks": [{"attn": {}}], "norm1": {}},
    ],
)
def test_it_refuses(data: Any) -> None:
    assert not CHECK.is_valid(data)


@pytest.mark.slow
def test_errors_for_programs(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("x: [[1, 0], [0, 1]]\nattn:\n  w_q: [[1], [0, 1]]\nnrom: pre\n")
    done = cli("run", str(path), "--error-format", "json")
    assert done.returncode == 2
    assert done.stdout == b""
    errors = json.loads(done.stderr)
    assert errors["exit_code"] == 2
    assert [(e["line"], e["column"]) for e in errors["errors"]] == [(3, 14), (4, 1)]
    assert errors["errors"][1]["hint"] == "did you mean 'norm'?"
    assert errors["errors"][0]["file"] == str(path)
    done = cli("run", "--error-format=json", "none.yaml")
    assert json.loads(done.stderr)["errors"][0]["line"] is None
    assert cli("run", str(path)).stderr.decode().startswith(str(path))
