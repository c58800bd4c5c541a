"""Recognise a model on disk and read the config of its layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from blockcalc.checkpoints.configs import IDLE, STORED, Config, shown
from blockcalc.checkpoints.families import FAMILIES, Family, Parts, Presence
from blockcalc.checkpoints.matching import fits
from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.decode import decode
from blockcalc.files.json_text import parsed
from blockcalc.files.source import Source, unreadable
from blockcalc.files.tensors import Tensor, tensors
from blockcalc.messages import say
from blockcalc.messages.words import listed
from blockcalc.reading.checker import Checker, is_text
from blockcalc.reading.keys import TOP
from blockcalc.records import dataclass

MAX_CONFIG = 2**20


@dataclass(frozen=True)
class Checkpoint:
    """A model on disk: its config, and every tensor with its file.

    ``outer`` has the fields outside ``text_config`` if the config of the layers is in that field.
    """

    path: Path
    config: Mapping[str, Any]
    where: Mapping[str, tuple[Path, Tensor]]
    outer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """The position of the config, for errors."""
        folder = self.path if self.path.is_dir() else self.path.parent
        return Place(str(folder / "config.json"))

    @property
    def family(self) -> tuple[str, Family]:
        """Find the family by ``model_type``.

        Raises
        ------
        InputError
            It is missing, and the error says how to add it; or it is unknown, and the error
            lists the tensors and says how to write the file by hand.
        """
        kind = self.config.get("model_type")
        if kind is None:
            raise InputError(Fault(say("import.no_type"), self.place, self._offer_type()))
        for name, family in FAMILIES.items():
            if kind in family.types:
                return name, family
        text = say("import.unknown", kind=kind, known=", ".join(_types()))
        hint = say("import.by_hand", names=listed(self.where))
        raise InputError(Fault(text, Place(str(self.path)), hint))

    def _offer_type(self) -> str:
        """Write the hint for a missing ``model_type``, from class and tensor names."""
        fitting = _types([family for family in FAMILIES.values() if fits(family, self.where)])
        classes = self.config.get("architectures")
        named = str(classes[0]).lower() if isinstance(classes, list) and classes else ""
        near = [t for t in fitting or _types() if named.startswith(t.replace("-", ""))] or fitting
        if not near:
            return say("import.no_type.none", known=", ".join(_types()))
        key = "import.no_type.one" if len(near) == 1 else "import.no_type.several"
        return say(key, first=near[0], names=", ".join(near))


def _types(families: Sequence[Family] | None = None) -> list[str]:
    own = FAMILIES.values() if families is None else families
    return [kind for family in own for kind in family.types]


def open_checkpoint(name: str) -> Checkpoint:
    """Read the config and the headers of the weights of a model.

    Parameters
    ----------
    name : str
        A folder with ``config.json`` and safetensors files, or one such file next to its config.

    Raises
    ------
    InputError
        A file is missing or broken, or two files have a tensor of the same name.
    """
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
    where = _tensors_in(files, Place(name))
    config = files[0].parent / "config.json"
    try:
        data = _read_config(config)
    except FileNotFoundError:
        fault = Fault(say("import.no_config"), Place(str(config)),
                      say("import.by_hand", names=listed(where)))  # fmt: skip
        raise InputError(fault) from None
    own = data.get("text_config") or data if isinstance(data, dict) else data
    if not isinstance(own, dict):
        raise InputError(Fault(say("import.config"), Place(str(config))))
    outer = {} if own is data else {k: v for k, v in data.items() if k != "text_config"}
    return Checkpoint(path, own, where, outer)


def _tensors_in(files: Sequence[Path], place: Place) -> dict[str, tuple[Path, Tensor]]:
    """List the tensors of all files by name, each with its file."""
    where: dict[str, tuple[Path, Tensor]] = {}
    for file in files:
        for tensor in tensors(file):
            if tensor.name in where:
                names = {"name": tensor.name, "a": where[tensor.name][0].name, "b": file.name}
                raise InputError(Fault(say("import.twice", **names), place))
            where[tensor.name] = (file, tensor)
    return where


def _check_shards(path: Path, files: list[Path]) -> None:
    """Require every file that a shard index names."""
    index = path / "model.safetensors.index.json"
    if not index.is_file():
        return
    data = _read_config(index)
    shards = data.get("weight_map") if isinstance(data, dict) else None
    if not isinstance(shards, dict):
        raise InputError(Fault(say("import.index"), Place(str(index))))
    names = set(map(str, shards.values()))
    there = {file.name for file in files}
    missing = sorted(name for name in names if name not in there)
    if missing:
        raise InputError(Fault(say("import.shards", names=listed(missing)), Place(str(index))))


def _read_config(path: Path) -> Any:
    """Read a JSON file without duplicate keys."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            key = next(k for k in keys if keys.count(k) > 1)
            raise InputError(Fault(say("import.key_twice", key=key), Place(str(path))))
        return found

    if path.exists() and not path.is_file():
        raise InputError(Fault(say("weights.special"), Place(str(path))))
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_CONFIG + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable(error, str(path)) from None
    if len(raw) > MAX_CONFIG:
        raise InputError(Fault(say("file.too_large", limit=MAX_CONFIG), Place(str(path))))
    return parsed(Source(str(path), decode(raw, str(path))), once)


@dataclass(frozen=True)
class LayerConfig:
    """The config of one layer: plain keys, expected tensors, and the fields read."""

    parts: Parts
    presence: Presence
    config: Config


def read_layer(checkpoint: Checkpoint, family: Family, layer: int, tokens: int) -> LayerConfig:
    """Read the config of a layer, with the checks of an input file."""
    stored = {key: value for key, value in checkpoint.outer.items() if key in STORED}
    Config(stored, tokens, checkpoint.place).finish("")
    c = Config(checkpoint.config, tokens, checkpoint.place)
    parts, presence = family.read(c, layer)
    outer = [key for key in checkpoint.outer if key not in stored and not IDLE.fullmatch(key)]
    if outer:
        c.note("outer", names=", ".join(shown(key) for key in outer))
    checker = Checker(Source("config.json", ""))
    checker.mapping(dict(parts), (), TOP)
    checker.give_up()
    return LayerConfig(parts, presence, c)
