"""The report: one screen, the first wrong step at its head, numbers alike, every width, every format."""

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
from blockcalc.check.data import differences
from blockcalc.docs.samples import folder
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


def test_the_numbers_of_a_cell_have_the_same_decimals(tmp_path: Path) -> None:
    text = checked("attn.weights.exp: [[1, 2.71], [0.367, 0.36788]]", where=tmp_path)
    (row,) = [line.split()[-2:] for line in text.splitlines() if line.startswith("     [1, 2]")]
    assert row == ["2.710", "2.718"]


def test_what_the_numbers_before_lead_to_is_shown_only_where_they_are_wrong(tmp_path: Path) -> None:
    right = "attn.scaled: [[0, 1], [-1, -1]]\nattn.weights: [[0.269, 0.713], [0.5, 0.5]]\n"
    text = checked(right, where=tmp_path)
    assert "follows" not in text
    assert "     worked:\n" in text
    text = checked(THREE, where=tmp_path)
    assert "worked from the numbers given before:" in text
    assert "0.654   0.620     0.564" in text


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
        (("--blank", "--json"), "take no ANSWERS and no format"),
        (("a.yaml", "--power"), "take no ANSWERS and no format"),
        (("--steps", "attn.q"), "--steps is for --blank and --power"),
        (("--blank", "--steps", ","), "--steps"),
        (("--tolerance", "abs"), "--tolerance is 1e-3"),
        (("--dtype", "float8"), "--dtype is one of"),
        (("--fragment",), "--fragment"),
    ],
)
def test_what_does_not_go_together_is_refused(args: tuple[str, ...], said: str) -> None:
    done = cli("check", FILE, *args)
    assert done.returncode == 2
    assert said in done.stderr.decode()


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


def test_judge_refuses_what_are_no_answers() -> None:
    with pytest.raises(blockcalc.UsageError, match="a path or a dict of answers"):
        blockcalc.judge(FILE, 5)  # type: ignore[arg-type]
    with pytest.raises(blockcalc.UsageError, match="there are no answers"):
        blockcalc.judge({"x": [[1, 2]], "attn": {"out": [[0, 1]]}})
    with pytest.raises(blockcalc.UsageError, match="--dtype is one of"):
        blockcalc.judge(FILE, dtype="float8")
