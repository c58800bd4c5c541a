"""Texts that could take long to read, and take no time."""

from __future__ import annotations

import json
import time
import timeit
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import blockcalc
from blockcalc.files.decode import read_text
from blockcalc.reading.load import load
from tests.helpers import refused


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        'notes: "a\n  ' + "ee: " * 4000 + '! ?"\n',
        "notes: a\nb:\n  " + "- " * 20000 + "[!\n",
        "x: [[a, " + "1,1, " * 1500 + "\n",
        "x: [[a, " + "1,1, " * 1500 + "]]\n",
        "tokens: [" + ", ".join(map(str, range(20000))) + "]\nx: [[1]]\nattn: {out: [[1]]}\n",
    ],
)
def test_no_text_takes_long(text: str) -> None:
    begun = time.process_time()
    with suppress(blockcalc.BlockcalcError):
        load(read_text(text, "a.yaml").data)
    assert time.process_time() - begun < 3


@pytest.mark.slow
def test_json_with_zeros_is_read_about_as_fast_as_the_standard_library_reads_it(
    tmp_path: Path,
) -> None:
    rows = [[i * 1e-6 * (-1) ** j for j in range(500)] for i in range(500)]
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps({"x": [[1] * 500], "attn": {"out": rows[:1]}, "ffn": {"w_1": rows, "w_2": rows}})
    )

    def best(read: Callable[[], object]) -> float:
        return min(timeit.repeat(read, number=1, repeat=5))

    # 1.4 times; a walk over every number in Python makes it 9
    assert best(lambda: load(str(path))) < 4 * best(lambda: json.loads(path.read_text()))


def test_a_place_in_a_long_json_line_is_found_at_once() -> None:
    numbers = ",".join(["1"] * 200_000)
    begun = time.process_time()
    for text in (f'{{"x": [[{numbers}]], "foo": 1}}', f'{{"x": [[\n{numbers}\n]],\n "x": 1}}'):
        refused(lambda text=text: blockcalc.load(read_text(text, "a.json").data))
        if '"x": 1' in text:
            assert "a.json:4:2: 'x' is given twice" in refused(
                lambda text=text: read_text(text, "a.json")
            )
    assert time.process_time() - begun < 10
