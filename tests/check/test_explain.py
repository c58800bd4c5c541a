"""The report of a check: one screen, the first wrong step first, in every width and format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import blockcalc
from blockcalc.check.judge import Tolerance
from blockcalc.check.reasons.sentences import frames_text
from blockcalc.check.where import differences
from blockcalc.cli.check import parse_tolerance
from blockcalc.docs.samples import folder
from tests.answers.llama_text import tensor_text
from tests.check.helpers import SMALL, check_arrays, made, right
from tests.helpers import HERE, cli

FILE = str(folder() / "pencil_pre.yaml")
THREE = """\
norm1: [[1.414, 0, 0, -1.414], [-1.414, 0, 1.414, 0]]
attn.q: [[0, 1.414, -1.414, 0], [1.414, -1.414, 0, 0]]
attn.k: [[-1.414, 0, 0, 1.414], [0, 1.144, 0, -1.414]]
attn.v: [[0, 0, -1.414, 1.414], [0, 1.414, 0, -1.414]]
attn.scores: [[0, 1.618], [-2, -1.618]]
attn.scaled: [[0, 0.809], [-1, -0.809]]
attn.weights: [[0.308, 0.692], [0.452, 0.548]]
attn.z: [[0, 0.978, -0.436, -0.543], [0, 0.775, -0.639, -0.136]]
residual1: [[2, 1.978, 0.654, -0.543], [0, 1.775, 1.361, 0.864]]
norm2.mean: [1.022, 1.25]
"""
Answers = dict[str, Any]


def checked(
    text: str, *args: str, where: Path, COLUMNS: str = "0", PYTHONIOENCODING: str = "utf-8"
) -> str:
    (where / "answers.yaml").write_text(text, encoding="utf-8")
    env = {"COLUMNS": COLUMNS, "PYTHONIOENCODING": PYTHONIOENCODING}
    done = cli("check", FILE, "answers.yaml", *args, stdin=None, cwd=where, **env)
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout.decode(PYTHONIOENCODING)


@pytest.mark.parametrize(("form", "args"), [("txt", ()), ("tex", ("--latex",)), ("json", ("--json",))])  # fmt: skip
def test_golden(form: str, args: tuple[str, ...], tmp_path: Path, write_goldens: bool) -> None:
    got = checked(THREE, *args, where=tmp_path, COLUMNS="80")
    golden = HERE / "golden" / f"check.{form}"
    if write_goldens:
        golden.write_text(got, encoding="utf-8")
    assert got == golden.read_text(encoding="utf-8")


def test_the_first_sentence_has_the_step_the_cell_and_both_numbers(tmp_path: Path) -> None:
    head = " ".join(checked(THREE, where=tmp_path, COLUMNS="80").split("step   ")[0].split())
    assert "The first wrong step is attn.k: two digits are exchanged." in head
    assert "In [2, 2], 1.144 is given; 1.414 is right." in head


def test_a_report_fits_one_screen(tmp_path: Path) -> None:
    assert len(checked(THREE, where=tmp_path, COLUMNS="80").splitlines()) <= 48


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int, encoding: str, tmp_path: Path) -> None:
    text = checked(THREE, where=tmp_path, COLUMNS=str(width), PYTHONIOENCODING=encoding)
    assert max(map(cell_len, text.splitlines())) <= width


@pytest.mark.slow
def test_the_numbers_of_a_cell_have_the_same_decimals(tmp_path: Path) -> None:
    text = checked("attn.weights.exp: [[1, 2.71], [0.367, 0.36788]]", where=tmp_path)
    (row,) = [line.split()[-2:] for line in text.splitlines() if line.startswith("     [1, 2]")]
    assert row == ["2.710", "2.718"]


def test_what_follows_is_shown_only_if_earlier_numbers_are_wrong(tmp_path: Path) -> None:
    right = "attn.scaled: [[0, 1], [-1, -1]]\nattn.weights: [[0.269, 0.713], [0.5, 0.5]]\n"
    text = checked(right, where=tmp_path)
    assert "follows" not in text
    assert "     worked:\n" in text
    text = checked(THREE, where=tmp_path)
    assert "worked from the numbers given before:" in text
    assert "0.654   0.620     0.564" in text


def _printed(cells: Any, off: float) -> str:
    """Print queries as llama.cpp does, with a sum that is off."""
    text = tensor_text("Qcur-0", np.array(cells))
    head, _, total = text.rpartition("sum = ")
    return f"{head}sum = {float(total) + off:f}\n"


def test_a_sum_that_alone_is_wrong_is_told_from_wrong_cells(tmp_path: Path) -> None:
    queries = np.array(blockcalc.run(blockcalc.load(FILE))["attn.q"])
    (tmp_path / "a.log").write_text(_printed(queries, 1.5), encoding="utf-8")
    done = cli("check", FILE, "a.log", cwd=tmp_path)
    text = " ".join(done.stdout.decode().split())
    assert done.returncode == 1
    assert "The first wrong step is attn.q: its sum is wrong." in text
    assert "given as 1.5; 0 is right: it is off by 1.5. All 8 cells are shown and right" in text
    assert "attn.q first wrong sum 1.5" in text
    assert "no known mistake" not in text
    queries[0, 0] += 1.5
    (tmp_path / "a.log").write_text(_printed(queries, 0), encoding="utf-8")
    text = " ".join(cli("check", FILE, "a.log", cwd=tmp_path).stdout.decode().split())
    assert "attn.q first wrong 1/8" in text
    assert "cells are shown and right" not in text


def test_alike_steps_share_a_line_where_there_are_many(tmp_path: Path) -> None:
    spec = blockcalc.load(FILE)
    trace = blockcalc.run(spec)
    rows = {eq.out.name: np.round(trace[eq.out.name], 3).tolist() for eq in trace.program.equations}
    text = checked(json.dumps(rows), where=tmp_path)
    (line,) = [line for line in text.splitlines() if "norm1.mean … residual2" in line]
    assert "24 steps" in line


def test_the_data_has_the_keys_that_programs_read(tmp_path: Path) -> None:
    data = json.loads(checked(THREE, "--json", where=tmp_path))
    keys = ["format", "version", "answers", "ok", "read_as", "tolerance", "first_wrong", "steps",
            "reasons", "frame", "next", "score"]  # fmt: skip
    assert list(data)[: len(keys)] == keys
    step = data["steps"]["attn.k"]
    assert list(step) == ["verdict", "judged", "wrong", "own_wrong", "max_abs", "max_rel", "max_ulp",
                          "bound_ratio", "where", "worst"]  # fmt: skip
    assert step["worst"] == {"at": [1, 1], "given": 1.144, "right": 1.414213562373095, "own": 1.414}
    assert data["steps"]["ffn.out"] == {"verdict": "not_given"}
    assert data["reasons"][0]["name"] == "slip_digits_exchanged"


def test_several_answers_are_a_line_each_a_row_each_and_a_list(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("attn.scaled: [[0, 1], [-1, -1]]", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("attn.scaled: [[0, 2], [-2, -2]]\nfoo: [1]", encoding="utf-8")
    command = ("check", FILE, "a.yaml", "b.yaml", "none.yaml")
    done = cli(*command, "--json", "--score", cwd=tmp_path)
    assert done.returncode == 1
    first, second, third = json.loads(done.stdout)
    assert (first["ok"], second["ok"], third["ok"]) == (True, False, False)
    assert first["score"] == {"points": 1.0, "of": 1.0}
    rows = list(csv.DictReader(io.StringIO(cli(*command, "--csv", cwd=tmp_path).stdout.decode())))
    assert [row["answers"] for row in rows] == ["a.yaml", "b.yaml", "none.yaml"]
    text = cli(*command, cwd=tmp_path).stdout.decode()
    assert "these are the scores without the division by √d_head" in text
    assert "none.yaml could not be read: no such file" in text


def test_one_set_of_answers_is_a_row_for_each_step(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(checked(THREE, "--csv", where=tmp_path))))
    verdicts = {row["step"]: row["verdict"] for row in rows}
    assert verdicts["attn.k"] == "wrong"
    assert verdicts["attn.scores"] == "follows"


@pytest.mark.slow
def test_gradients_have_their_titles_and_lines(tmp_path: Path) -> None:
    trace = blockcalc.grad(blockcalc.load(FILE))
    wrong = np.array(trace["grad.attn.w_q"])
    wrong[0, 1] += 0.5
    text = checked(json.dumps({"grad.attn.w_q": np.round(wrong, 3).tolist()}), where=tmp_path)
    assert "Gradient of attn.w_q" in text
    assert "first wrong" in text


def test_the_difference_over_its_bound_is_above_1_where_a_cell_is_wrong_by_itself() -> None:
    spec = blockcalc.sample("causal")
    single = dict(blockcalc.run(spec, dtype="float32"))
    found = blockcalc.judge(spec, single)
    assert found.ok
    assert all(differences(own)[2].max() <= 1 for own in found.steps.values())
    other = dict(blockcalc.run(blockcalc.load({**spec.source.data, "norm": {"eps": 1e-3}}), dtype="float32"))  # fmt: skip
    wrong = blockcalc.judge(spec, other).wrong
    assert wrong
    assert all(np.array_equal(differences(own)[2] > 1, own.bad) for own in wrong)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--blank", "--power"), "choose one"),
        (("--blank", "--score"), "they do not take --score"),
        (("--power", "--tolerance", "0.1"), "they do not take --tolerance"),
        (("--blank", "--json"), "take no ANSWERS and no format"),
        (("a.yaml", "--power"), "take no ANSWERS and no format"),
        (("--steps", "attn.q"), "--steps is for --blank and --power"),
        (("--blank", "--steps", ","), "--steps"),
        (("--tolerance", "abs"), "--tolerance is 1e-3"),
        (
            ("--power", "-o", "a.txt"),
            "--power writes to the terminal or to a pipe only\n  put > FILE at the end",
        ),
        (("--power", "--force"), "--power writes to the terminal"),
        (("--power", "--map", "m.yaml", "--score"), "they do not take --map, --score"),
        (("--blank", "--layer", "0", "--tolerance", "1"), "they do not take --layer, --tolerance"),
        (("--blank", "--dtype", "float32"), "they do not take --dtype"),
        (("--dtype", "float8"), "--dtype is one of"),
        (("--fragment",), "--fragment"),
    ],
)
def test_what_does_not_go_together_is_refused(args: tuple[str, ...], said: str) -> None:
    done = cli("check", FILE, *args)
    assert done.returncode == 2
    assert said in done.stderr.decode()


@pytest.mark.parametrize(
    ("text", "tolerance"),
    [
        ("1e-3", (1e-3, 0.0)),
        ("2", (2.0, 0.0)),
        ("rel:.5", (0.0, 0.5)),
        (" abs:1e-6, rel:1e-4 ", (1e-6, 1e-4)),
        ("0.1,rel:0", (0.1, 0.0)),
    ],
)
def test_a_tolerance_is_read(text: str, tolerance: tuple[float, float]) -> None:
    assert parse_tolerance(text) == Tolerance(*tolerance)


@pytest.mark.parametrize(
    "text",
    ["", "x:1", "-1", "nan", "inf", "1e999", "9" * 400, "1_000", "\u0661", "true", "abs:1,abs:2", "1,abs:2", "1,"],
)  # fmt: skip
def test_another_tolerance_is_refused_in_a_short_sentence(text: str) -> None:
    with pytest.raises(blockcalc.UsageError, match="--tolerance is 1e-3") as caught:
        parse_tolerance(text)
    assert len(str(caught.value)) < 120


def test_a_blank_file_has_titles_and_the_steps_that_are_chosen(tmp_path: Path) -> None:
    done = cli("check", FILE, "--blank", "--steps", "attn.weights,norm1", "-o", "a.yaml", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0
    text = (tmp_path / "a.yaml").read_text(encoding="utf-8")
    assert "# Attention weights: query 2 × key 2\nattn.weights:\n  - [?, ?]\n" in text
    assert "attn.q" not in text
    empty = cli("check", FILE, "a.yaml", cwd=tmp_path)
    assert b"No number is given yet." in empty.stdout


def test_the_power_of_two_features_is_little_and_alike_mistakes_are_grouped() -> None:
    text = " ".join(cli("check", "--power").stdout.decode().split())
    assert "Not seen, at one place or more" in text
    assert "norm_mean_kept = norm_rms_for_layer" in text


@pytest.mark.parametrize(
    ("answers", "first"),
    [
        (None, None),
        ({"attn.scaled": [[0, 1], [-1, None]]}, None),
        ({"attn.scaled": np.array([[0, 1], [-1, -1]], dtype=np.float32)}, None),
        ({"attn.scaled": [[0, 1], [-1, 1]]}, "attn.scaled"),
        ({"attn.scaled": np.array([[0, 1.0000001], [-1, -1]])}, "attn.scaled"),
    ],
)
def test_judge_takes_a_mapping(answers: Answers | None, first: str | None) -> None:
    found = blockcalc.judge(FILE, answers)
    assert (found.first_wrong, found.ok) == (first, first is None)


def test_judge_takes_a_path_a_tolerance_and_names(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("s: [[0, 1.01], [-1, -1]]", encoding="utf-8")
    names = {"s": "attn.scaled"}
    assert blockcalc.judge(FILE, path, names=names).first_wrong == "attn.scaled"
    assert blockcalc.judge(FILE, path, names=names, tolerance=0.02).ok


def test_judge_refuses_other_values_as_answers() -> None:
    with pytest.raises(blockcalc.UsageError, match="answers are a path or a dict, not"):
        blockcalc.judge(FILE, 5)  # type: ignore[arg-type]
    with pytest.raises(blockcalc.UsageError, match="there are no answers"):
        blockcalc.judge({"x": [[1, 2]], "attn": {"out": [[0, 1]]}})
    with pytest.raises(blockcalc.UsageError, match="--dtype is one of"):
        blockcalc.judge(FILE, dtype="float8")


def test_steps_in_the_same_order_are_said_in_one_sentence() -> None:
    rows = np.array(SMALL["x"])
    block = made({**SMALL, "x": [rows.tolist(), (rows * 2 - 1).tolist()]})
    values = right(block)
    arrays = {n: np.swapaxes(values[n], 0, 1) for n in ("attn.q", "ffn.pre")}
    frames = check_arrays(block, arrays).frames
    (one,) = list(frames_text(frames))
    assert one == (["attn.q", "ffn.pre"], "the axes are in another order (token, batch, …)")
    (alone,) = list(frames_text(frames[:1]))
    assert alone[1] == "the axes are in another order (token, batch, d_head)"


def test_a_bound_of_zero_has_no_ratio(tmp_path: Path) -> None:
    np.savez(tmp_path / "dump.npz", x=np.array([[2, 1, 1, 0.5], [0, 1, 2, 1]], np.float32))
    said = cli("check", FILE, str(tmp_path / "dump.npz")).stdout.decode()
    assert "1 of 8 cells; at [1, 4] the bound is 0." in said
    assert "inf" not in said


def test_nothing_judged_states_no_rule(tmp_path: Path) -> None:
    both: dict[str, Any] = {"attn.concat": np.zeros((3, 5)), "attn.z": np.ones((3, 5))}
    np.savez(tmp_path / "dump.npz", **both)
    said = cli("check", FILE, str(tmp_path / "dump.npz")).stdout.decode()
    assert "Rule:" not in said
    assert "both mean" in said
    assert "is read.\n" in said
