"""Models on disk: small checkpoints of each family in its published layout.

The folders in ``checkpoints/`` were saved by Hugging Face transformers with random weights; ``recorded.npz``
has what went into each layer there and what came out, in float64 (some families work a norm or a softmax in float32
whatever they are given).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.checkpoints.families import FAMILIES
from blockcalc.checkpoints.layer_file import as_yaml, layer_file
from blockcalc.views.errors import report
from tests.helpers import HERE, cli, text

pytest.importorskip("safetensors", reason="safetensors is an extra")
FOLDERS = sorted(p for p in (HERE / "checkpoints").iterdir() if p.is_dir())
SINGLE = {"llama", "mistral", "qwen2", "gemma", "opt", "opt_post"}


def imported(folder: Path, layer: int | None, target: Path) -> Path:
    target.write_text(as_yaml(layer_file(open_checkpoint(str(folder)), layer, target)))
    return target


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_a_layer_gives_what_the_family_gives(folder: Path, layer: int, tmp_path: Path) -> None:
    recorded = np.load(folder / "recorded.npz")
    path = imported(folder, layer, tmp_path / "layer.yaml")
    spec = blockcalc.load(path, [("x", json.dumps(recorded[f"in.{layer}"].tolist()))])
    want = recorded[f"out.{layer}"]
    tolerance = 2e-6 if folder.name in SINGLE else 1e-10
    got = blockcalc.run(spec)["out"]
    assert np.abs(got - want).max() <= tolerance * max(1.0, np.abs(want).max())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_all_layers_give_what_the_model_gives(folder: Path, tmp_path: Path) -> None:
    recorded = np.load(folder / "recorded.npz")
    path = imported(folder, None, tmp_path / "stack.yaml")
    spec = blockcalc.load(path, [("x", json.dumps(recorded["in.0"].tolist()))])
    want = recorded["final"]
    tolerance = 1e-5 if folder.name in SINGLE else 1e-10
    got = blockcalc.run(spec)["out"]
    assert np.abs(got - want).max() <= tolerance * max(1.0, np.abs(want).max())


def test_every_family_has_a_checkpoint() -> None:
    assert {open_checkpoint(str(folder)).family[0] for folder in FOLDERS} == set(FAMILIES)


def test_the_command_writes_a_file_that_runs_as_it_stands(tmp_path: Path) -> None:
    shutil.copytree(HERE / "checkpoints" / "bert", tmp_path / "my model")
    done = cli(
        "import", "my model", "--layer", "1", "-o", "layer.yaml", "--tokens", "3", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr.decode()
    out = text(cli("run", "layer.yaml", "--detail", "tables", cwd=tmp_path))
    assert out.startswith("my model (BERT), layer 1")
    assert (
        "attn.w_q: my model/model.safetensors, encoder.layer.1.attention.self.query.weight" in out
    )
    assert "eps = 1e-12" in out
    assert "tokens          3" in out
    again = cli("import", "my model", "-o", "layer.yaml", cwd=tmp_path)
    assert again.returncode == 3
    printed = text(cli("import", "my model/model.safetensors", "--all-layers", cwd=tmp_path))
    assert "blocks:\n  - attn:" in printed
    assert cli("run", "-", stdin=printed.encode(), cwd=tmp_path).returncode == 0
    both = cli("import", "my model", "--all-layers", "--layer", "0", cwd=tmp_path)
    assert both.returncode == 2


def changed(tmp_path: Path, name: str, **config: Any) -> Path:
    """Copy a checkpoint with some of its config changed."""
    folder = tmp_path / name
    shutil.copytree(HERE / "checkpoints" / name, folder)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return folder


def refused(folder: Path, layer: int | None = 0) -> str:
    with pytest.raises(blockcalc.BlockcalcError) as error:
        layer_file(open_checkpoint(str(folder)), layer, folder / "a.yaml")
    assert error.value.exit_code == 2
    return report(error.value)


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("llama", {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5}}, "rope scaling llama3"),
        ("llama", {"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 2}}, "rope scaling linear"),
        ("mistral", {"sliding_window": 2}, "sliding_window 2"),
        ("gemma", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping 50.0"),
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type relative_key"),
        ("bert", {"is_decoder": True}, "is_decoder"),
        ("bert", {"hidden_act": "gelu_fast"}, "activation gelu_fast"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention"),
        ("llama", {"model_type": "mamba"}, "a model of type 'mamba' is not known"),
        ("llama", {"model_type": "mamba"}, "layers.0.self_attn.q_proj.weight"),
    ],
)  # fmt: skip
def test_what_the_format_cannot_say_is_refused_by_name(
    name: str, config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert said in refused(changed(tmp_path, name, **config))


def test_tensors_that_no_key_takes_are_refused_by_name(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = changed(tmp_path, "qwen2")
    own = load_file(folder / "model.safetensors")
    name = next(n for n in own if n.endswith("layers.0.self_attn.q_proj.weight"))
    own[name.replace("q_proj", "q_norm")] = np.ones(4, dtype=np.float32)
    save_file(own, folder / "model.safetensors")
    assert "self_attn.q_norm.weight" in refused(folder)
    assert (
        layer_file(open_checkpoint(str(folder)), 1, folder / "a.yaml").data["attn"]["n_heads"] == 2
    )
    own = {n: v for n, v in own.items() if "input_layernorm" not in n}
    save_file(own, folder / "model.safetensors")
    assert "layers.1.input_layernorm.weight" in refused(folder, 1)


@pytest.mark.parametrize("name", [path.name for path in FOLDERS])
def test_a_tensor_that_lacks_is_refused_by_name(name: str, tmp_path: Path) -> None:
    folder = changed(tmp_path, name)
    checkpoint = open_checkpoint(str(folder))
    used = as_yaml(layer_file(checkpoint, None, folder / "a.yaml"))
    assert any(f'"key": "{tensor}"' in used for tensor in checkpoint.where)
    for tensor in checkpoint.where:
        if f'"key": "{tensor}"' in used:
            rest = {n: v for n, v in checkpoint.where.items() if n != tensor}
            with pytest.raises(blockcalc.BlockcalcError) as error:
                layer_file(replace(checkpoint, where=rest), None, folder / "a.yaml")
            assert tensor in report(error.value)


def test_biases_that_the_config_speaks_of_must_be_there(tmp_path: Path) -> None:
    for key, tensor in (("attention_bias", "q_proj.bias"), ("mlp_bias", "gate_proj.bias")):
        assert tensor in refused(changed(tmp_path / key, "llama", **{key: True}))
    own = changed(tmp_path / "c", "opt", enable_bias=False, layer_norm_elementwise_affine=False)
    assert layer_file(open_checkpoint(str(own)), 0, own / "a.yaml").data["norm1"] == {}
    own = changed(tmp_path / "d", "opt", _remove_final_layer_norm=True)
    assert layer_file(open_checkpoint(str(own)), None, own / "a.yaml").data["blocks"]


def test_layers_and_shards_that_lack(tmp_path: Path) -> None:
    folder = changed(tmp_path, "gpt2", n_layer=3)
    with pytest.raises(blockcalc.BlockcalcError) as error:
        layer_file(open_checkpoint(str(folder)), None, folder / "a.yaml")
    assert "n_layer is 3 in the config, and the layers that are there are 0, 1" in report(
        error.value
    )
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "model.safetensors", "b": "other.safetensors"}}')
    assert "other.safetensors" in refused(folder)
    index.write_text('{"weight_map": {"a": "model.safetensors"}}')
    assert layer_file(open_checkpoint(str(folder)), 1, folder / "a.yaml")
    index.write_text("{")
    assert "not JSON" in refused(folder)


def test_norms_by_their_older_names(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = changed(tmp_path, "bert")
    before = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data
    own = load_file(folder / "model.safetensors")
    older = {
        n.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): v
        for n, v in own.items()
    }
    save_file(older, folder / "model.safetensors")
    after = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data
    assert after["norm1"]["gamma"]["key"] == before["norm1"]["gamma"]["key"].replace(
        "weight", "gamma"
    )
    assert after["attn"] == before["attn"]


def test_what_is_no_model(tmp_path: Path) -> None:
    assert "there is no .safetensors file" in refused(tmp_path)
    assert "no such file" in refused(tmp_path / "none.safetensors")
    folder = changed(tmp_path, "gpt2")
    assert "there is no layer 7; the model has 2" in refused(folder, 7)
    file = open_checkpoint(str(folder / "model.safetensors"))
    assert layer_file(file, 1, folder / "a.yaml").what == "layer 1"
    for raw, said in (("[1]", "this is none"), ("{", "not JSON")):
        (folder / "config.json").write_text(raw)
        assert said in refused(folder)
    (folder / "config.json").unlink()
    assert "no config.json beside the weights" in refused(folder)


def test_older_configs_say_the_same(tmp_path: Path) -> None:
    folder = changed(tmp_path, "llama", rope_parameters=None, rope_theta=5000.0, partial_rotary_factor=1.0,
                     num_key_value_heads=None)  # fmt: skip
    attn = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data["attn"]
    assert attn["rope"] == {"theta": 5000.0, "style": "half"}
    assert attn["n_kv_heads"] == 4
    folder = changed(tmp_path / "b", "llama", partial_rotary_factor=0.5, rope_parameters=None)
    data = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data
    assert "dims" not in data["attn"]["rope"]
    assert "partial_rotary_factor 0.5 is left aside" in data["notes"]
    folder = changed(tmp_path / "c", "gpt2", scale_attn_weights=False)
    assert (
        layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data["attn"]["scale"] == 1.0
    )
