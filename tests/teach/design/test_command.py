"""The command ``design``: what it writes, keeps and refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import blockcalc
from tests.helpers import cli

pytestmark = pytest.mark.slow

SMALL = ("design", "--tokens", "2", "--softmax", "base2", "--seed", "3")


def told(*args: str) -> str:
    """Give what a refused command says."""
    done = cli("design", *args)
    assert done.returncode == 2
    assert not done.stdout
    return done.stderr.decode()


def test_a_block_is_written_with_comments_and_its_table(tmp_path: Path) -> None:
    done = cli(*SMALL, "-o", "a.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert "wrote a.yaml" in done.stderr.decode()
    text = (tmp_path / "a.yaml").read_text(encoding="utf-8")
    assert "# Made by: blockcalc design --tokens 2 --softmax base2 --seed 3 -o a.yaml" in text
    assert "w_q:  # [4 × 4] Q = X W_Q" in text
    assert "softmax: {base: 2}  #" in text
    trace = blockcalc.run(str(tmp_path / "a.yaml"))
    shown = done.stdout.decode()
    assert all(f"  {name} " in shown for name in ("attn.weights", "norm1.std", "norm2"))
    assert "mistakes of the catalogue" in shown
    assert trace["norm2"].shape == (2, 4)
    again = cli(*SMALL)
    lines = text.splitlines()
    assert again.stdout.decode().splitlines()[3:] == lines[3:]
    assert cli(*SMALL, "-o", "a.yaml", cwd=tmp_path).returncode == 3


def test_many_blocks_are_different_and_numbered(tmp_path: Path) -> None:
    done = cli(*SMALL, "--count", "3", "-o", "class/", cwd=tmp_path)
    assert done.returncode == 0
    files = sorted((tmp_path / "class").iterdir())
    assert [f.name for f in files] == ["01.yaml", "02.yaml", "03.yaml"]
    assert len({yaml.safe_dump(yaml.safe_load(f.read_text("utf-8"))["x"]) for f in files}) == 3
    assert "3 blocks" in done.stdout.decode()
    assert "03.yaml" in done.stdout.decode()
    for file in files:
        assert blockcalc.run(str(file))["norm2"].shape == (2, 4)


def test_what_a_file_has_is_kept(tmp_path: Path) -> None:
    given = {
        "title": "Mine: yes",
        "tokens": ["the", "cat"],
        "x": [[2, 0, 1, 1], [0, 1, 3, 0]],
        "attn": {"w_k": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]], "softmax": {"base": 2}},
        "ffn": {"b_1": [0, 1, 0, -1]},
    }  # fmt: skip
    (tmp_path / "like.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    done = cli("design", "--like", "like.yaml", "-o", "a.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    made = yaml.safe_load((tmp_path / "a.yaml").read_text(encoding="utf-8"))
    assert made["x"] == given["x"]
    assert made["tokens"] == given["tokens"]
    assert made["title"] == given["title"]
    assert made["ffn"]["b_1"] == [0, 1, 0, -1]
    assert made["attn"]["w_k"] == given["attn"]["w_k"]  # type: ignore[index]
    refused = cli("design", "--like", "like.yaml", "--tokens", "3", cwd=tmp_path)
    assert "tokens of the file is 2, but --tokens is 3" in refused.stderr.decode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("blocks: []", "cannot have blocks"),
        ("attn: {rope: {theta: 100}}", "cannot have attn.rope"),
        ("ffn: {activation: gelu}", "gelu gives numbers that are no fractions"),
        ("norm: {kind: rms}", "only a LayerNorm"),
        ("- 1", "mapping"),
    ],
)
def test_a_file_that_cannot_be_designed_is_refused(tmp_path: Path, content: str, text: str) -> None:
    (tmp_path / "a.yaml").write_text(content, encoding="utf-8")
    assert text in told("--like", str(tmp_path / "a.yaml"))


@pytest.mark.parametrize(
    ("args", "text", "hint"),
    [
        (("--d-model", "3"), "2(a² + ab + b²) = 3 s² has no solution", "4, 5, 6"),
        (("--d-model", "2"), "becomes 1 and -1", "4, 5, 6"),
        (("--d-model", "12"), "not among the widths", "4, 5, 6"),
        (("--heads", "3"), "not a multiple of 3 heads", "1, 2, 4"),
        (("--tokens", "9"), "2 to 6 tokens", ""),
        (("--softmax", "two"), "exact", ""),
        (("--count", "3"), "-o is a folder", "class/"),
    ],
)
def test_options_that_cannot_be_are_refused(args: tuple[str, ...], text: str, hint: str) -> None:
    said = told(*args)
    assert text in said
    assert hint in said


def test_a_search_that_finds_nothing_says_how_near_it_came(tmp_path: Path) -> None:
    said = told("--tokens", "5", "--softmax", "base2", "--max-den", "1", "--time", "1")
    assert "no block was found" in said
    assert "--max-den 2" in said
    assert "--tokens 4" in said
    given = "x: [[1, 0, 2, 1], [0, 0, 1, 1]]\nnorm: pre\n"
    (tmp_path / "a.yaml").write_text(given, encoding="utf-8")
    said = told("--like", str(tmp_path / "a.yaml"))
    assert "the most rows of norm1 whose σ was a fraction at once were 1 of 2" in said


def test_a_search_whose_time_is_up_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes a second each time it is looked at, so that the end is the same."""
    clock = SimpleNamespace(monotonic=iter(range(10**6)).__next__)
    monkeypatch.setattr("blockcalc.cli.teach.design.time", clock)
    done = cli(*SMALL, "--time", "5", "-o", "a.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert "stopped after 5 seconds" in done.stderr.decode()
    assert blockcalc.run(str(tmp_path / "a.yaml"))["norm2"].shape == (2, 4)
    done = cli(*SMALL, "--time", "1", cwd=tmp_path)
    assert done.returncode == 2
    assert "no block was found in 1 seconds" in done.stderr.decode()


def test_ctrl_c_before_and_after_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def clock(last: int) -> SimpleNamespace:
        ticks = iter(range(10**6))

        def monotonic() -> float:
            if next(ticks) >= last:
                raise KeyboardInterrupt
            return 0.0

        return SimpleNamespace(monotonic=monotonic)

    monkeypatch.setattr("blockcalc.cli.teach.design.time", clock(1))
    done = cli(*SMALL, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
    monkeypatch.setattr("blockcalc.cli.teach.design.time", clock(6))
    done = cli(*SMALL, "-o", "a.yaml", cwd=tmp_path)
    assert done.returncode == 130
    assert "interrupted: this is the best of" in done.stderr.decode()
    assert (tmp_path / "a.yaml").exists()


@pytest.mark.slow
def test_ctrl_c_gives_the_best_so_far(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "blockcalc", "design", "--tokens", "2", "--softmax", "base2",
         "--count", "200", "-o", "class/"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ},
    )  # fmt: skip
    time.sleep(8)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in err.decode()
    assert list((tmp_path / "class").iterdir())


def test_chinese(tmp_path: Path) -> None:
    done = cli(*SMALL, "--lang", "zh", "-o", "a.yaml", cwd=tmp_path)
    assert "每个数都是分数" in (tmp_path / "a.yaml").read_text(encoding="utf-8")
    assert "设计的块" in done.stdout.decode()
