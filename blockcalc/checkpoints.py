"""Recognise a model on disk, and write the file that refers to its weights in place."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockcalc.card import dims
from blockcalc.checker import Checker, is_text
from blockcalc.errors import Fault, InputError, Place
from blockcalc.families import FAMILIES, Config, Family, Parts
from blockcalc.keys import TOP
from blockcalc.program import listed
from blockcalc.text import Source
from blockcalc.titles import say
from blockcalc.weights import Tensor, tensors

MAX_CONFIG = 2**20
_POWER = re.compile(r"(?<![0-9.\w])([0-9]+)e-(?=[0-9])")


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


@dataclass(frozen=True)
class Written:
    """The content of a file, as keys and values; ``what`` says of which layers it is."""

    what: str
    data: dict[str, Any]


def layer_file(checkpoint: Checkpoint, layer: int | None, target: Path, rows: int = 4) -> Written:
    """Write the content of a file for one layer, or a stack of all.

    Parameters
    ----------
    checkpoint : Checkpoint
    layer : int or None
        Counted from 0; None is every layer and the final norm.
    target : Path
        Where the file will stand: the weights are named from there.
    rows : int
        How many tokens the placeholder x has.

    Raises
    ------
    InputError
        There is no such layer, or the model has what a file cannot say.
    """
    name, family = checkpoint.family
    place = Place(str(checkpoint.path))
    unsaid = _asked(checkpoint, lambda: family.unsaid(checkpoint.config))
    if unsaid:
        raise InputError(Fault(say("import.unsaid", what=", ".join(unsaid)), place))
    layers = _layers(checkpoint, family)
    wanted = sorted(layers) if layer is None else [layer]
    if not layers or any(i not in layers for i in wanted):
        text = say("import.no_layer", n=layer, count=len(layers))
        raise InputError(Fault(text, place))
    if layer is None:
        _check_all(checkpoint, family, layers)
    blocks = [_block(checkpoint, family, layers[i], i, target) for i in wanted]
    first = _settings(checkpoint, family, wanted[0])
    width = _width(checkpoint, family, blocks[0])
    what = say("import.layers", n=len(wanted)) if layer is None else say("import.layer", n=layer)
    data: dict[str, Any] = {
        "title": f"{checkpoint.path.resolve().name} ({name}), {what}",
        "norm": first["norm"],
        "weight_layout": "in_out" if family.in_out else "out_in",
        "x": {"random": [rows, width], "seed": 0},
    }
    if layer is not None:
        return Written(what, {**data, **blocks[0]})
    data["blocks"] = blocks
    prefix = layers[wanted[0]]
    names = _names(checkpoint, family, family.final, prefix)
    return Written(what, data | _refs(checkpoint, names, target))


def _check_all(checkpoint: Checkpoint, family: Family, layers: Mapping[int, str]) -> None:
    """Require as many layers as the config says, none of them left out."""
    said = checkpoint.config.get(family.depth, len(layers))
    if sorted(layers) != list(range(said if isinstance(said, int) else 0)):
        numbers = ", ".join(map(str, sorted(layers)))
        text = say("import.depth", said=said, key=family.depth, there=numbers)
        raise InputError(Fault(text, Place(str(checkpoint.path))))


def _names(
    checkpoint: Checkpoint, family: Family, keys: Mapping[str, str], start: str
) -> dict[str, str]:
    """Give the tensor of each key, none missing but those that may lack.

    Norms of old checkpoints call their weight gamma and their bias beta.
    """
    found, missing = {}, []
    lacks = _asked(checkpoint, lambda: family.lacks(checkpoint.config))
    for key, name in keys.items():
        older = re.sub("weight$", "gamma", re.sub("bias$", "beta", name))
        names = [start + name, *([start + older] if key.endswith((".gamma", ".beta")) else [])]
        there = [name for name in names if name in checkpoint.where]
        if there:
            found[key] = there[0]
        elif not re.search(lacks, key):
            missing.append(start + name)
    if missing:
        text = say("import.missing", names=listed(missing))
        raise InputError(Fault(text, Place(str(checkpoint.path))))
    return found


def _layers(checkpoint: Checkpoint, family: Family) -> dict[int, str]:
    """Find the layers, each with what stands before its name; two are one too many."""
    pattern = re.compile("(.*?)" + re.escape(family.layer).replace(r"\{i\}", "([0-9]{1,6})"))
    layers: dict[int, str] = {}
    for tensor in checkpoint.where:
        if found := pattern.match(tensor):
            n, prefix = int(found[2]), found[1]
            if layers.setdefault(n, prefix) != prefix:
                text = say("import.prefixes", n=n, a=layers[n] or '""', b=prefix or '""')
                raise InputError(Fault(text, Place(str(checkpoint.path))))
    return layers


def _asked(checkpoint: Checkpoint, ask: Callable[[], Any]) -> Any:
    """Ask a config, whatever nonsense stands in it."""
    try:
        return ask()
    except KeyError as error:
        problem = say("import.lacks", key=error.args[0])
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        problem = str(error)
    text = say("import.value", problem=problem)
    raise InputError(Fault(text, Place(str(checkpoint.path))))


def _settings(checkpoint: Checkpoint, family: Family, layer: int) -> Parts:
    """Give what the config says of a layer, checked as it would be in a file."""
    found: Parts = _asked(checkpoint, lambda: family.settings(checkpoint.config, layer))
    checker = Checker(Source("config.json", ""))
    checker.mapping(dict(found), (), TOP)
    checker.give_up()
    return found


def _block(
    checkpoint: Checkpoint, family: Family, prefix: str, layer: int, target: Path
) -> dict[str, Any]:
    """Give the keys of one layer; every tensor of it must have found a place."""
    start = prefix + family.layer.format(i=layer)
    own = [name for name in checkpoint.where if name.startswith(start)]
    names = _names(checkpoint, family, family.names, start)
    strange = sorted(set(own) - set(names.values()))
    strange = [name for name in strange if not re.search(family.spare, name)]
    if strange:
        text = say("import.strange", names=listed(strange))
        raise InputError(Fault(text, Place(str(checkpoint.path))))
    settings = _settings(checkpoint, family, layer)
    refs = _refs(checkpoint, names, target)
    found: dict[str, Any] = {}
    for part in ("attn", "ffn", "norm1", "norm2"):
        found[part] = {**settings.get(part, {}), **refs.get(part, {})}
    return found


def _refs(
    checkpoint: Checkpoint, names: Mapping[str, str], target: Path
) -> dict[str, dict[str, Any]]:
    """Refer to each tensor."""
    found: dict[str, dict[str, Any]] = {}
    for key, name in names.items():
        part, _, own = key.partition(".")
        there = checkpoint.where[name][0]
        file = os.path.relpath(os.path.realpath(there), os.path.realpath(target.parent))
        found.setdefault(part, {})[own] = {"file": Path(file).as_posix(), "key": name}
    return found


def _width(checkpoint: Checkpoint, family: Family, block: Mapping[str, Any]) -> int:
    """Find d_model: what the projection to queries takes."""
    own = block["attn"].get("w_q") or block["attn"]["w_qkv"]
    shape = checkpoint.where[own["key"]][1].shape
    if len(shape) != 2:
        text = say("weights.rank", name=own["key"], shape=dims(shape), n=2)
        raise InputError(Fault(text, Place(str(checkpoint.path))))
    return shape[0 if family.in_out else 1]


def as_yaml(written: Written) -> str:
    """Write the content as YAML: blocks by indentation, what lies within in one line.

    Examples
    --------
    >>> print(as_yaml(Written("", {"norm": {"eps": 1e-05}, "blocks": [{"attn": {"n_heads": 2}}]})), end="")
    norm: {"eps": 1.0e-05}
    blocks:
      - attn:
          n_heads: 2
    """
    lines: list[str] = []
    for key, value in written.data.items():
        if key == "blocks":
            lines.append("blocks:")
            for block in value:
                inner = [line for part, own in block.items() for line in _part(part, own, "    ")]
                lines += ["  - " + inner[0].lstrip(), *inner[1:]]
        elif key in ("attn", "ffn", "norm1", "norm2", "final_norm"):
            lines += _part(key, value, "")
        else:
            lines.append(f"{key}: {_written(value)}")
    return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    """Write a value in one line; what cannot be seen by its number."""
    text = json.dumps(value, ensure_ascii=False)
    text = text if text.isprintable() else json.dumps(value)
    # every reader of YAML takes 1.0e-12 for a number, and not all take 1e-12
    return text if '"file"' in text else _POWER.sub(r"\1.0e-", text)


def _part(name: str, own: Mapping[str, Any], indent: str) -> list[str]:
    inner = [f"{indent}  {k}: {_written(v)}" for k, v in own.items()]
    return [f"{indent}{name}:", *inner] if own else [f"{indent}{name}: {{}}"]
