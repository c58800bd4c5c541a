"""Folders of models: odd configs, odd names, what is ambiguous, and what can be read back."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.checkpoints.layer_file import as_yaml, layer_file
from blockcalc.files.decode import read_text
from tests.helpers import HERE, refused
from tests.small_models import CHECKPOINTS, copied, refused_import


@pytest.mark.slow
def test_odd_folders_of_models(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(
        (CHECKPOINTS / "bert" / "model.safetensors").read_bytes()
    )
    (folder / "config.json").symlink_to("config.json")
    said = refused(lambda: open_checkpoint(str(folder)))
    assert "cannot be read" in said
    (folder / "config.json").unlink()
    (folder / "config.json").write_text('{"model_type": "bert", "model_type": "gpt2"}')
    assert "model_type is given twice" in refused(lambda: open_checkpoint(str(folder)))
    assert "cannot be written into a text file" in refused(lambda: open_checkpoint("d\udcff"))


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("bert", {"num_attention_heads": ...}, "num_attention_heads is missing"),
        ("whisper", {"encoder_attention_heads": ...}, "encoder_attention_heads is missing"),
        ("llama", {"hidden_act": [1]}, "activation [1]"),
        ("llama", {"rope_parameters": "abc"}, "config.json cannot be used"),
        ("llama", {"partial_rotary_factor": "x", "rope_parameters": None}, "cannot be used"),
        (
            "llama",
            {"partial_rotary_factor": float("inf"), "rope_parameters": None},
            "cannot be used",
        ),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True, "n_head": 0}, "cannot be used"),
        ("bert", {"num_attention_heads": "abc"}, "a whole number of at least 1 is expected"),
        ("bert", {"layer_norm_eps": None}, "a number is expected"),
        ("gpt2", {"text_config": "abc"}, "a config must be a mapping"),
    ],
)
def test_odd_configs(name: str, config: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in refused_import(copied(tmp_path, name, **config))


def test_configs_that_are_no_files_or_too_deep(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    folder = copied(tmp_path, "bert")
    config = folder / "config.json"
    text = config.read_text()
    config.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data["attn"]
    config.write_text("[" * 100_000)
    assert "more than 64 deep" in refused_import(folder)
    config.unlink()
    config.mkdir()
    assert "this is not a regular file" in refused_import(folder)


def test_what_is_ambiguous_is_refused(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is an extra")
    folder = copied(tmp_path, "bert")
    shutil.copy(folder / "model.safetensors", folder / "other.safetensors")
    assert "is in model.safetensors and in other.safetensors" in refused_import(folder)
    (folder / "other.safetensors").unlink()
    own = numpy.load_file(folder / "model.safetensors")
    numpy.save_file(
        {**own, **{f"b.{name}": value for name, value in own.items()}}, folder / "model.safetensors"
    )
    assert 'layer 0 is under b. and under ""' in refused_import(
        folder
    ) or 'under "" and under b.' in refused_import(folder)


def test_odd_names_and_links_can_be_read_back(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    folder = tmp_path / "a\u2028b, [x, ?]\x7f"
    shutil.copytree(CHECKPOINTS / "bert", folder)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er")
    for target in (tmp_path / "l.yaml", tmp_path / "link" / "l.yaml"):
        target.write_text(as_yaml(layer_file(open_checkpoint(str(folder)), 0, target)))
        assert blockcalc.run(blockcalc.load(target))["out"].shape == (4, 8)


def test_what_is_written_is_a_number_to_every_reader_of_yaml(tmp_path: Path) -> None:
    import yaml

    folder = copied(tmp_path, "bert", layer_norm_eps=1e-12)
    text = as_yaml(layer_file(open_checkpoint(str(folder)), 0, tmp_path / "a.yaml"))
    assert yaml.safe_load(text)["norm"]["eps"] == 1e-12
    for path in sorted((HERE.parent / "samples").glob("*.yaml")):
        assert (
            yaml.safe_load(path.read_text(encoding="utf-8"))
            == read_text(path.read_text(encoding="utf-8"), path.name).data
        )


def test_a_model_without_gammas_has_its_width_from_the_queries(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    import json

    from safetensors.numpy import load_file, save_file

    shutil.copytree(CHECKPOINTS / "opt", tmp_path / "opt")
    config = tmp_path / "opt" / "config.json"
    config.write_text(
        json.dumps({**json.loads(config.read_text()), "layer_norm_elementwise_affine": False})
    )
    own = load_file(tmp_path / "opt" / "model.safetensors")
    kept = {n: v for n, v in own.items() if "layer_norm" not in n}
    save_file(kept, tmp_path / "opt" / "model.safetensors")
    data = layer_file(open_checkpoint(str(tmp_path / "opt")), 0, tmp_path / "a.yaml").data
    width = next(v.shape[1] for n, v in own.items() if n.endswith("q_proj.weight"))
    assert data["x"]["random"][1] == width
    assert data["norm1"] == {}
    name = next(n for n in kept if n.endswith("layers.0.self_attn.q_proj.weight"))
    save_file({**kept, name: np.ones(4, dtype=np.float32)}, tmp_path / "opt" / "model.safetensors")
    with pytest.raises(blockcalc.BlockcalcError, match="2 sizes are expected"):
        layer_file(open_checkpoint(str(tmp_path / "opt")), 0, tmp_path / "a.yaml")
