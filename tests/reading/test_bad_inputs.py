"""Each broken file gets exactly the message that stands beside it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import blockcalc
from blockcalc.views.errors import report
from tests.helpers import HERE, cli

FOLDER = HERE / "bad_inputs"
FILES = sorted(p for p in FOLDER.iterdir() if p.suffix in (".yaml", ".json"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_the_message(path: Path, write_goldens: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    begun = time.perf_counter()
    with pytest.raises(blockcalc.BlockcalcError) as caught:
        blockcalc.run(blockcalc.load(path.name))
    assert time.perf_counter() - begun < 1
    assert caught.value.exit_code == 2
    said = report(caught.value) + "\n"
    beside = path.with_name(path.name + ".txt")
    if write_goldens:
        beside.write_text(said, encoding="utf-8")
    assert said == beside.read_text(encoding="utf-8")


def test_the_command_line_says_the_same() -> None:
    done = cli("run", "ragged.yaml", cwd=FOLDER)
    assert done.returncode == 2
    assert done.stderr.decode() == (FOLDER / "ragged.yaml.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"x: [[1]]\nattn: {out: [[\xff]]}\n", "{}:2:1: this is not utf-8 text"),
        (b"\xff\xfex\x00:\x00", "{}: a file is a mapping of keys"),
    ],
)
def test_bytes_that_are_no_text(raw: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(raw)
    with pytest.raises(blockcalc.BlockcalcError):
        blockcalc.load(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("form", ["a.yaml", "b.json", "c.txt"])
def test_texts_that_are_fine(encoding: str, ending: str, form: str, tmp_path: Path) -> None:
    text = "x: [[1, 1e-3], [-.5, 1/4]]\nattn: {out: [[0, 0], [0, 0]]}\n"
    if form == "b.json":
        text = '{"x": [[1, 1e-3], [-0.5, "1/4"]],\n"attn": {"out": [[0, 0], [0, 0]]}}\n'
    path = tmp_path / f"ein [ordner] 文件 {form}"
    path.write_bytes(text.replace("\n", ending).encode(encoding))
    assert blockcalc.load(path).arrays["x"].tolist() == [[1, 0.001], [-0.5, 0.25]]


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, mode: str) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(blockcalc.BlockcalcError, match="cannot be read: Permission denied"):
        blockcalc.load(tmp_path / "a.yaml")


def test_faults_of_a_dict_name_their_path() -> None:
    with pytest.raises(blockcalc.BlockcalcError) as caught:
        blockcalc.load({"x": [[1, "one"]], "attn": {"out": [[1, 2, 3]]}})
    assert report(caught.value) == "x.0.1: a number is expected; this is the text 'one'"


def test_numpy_arrays_may_stand_in_a_dict() -> None:
    import numpy as np

    spec = blockcalc.load({"x": np.eye(2), "attn": {"out": np.zeros((2, 2), dtype=int)}})
    assert blockcalc.run(spec)["residual1"].tolist() == [[1, 0], [0, 1]]


def test_aliases_and_merge_keys_work(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "x: [[1, 2]]\nattn: {w_q: &w [[1, 0], [0, 1]], w_k: *w, w_v: *w}\n"
        "norm1: &n {eps: 0.5, gamma: [1, 2]}\nnorm2: {<<: *n, eps: 0.25}\n"
    )
    spec = blockcalc.load(path)
    assert spec.arrays["norm2.gamma"].tolist() == [1, 2]
    assert spec.blocks[0].norms[1].eps == 0.25
    assert not np_shares(spec)


def np_shares(spec: blockcalc.Spec) -> bool:
    import numpy as np

    return bool(np.shares_memory(spec.arrays["attn.w_q"], spec.arrays["attn.w_k"]))


def test_blanks_in_expected_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "x: [[1, 2]]\nattn: {out: [[0, 0]]}\nexpect: {residual1: [[?, 2]], norm1.mean: [~]}\ntitle: what?\n"
    )
    spec = blockcalc.load(path)
    assert str(spec.expect["residual1"].tolist()) == "[[nan, 2.0]]"


def test_a_big_matrix_without_aliases_is_read() -> None:
    row = [0.5] * 300
    rows = "\n".join(f"- {row}" for _ in range(300))
    source = f"x: [[{', '.join(['1'] * 300)}]]\nattn:\n  out: [[{', '.join(['1'] * 300)}]]\nffn:\n  w_1:\n"
    source += "\n".join("  " + line for line in rows.splitlines())
    import io
    import sys

    class Stdin:
        buffer = io.BytesIO(source.encode() + b"\nstop: residual1\n")

    kept, sys.stdin = sys.stdin, Stdin()
    try:
        spec = blockcalc.load("-")
    finally:
        sys.stdin = kept
    assert spec.arrays["ffn.w_1"].shape == (300, 300)
