"""What once broke: each case stands for its kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.notation.alphabets import Text
from tests.helpers import cli, every_line, text
from tests.read_back import check, from_text
from tests.test_true_lines import _printed

pytestmark = pytest.mark.slow

TINY = str(folder() / "tiny.yaml")


def run(data: dict[str, Any], *args: str) -> str:
    done = cli("run", "-", *args, stdin=json.dumps(data).encode())
    assert done.stderr == b""
    return text(done)


def attention(x: Any, w: Any, v: Any, **more: Any) -> dict[str, Any]:
    return {"x": x, "attn": {"w_q": w, "w_k": w, "w_v": v}, **more}


def test_small_numbers_beside_huge_ones_are_no_round_off() -> None:
    data = {"x": [[1, 3]], "attn": {"out": [[0, 0]]}, "norm1": {"gamma": [1e16, 1], "beta": [0, 3]}}
    assert "+ 3 = 4.000" in run(data, "--steps", "norm1")
    out = run(attention([[1e16, -1e16, 1]], [[1], [1], [1]], [[1, 0, 0]] * 3, stop="attn.q"))
    assert "1×1 = 1" in out
    out = run(attention([[1e16, 1, -1e16]], [[1], [1], [1]], [[1, 0, 0]] * 3, stop="attn.q"))
    assert "the terms cancel beyond floating-point precision" in out


def test_numbers_at_the_end_of_the_range() -> None:
    data = attention([[1.5e308, 1e308]], [[1], [-1]], [[1, 1], [1, 1]], stop="attn.q")
    assert "5×10³⁰⁷" in run(data)
    data = {"x": [[1, 2]], "attn": {"out": [[1.7e308, 1]]}, "stop": "residual1"}
    assert "×10³⁰⁸" in run(data, "--digits", "1")
    data = attention([[1e16, 1]], [[1], [1]], [[1, 0], [0, 1]])
    data["ffn"] = {"activation": "gelu_tanh", "w_1": [[-1e103], [0]], "w_2": [[1, 1]]}
    assert "ffn.act" in run(data, "--steps", "ffn.act")


def test_set_changes_one_place_only(tmp_path: Path) -> None:
    path = tmp_path / "alias.yaml"
    path.write_text("x: [[1,2],[3,5]]\nattn: {out: [[1,2],[0,1]]}\nnorm1: &n {eps: 0}\nnorm2: *n\n"
                    "ffn: {w_1: &w [[1,2],[0,1]], w_2: *w}\n")  # fmt: skip
    spec = blockcalc.load(path, [("norm1.eps", "1000"), ("ffn.w_1.0.0", "77")])
    assert (spec.blocks[0].norms[0].eps, spec.blocks[0].norms[1].eps) == (1000, 0)
    assert spec.arrays["ffn.w_1"][0, 0] == 77
    assert spec.arrays["ffn.w_2"][0, 0] == 1


def test_what_is_set_is_what_is_blamed() -> None:
    for value, said in (("x=[[1,2],[3]]", "x: row 2 has 1 number"), ("x.0=[1,2,3]", "x: row 2 has 2 numbers"),
                        ("expect.attn.scores=[[9]]", "attn.scores is 3×3"), ("norm1.eps=", "there is nothing after"),
                        ("x=[", "not YAML"), ("tokens.1=q", "a list of labels")):  # fmt: skip
        said_of = cli("run", TINY, "--set", value).stderr.decode()
        assert said in said_of
        assert said_of.startswith("--set ") or value == "x.0=[1,2,3]"


def test_force_writes_through_links_keeps_modes_and_spares_devices(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "a.json", tmp_path / "link.json", tmp_path / "pipe"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    text(cli("export", TINY, "--json", "-o", str(link), "--force"))
    assert link.is_symlink()
    assert json.loads(target.read_text())["format"] == "blockcalc"
    assert target.stat().st_mode & 0o777 == 0o600
    os.mkfifo(pipe)
    done = cli("export", TINY, "--json", "-o", str(pipe), "--force")
    assert done.returncode == 3
    assert pipe.is_fifo()
    done = cli("export", TINY, "--json", "-o", str(tmp_path / ("a" * 300)))
    assert done.returncode == 3
    assert len(done.stderr.decode().splitlines()) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not there")
@pytest.mark.parametrize(
    "command", [f"run {TINY}", f"export {TINY} --json", f"export {TINY} --npz", "samples", "format"]
)
def test_a_full_disk_is_one_line(command: str) -> None:
    done = _shell(f"{sys.executable} -m blockcalc {command} > /dev/full")
    assert done.returncode == 3
    assert len(done.stderr.decode().splitlines()) == 1


def _shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=60)


def test_closed_streams() -> None:
    me = f"{sys.executable} -m blockcalc"
    assert _shell(f"{me} run {TINY} >&-").returncode in (0, 3)
    done = _shell(f"{me} run - <&-")
    assert done.returncode == 2
    assert b"standard input is closed" in done.stderr
    assert _shell(f"{me} run nofile 2>&-").returncode == 2
    assert _shell(f"(sleep 0.3; {me} --help; echo $? >&2) | true").stderr.strip() == b"0"


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


@pytest.mark.parametrize("key", ["x.².0", "x." + "9" * 5000 + ".0"])
def test_strange_places_to_set(key: str) -> None:
    assert cli("run", TINY, "--set", f"{key}=1").returncode == 2
    assert cli("run", TINY, COLUMNS="²").returncode == 0


def test_nearly_equal_rows_agree_with_themselves() -> None:
    data = {"x": [[1, 1.000000000000002]], "attn": {"out": [[0, 0]]}, "norm1": {"eps": 0}}
    for line in every_line(blockcalc.load(data)):
        if line.middle:
            check(_printed(line, Text()), from_text)


@pytest.mark.parametrize("digits", [12, 13, 14, 15, 16, 17])
def test_lines_are_true_with_many_digits(digits: int) -> None:
    for data in (
        attention([[41.423]], [[1]], [[1]]),
        {"x": [[2, 0, 0]], "attn": {"out": [[0, 0, 0]]}},
    ):
        for line in every_line(blockcalc.load(data), digits=digits):
            assert line.middle or line.words


def test_all_digits_can_be_had() -> None:
    out = run(
        {"x": [[2, 1.000000000000009]], "attn": {"out": [[0, 0]]}},
        "--digits",
        "17",
        "--detail",
        "tables",
    )
    assert "1.000000000000009" in out


def test_texts_and_labels_stay_as_typed(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text('title: what is [1, ?]\nnotes: "see [a, ?]"\ntokens: [007, +1, "a; b"]\n'
                    "x: [[1], [2], [3]]\nattn: {out: [[1], [2], [3]]}\n")  # fmt: skip
    out = text(cli("run", str(path)))
    for typed in ("what is [1, ?]", "see [a, ?]", "007, +1, a; b"):
        assert typed in out


def test_attached_short_values_count_as_given_twice() -> None:
    done = cli("export", TINY, "--json", "-oza.json", "-o", "zb.json")
    assert done.returncode == 2
    assert b"given twice" in done.stderr
    assert cli("run", TINY, "--eps", "0.1", "--set", "norm1.eps=3").returncode == 2
    assert cli("run", TINY, "--round", "3", "--set", "round={decimals: 4}").returncode == 2
