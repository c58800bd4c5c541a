"""What is wrong on a command line is said in our own words, with what to type instead."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from blockcalc.cli.app import main
from blockcalc.limits import MOST_COUNT
from blockcalc.shell.usage import takes_value
from tests.helpers import TINY, cli, text
from tests.named import LOSSES, ORDERS, endings, flags
from tests.shell.commands import COMMANDS

ORDER = ORDERS.replace(", ", "|")
COUNTS = ("pieces", "data")  # what cost and shapes write

TYPERS = (
    "Usage:",
    "Error:",
    "Invalid value",
    "No such",
    "Missing",
    "Got unexpected",
    "requires an",
)
Invoke = Callable[..., tuple[int, str, str]]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Run the command line in this process: exit code, output, errors."""

    def run(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["blockcalc", *args])
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        return int(str(stop.value.code or 0)), said.out, said.err

    return run


DIGITS = "--digits: a whole number from 1 to 17 is expected; this is"
SHOWN = "Significant digits shown; the decimals are shared down a column."
TOKENS = "Number of tokens (128); overrides that of a file."


@pytest.mark.parametrize(
    ("args", "said"),
    [
        # values
        (("run", "--digits", "six"), f"{DIGITS} 'six'\n  did you mean '6'?"),
        (("run", "--digits", "SIX"), f"{DIGITS} 'SIX'\n  did you mean '6'?"),
        (("run", "--digits", "4.0"), f"{DIGITS} '4.0'\n  did you mean '4'?"),
        (("run", "--digits", "1e1"), f"{DIGITS} '1e1'\n  did you mean '10'?"),
        (("run", "--digits", "６"), f"{DIGITS} '６'\n  did you mean '6'?"),
        (("run", "--digits", "1_0"), f"{DIGITS} '1_0'\n  did you mean '10'?"),
        (("run", "--digits", "twenty"), f"{DIGITS} 'twenty'\n  {SHOWN}"),
        (("run", "--digits", "4.5"), f"{DIGITS} '4.5'\n  {SHOWN}"),
        (("run", "--digits", "nan"), f"{DIGITS} 'nan'\n  {SHOWN}"),
        (("run", "--digits", "inf"), f"{DIGITS} 'inf'\n  {SHOWN}"),
        (("run", "--digits", "0"), f"{DIGITS} '0'\n  {SHOWN}"),
        (("run", "--digits", "18"), f"{DIGITS} '18'\n  {SHOWN}"),
        (("run", "--digits", "-3"), f"{DIGITS} '-3'\n  {SHOWN}"),
        (("run", "--digits", "9" * 5000), f"{DIGITS} '{'9' * 37}...'\n  {SHOWN}"),
        (("run", "--digits=x"), f"{DIGITS} 'x'\n  {SHOWN}"),
        (("cost", "--tokens", "1.5"), f"--tokens: a whole number of at least 1 is expected; this is '1.5'\n  {TOKENS}"),
        (("cost", "--tokens", "0"), f"--tokens: a whole number of at least 1 is expected; this is '0'\n  {TOKENS}"),
        (("cost", "--tokens", f"1{'0' * 18}"), f"--tokens: a whole number from 1 to {MOST_COUNT} is expected; this is '1{'0' * 18}'\n  {TOKENS}"),
        (("run", "--norm", "poost"), f"--norm: one of {ORDERS} is expected; this is 'poost'\n  did you mean 'post'?"),
        (("run", "--norm", "PRE"), f"--norm: one of {ORDERS} is expected; this is 'PRE'\n  did you mean 'pre'?"),
        (("run", "--norm", "off"), f"--norm: one of {ORDERS} is expected; this is 'off'"),
        (("run", "--detail", "cell"), "--detail: one of tables, normal, cells is expected; this is 'cell'\n  did you mean 'cells'?"),
        (("run", "--color", "on"), "--color: one of auto, always, never is expected; this is 'on'"),
        (("grad", "--loss", "msee"), f"--loss: one of {LOSSES} is expected; this is 'msee'\n  did you mean 'mse'?"),
        (("run", "--error-format", "X"), "--error-format: one of text, json is expected; this is 'X'"),
        (("schema", "--error-format", "jsno"), "--error-format: one of text, json is expected; this is 'jsno'\n  did you mean 'json'?"),
        (("grad", "--lr", "x"), "--lr is a number above 0, such as 0.1; this is 'x'"),
        (("cost", "--dtype", "fp33"), "--dtype is one of fp64, fp32, bf16, fp16, fp8, int8, int4; this is 'fp33'\n  did you mean 'fp32'?"),
        (("cost", "--double", "token"), "--double takes one of tokens, batch, d_model, d_ff, heads, layers; this is 'token'\n  did you mean 'tokens'?"),
        # a value that is missing, empty or too many
        (("run", "--digits"), f"--digits: a value is expected, --digits N\n  {SHOWN}"),
        (("run", "--digits", "--all"), f"--digits: a value is expected, --digits N\n  {SHOWN}"),
        (("run", "--digits", "--"), f"--digits: a value is expected, --digits N\n  {SHOWN}"),
        (("run", "--norm"), f"--norm: a value is expected, --norm {ORDER}\n  The order of the block; overrides the file."),
        (("export", "-o"), "--output: a value is expected, -o PATH\n  The file to write; standard output if left out. A folder, such as out/, takes several formats at once."),
        (("run", "--digits", ""), f"--digits: a value is expected, --digits N; this is empty\n  {SHOWN}"),
        (("run", "--norm="), f"--norm: a value is expected, --norm {ORDER}; this is empty\n  The order of the block; overrides the file."),
        (("run", "--all=yes"), "--all: no value is expected; this is 'yes'"),
        (("--version=3",), "--version: no value is expected; this is '3'"),
        # options
        (("run", "--nrom", "pre"), "run has no option '--nrom'\n  did you mean '--norm'?"),
        (("run", "-norm", "pre"), "run has no option '-norm'\n  did you mean '--norm'?"),
        (("run", "--xyzzy"), "run has no option '--xyzzy'\n  'blockcalc run --help' lists its options"),
        (("run", "-x"), "run has no option '-x'\n  'blockcalc run --help' lists its options"),
        (("run", "-zq"), "run has no option '-zq'\n  'blockcalc run --help' lists its options"),
        (("--xyzzy",), "run has no option '--xyzzy'\n  'blockcalc run --help' lists its options"),
        (("run", "--lr", "x"), "run has no option '--lr'\n  --lr is an option of step, grad, check, export"),
        (("samples", "-o", "x"), "samples has no option '-o'\n  -o is an option of check, worksheet, compare, cost, shapes, export, new, design, import"),
        (("cost", "--gated", "--plain"), "--gated and --plain contradict each other; choose one"),
        (("cost", "--no-bias", "--bias"), "--no-bias and --bias contradict each other; choose one"),
        (("run", "--digits", "4", "--digits", "5"), "--digits is given twice: 4 and 5"),
        (("export", "-o", "a.tex", "--output=b.tex"), "--output is given twice: a.tex and b.tex"),
        # words
        (("run", "a.yaml", "b.yaml"), "'b.yaml' is one word too many for run\n  usage: blockcalc run [FILE]"),
        (("compare", "a", "b", "c"), "'c' is one word too many for compare\n  usage: blockcalc compare [FILE] [OTHER]"),
        (("schema", "x"), "'x' is one word too many for schema\n  usage: blockcalc schema"),
        (("run", "norm", "pre"), "'pre' is one word too many for run\n  did you mean '--norm'?"),
        (("run", "—norm", "pre"), "'—norm' begins with a dash that is not a hyphen\n  did you mean '--norm'?"),
        (("run", "–digits=3"), "'–digits=3' begins with a dash that is not a hyphen\n  did you mean '--digits'?"),
        (("weights",), "FILE is missing; usage: blockcalc weights FILE\n  A .npz, .npy, .safetensors file, or a table of numbers in text: .csv, .tsv, .txt, .dat."),
        (("import",), "DIR_OR_FILE is missing; usage: blockcalc import DIR_OR_FILE\n  A folder with config.json and .safetensors files, or such a file."),
        (("weights", ""), "FILE is empty; the name of a file is expected\n  A .npz, .npy, .safetensors file, or a table of numbers in text: .csv, .tsv, .txt, .dat."),
    ],
)  # fmt: skip
def test_each_fault_has_its_sentence_and_its_hint(
    args: tuple[str, ...], said: str, invoke: Invoke
) -> None:
    assert invoke(*args) == (2, "", said + "\n")


def test_unknown_commands_are_offered_the_nearest(invoke: Invoke) -> None:
    known = "run, step, grad, check, worksheet, quiz, compare, cost, shapes, export, mistakes, new, design, import, weights, samples, schema, format, docs"
    said = "is not a command; type one of"
    for args, word, hint in (
        (("rnu",), "rnu", "\n  did you mean 'run'?"),
        (("rnu", "--help"), "rnu", "\n  did you mean 'run'?"),
        (("—norm", "pre"), "—norm", "\n  did you mean '--norm'?"),
        (("",), "", ""),
    ):
        assert invoke(*args) == (2, "", f"'{word}' {said} {known}, or blockcalc --help{hint}\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_of_every_command_is_checked(
    name: str, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["no.npz"] if name in ("import", "weights") else []
    for param in COMMANDS[name].params:
        if param.param_type_name != "option" or not takes_value(param):
            continue
        assert param.metavar, param.opts
        assert param.type.name in ("choice", "int range", "str"), param.opts
        for value in ([], [""], ["?!"]):
            code, out, err = invoke(name, *words, param.opts[0], *value)
            assert not any(word in err for word in TYPERS), err
            if value and param.opts[0] in ("--output", "--copy"):  # any name may be written
                assert code in (0, 2, 3)
            else:
                assert (code, out) == (2, ""), (name, param.opts, value)


@pytest.mark.parametrize(
    ("args", "option", "hint"),
    [
        (("run", "--digits", "six"), "--digits", "did you mean '6'?"),
        (("run", "--norm", "poost"), "--norm", "did you mean 'post'?"),
        (("run", "--nrom", "pre"), None, "did you mean '--norm'?"),
        (("run", "a", "b"), None, "usage: blockcalc run [FILE]"),
        (("rnu",), None, "did you mean 'run'?"),
        (("weights",), None, "A .npz, .npy, .safetensors file, or a table of numbers in text: .csv, .tsv, .txt, .dat."),
        (("run", "--pdf"), None, "--pdf is an option of check, worksheet, cost, shapes, export"),
    ],
)  # fmt: skip
def test_faults_of_usage_for_programs(
    args: tuple[str, ...], option: str | None, hint: str, invoke: Invoke
) -> None:
    for asked in (("--error-format", "json"), ("--error-format=json",)):
        code, out, err = invoke(*args, *asked)
        assert (code, out) == (2, "")
        said = json.loads(err)
        (fault,) = said["errors"]
        assert said["exit_code"] == 2
        assert fault["message"]
        assert (fault["option"], fault["hint"], fault["file"], fault["line"]) == (option, hint, None, None)  # fmt: skip


def test_an_unknown_format_of_errors_is_told_as_text(invoke: Invoke) -> None:
    _, _, err = invoke("run", "--error-format", "xml")
    assert err == "--error-format: one of text, json is expected; this is 'xml'\n"
    code, _, err = invoke("run", "--error-format", "xml", "--error-format=json")
    assert (code, json.loads(err)["errors"][0]["option"]) == (2, "--error-format")


FORMATS = f"the formats are {flags()}"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("export", "--docx"), f"export has no option '--docx'\n  {FORMATS}"),
        (("export", "--Docx"), f"export has no option '--Docx'\n  {FORMATS}"),
        (("export", "--tex"), f"export has no option '--tex'\n  {FORMATS}"),
        (("cost", "--html"), "cost has no option '--html'\n  --html is an option of worksheet, compare, export"),
        (("run", "--png"), f"run has no option '--png'\n  the formats are those of blockcalc export: {flags()}"),
        (("run", "--svg"), "run has no option '--svg'\n  --svg is an option of export"),
        (("run", "--npz"), "run has no option '--npz'\n  --npz is an option of export"),
        (("export", "-o", "a.docx"), f"--output: files that end in .docx cannot be written; choose a format: {flags()}, or a name that ends in {endings()}"),
        (("cost", "-o", "a.npz"), f"--output: files that end in .npz cannot be written; choose a format: {flags(*COUNTS)}, or a name that ends in {endings(*COUNTS)}"),
        (("shapes", "-o", "table"), f"--output: the name 'table' does not tell the format; choose a format: {flags(*COUNTS)}, or a name that ends in {endings(*COUNTS)}"),
        (("cost", "-o", ""), f"--output: the name '' does not tell the format; choose a format: {flags(*COUNTS)}, or a name that ends in {endings(*COUNTS)}"),
        (("export", "-o", "-"), f"choose a format: {flags()}"),
        (("cost", "--latex", "--json"), "--latex and --json contradict each other; choose one\n  a folder takes several: -o folder/"),
        (("import", "model", "-o", "layer.json"), "--output: files that end in .json cannot be written; choose a name that ends in .yaml"),
        (("import", "model", "-o", "layer.md"), "--output: files that end in .md cannot be written; choose a name that ends in .yaml"),
    ],
)  # fmt: skip
def test_the_formats_that_there_are_are_named(
    args: tuple[str, ...], said: str, invoke: Invoke
) -> None:
    assert invoke(*args) == (2, "", said + "\n")


def test_the_program_is_asked_before_the_command(invoke: Invoke) -> None:
    _, version, _ = invoke("--version")
    for args in (("run", "--version"), ("--version", "cost"), ("--nope", "--version")):
        assert invoke(*args) == (0, version, "")
    _, page, _ = invoke("cost", "--help")
    assert page.splitlines()[0].endswith("blockcalc cost [OPTIONS] [FILE]")
    assert invoke("--help", "cost") == (0, page, "")
    assert invoke("cost", "--digits", "-h") == (0, page, "")
    _, whole, _ = invoke("--help")
    assert invoke("--norm", "pre", "-h") == (0, whole, "")
    assert invoke("-h=3")[1] == whole


@pytest.mark.slow
def test_values_may_be_attached_in_any_way(tmp_path: Path) -> None:
    for number, args in enumerate(
        [["-o", "0.json"], ["-o1.json"], ["-o=2.json"], ["--output=3.json"]]
    ):
        text(cli("export", TINY, "--json", *args, cwd=tmp_path))
        assert (tmp_path / f"{number}.json").exists()
    assert sorted(os.listdir(tmp_path)) == ["0.json", "1.json", "2.json", "3.json"]


@pytest.mark.slow
def test_words_after_two_hyphens_are_files(tmp_path: Path) -> None:
    (tmp_path / "--odd.yaml").write_bytes(Path(TINY).read_bytes())
    whole = text(cli("run", TINY))
    assert text(cli("run", "--", "--odd.yaml", cwd=tmp_path)) == whole
    assert text(cli("--digits=4", "run", "--all", "--", "--odd.yaml", cwd=tmp_path)) == whole
