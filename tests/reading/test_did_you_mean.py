"""What is offered for a word that is not known: keys, words, steps, presets, commands, options."""

from __future__ import annotations

from pathlib import Path

import pytest

import blockcalc
from blockcalc.messages.words import did_you_mean
from blockcalc.nn.orders import NORM_KEYS
from blockcalc.reading.keys import TOP
from blockcalc.reading.value_types import keys_in, section
from tests.helpers import caught, cli, yaml_file

ACTIVATIONS = ["relu", "gelu", "gelu_tanh", "quick_gelu", "silu", "tanh", "sigmoid", "identity"]


@pytest.mark.parametrize(
    ("word", "known", "offered"),
    [
        ("Gelu", ACTIVATIONS, "'gelu'"),
        ("GELU", ACTIVATIONS, "'gelu'"),
        ("ReLU", ACTIVATIONS, "'relu'"),
        ("gelu-tanh", ACTIVATIONS, "'gelu_tanh'"),
        ("GeluTanh", ACTIVATIONS, "'gelu_tanh'"),
        ("Quick GELU", ACTIVATIONS, "'quick_gelu'"),
        ("glu", ["relu", "gelu"], "'gelu'"),
        ("sigmoyd", ACTIVATIONS, "'sigmoid'"),
        ("W_Q", ["w_q", "w_k"], "'w_q'"),
        ("wq", ["w_k", "w_q"], "'w_q'"),
        ("nHeads", ["n_heads", "n_kv_heads"], "'n_heads'"),
        ("n_heads", ["norm", "attn.n_heads", "attn.n_kv_heads"], "'attn.n_heads'"),
        ("N-Heads", ["norm", "attn.n_heads"], "'attn.n_heads'"),
        ("n_head", ["norm", "attn.n_heads"], "'attn.n_heads'"),
        ("mask.add", ["attn.mask.add", "attn.mask"], "'attn.mask.add'"),
        ("gamma", ["norm1.gamma", "norm2.gamma"], "'norm1.gamma' or 'norm2.gamma'"),
        ("eps", [f"norm{i}.eps" for i in range(9)], "'norm0.eps' or 'norm1.eps' or 'norm2.eps' or 'norm3.eps'"),
        ("GPT2", ["gpt2", "gpt2-xl"], "'gpt2'"),
        ("llama7b", ["gpt2", "llama-7b"], "'llama-7b'"),
        ("--Norm", ["--norm", "--no-prose"], "'--norm'"),
        ("--d-model", ["--d_model"], "'--d_model'"),
        ("Tiny", ["three_features.yaml", "tiny.yaml"], "'tiny.yaml'"),
        ("aa", ["AA", "aA"], "'AA' or 'aA'"),
    ],
)  # fmt: skip
def test_the_word_that_is_offered(word: str, known: list[str], offered: str) -> None:
    assert did_you_mean(word, known) == f"did you mean {offered}?"


@pytest.mark.parametrize("word", ["", "?", "zzz", "q", "中文"])
def test_nothing_is_offered_where_nothing_is_near(word: str) -> None:
    assert did_you_mean(word, ["norm", "attn.n_heads", *ACTIVATIONS]) is None


def hints(text: str, tmp_path: Path) -> list[str | None]:
    path = yaml_file(tmp_path, text)
    return [fault.hint for fault in caught(lambda: blockcalc.load(path)).faults]


OUT = "x: [[1]]\nattn: {out: [[1]]}\n"


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("n_heads: 2\n", "attn.n_heads"),
        ("N_HEADS: 2\n", "attn.n_heads"),
        ("n_head: 2\n", "attn.n_heads"),
        ("activation: relu\n", "ffn.activation"),
        ("w_1: [[1]]\n", "ffn.w_1"),
        ("theta: 100\n", "attn.rope.theta"),
        ("add: [[0]]\n", "attn.mask.add"),
        ("decimals: 2\n", "round.decimals"),
        ("seed: 1\n", "dropout.seed"),
        ("Titel: a\n", "title"),
        ("normm: pre\n", "norm"),
        ("ffn: {causal: true}\n", "attn.causal"),
        ("ffn: {W1: [[1]]}\n", "w_1"),
        ("ffn: {dropout: 0.5}\n", "dropout"),
    ],
)
def test_a_key_in_the_wrong_place(text: str, offered: str, tmp_path: Path) -> None:
    assert hints(OUT + text, tmp_path)[0] == f"did you mean '{offered}'?"


def test_a_key_of_several_places(tmp_path: Path) -> None:
    keys = [f"'{key}.gamma'" for key in (*NORM_KEYS, "final_norm")][:4]  # no more are offered
    said = f"did you mean {' or '.join(keys)}?"
    assert hints(OUT + "gamma: [1]\n", tmp_path) == [said]


def test_a_key_in_a_block_of_a_stack(tmp_path: Path) -> None:
    block = "x: [[1]]\nblocks:\n  - attn: {out: [[1]]}\n    n_heads: 2\n"
    assert hints(block, tmp_path) == ["did you mean 'blocks.0.attn.n_heads'?"]
    block = "x: [[1]]\nblocks:\n  - attn: {out: [[1]], activation: relu}\n"
    assert hints(block, tmp_path) == ["did you mean 'blocks.0.ffn.activation'?"]
    block = "x: [[1]]\nblocks:\n  - attn: {out: [[1]]}\n    theta: 2\n"
    assert hints(block, tmp_path) == ["did you mean 'blocks.0.attn.rope.theta'?"]


def test_a_key_of_no_place_gets_the_list(tmp_path: Path) -> None:
    (said,) = hints(OUT + "zzzzzz: 1\n", tmp_path)
    assert str(said).startswith("the keys here are title, notes, tokens, x,")


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("ffn: {activation: Gelu}\n", "gelu"),
        ("ffn: {activation: Swish}\n", "swish"),
        ("ffn: {activation: gelu-new}\n", "gelu_new"),
        ("norm: Pre\n", "pre"),
        ("norm: {kind: RMS}\n", "rms"),
        ("weight_layout: out-in\n", "out_in"),
        ("loss: {kind: MSE}\n", "mse"),
    ],
)
def test_words(text: str, offered: str, tmp_path: Path) -> None:
    assert hints(OUT + text, tmp_path)[0] == f"did you mean '{offered}'?"


def test_a_gated_activation_in_any_case(tmp_path: Path) -> None:
    said = hints(OUT + "ffn: {activation: SwiGLU}\n", tmp_path)[0]
    assert said == "SwiGLU is silu with w_gate, w_up and w_down"


@pytest.mark.parametrize(
    ("args", "offered"),
    [
        (["run", "--set", "n_heads=2"], "attn.n_heads"),
        (["run", "--set", "attn.Causal=true"], "causal"),
        (["run", "--steps", "Attn.Scores"], "attn.scores"),
        (["run", "--steps", "score"], "attn.scores"),
        (["cost", "--preset", "GPT2"], "gpt2"),
        (["cost", "--preset", "Llama7B"], "llama-7b"),
        (["Run"], "run"),
        (["grads"], "grad"),
    ],
)
def test_the_command_line(args: list[str], offered: str) -> None:
    done = cli(*args)
    assert done.returncode == 2
    assert f"did you mean '{offered}'?" in done.stderr.decode()


def test_every_key_of_a_file_has_its_path() -> None:
    found = list(keys_in(section(TOP, "")))
    assert len(found) == len(set(found))
    want = {"x", "norm", "norm.order", "norm1.gamma", "attn.mask.keep", "attn.rope.freqs", "ffn.w_gate", "dropout.p", "loss.with"}  # fmt: skip
    assert want <= set(found)
    assert not any("file" in key or "value" in key for key in found)
