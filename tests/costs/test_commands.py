"""The commands cost and shapes: their width, their formats, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockcalc.costs.presets import PRESETS
from tests.helpers import SAMPLES, STACK, cli, text
from tests.named import NORMS, flags

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", [80, 120])
def test_the_commands_keep_to_the_width(width: int) -> None:
    for args in (("cost", "--preset", "llama-3-405b"), ("shapes", "--preset", "llama-3-405b"), ("cost",), ("shapes",),
                 ("cost", "--d-model", "512", "--d-ff", "2048", "--heads", "8", "--tokens", "128", "--batch", "1", "--layers", "6"),
                 ("cost", "--preset", "gpt2", "--double", "tokens", "--lora", "8")):  # fmt: skip
        out = text(cli(*args, COLUMNS=str(width)))
        assert max(map(len, out.splitlines())) <= width, args


def test_the_commands_write_json_and_latex(tmp_path: Path) -> None:
    data = json.loads(text(cli("cost", "--preset", "llama-3-8b", "--dtype", "bf16", "--json")))
    assert data["parameters"]["model"] == 8_030_261_248
    assert data["parameters"]["by_name"]["attn.w_k"]["closed_form"] == "C K"
    assert data["bytes"]["cache"] == 2 * 8192 * 8 * 128 * 2 * 32
    assert sum(data["operations"]["groups"].values()) == data["operations"]["block"]
    growth = json.loads(text(cli("cost", "--preset", "gpt2", "--double", "tokens", "--json")))[
        "growth"
    ]
    assert growth["bytes.scores"] == [50_331_648, 201_326_592, 805_306_368]
    at = data["operations"]["attention_overtakes_ffn"]
    assert f"from {at:,} tokens on" in text(cli("cost", "--preset", "llama-3-8b", COLUMNS="200"))
    walk = json.loads(text(cli("shapes", "--preset", "gpt2", "--json")))
    assert walk["matrices"]["attn.scores"]["letters"] == ["B", "H", "T", "T"]
    assert walk["matrices"]["attn.scores"]["shape"] == [1, 12, 1024, 1024]
    assert r"\begin{longtable}" in text(cli("cost", "--latex"))
    done = cli("shapes", "-o", str(tmp_path / "a.tex"))
    assert done.returncode == 0
    assert (tmp_path / "a.tex").read_text().startswith("% !TEX")
    assert cli("shapes", "-o", str(tmp_path / "a.tex")).returncode == 3


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--heads", "7"), "d_model = 512 is not divisible by 7 heads"),
        (("--heads", "4", "--kv-heads", "3"), "n_kv_heads"),
        (("--preset", "gpt3"), "did you mean 'gpt2'?"),
        (("--preset", "gpt2", "--set", "x=1"), "--preset, --set"),
        (("a.yaml", "--preset", "gpt2"), "FILE, --preset"),
        (("--double", "width"), "--double takes one of tokens, batch, d_model, d_ff, heads, layers; this is 'width'"),
        (("--double", "heads"), "at that size the shapes do not fit: attn.concat is 3×4"),
        (("--dtype", "fp12"), "--dtype is one of fp64"),
        (("--norm-kind", "batch"), f"norm_kind is one of {NORMS}; this is 'batch'"),
        (("--latex", "--json"), "--latex and --json"),
        (("-o", "a.txt"), flags("pieces", "data")),
        (("--lora", "4", "--lora-on", "w_o"), "the block has no matrix w_o"),
        (("--lora-on", "w_q"), "--lora-on needs --lora"),
        ((STACK, "--layers", "3"), "this file is a stack"),
    ],
)  # fmt: skip
def test_what_cannot_be_counted(args: tuple[str, ...], said: str) -> None:
    done = cli("cost", *args)
    assert done.returncode == 2
    assert done.stdout == b""
    assert said in done.stderr.decode()


def test_a_file_has_its_own_sizes(tmp_path: Path) -> None:
    path = str(SAMPLES[0])
    done = cli("cost", path, "--d-model", "4")
    assert "cannot be combined with FILE, which has its own sizes" in done.stderr.decode()
    assert "tokens T = 9" in text(cli("cost", path, "--tokens", "9"))
    assert "pre-norm" in text(cli("cost", path, "--norm", "pre"))
    assert "pre-norm" in text(cli("shapes", "--norm", "pre"))


def test_blocks_that_are_alike_are_listed_once_and_summed_in_all(tmp_path: Path) -> None:
    eye = {"eye": 4}
    block = {"attn": {"w_q": eye, "w_k": eye, "w_v": eye}, "ffn": {"w_1": eye, "w_2": eye}}
    file = tmp_path / "a.json"
    blocks = [block, {**block, "repeat": 2}]
    file.write_text(json.dumps({"x": [[1, 2, 3, 4]], "norm": "pre", "blocks": blocks}))
    out = text(cli("cost", str(file), "--lora", "1", COLUMNS="120"))
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.startswith("attention, matrices 6 C² 96 60.0 %") for line in lines)
    assert any(line.startswith("all blocks 160 100.0 %") for line in lines)
    assert sum("The weights of all 2 blocks have the same shapes" in line for line in lines) == 2
    assert "blocks.1" not in out.partition("Operations")[0]


@pytest.mark.parametrize("name", ["bert-base", "gpt2-medium", "opt-125m", "llama-7b"])
def test_what_stands_beside_the_blocks_takes_their_width(name: str) -> None:
    shapes = [own.shape for own in PRESETS[name].plan(d_model=96, heads=12, d_ff=64).outside]
    first = PRESETS[name].plan().outside
    c = first[0].shape[1]
    assert [shape[-1] for shape in shapes] == [96] * len(shapes)
    assert all(old.shape[-1] == c for old in first)
    assert shapes[0] == (first[0].shape[0], 96)
