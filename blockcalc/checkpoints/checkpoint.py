"""Recognise a model on disk, and write the file that refers to its weights in place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockcalc.checkpoints.families import FAMILIES, Config, Family
from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.tensors import Tensor, tensors
from blockcalc.messages import say
from blockcalc.messages.words import listed
from blockcalc.reading.checker import is_text

MAX_CONFIG = 2**20


@dataclass(frozen=True)
class Checkpoint:
    """A model on disk: its config, and every tensor with the file that has it."""

    path: Path
    config: Config
    where: Mapping[str, tuple[Path, Tensor]]

    @property
    def family(self) -> tuple[str, Family]:
        """Find the family by ``model_type``.

        Raises
        ------
        InputError
            It is none that is known; the tensors are listed, with how to write the file by hand.
        """
        kind = self.config.get("model_type")
        for name, family in FAMILIES.items():
            if kind in family.types:
                return name, family
        known = ", ".join(t for family in FAMILIES.values() for t in family.types)
        if kind is None:
            text, hint = say("import.no_type"), say("import.no_type.hint", known=known)
            raise InputError(Fault(text, Place(str(self.path)), hint))
        text = say("import.unknown", kind=kind, known=known)
        hint = say("import.by_hand", names=listed(self.where))
        raise InputError(Fault(text, Place(str(self.path)), hint))


def open_checkpoint(name: str) -> Checkpoint:
    """Read config and headers of a folder, or of a safetensors file with its config beside it."""
    path = Path(name)
    if not is_text(str(path.absolute())):
        raise InputError(Fault(say("import.name"), Place(repr(name))))
    if not path.exists():
        raise InputError(Fault(say("file.missing"), Place(name)))
    if path.is_dir():
        files = sorted(path.glob("*.safetensors"))
        if not files:
            raise InputError(
                Fault(say("import.no_weights"), Place(name), say("import.no_weights.hint"))
            )
    else:
        files = [path]
    _check_shards(path, files)
    where: dict[str, tuple[Path, Tensor]] = {}
    for file in files:
        for tensor in tensors(file):
            if tensor.name in where:
                names = {"name": tensor.name, "a": where[tensor.name][0].name, "b": file.name}
                raise InputError(Fault(say("import.twice", **names), Place(name)))
            where[tensor.name] = (file, tensor)
    config = files[0].parent / "config.json"
    try:
        data = _read_config(config)
    except FileNotFoundError:
        fault = Fault(say("import.no_config"), Place(str(config)),
                      say("import.by_hand", names=listed(where)))  # fmt: skip
        raise InputError(fault) from None
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(
            Fault(say("file.unreadable", problem=problem), Place(str(config)))
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            Fault(say("json.syntax", problem=str(error)), Place(str(config)))
        ) from None
    own = data.get("text_config") or data if isinstance(data, dict) else data
    if not isinstance(own, dict):
        raise InputError(Fault(say("import.config"), Place(str(config))))
    return Checkpoint(path, own, where)


def _check_shards(path: Path, files: list[Path]) -> None:
    """Require every file that an index beside them names."""
    index = path / "model.safetensors.index.json"
    if not index.is_file():
        return
    try:
        names = set(_read_config(index)["weight_map"].values())
    except (ValueError, OSError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise InputError(Fault(say("json.syntax", problem=str(error)), Place(str(index)))) from None
    there = {file.name for file in files}
    missing = sorted(str(name) for name in names if name not in there)
    if missing:
        raise InputError(Fault(say("import.shards", names=listed(missing)), Place(str(index))))


def _read_config(path: Path) -> Any:
    if path.exists() and not path.is_file():
        raise OSError(say("weights.special"))
    with path.open("rb") as stream:
        text = stream.read(MAX_CONFIG).decode("utf-8-sig")
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keep the keys of a mapping, none of them twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(say("import.key_twice", key=next(k for k in keys if keys.count(k) > 1)))
    return found
