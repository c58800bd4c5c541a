"""``check`` on the command line: exit codes, several answers, names, formats, kinds of files."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
import yaml

import blockcalc
from blockcalc.gradients.run import work_gradients
from tests.check.helpers import SMALL, made, right
from tests.helpers import cli, text


@pytest.fixture
def block(tmp_path: Path) -> Path:
    """Write the small block into a folder."""
    (tmp_path / "block.yaml").write_text(yaml.safe_dump(SMALL))
    return tmp_path


def put(folder: Path, name: str, answers: Any) -> str:
    """Write answers."""
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in answers.items()}
    (folder / name).write_text(yaml.safe_dump(plain))
    return name


def run(folder: Path, *args: str) -> CompletedProcess[bytes]:
    return cli("check", "block.yaml", *args, cwd=folder)


def data(done: CompletedProcess[bytes]) -> Any:
    assert not done.stderr, done.stderr.decode()
    return json.loads(done.stdout)


def test_all_right_is_0_wrong_is_1_unread_is_2(block: Path) -> None:
    values = right(made(SMALL))
    good = put(block, "good.yaml", {"attn.q": values["attn.q"].round(3)})
    bad = put(block, "bad.yaml", {"attn.q": values["attn.q"].round(3) + 0.01})
    assert run(block, good).returncode == 0
    assert run(block, bad).returncode == 1
    (block / "torn.yaml").write_text("attn.q: [[1, 2")
    done = run(block, "torn.yaml")
    assert done.returncode == 2
    assert not done.stdout
    assert b"torn.yaml" in done.stderr
    assert run(block, "absent.yaml").returncode == 2
    assert run(block).returncode == 2  # no answers, no expect
    assert cli("check", "absent.yaml", good, cwd=block).returncode == 2
    assert run(block, good, "--tolerance", "much").returncode == 2
    assert run(block, good, "--dtype", "float8").returncode == 2


def test_an_answer_that_cannot_be_read_is_its_own_line(block: Path) -> None:
    values = right(made(SMALL))
    good = put(block, "good.yaml", {"attn.q": values["attn.q"]})
    (block / "torn.yaml").write_text("attn.q: [[1, 2")
    found = data(run(block, good, "torn.yaml", "absent.yaml", "--json"))
    assert [one["ok"] for one in found] == [True, False, False]
    done = run(block, good, "torn.yaml", "absent.yaml", "--score")
    assert done.returncode == 1
    lines = done.stdout.decode()
    assert all(name in lines for name in (good, "torn.yaml", "absent.yaml"))


def test_the_file_of_a_class(block: Path) -> None:
    values = right(made(SMALL))
    names = []
    for i in range(3):
        own = {"attn.q": values["attn.q"].round(4), "attn.scores": values["attn.scores"].round(4)}
        own["attn.scores"][0, 0] += 0.1 * i
        names.append(put(block, f"{i}.yaml", own))
    rows = list(csv.DictReader(io.StringIO(run(block, *names, "--csv").stdout.decode())))
    assert [row["answers"] for row in rows] == names
    assert [row["first_wrong"] for row in rows] == ["", "attn.scores", "attn.scores"]
    assert [float(row["points"]) for row in rows] == [2, 1, 1]


def test_points(block: Path) -> None:
    values = right(made(SMALL))
    own = {"attn.q": values["attn.q"].round(3), "attn.k": values["attn.k"].round(3) + 1}
    own["points"] = {"attn.q": 3, "attn.k": 2}
    name = put(block, "a.yaml", own)
    assert data(run(block, name, "--json", "--score"))["score"] == {"points": 3, "of": 5}
    assert data(run(block, name, "--json"))["score"] is None
    assert "3 of 5" in run(block, name, "--score").stdout.decode()


def test_names_of_ones_own(block: Path) -> None:
    values = right(made(SMALL))
    name = put(block, "a.yaml", {"Queries": values["attn.q"].round(3)})
    assert run(block, name).returncode == 2  # none of the names is a step
    put(block, "map.yaml", {"Queries": "attn.q"})
    assert run(block, name, "--map", "map.yaml").returncode == 0
    put(block, "map.yaml", {"Queries": "attn.q", "Kays": "attn.k"})
    said = " ".join(run(block, name, "--map", "map.yaml").stdout.decode().split())
    assert "Names of the map that no answer has: Kays." in said


def test_a_step_named_twice(block: Path) -> None:
    values = right(made(SMALL))
    q = values["attn.q"].round(3)
    assert run(block, put(block, "same.yaml", {"attn.q": q, "q": q})).returncode == 0
    done = run(block, put(block, "two.yaml", {"attn.q": q, "q": q + 1}), "--json")
    found = data(done)
    assert [one["name"] for one in found["unreadable"]] == ["attn.q", "q"]
    assert found["steps"]["attn.q"]["verdict"] == "unreadable"
    assert "q" not in found["steps"]
    assert done.returncode == 2  # nothing else is given


@pytest.mark.parametrize(
    ("content", "code"), [("", 2), ("{}", 2), ("# nothing\n", 2), ("attn.q: ?\n", 0)]
)
def test_no_answers_at_all(block: Path, content: str, code: int) -> None:
    (block / "a.yaml").write_text(content)
    done = run(block, "a.yaml")
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


def test_a_matrix_of_another_shape(block: Path) -> None:
    found = data(run(block, put(block, "a.yaml", {"attn.q": [[1, 2], [3, 4]]}), "--json"))
    assert found["steps"]["attn.q"]["verdict"] == "unreadable"
    assert "3×3" in found["steps"]["attn.q"]["why"]
    assert not found["ok"]


def test_inputs_and_weights_may_be_among_the_answers(block: Path) -> None:
    own = {"x": SMALL["x"], "attn.w_q": SMALL["attn"]["w_q"]}
    assert run(block, put(block, "a.yaml", own)).returncode == 0
    own["x"] = (np.array(SMALL["x"]) + 1).tolist()
    found = data(run(block, put(block, "a.yaml", own), "--json"))
    assert found["first_wrong"] == "x"


def test_the_blank_file_reads_back(block: Path) -> None:
    blank = text(run(block, "--blank", "--steps", "attn.q,norm1"))
    (block / "blank.yaml").write_text(blank)
    assert set(yaml.safe_load(blank)) == {"attn.q", "norm1"}
    assert run(block, "blank.yaml").returncode in (0, 1)
    q = right(made(SMALL))["attn.q"]
    head, _, cells = blank.partition("attn.q:")
    for number in q.ravel():
        cells = cells.replace("?", f"{number:.3f}", 1)
    filled = f"{head}attn.q:{cells}"
    (block / "filled.yaml").write_text(filled)
    found = data(run(block, "filled.yaml", "--json"))
    assert found["ok"]
    assert found["steps"]["attn.q"]["judged"] == 9


def test_a_dump_in_every_kind_of_file(block: Path) -> None:
    values = right(made(SMALL))
    single: Any = {name: np.asarray(v, np.float32) for name, v in values.items()}
    np.savez(block / "a.npz", **single)
    found = data(run(block, "a.npz", "--json"))
    assert found["ok"]
    assert found["read_as"] == "float32"
    assert all(s["bound_ratio"] is not None for s in found["steps"].values())
    assert data(run(block, "a.npz", "--json", "--dtype", "float64"))["read_as"] == "float64"
    assert not data(run(block, "a.npz", "--json", "--dtype", "float64"))["ok"]
    chosen = data(run(block, "a.npz", "--json", "--dtype", "float64", "--tolerance", "1e-5"))
    assert chosen["ok"]
    for kind in ("json", "npz"):
        made_by_us = cli("export", "block.yaml", f"--{kind}", "-o", f"run.{kind}", cwd=block)
        assert made_by_us.returncode == 0, made_by_us.stderr
        assert run(block, f"run.{kind}").returncode == 0


@pytest.mark.parametrize("name", ["a.pt", "a.pkl", "a.bin"])
def test_a_pickle_is_not_opened(block: Path, name: str) -> None:
    (block / name).write_bytes(b"\x80\x04]\x94.")
    done = run(block, name)
    assert done.returncode == 2
    assert b"np.savez" in done.stderr


def test_gradients_and_new_weights(block: Path) -> None:
    (block / "block.yaml").write_text(yaml.safe_dump({**SMALL, "norm": "pre"}))
    spec = blockcalc.load(block / "block.yaml")
    trace = work_gradients(spec, "mse", False, 0.1)
    names = ("grad.attn.w_q", "grad.x", "new.ffn.w_1", "attn.q")
    own = {name: np.round(trace[name], 5) for name in names}
    name = put(block, "a.yaml", own)
    found = data(run(block, name, "--json", "--loss", "mse", "--lr", "0.1"))
    assert found["ok"], found["steps"]
    assert found["steps"]["grad.x"]["verdict"] in ("right", "rounded")


@pytest.mark.slow
def test_new_weights_of_another_rate(block: Path) -> None:
    spec = blockcalc.load(block / "block.yaml")
    own = {"new.ffn.w_1": np.round(work_gradients(spec, "mse", False, 0.1)["new.ffn.w_1"], 5)}
    name = put(block, "a.yaml", own)
    wrong = data(run(block, name, "--json", "--loss", "mse", "--lr", "0.2"))
    assert wrong["first_wrong"] == "new.ffn.w_1"


def test_the_answers_of_the_file_itself(block: Path) -> None:
    values = right(made(SMALL))
    own = {**SMALL, "expect": {"attn.q": values["attn.q"].round(3).tolist()}}
    (block / "block.yaml").write_text(yaml.safe_dump(own))
    assert run(block).returncode == 0
    own["expect"]["attn.q"][0][0] += 1
    (block / "block.yaml").write_text(yaml.safe_dump(own))
    assert run(block).returncode == 1


@pytest.mark.parametrize("kind", ["json", "csv", "latex"])
def test_reports_go_to_files(block: Path, kind: str) -> None:
    values = right(made(SMALL))
    name = put(block, "a.yaml", {"attn.scores": values["attn.scores"].round(3) + 0.1})
    shown = run(block, name, f"--{kind}")
    assert shown.returncode == 1
    written = run(block, name, f"--{kind}", "-o", "report.out")
    assert written.returncode == 1
    assert (block / "report.out").read_bytes() == shown.stdout


STACK = {"x": SMALL["x"], "blocks": [{k: SMALL[k] for k in ("attn", "ffn")}] * 2}


def test_a_stack_and_its_layers(tmp_path: Path) -> None:
    (tmp_path / "block.yaml").write_text(yaml.safe_dump(STACK))
    values = right(made(STACK))
    own = {n: v.round(4) for n, v in values.items() if n.endswith((".attn.q", ".norm2"))}
    assert run(tmp_path, put(tmp_path, "a.yaml", own)).returncode == 0
    own["blocks.1.attn.q"] = own["blocks.1.attn.q"] + 1
    found = data(run(tmp_path, put(tmp_path, "a.yaml", own), "--json"))
    assert found["first_wrong"] == "blocks.1.attn.q"


def test_one_layer_of_a_models_states(tmp_path: Path) -> None:
    (tmp_path / "block.yaml").write_text(yaml.safe_dump(SMALL))
    out = right(made(SMALL))["norm2"]
    states: Any = {f"hidden_states.{i}": np.full((1, 3, 3), float(i)) for i in range(4)}
    states["hidden_states.1"], states["hidden_states.2"] = np.array([SMALL["x"]]), out[None]
    np.savez(tmp_path / "a.npz", **states)
    assert run(tmp_path, "a.npz").returncode == 1
    assert run(tmp_path, "a.npz", "--layer", "1").returncode == 0


def test_a_batch(tmp_path: Path) -> None:
    own = {**SMALL, "x": [SMALL["x"], (np.array(SMALL["x"]) * 2).tolist()]}
    (tmp_path / "block.yaml").write_text(yaml.safe_dump(own))
    scores = right(made(own))["attn.scores"].round(3)
    assert run(tmp_path, put(tmp_path, "a.yaml", {"attn.scores": scores})).returncode == 0
    found = data(run(tmp_path, put(tmp_path, "a.yaml", {"attn.scores": scores[::-1]}), "--json"))
    assert [f["name"] for f in found["frame"]] == ["batch_exchanged"]


def test_a_block_that_starts_and_ends_early(tmp_path: Path) -> None:
    own = {"x": [[1, 2, 4]], "attn": {"out": [[0.5, 0.5, 0.5]]}, "stop": "norm1.mean"}
    (tmp_path / "block.yaml").write_text(yaml.safe_dump(own))
    good = {"residual1": [[1.5, 2.5, 4.5]], "norm1.mean": [2.83], "attn.out": [[0.5, 0.5, 0.5]]}
    assert run(tmp_path, put(tmp_path, "a.yaml", good)).returncode == 0
    found = data(run(tmp_path, put(tmp_path, "a.yaml", {**good, "norm1.var": [1.0]}), "--json"))
    assert found["steps"]["norm1.var"]["verdict"] == "unreadable"


def test_rows_that_see_nothing(tmp_path: Path) -> None:
    attn = {**SMALL["attn"], "mask": {"keep": [[0, 0, 0]] * 3}}
    (tmp_path / "block.yaml").write_text(yaml.safe_dump({**SMALL, "attn": attn}))
    name = put(tmp_path, "a.yaml", {"attn.weights": [[0, 0, 0]] * 3, "attn.z": [[0, 0, 0]] * 3})
    assert run(tmp_path, name).returncode == 0
    nan = data(run(tmp_path, put(tmp_path, "b.yaml", {"attn.weights": [[float("nan")] * 3] * 3}), "--json"))  # fmt: skip
    assert nan["infinite"] == "attn.weights"
    assert nan["first_wrong"] == "attn.weights"


def _broken(folder: Path, command: str) -> str:
    """Run a command whose reader goes away before any output; give its exit code and errors."""
    me = f"{shlex.quote(sys.executable)} -m blockcalc"
    line = f"(sleep 0.3; {me} {command}; echo $? >&2) | true"
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, check=False, text=True
    ).stderr


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "--json", "--csv", "--latex", "--score"])
def test_the_verdict_holds_where_the_reader_goes_away(block: Path, more: str) -> None:
    q = right(made(SMALL))["attn.q"].round(3)
    good, bad = put(block, "good.yaml", {"attn.q": q}), put(block, "bad.yaml", {"attn.q": q + 1})
    none = put(block, "none.yaml", {"nothing": [1]})
    for name, code in ((good, 0), (bad, 1), (none, 2), (f"{good} {bad}", 1)):
        assert _broken(block, f"check block.yaml {name} {more}") == f"{code}\n"


@pytest.mark.slow
def test_the_points_of_the_file_and_of_a_class(block: Path) -> None:
    values = right(made(SMALL))
    points = {"attn.q": 3, "attn.k": 2, "attn.scores": 1}
    (block / "block.yaml").write_text(yaml.safe_dump({**SMALL, "points": points}))
    names = [
        put(block, f"{i}.yaml", {n: values[n].round(3) for n in list(points)[: i + 1]})
        for i in range(3)
    ]
    (block / "torn.yaml").write_text("attn.q: [[1, 2")
    done = run(block, *names, "torn.yaml", "--csv", "--score")
    assert done.returncode == 1
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [(float(row["points"]), float(row["of"])) for row in rows] == [(3, 6), (5, 6), (6, 6), (0, 6)]  # fmt: skip
    assert rows[0]["not_handed_in"] == "attn.k attn.scores"
    assert "not YAML" in rows[3]["unreadable"]
    for wrong in ("{attn.q: -1}", "{attn.q: .nan}", "{attn.q: 1e9}", "{attn.qq: 1}", "3", "{q: 1, attn.q: 2}"):  # fmt: skip
        (block / "block.yaml").write_text(yaml.safe_dump(SMALL) + f"points: {wrong}\n")
        done = run(block, names[0])
        assert done.returncode == 2, wrong
        assert done.stderr.startswith(b"block.yaml:"), done.stderr


@pytest.mark.slow
def test_standard_input_is_one_file_only(block: Path) -> None:
    q = right(made(SMALL))["attn.q"].round(3)
    name = put(block, "a.yaml", {"attn.q": q})
    content = (block / name).read_bytes()
    assert cli("check", "block.yaml", "-", cwd=block, stdin=content).returncode == 0
    for args in (("-", "-"), ("block.yaml", "-", "-"), ("block.yaml", "-", "--map", "-")):
        done = cli("check", *args, cwd=block, stdin=content)
        assert done.returncode == 2
        assert b"standard input" in done.stderr


@pytest.mark.slow
def test_a_blank_of_gradients(block: Path) -> None:
    (block / "block.yaml").write_text(yaml.safe_dump({**SMALL, "norm": "pre"}))
    blank = text(run(block, "--blank", "--steps", "grad.*", "--loss", "sum"))
    assert "THIS_FILE --loss sum" in blank
    assert "L = sum of all entries" in blank
    assert all(name.startswith("grad.") for name in yaml.safe_load(blank))
    (block / "a.yaml").write_text(blank)
    assert run(block, "a.yaml", "--loss", "sum").returncode == 0
    assert "new.attn.w_q" in yaml.safe_load(text(run(block, "--blank", "--steps", "new.*", "--lr", "0.1")))  # fmt: skip
    done = run(block, "--blank", "--steps", "new.*")
    assert done.returncode == 2
    assert b"--lr" in done.stderr


@pytest.mark.slow
def test_a_pipe_is_read_and_waited_for(block: Path) -> None:
    q = right(made(SMALL))["attn.q"].round(3)
    name = put(block, "a.yaml", {"attn.q": q})
    command = f"{shlex.quote(sys.executable)} -m blockcalc check <(cat block.yaml) <(cat {name})"
    done = subprocess.run(["bash", "-c", command], cwd=block, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    os.mkfifo(block / "pipe")
    process = subprocess.Popen(
        [sys.executable, "-m", "blockcalc", "check", "block.yaml", "pipe"], cwd=block,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline() == b"waiting for the writer of pipe, a pipe; Ctrl-C stops\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")
