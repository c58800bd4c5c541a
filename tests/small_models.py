"""The small checkpoints of each family, imported with other configs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.checkpoints.layer_file import Written, layer_file
from blockcalc.views.errors import report
from tests.helpers import HERE, caught, refused

CHECKPOINTS = HERE / "models"
FOLDERS = sorted(p for p in CHECKPOINTS.iterdir() if p.is_dir())
LIKE_BERT = ("roberta", "xlm-roberta", "camembert")
TOKENS = 4


def folder_of(kind: str) -> str:
    return "bert" if kind in LIKE_BERT else kind


def saved(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CHECKPOINTS / folder_of(kind) / "config.json").read_text())
    return found


def written(tmp_path: Path, kind: str, config: dict[str, Any], layer: int | None = 0) -> Written:
    """Import the small checkpoint of a kind with another config."""
    folder = tmp_path / kind
    if not folder.exists():
        shutil.copytree(CHECKPOINTS / folder_of(kind), folder)
    (folder / "config.json").write_text(json.dumps(config))
    return layer_file(open_checkpoint(str(folder)), layer, folder / "a.yaml", TOKENS)


def outcome(tmp_path: Path, kind: str, config: dict[str, Any], layer: int | None = 0) -> str:
    """Give what is written without its notes, or the refusal."""
    try:
        found = written(tmp_path, kind, config, layer)
    except blockcalc.BlockcalcError as error:
        return report(error)
    return json.dumps({k: v for k, v in found.data.items() if k != "notes"})


def changed(kind: str, **fields: Any) -> dict[str, Any]:
    """Give the config of the small checkpoint with some fields changed, or left out."""
    config = {**saved(kind), **fields}
    return {k: v for k, v in config.items() if v is not ...}


def refusal(tmp_path: Path, kind: str, **fields: Any) -> str:
    """Give the message of a config that must be refused; it has a position."""
    fault = caught(lambda: written(tmp_path, kind, changed(kind, **fields))).faults[0]
    assert fault.place is not None
    return fault.message


def copied(tmp_path: Path, name: str, **config: Any) -> Path:
    """Copy a checkpoint with some of its config changed."""
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    folder = tmp_path / name
    shutil.copytree(CHECKPOINTS / name, folder)
    path = folder / "config.json"
    data = {**json.loads(path.read_text()), **config}
    path.write_text(json.dumps({k: v for k, v in data.items() if v is not ...}))
    return folder


def refused_import(folder: Path, layer: int | None = 0) -> str:
    """Give what is said where the import of a layer is refused."""
    return refused(lambda: layer_file(open_checkpoint(str(folder)), layer, folder / "a.yaml"))
