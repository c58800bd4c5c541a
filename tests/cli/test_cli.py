"""The command line: what is typed, what comes out, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import blockcalc
import blockcalc.nn.run
from blockcalc.cli.app import main
from tests.helpers import SAMPLES, TINY, process, text
from tests.named import flags

pytestmark = pytest.mark.slow


def test_run_shows_every_step_of_the_block() -> None:
    out = text(process("run", TINY))
    trace = blockcalc.run(blockcalc.load(TINY))
    for number, name in enumerate(trace, 1):
        assert re.search(rf"^  {number}  .*  {re.escape(name)}  ", out, re.MULTILINE), name


def test_nothing_typed_works_the_embedded_sample(tmp_path: Path) -> None:
    out = text(process(cwd=tmp_path))
    assert out.splitlines()[0].startswith("This is the embedded sample tiny.yaml.")
    assert "blockcalc run FILE" in out.splitlines()[0]
    assert out.partition("\n\n")[2] == text(process("run", TINY))


def test_options_mean_the_same_before_and_after_the_command() -> None:
    after = text(process("run", TINY, "--norm", "pre"))
    assert text(process("--norm", "pre", "run", TINY)) == after
    assert text(process("--norm=pre", "run", TINY)) == after
    assert text(process("--norm", "pre")).partition("\n\n")[2] == after
    assert after != text(process("run", TINY))
    assert text(process("--latex", "export", TINY)) == text(process("export", "--latex", TINY))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--norm", "pre", "run", TINY, "--norm", "post"), "--norm is given twice: pre and post"),
        (("run", TINY, "--norm", "pre", "--set", "norm=post"), "norm is set twice: pre and post"),
        (("run", TINY, "--set", "attn.scale=1", "--set", "attn.scale=2"), "attn.scale is set twice: 1 and 2"),
        (("export", TINY, "--latex", "--json"), "--latex and --json contradict each other"),
        (("export", TINY), f"choose a format: {flags()}"),
        (("export", TINY, "--json", "--fragment"), "--fragment needs --latex"),
        (("f.yaml",), "to run a file, type: blockcalc run f.yaml"),
        (("f.yaml", "run"), "to run a file, type: blockcalc run f.yaml"),
        (("rnu",), "did you mean 'run'?"),
        (("--nrom", "pre"), "--nrom"),
        (("run", TINY, "--norm", "off"), "'off'"),
        (("run", "."), "this is a folder"),
        (("run", "nosuch.yaml"), "no such file"),
        (("run", TINY, "--eps", "-1"), "eps must not be negative"),
        (("run", TINY, "--eps", "x"), "a number is expected"),
        (("run", TINY, "--eps", "nan"), "a number is expected"),
        (("run", TINY, "--round", "x"), "--round takes decimals"),
        (("run", TINY, "--round", "0sf"), "--round takes decimals"),
        (("run", TINY, "--set", "attn.scale"), "--set takes KEY=VALUE"),
        (("run", TINY, "--set", "x.9=1"), "there is no such entry"),
        (("run", TINY, "--set", "attn.sclae=1"), "did you mean 'scale'?"),
        (("run", TINY, "--steps", "nosuch"), "there is no step 'nosuch'"),
        (("run", TINY, "--steps", "norm9.*"), "no step is named 'norm9.*'"),
        (("run", TINY, "--steps", "norm1.maen"), "did you mean 'norm1.mean'?"),
        (("run", TINY, "--steps", ","), "--steps takes step names"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_a_sentence(args: tuple[str, ...], said: str) -> None:
    done = process(*args)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_a_file_called_run_can_be_run(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(Path(TINY).read_bytes())
    assert text(process("run", "run", cwd=tmp_path)) == text(process("run", TINY))


def test_standard_input_is_read_as_yaml_or_json() -> None:
    raw = Path(TINY).read_bytes()
    assert text(process("run", "-", stdin=raw)) == text(process("run", TINY))
    data = {"x": [[1, 2]], "attn": {"out": [[1, 1]]}}
    assert "residual1" in text(process("run", "-", stdin=json.dumps(data).encode()))
    done = process("run", "-", stdin=b'{"x": [[1, 2]], "x": 3}')
    assert done.returncode == 2
    assert b"<stdin>:1:17: 'x' is given twice, first on line 1" in done.stderr


@pytest.mark.parametrize("args", [("--help",), ("-h",), ("run", "--help"), ("export", "-h")])
def test_help(args: tuple[str, ...]) -> None:
    out = text(process(*args))
    assert "Usage" in out
    assert "\x1b" not in out
    if "run" in args:
        assert "half away from zero" in out


def test_version() -> None:
    assert text(process("--version")) == f"blockcalc {blockcalc.__version__}\n"


def test_completion_speaks_only_of_what_fits() -> None:
    env = {"_BLOCKCALC_COMPLETE": "complete_bash", "COMP_WORDS": "blockcalc r", "COMP_CWORD": "1"}
    script = "import sys; sys.argv[0] = 'blockcalc'; from blockcalc.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **env}, capture_output=True, check=False
    )
    assert done.stdout.decode().split() == ["run"]
    env |= {"COMP_WORDS": "blockcalc run --norm p", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **env}, capture_output=True, check=False
    )
    assert done.stdout.decode().split() == ["post", "pre"]


def test_samples_are_listed_and_copied(tmp_path: Path) -> None:
    out = text(process("samples"))
    assert [line.split()[0] for line in out.splitlines()] == [p.name for p in SAMPLES]
    target = tmp_path / "mine" / "own"
    text(process("samples", "--copy", str(target)))
    assert (target / "tiny.yaml").read_bytes() == Path(TINY).read_bytes()
    again = process("samples", "--copy", str(target))
    assert again.returncode == 3
    assert b"the file exists" in again.stderr
    text(process("samples", "--copy", str(target), "--force"))


def test_the_format_page_is_shown() -> None:
    page = text(process("format"))
    assert page.startswith("# ")
    for key in ("w_q", "gamma", "final_norm", "expect", "stop", "round"):
        assert key in page


def test_export_never_writes_over_a_file(tmp_path: Path) -> None:
    target = tmp_path / "block.tex"
    done = process("export", TINY, "--latex", "-o", str(target))
    assert done.returncode == 0
    assert done.stdout == b""
    assert b"wrote " in done.stderr
    assert target.read_bytes() == process("export", TINY, "--latex").stdout
    target.write_text("mine")
    done = process("export", TINY, "--latex", "-o", str(target))
    assert (done.returncode, target.read_text()) == (3, "mine")
    assert b"--force" in done.stderr
    text(process("export", TINY, "--latex", "-o", str(target), "--force"))
    assert target.read_bytes() == process("export", TINY, "--latex").stdout
    assert os.listdir(tmp_path) == ["block.tex"]


@pytest.mark.parametrize("target", ["nowhere/block.tex", "/dev/null/folder/"])
def test_what_cannot_be_written_leaves_nothing(target: str, tmp_path: Path) -> None:
    done = process("export", TINY, "--latex", "-o", target, cwd=tmp_path)
    assert done.returncode == 3
    assert len(done.stderr.decode().splitlines()) == 1
    assert os.listdir(tmp_path) == []


def test_the_format_follows_the_name_of_the_file(tmp_path: Path) -> None:
    text(process("export", TINY, "-o", str(tmp_path / "a.json")))
    assert json.loads((tmp_path / "a.json").read_text())["format"] == "blockcalc"


def test_json_holds_every_step_at_full_precision() -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    data = json.loads(text(process("export", TINY, "--json")), parse_constant=refuse)
    trace = blockcalc.run(blockcalc.load(TINY))
    assert list(data["steps"]) == list(trace)
    for name, step in data["steps"].items():
        np.testing.assert_array_equal(np.array(step["value"]), trace[name])
        assert step["shape"] == list(trace[name].shape)
        assert len(step["axes"]) == trace[name].ndim
        assert step["title"]
        assert "=" in step["formula"]
    assert data["aliases"]["attn.out"] == "attn.z"
    assert [s["eps"] for s in data["sections"] if s["kind"] == "layer_norm"] == [0, 0]
    assert data["inputs"]["attn.w_k"]["value"] == [[1, 1], [0, 1]]


def test_npz_loads_without_pickle(tmp_path: Path) -> None:
    target = tmp_path / "t.npz"
    text(process("export", TINY, "--npz", "-o", str(target)))
    trace = blockcalc.run(blockcalc.load(TINY))
    with np.load(target, allow_pickle=False) as kept:
        for name in trace:
            np.testing.assert_array_equal(kept[name], trace[name])
        assert dict(kept["aliases"].tolist())["out"] == "norm2"
    only = process("export", TINY, "--npz", "--steps", "norm1").stdout
    (tmp_path / "one.npz").write_bytes(only)
    with np.load(tmp_path / "one.npz") as kept:
        assert set(kept.files) == {"norm1", "aliases"}


def test_steps_chooses_and_keeps_the_numbers() -> None:
    out = text(process("run", TINY, "--steps", "attn.sc*,norm1", "--steps", "out"))
    names = re.findall(r"^  \d+  \S.*?  ([a-z]\S*)  ", out, re.MULTILINE)
    assert names == ["attn.scores", "attn.scaled", "norm1", "norm2"]
    assert "  15  Normalized rows  norm1" in out


def test_depth_switches() -> None:
    tables = text(process("run", TINY, "--detail", "tables"))
    assert "S[1,1]" not in tables
    assert "Q Kᵀ" not in tables.partition("The block in short")[0]
    cells = text(process("run", TINY, "--detail", "cells"))
    assert "S[3,3] = 1×1 + 1×2 = 3" in cells
    assert "Tokens exchange" in text(process("run", TINY))
    assert "Tokens exchange" not in text(process("run", TINY, "--no-prose"))
    assert "1.40111209" in text(process("run", TINY, "--digits", "9"))


def test_set_and_eps_and_round_reach_the_run() -> None:
    assert "eps = 0.001" in text(process("run", TINY, "--eps", "1e-3"))
    assert "eps = 1e-5" in text(
        process("run", TINY, "--set", "norm1.eps=1e-5", "--set", "norm2.eps=1e-5")
    )
    assert "scores not scaled" in text(process("run", TINY, "--set", "attn.scale=none"))
    assert "2.576  1.716" in text(process("run", TINY, "--round", "3"))
    assert "4 significant figures" in text(process("run", TINY, "--round", "4sf"))
    out = text(process("run", TINY, "--set", "x=[[2, 0], [0, 1], [1, 1]]", "--steps", "attn.q"))
    assert "t1 │ 2  0" in out


@pytest.mark.parametrize("extra", [(), ("--detail", "cells")])
def test_a_reader_that_goes_away_is_no_fault(extra: tuple[str, ...]) -> None:
    for unbuffered in ("", "1"):
        command = [sys.executable, "-m", "blockcalc", "run", TINY, *extra]
        env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 0


def test_a_fault_of_ours_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(blockcalc.nn.run, "run", broken)
    monkeypatch.setattr(sys, "argv", ["blockcalc", "run", TINY])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 70
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "secret" not in said
    monkeypatch.setattr(sys, "argv", ["blockcalc", "run", TINY, "--debug"])
    with pytest.raises(RuntimeError):
        main()


def test_numpys_spelling_leaks_nowhere() -> None:
    outputs = [text(process("run", str(path), "--detail", "cells")) for path in SAMPLES]
    outputs += [
        text(process("export", str(path), form))
        for path in SAMPLES
        for form in ("--latex", "--json")
    ]
    for out in outputs:
        assert not any(word in out for word in ("np.", "array(", "dtype=", "nan", "-0.0000"))
