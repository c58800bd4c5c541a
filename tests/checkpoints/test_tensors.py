"""Tensors of a checkpoint: taken, unused, lacking, or of another shape than its config says."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.checkpoints.layer_file import as_yaml, layer_file
from blockcalc.errors import InputError
from blockcalc.views.errors import report
from tests.small_models import FOLDERS, copied, refused_import

pytestmark = pytest.mark.slow

pytest.importorskip("safetensors", reason="safetensors is an extra")


def with_biases(tmp_path: Path, name: str, *tensors: str, **config: Any) -> Path:
    """Copy a checkpoint whose layers have some more vectors."""
    from safetensors.numpy import load_file, save_file

    folder = copied(tmp_path, name, **config)
    own = load_file(folder / "model.safetensors")
    layers = (
        "decoder.layers" if name == "opt" else "encoder.layers" if name == "whisper" else "layers"
    )
    for i in (0, 1):
        for tensor in tensors:
            weight = own[f"{layers}.{i}.{tensor.replace('.bias', '.weight')}"]
            own[f"{layers}.{i}.{tensor}"] = np.full(weight.shape[0], 0.25, dtype=np.float32)
    save_file(own, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("llama", {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5}}, "rope scaling llama3"),
        ("llama", {"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 2}}, "rope scaling linear"),
        ("mistral", {"sliding_window": 3}, "sliding_window 3"),
        ("gemma", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping 50.0"),
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type relative_key"),
        ("bert", {"is_decoder": True}, "is_decoder"),
        ("bert", {"hidden_act": "gelu_fast"}, "activation gelu_fast"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention"),
        ("llama", {"model_type": "mamba"}, "model type 'mamba' is unknown"),
        ("llama", {"model_type": "mamba"}, "layers.0.self_attn.q_proj.weight"),
    ],
)  # fmt: skip
def test_what_the_format_cannot_say_is_refused_by_name(
    name: str, config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert said in refused_import(copied(tmp_path, name, **config))


def test_tensors_that_no_key_takes_are_refused_by_name(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = copied(tmp_path, "qwen2")
    own = load_file(folder / "model.safetensors")
    name = next(n for n in own if n.endswith("layers.0.self_attn.q_proj.weight"))
    own[name.replace("q_proj", "q_norm")] = np.ones(4, dtype=np.float32)
    save_file(own, folder / "model.safetensors")
    assert "self_attn.q_norm.weight" in refused_import(folder)
    assert (
        layer_file(open_checkpoint(str(folder)), 1, folder / "a.yaml").data["attn"]["n_heads"] == 2
    )
    own = {n: v for n, v in own.items() if "input_layernorm" not in n}
    save_file(own, folder / "model.safetensors")
    assert "layers.1.input_layernorm.weight" in refused_import(folder, 1)


@pytest.mark.parametrize("name", [path.name for path in FOLDERS])
def test_a_tensor_that_lacks_is_refused_by_name(name: str, tmp_path: Path) -> None:
    folder = copied(tmp_path, name)
    checkpoint = open_checkpoint(str(folder))
    used = as_yaml(layer_file(checkpoint, None, folder / "a.yaml"))
    assert any(f'"key": "{tensor}"' in used for tensor in checkpoint.where)
    for tensor in checkpoint.where:
        if f'"key": "{tensor}"' in used:
            rest = {n: v for n, v in checkpoint.where.items() if n != tensor}
            with pytest.raises(blockcalc.BlockcalcError) as error:
                layer_file(replace(checkpoint, where=rest), None, folder / "a.yaml")
            assert tensor in report(error.value)


def test_biases_that_the_config_asks_for_must_be_there(tmp_path: Path) -> None:
    for key, tensor in (("attention_bias", "q_proj.bias"), ("mlp_bias", "gate_proj.bias")):
        said = refused_import(copied(tmp_path / key, "llama", **{key: True}))
        assert f"{key} is true in config.json, but these tensors are not in the checkpoint" in said
        assert tensor in said
    assert "attention_bias is true" in refused_import(
        copied(tmp_path, "gemma", attention_bias=True)
    )
    with_biases(tmp_path, "llama", "self_attn.q_proj.bias")
    some = copied(tmp_path / "some", "llama", attention_bias=True)
    shutil.copy(tmp_path / "llama" / "model.safetensors", some)
    said = refused_import(some)
    assert "layers.0.self_attn.k_proj.bias" in said
    assert "layers.0.self_attn.q_proj.bias" not in said


@pytest.mark.parametrize(
    ("name", "tensor", "reason"),
    [
        ("llama", "self_attn.q_proj.bias", "attention_bias is false in config.json"),
        ("llama", "self_attn.o_proj.bias", "attention_bias is false in config.json"),
        ("llama", "mlp.up_proj.bias", "mlp_bias is false in config.json"),
        ("llama", "input_layernorm.bias", "norms of this family have no bias"),
        ("gemma", "self_attn.v_proj.bias", "attention_bias is false in config.json"),
        ("gemma", "mlp.down_proj.bias", "these projections have no bias in this family"),
        ("gemma", "post_attention_layernorm.bias", "norms of this family have no bias"),
        ("mistral", "self_attn.k_proj.bias", "these projections have no bias in this family"),
        ("mistral", "mlp.gate_proj.bias", "these projections have no bias in this family"),
        ("qwen2", "self_attn.o_proj.bias", "these projections have no bias in this family"),
        ("qwen2", "mlp.up_proj.bias", "these projections have no bias in this family"),
        ("whisper", "self_attn.k_proj.bias", "the projection to keys has no bias in this family"),
    ],
)  # fmt: skip
def test_a_bias_where_the_config_has_none_is_refused(
    name: str, tensor: str, reason: str, tmp_path: Path
) -> None:
    folder = with_biases(tmp_path, name, tensor)
    start = "encoder.layers.0." if name == "whisper" else "layers.0."
    with pytest.raises(InputError) as error:
        layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml")
    assert error.value.faults[0].message == f"{reason}, but the checkpoint has {start}{tensor}"
    assert error.value.faults[0].hint == "change config.json, or remove the tensors"


def test_biases_that_are_asked_for_are_used(tmp_path: Path) -> None:
    tensors = [f"self_attn.{letter}_proj.bias" for letter in "qkvo"]
    folder = with_biases(tmp_path, "llama", *tensors, attention_bias=True)
    attn = layer_file(open_checkpoint(str(folder)), 1, folder / "a.yaml").data["attn"]
    assert [attn[f"b_{x}"]["key"] for x in "qkvo"] == [f"layers.1.{name}" for name in tensors]
    without = copied(tmp_path / "b", "llama", attention_bias=...)
    assert "b_q" not in layer_file(open_checkpoint(str(without)), 1, folder / "a.yaml").data["attn"]


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("llama", {"hidden_size": 16, "head_dim": 2}, "layers.0.self_attn.q_proj.weight is 8×8; according to config.json it should be 8×16"),
        ("llama", {"num_key_value_heads": ...}, "layers.0.self_attn.k_proj.weight is 4×8; according to config.json it should be 8×8"),
        ("llama", {"num_key_value_heads": None}, "layers.0.self_attn.k_proj.weight is 4×8; according to config.json it should be 8×8"),
        ("llama", {"intermediate_size": 16}, "layers.0.mlp.gate_proj.weight is 12×8; according to config.json it should be 16×8"),
        ("llama", {"head_dim": 4}, "layers.0.self_attn.q_proj.weight is 8×8; according to config.json it should be 16×8"),
        ("gemma", {"head_dim": ...}, "layers.0.self_attn.q_proj.weight is 12×8; according to config.json it should be 512×8"),
        ("mistral", {"num_key_value_heads": ...}, "layers.0.self_attn.k_proj.weight is 8×8; according to config.json it should be 32×8"),
        ("gpt2", {"n_inner": 16}, "h.0.mlp.c_fc.weight is 8×12; according to config.json it should be 8×16"),
        ("bert", {"hidden_size": 16}, "encoder.layer.0.attention.self.query.weight is 8×8; according to config.json it should be 16×16"),
        ("opt", {"ffn_dim": 16}, "decoder.layers.0.fc1.weight is 12×8; according to config.json it should be 16×8"),
        ("whisper", {"encoder_ffn_dim": 16}, "encoder.layers.0.fc1.weight is 12×8; according to config.json it should be 16×8"),
    ],
)  # fmt: skip
def test_weights_have_the_shapes_that_the_config_says(
    name: str, config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert said in refused_import(copied(tmp_path, name, **config))


def test_tensors_that_are_not_used_are_named(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = copied(tmp_path, "gpt2")
    own = load_file(folder / "model.safetensors")
    extra = {"h.0.attn.bias": np.ones((1, 1, 4, 4), np.float32), "od\x1bd": np.ones(2, np.float32)}
    save_file({**own, **extra}, folder / "model.safetensors")
    single = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml")
    said = "Tensors of the checkpoint that this file does not use: "
    names = "h.0.attn.bias, ln_f.bias, ln_f.weight, od\\x1bd, wpe.weight, wte.weight."
    assert single.notes == [said + names]
    assert as_yaml(single).splitlines()[0] == f"# {said}{names}"
    every = layer_file(open_checkpoint(str(folder)), None, folder / "a.yaml")
    assert every.comment == said + "h.0.attn.bias, od\\x1bd, wpe.weight, wte.weight."
    folder = copied(tmp_path, "whisper")
    comment = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").comment
    assert comment is not None
    assert comment.endswith("decoder.layers.0.encoder_attn.out_proj.bias and 29 more.")
    save_file(
        {n: v for n, v in own.items() if n.startswith("h.0")},
        tmp_path / "gpt2" / "model.safetensors",
    )
    alone = layer_file(open_checkpoint(str(tmp_path / "gpt2")), 0, folder / "a.yaml")
    assert alone.notes == []
    assert as_yaml(alone).startswith("title:")
