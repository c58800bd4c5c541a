"""Write the layers of a checkpoint as a file that refers to its weights."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blockcalc.checkpoints.checkpoint import Checkpoint
from blockcalc.checkpoints.config import Fields, Verdict, judge
from blockcalc.checkpoints.families import Asked, Family, Parts
from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.source import Source
from blockcalc.messages import say
from blockcalc.messages.words import dims, listed
from blockcalc.nn.orders import NORM_KEYS, SUBLAYERS
from blockcalc.reading.checker import Checker
from blockcalc.reading.keys import TOP

_POWER = re.compile(r"(?<![0-9.\w])([0-9]+)e-(?=[0-9])")


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
    layers = _layers(checkpoint, family)
    wanted = sorted(layers) if layer is None else [layer]
    if not layers or any(i not in layers for i in wanted):
        text = say("import.no_layer", n=layer, count=len(layers))
        raise InputError(Fault(text, place))
    if layer is None:
        _check_all(checkpoint, family, layers)
    fields, verdict = Fields(checkpoint.config), Verdict()
    checkpoint = replace(checkpoint, config=fields)
    settings = {i: _settings(checkpoint, family, Asked(i, rows, verdict)) for i in wanted}
    blocks = [
        _block(checkpoint, family, layers[i], i, target, settings[i], verdict) for i in wanted
    ]
    _check_sizes(fields, family, blocks[0], checkpoint, verdict)
    judge(fields, family.allowed, verdict)
    if verdict.refused:
        what = ", ".join(dict.fromkeys(verdict.refused))
        raise InputError(Fault(say("import.unsaid", what=what), place))
    first = settings[wanted[0]]
    width = _width(checkpoint, family, blocks[0])
    what = say("import.layers", n=len(wanted)) if layer is None else say("import.layer", n=layer)
    data: dict[str, Any] = {
        "title": f"{checkpoint.path.resolve().name} ({name}), {what}",
        **({"notes": " ".join(verdict.notes)} if verdict.notes else {}),
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
        if re.search(lacks, key):
            continue
        if there:
            found[key] = there[0]
        else:
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


def _settings(checkpoint: Checkpoint, family: Family, asked: Asked) -> Parts:
    """Give what the config says of a layer, checked as it would be in a file."""
    found: Parts = _asked(checkpoint, lambda: family.settings(checkpoint.config, asked))
    checker = Checker(Source("config.json", ""))
    checker.mapping(dict(found), (), TOP)
    checker.give_up()
    return found


def _block(
    checkpoint: Checkpoint,
    family: Family,
    prefix: str,
    layer: int,
    target: Path,
    settings: Parts,
    verdict: Verdict,
) -> dict[str, Any]:
    """Give the keys of one layer; every tensor of it must have found a place."""
    start = prefix + family.layer.format(i=layer)
    own = [name for name in checkpoint.where if name.startswith(start)]
    names = _names(checkpoint, family, family.names, start)
    strange = sorted(set(own) - set(names.values()))
    strange = [name for name in strange if not re.search(family.spare, name)]
    if unused := [name for name in strange if name.removeprefix(start) in family.names.values()]:
        verdict.note("import.unused", names=listed(unused))
    strange = [name for name in strange if name not in unused]
    if strange:
        text = say("import.strange", names=listed(strange))
        raise InputError(Fault(text, Place(str(checkpoint.path))))
    refs = _refs(checkpoint, names, target)
    found: dict[str, Any] = {}
    for part in (*SUBLAYERS, *NORM_KEYS[:2]):
        found[part] = {**settings.get(part, {}), **refs.get(part, {})}
    return found


def _check_sizes(
    c: Fields, family: Family, block: Mapping[str, Any], checkpoint: Checkpoint, verdict: Verdict
) -> None:
    """Refuse sizes of the config that its tensors do not have."""
    width = _width(checkpoint, family, block)
    for key in ("hidden_size", "n_embd", "d_model"):
        if c.get(key) not in (None, width):
            verdict.refuse(key, c[key])
    own = block["attn"].get("w_q")
    if own and c.get("head_dim") is not None:
        rows = checkpoint.where[own["key"]][1].shape[1 if family.in_out else 0]
        if c["head_dim"] * block["attn"]["n_heads"] != rows:
            verdict.refuse("head_dim", c["head_dim"])


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
        elif key in (*SUBLAYERS, *NORM_KEYS, "final_norm"):
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
