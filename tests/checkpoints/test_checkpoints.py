"""Models on disk: small checkpoints of each family in its published layout.

The folders in ``tests/models/`` were saved by Hugging Face transformers with random weights;
``recorded.npz`` has what went into each layer there and what came out, in float64 (some families
work a norm or a softmax in float32 whatever they are given).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.checkpoints.families import FAMILIES
from blockcalc.checkpoints.layer_file import as_yaml, layer_file
from blockcalc.views.errors import report
from tests.helpers import cli, text
from tests.small_models import CHECKPOINTS, FOLDERS, copied, refused_import

pytestmark = pytest.mark.slow

pytest.importorskip("safetensors", reason="safetensors is an extra")

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
    shutil.copytree(CHECKPOINTS / "bert", tmp_path / "my model")
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


def test_what_opt_has_by_its_config(tmp_path: Path) -> None:
    for i, (key, tensor) in enumerate(
        (
            ("enable_bias", "fc1.bias"),
            ("layer_norm_elementwise_affine", "self_attn_layer_norm.weight"),
        )
    ):
        said = refused_import(copied(tmp_path / str(i), "opt", **{key: False}))
        assert f"{key} is false in config.json, but the checkpoint has" in said
        assert f"decoder.layers.0.{tensor}" in said
    for key, value in (("_remove_final_layer_norm", True), ("do_layer_norm_before", False)):
        own = copied(tmp_path / key, "opt", **{key: value})
        assert layer_file(open_checkpoint(str(own)), 0, own / "a.yaml").data["attn"]
        said = refused_import(own, None)
        assert f"{key} is {str(value).lower()} in config.json, but the checkpoint has" in said
        assert "decoder.final_layer_norm.weight" in said


def test_a_single_layer_is_one_of_those_the_config_has(tmp_path: Path) -> None:
    folder = copied(tmp_path, "bert", num_hidden_layers=1)
    assert layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data["attn"]
    assert (
        "num_hidden_layers is 1 in the config, but the checkpoint has the layers 0, 1"
        in refused_import(folder, 1)
    )


def test_notes_are_in_the_file_and_on_standard_error(tmp_path: Path) -> None:
    folder = copied(tmp_path, "qwen2", is_causal=False, sliding_window=2, mystery=1)
    done = cli("import", str(folder), "-o", "a.yaml", cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stderr.decode().splitlines()
    assert [line.split()[0] for line in lines] == [
        "is_causal",
        "Layers",
        "Fields",
        "Tensors",
        "wrote",
    ]
    out = text(cli("run", "a.yaml", "--detail", "tables", cwd=tmp_path))
    assert all(line in " ".join(out.split()) for line in lines[:3])
    done = cli("import", str(folder), cwd=tmp_path)
    assert done.stderr == b""
    assert done.stdout.decode() == (tmp_path / "a.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "config", "hint"),
    [
        ("bert", {"architectures": ["BertModel"]}, 'add the line "model_type": "bert", to config.json'),
        ("bert", {"architectures": ["XLMRobertaForMaskedLM"]}, 'add the line "model_type": "xlm-roberta", to config.json'),
        ("gpt2", {"architectures": None}, 'add the line "model_type": "gpt2", to config.json'),
        ("llama", {"architectures": ["MistralForCausalLM"]}, 'add the line "model_type": "mistral", to config.json'),
        ("llama", {"architectures": ["Odd"]}, 'add the line "model_type": "llama", to config.json, with the kind that it is; '
         "the tensors fit llama, mistral, qwen2, gemma"),
        ("llama", {"architectures": "LlamaModel", "model_type": None}, 'add the line "model_type": "llama", to config.json, '
         "with the kind that it is; the tensors fit llama, mistral, qwen2, gemma"),
    ],
)  # fmt: skip
def test_a_missing_model_type_says_how_to_add_it(
    name: str, config: dict[str, Any], hint: str, tmp_path: Path
) -> None:
    folder = copied(tmp_path, name, **{"model_type": ..., **config})
    with pytest.raises(blockcalc.BlockcalcError) as error:
        open_checkpoint(str(folder)).family  # noqa: B018
    fault = error.value.faults[0]
    assert fault.message == "config.json has no model_type, which names the kind of model"
    assert str(fault.place) == str(folder / "config.json")
    assert fault.hint == hint
    path = folder / "config.json"
    if " it is" not in hint:  # the line does what it promises
        line = hint.removeprefix("add the line ").removesuffix(" to config.json")
        path.write_text(path.read_text().replace("{", "{" + line, 1))
        assert open_checkpoint(str(folder)).family


def test_a_missing_model_type_of_tensors_that_fit_nothing(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    folder = copied(tmp_path, "opt", model_type=..., architectures=[])
    save_file({"a": np.ones(2, np.float32)}, folder / "model.safetensors")
    assert (
        'add the line "model_type": "KIND", to config.json, with KIND one of bert, '
        in refused_import(folder)
    )
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["OPTModel"]}))
    assert 'add the line "model_type": "opt", to config.json' in refused_import(folder)


def test_the_config_of_a_language_model_inside_another(tmp_path: Path) -> None:
    folder = copied(tmp_path, "llama")
    config = json.loads((folder / "config.json").read_text())
    before = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data
    outer = {"model_type": "llava", "vision_config": {}, "projector": "mlp", "dtype": "float32"}
    path = folder / "config.json"
    path.write_text(json.dumps({**outer, "quantization_config": None, "text_config": config}))
    data = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data
    assert data.pop("notes") == (
        "Fields of config.json outside text_config are not used: vision_config, projector."
    )
    assert data == before
    path.write_text(json.dumps({**outer, "quantization": {"bits": 4}, "text_config": config}))
    assert 'has settings that import cannot write: quantization {"bits": 4}' in refused_import(
        folder
    )
    path.write_text(json.dumps({"text_config": config, "dtype": "float32"}))
    assert layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data == before


def test_layers_and_shards_that_lack(tmp_path: Path) -> None:
    folder = copied(tmp_path, "gpt2", n_layer=3)
    with pytest.raises(blockcalc.BlockcalcError) as error:
        layer_file(open_checkpoint(str(folder)), None, folder / "a.yaml")
    assert "n_layer is 3 in the config, but the checkpoint has the layers 0, 1" in report(
        error.value
    )
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "model.safetensors", "b": "other.safetensors"}}')
    assert "other.safetensors" in refused_import(folder)
    index.write_text('{"weight_map": {"a": "model.safetensors"}}')
    assert layer_file(open_checkpoint(str(folder)), 1, folder / "a.yaml")
    for raw in ("[]", "{}", '{"weight_map": ["a"]}'):
        index.write_text(raw)
        assert "an index of shards has a mapping weight_map; this has none" in refused_import(
            folder
        )
    index.write_text('{"weight_map"： {}}')
    assert f"{index}:1:14: full-width colon U+FF1A does not belong here" in refused_import(folder)
    index.write_text("{")
    assert "1:2: not JSON: the text ends before its brackets are closed" in refused_import(folder)


def test_a_config_that_is_too_large(tmp_path: Path) -> None:
    folder = copied(tmp_path, "gpt2")
    (folder / "config.json").write_text(" " * 2**20 + "{}")
    assert "the file is larger than the limit of 1048576 bytes" in refused_import(folder)


def test_norms_by_their_older_names(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = copied(tmp_path, "bert")
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
    assert "there is no .safetensors file" in refused_import(tmp_path)
    assert "no such file" in refused_import(tmp_path / "none.safetensors")
    folder = copied(tmp_path, "gpt2")
    assert "there is no layer 7; the model has 2" in refused_import(folder, 7)
    file = open_checkpoint(str(folder / "model.safetensors"))
    assert layer_file(file, 1, folder / "a.yaml").what == "layer 1"
    for raw, said in (("[1]", "this is not one"), ("{", "not JSON")):
        (folder / "config.json").write_text(raw)
        assert said in refused_import(folder)
    (folder / "config.json").unlink()
    assert "no config.json beside the weights" in refused_import(folder)


def test_older_configs_say_the_same(tmp_path: Path) -> None:
    folder = copied(tmp_path, "llama", rope_parameters=None, rope_theta=5000.0, partial_rotary_factor=1.0,
                     num_key_value_heads=2)  # fmt: skip
    attn = layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data["attn"]
    assert attn["rope"] == {"theta": 5000.0, "style": "half"}
    assert attn["n_kv_heads"] == 2
    folder = copied(tmp_path / "b", "llama", partial_rotary_factor=0.5, rope_parameters=None)
    assert "partial_rotary_factor 0.5" in refused_import(folder)
    folder = copied(tmp_path / "c", "gpt2", scale_attn_weights=False)
    assert (
        layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data["attn"]["scale"] == 1.0
    )
