"""What a shell is told when Tab is pressed, by the variables of its own protocol."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import blockcalc
from blockcalc.cli.app import main
from blockcalc.costs.plan import AXES, BITS
from blockcalc.costs.presets import PRESETS
from blockcalc.docs.samples import default, files
from blockcalc.gradients.run import work_gradients
from blockcalc.nn.block import build
from blockcalc.program.loss import LOSSES
from blockcalc.shell.offers import LARGEST, Line, offers
from blockcalc.shell.usage import options_of
from tests.helpers import STACK, cli, text
from tests.shell.commands import COMMANDS, GROUP

pytestmark = pytest.mark.slow

OWN = options_of([GROUP])


def typed(line: str) -> list[str]:
    """Give what may stand at the end of a line."""
    *words, last = line.split(" ")
    return [offer.word for offer in offers(COMMANDS, OWN, Line(words, last))]


def names(file: str = str(default())) -> list[str]:
    """Give the names of the steps of a file, and their other names."""
    program = build(blockcalc.load(file))
    return [*(eq.out.name for eq in program.equations), *program.aliases]


def ask(shell: str, **told: Any) -> tuple[int, str]:
    """Ask the program as the script of a shell does; no error is ever said."""
    done = cli(_BLOCKCALC_COMPLETE=f"complete_{shell}", **told)
    assert done.stderr == b""
    return done.returncode, done.stdout.decode()


def bash(*words: str) -> list[str]:
    """Ask as bash does, which hands on one word a line."""
    told = {"COMP_WORDS": "\n".join(["blockcalc", *words]), "COMP_CWORD": str(len(words))}
    code, said = ask("bash", **told)
    assert code == 0
    return said.splitlines()


# what may stand ------------------------------------------------------------------------------


def test_commands() -> None:
    assert typed("") == list(COMMANDS)
    assert typed("s") == ["step", "shapes", "samples", "schema"]
    assert typed("nosuch ") == []
    assert typed("schema ") == []


def test_options_that_may_still_be_given() -> None:
    assert typed("run --de") == ["--detail", "--debug"]
    assert typed("run --detail cells --de") == ["--debug"]
    assert typed("run --set a=1 --se") == ["--set"]
    assert typed("cost --gated --pl") == []
    assert typed("--lat --norm pre export --la") == ["--latex"]
    assert typed("--no") == ["--norm", "--no-prose", "--no-color", "--no-pager"]
    assert typed("--ve") == ["--verify", "--version"]
    assert typed("run --ve") == ["--verify"]
    assert typed("run --hel") == ["--help"]
    assert typed("run -- --de") == []
    assert typed("run --steps --no") == ["--norm", "--no-prose", "--no-color", "--no-pager"]


def test_words_to_choose_from() -> None:
    assert typed("run --norm ") == ["post", "pre"]
    assert typed("--norm p") == ["post", "pre"]
    assert typed("--norm pr") == ["pre"]
    assert typed("run --norm=po") == ["--norm=post"]
    assert typed("run --detail ") == ["tables", "normal", "cells"]
    assert typed("grad --loss m") == [name for name in LOSSES if name.startswith("m")]
    assert typed("schema --error-format ") == ["text", "json"]
    assert typed("cost --norm-kind ") == ["layer", "rms"]
    assert typed("run --digits ") == []
    assert typed("run --nosuch=") == []
    assert typed("export -o ") == []


def test_names_of_the_counting_commands() -> None:
    assert typed("cost --preset ") == list(PRESETS)
    assert typed("shapes --preset=gpt2-") == ["--preset=gpt2-medium", "--preset=gpt2-large", "--preset=gpt2-xl"]  # fmt: skip
    assert typed("cost --dtype ") == list(BITS)
    assert typed("cost --double ") == list(AXES)
    assert typed("cost --lora-on ") == ["w_q", "w_k", "w_v", "w_1", "w_2"]
    assert typed("cost --lora-on w_q,w_") == ["w_q,w_q", "w_q,w_k", "w_q,w_v", "w_q,w_1", "w_q,w_2"]


def test_steps_of_the_sample_or_of_the_file_on_the_line() -> None:
    assert typed("run --steps ") == names()
    assert typed("--steps attn.weights.") == ["attn.weights.exp", "attn.weights.sum", "attn.weights.out"]  # fmt: skip
    assert typed(f"run {STACK} --steps ") == names(STACK)
    assert typed(f"--steps= run {STACK} --steps=blocks.0.attn.q") == ["--steps=blocks.0.attn.q", "--steps=blocks.0.attn.q_heads"]  # fmt: skip
    assert typed("run --steps attn.q,norm1.me") == ["attn.q,norm1.mean"]
    assert typed("run --steps sca") == ["scaled"]
    assert typed(f"run {STACK} --steps sca") == []  # an end that several blocks have
    assert typed("run --set attn.causal=true --steps attn.mas") == ["attn.masked"]
    assert typed("compare --steps norm1.me") == ["norm1.mean"]
    assert typed("run --row ") == ["t1", "t2", "t3"]


@pytest.mark.parametrize(("given", "kind", "chain", "rate"), [("", None, False, None), (" --loss sum", "sum", False, None), (" --chain", None, True, None), (" --lr 0.1", None, False, 0.1)])  # fmt: skip
def test_steps_of_the_backward_pass(
    given: str, kind: str | None, chain: bool, rate: float | None
) -> None:
    program = work_gradients(blockcalc.load(default()), kind, chain, rate).program
    known = {eq.out.name for eq in program.equations} | set(program.aliases)
    assert set(typed(f"grad{given} --steps ")) == known
    assert set(typed(f"export --grad{given} --steps ")) == known


def test_files_that_cannot_be_read_have_no_steps(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("x: [[")
    large = tmp_path / "large.yaml"
    large.write_bytes(default().read_bytes() + b"#" * LARGEST)
    for name in ("nosuch.yaml", "-", str(tmp_path), str(large)):
        assert typed(f"run {name} --steps ") == []
    assert bash("run", str(broken), "--steps", "") == []


def test_keys_to_set() -> None:
    assert typed("run --set attn.rope.") == [f"attn.rope.{key}=" for key in ("theta", "style", "dims", "start", "freqs")]  # fmt: skip
    assert typed("run --set attn.ca") == ["attn.causal=true", "attn.causal=false"]
    assert typed("run --set norm.order=") == ["norm.order=post", "norm.order=pre"]
    assert typed("run --set=norm.order=pr") == ["--set=norm.order=pre"]
    assert typed("run --set ffn.activation=si") == ["ffn.activation=silu", "ffn.activation=sigmoid"]
    assert typed("run --set attn.scale=") == ["attn.scale="]
    assert typed("run --set attn.scale=n") == []


def test_files_and_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    samples = [f"@{path.stem}" for path in files()]
    assert samples[0] == "@tiny"
    assert typed("run ") == samples
    assert typed("export --json ") == samples
    (tmp_path / "inner" / "deep").mkdir(parents=True)
    assert typed("run ") == samples
    (tmp_path / "inner" / "deep" / "b.json").touch()
    (tmp_path / "inner" / "deep" / ".hidden.yaml").touch()
    assert typed("run in") == ["inner/deep/b.json"]
    assert typed("run inner/deep/.h") == ["inner/deep/.hidden.yaml"]
    (tmp_path / "a.YAML").touch()
    (tmp_path / "notes.txt").touch()
    assert typed("run ") == ["a.YAML", "inner/"]
    assert typed("run n") == []
    assert typed("run @") == samples
    assert typed("compare a.YAML @l") == ["@llama_style"]
    assert typed("check @tiny @") == []
    assert typed("run @tiny --steps norm1.me") == ["norm1.mean"]
    assert typed("compare a.YAML ") == ["a.YAML", "inner/"]
    assert typed("compare a b ") == []
    (tmp_path / "dump.npz").touch()
    answers = ["a.YAML", "dump.npz", "inner/", "notes.txt"]
    assert typed("check ") == ["a.YAML", "inner/"]
    assert typed("check a.YAML ") == answers
    assert typed("check a.YAML dump.npz ") == answers
    assert typed("check --map ") == ["a.YAML", "inner/"]
    assert typed("check --dtype ") == ["float64", "float32", "bfloat16", "float16"]
    assert typed("weights ") == []
    assert typed("import ") == []


# the shells ----------------------------------------------------------------------------------


def test_bash_takes_a_value_after_an_equals_sign_for_a_word() -> None:
    assert bash("run", "--norm", "=", "p") == ["post", "pre"]
    assert bash("run", "--norm", "=") == ["post", "pre"]
    assert bash("run", "--norm=p") == ["--norm=post", "--norm=pre"]
    assert bash("run", "--set", "ffn.activation", "=", "ge")[:2] == ["gelu", "gelu_tanh"]
    assert bash("run", "--norm", "=", "pre", "--de") == ["--detail", "--debug"]
    assert ask("bash", COMP_WORDS="blockcalc r", COMP_CWORD="1") == (0, "run\n")


def test_bash_splits_the_name_of_a_sample_but_replaces_it_whole() -> None:
    assert bash("run", "@", "ll") == ["@llama_style"]
    assert bash("run", "@") == [f"@{path.stem}" for path in files()]
    assert bash("run", "@", "tiny", "--steps", "norm1.me") == ["norm1.mean"]
    assert bash("compare", "@", "tiny", "@", "ll") == ["@llama_style"]


def test_bash_is_given_names_of_files_with_their_signs_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my $x.yaml").touch()
    assert bash("run", "my") == [r"my\ \$x.yaml"]
    assert bash("run", r"my\ ") == [r"my\ \$x.yaml"]
    assert bash("run", "'my") == ["my $x.yaml"]
    assert bash("run", '"my ') == ["my $x.yaml"]


def test_zsh() -> None:
    said = '_arguments \'*: :(("post"\n"pre"))\'\n'
    assert ask("zsh", _TYPER_COMPLETE_ARGS="blockcalc run --norm ") == (0, said)
    assert ask("zsh", _TYPER_COMPLETE_ARGS="blockcalc run --norm p") == (0, said)
    said = "_arguments '*: :((\"--steps\":\"Show only these steps\\\\: names or patterns, ''attn.*,norm1''; may be repeated.\"))'\n"
    assert ask("zsh", _TYPER_COMPLETE_ARGS="blockcalc run --st") == (0, said)
    assert ask("zsh", _TYPER_COMPLETE_ARGS="blockcalc run --digits ") == (0, "_files\n")


def test_fish() -> None:
    told = {"_TYPER_COMPLETE_ARGS": "blockcalc sa"}
    said = "samples\tList the embedded samples, or copy them out.\n"
    assert ask("fish", **told) == (0, said)
    assert ask("fish", **told, _TYPER_COMPLETE_FISH_ACTION="get-args") == (0, said)
    assert ask("fish", **told, _TYPER_COMPLETE_FISH_ACTION="is-args") == (0, "")
    told = {"_TYPER_COMPLETE_ARGS": "blockcalc run --digits "}
    assert ask("fish", **told, _TYPER_COMPLETE_FISH_ACTION="is-args") == (1, "")
    assert ask("fish", **told, _TYPER_COMPLETE_FISH_ACTION="get-args") == (0, "")
    assert ask("fish", _TYPER_COMPLETE_ARGS="blockcalc --norm p") == (0, "post\npre\n")


@pytest.mark.parametrize("shell", ["powershell", "pwsh"])
def test_powershell(shell: str) -> None:
    told = {"_TYPER_COMPLETE_ARGS": "blockcalc run --norm p", "_TYPER_COMPLETE_WORD_TO_COMPLETE": "p"}  # fmt: skip
    assert ask(shell, **told) == (0, "post::: \npre::: \n")
    told = {"_TYPER_COMPLETE_ARGS": "blockcalc", "_TYPER_COMPLETE_WORD_TO_COMPLETE": ""}
    assert ask(shell, **told)[1].startswith("run:::Compute a block and show")


@pytest.mark.parametrize(
    ("shell", "told"),
    [
        ("bash", {}),
        ("bash", {"COMP_WORDS": "blockcalc r", "COMP_CWORD": "x"}),
        ("bash", {"COMP_WORDS": "blockcalc", "COMP_CWORD": "0"}),
        ("bash", {"COMP_WORDS": "blockcalc run 'a", "COMP_CWORD": "2"}),
        ("bash", {"COMP_WORDS": "blockcalc\nrun\n~/nowhere/", "COMP_CWORD": "2"}),
        ("zsh", {}),
        ("fish", {}),
        ("pwsh", {}),
        ("tcsh", {}),
    ],
)
def test_nothing_is_said_where_a_line_cannot_be_read(shell: str, told: dict[str, str]) -> None:
    assert ask(shell, **told) == (0, "_files\n" if shell == "zsh" else "")


def test_no_fault_of_ours_reaches_the_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    def broken(*args: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("blockcalc.shell.offers.Asked.offers", broken)
    for name, value in (("_BLOCKCALC_COMPLETE", "complete_bash"), ("COMP_WORDS", "blockcalc r"), ("COMP_CWORD", "1")):  # fmt: skip
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as stop:
        main()
    assert (stop.value.code, capfd.readouterr()) == (0, ("", ""))


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")
def test_the_script_of_bash_completes(tmp_path: Path) -> None:
    (tmp_path / "blockcalc").write_text(f'#!/bin/sh\nexec {sys.executable} -m blockcalc "$@"\n')
    (tmp_path / "blockcalc").chmod(0o755)
    body = (
        'source <(printf "%s" "$SCRIPT"); COMP_WORDS=(blockcalc run --steps norm1.me); COMP_CWORD=3;'
        "_blockcalc_completion blockcalc; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    found = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['blockcalc']; from blockcalc.cli.app import main; main()"],
        env={**os.environ, "_BLOCKCALC_COMPLETE": "source_bash"}, capture_output=True, check=True,
    )  # fmt: skip
    env = {
        **os.environ,
        "SCRIPT": found.stdout.decode(),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }
    done = subprocess.run(["bash", "-c", body], env=env, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"norm1.mean\n", b"")


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_a_shell_that_is_not_known_is_told(option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    shellingham = pytest.importorskip("shellingham")

    def nowhere() -> None:
        raise shellingham.ShellDetectionFailure

    monkeypatch.setattr(shellingham, "detect_shell", nowhere)
    monkeypatch.setattr(sys, "argv", ["blockcalc", option])
    with pytest.raises(SystemExit) as stop:
        main()
    said = "cannot tell which shell this is\n  type it at the prompt of bash, zsh, fish or PowerShell\n"
    assert (stop.value.code, capsys.readouterr()) == (2, ("", said))


def test_nothing_is_installed_where_help_is_asked_for(tmp_path: Path) -> None:
    for args in (
        ["--install-completion", "--help"],
        ["-h", "--install-completion"],
        ["--lang", "en", "--help", "--show-completion"],
    ):
        done = cli(*args, HOME=str(tmp_path), SHELL="/bin/bash")
        assert done.returncode == 0
        assert done.stdout == cli("--help").stdout
    assert not list(tmp_path.iterdir())


def test_the_script_of_a_shell_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    shellingham = pytest.importorskip("shellingham")
    monkeypatch.setattr(shellingham, "detect_shell", lambda: ("fish", "/bin/fish"))
    for args, said in (
        (["--show-completion"], "complete --command "),
        (["--version", "--show-completion"], f"blockcalc {blockcalc.__version__}\n"),
    ):
        monkeypatch.setattr(sys, "argv", ["blockcalc", *args])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        assert out.startswith(said)
        assert (stop.value.code, err) == (0, "")


def test_only_what_needs_numbers_imports_numpy() -> None:
    code = (
        "import os, sys, atexit; sys.argv = ['blockcalc'];"
        "atexit.register(lambda: os._exit(7 if 'numpy' in sys.modules or 'rich' in sys.modules else 0));"
        "from blockcalc.cli.app import main; main()"
    )
    for line in ("blockcalc r", "blockcalc run --", "blockcalc run --norm "):
        told = {"_BLOCKCALC_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **told}, capture_output=True, check=False)  # fmt: skip
        assert done.returncode == 0
    assert text(cli("--version"))
