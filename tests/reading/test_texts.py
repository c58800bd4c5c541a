"""Texts of a file: odd ones, and labels as they were typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockcalc import limits
from blockcalc.files.decode import read_text
from blockcalc.reading.load import load
from tests.helpers import cli, text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("²: 1\nx: [[1]]\n", "a.yaml:1:1: unknown key '²'"),
        ("3: 5\nx: [[1]]\nattn: {out: [[1]]}\n", "a.yaml:1:1: unknown key '3'"),
        ('{"x": [[NaN1, 2]]}', "a.yaml:1:12: not JSON"),
        ('{"x": [[NaN=, 1]], <s: 1}', "not JSON"),
        ('{"title":"\\ud800","x":[[1]],"attn":{"out":[[1]]}}', "a.yaml:1:10: this text holds half"),
        ('{"title":"\u2028",\n"x":[[1, "a"]],"attn":{"out":[[1, 1]]}}', '  "x":[[1, "a"]]'),
    ],
)
def test_strange_texts(raw: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(raw, encoding="utf-8")
    name = "a.json" if raw.startswith("{") else "a.yaml"
    (tmp_path / "a.yaml").rename(tmp_path / name)
    done = cli("run", name, cwd=tmp_path)
    assert done.returncode == 2
    assert said.replace("a.yaml", name) in done.stderr.decode()


@pytest.mark.slow
def test_texts_and_labels_stay_as_typed(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text('title: what is [1, ?]\nnotes: "see [a, ?]"\ntokens: [007, +1, "a; b"]\n'
                    "x: [[1], [2], [3]]\nattn: {out: [[1], [2], [3]]}\n")  # fmt: skip
    out = text(cli("run", str(path)))
    for typed in ("what is [1, ?]", "see [a, ?]", "007, +1, a; b"):
        assert typed in out


def test_labels_are_texts_as_they_were_typed() -> None:
    def labels(content: str, sets: list[tuple[str, str]] | None = None) -> tuple[str, ...]:
        rest = "\nx: [[1], [2], [3]]\nattn: {out: [[1], [2], [3]]}\n"
        source = read_text(content + rest, "a.yaml").data
        return load(source, sets or []).tokens[0]

    assert labels("tokens: [007, 1e3, no]") == ("007", "1e3", "no")
    assert labels("tokens: [007, 08, 1.50]") == ("007", "08", "1.50")
    assert labels("tokens: [007, 08, 1.50,]") == ("007", "08", "1.50")
    assert labels("tokens: [&a 007, b, *a]") == ("007", "b", "007")
    assert labels("tokens:\n- 007\n- 2026-11-30\n- '1'") == ("007", "2026-11-30", "1")
    assert labels("notes: a", [("tokens", "[007, 08, 9]")]) == ("007", "08", "9")
    assert labels("tokens: [a, b, c]", [("tokens.1", "007")]) == ("a", "007", "c")
    assert limits.MAX_DEPTH == 64
