"""Write the layers of a checkpoint as an input file that refers to its weights."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blockcalc.checkpoints.checkpoint import Checkpoint, LayerConfig, read_layer
from blockcalc.checkpoints.matching import Tensors
from blockcalc.errors import Fault, InputError, Place
from blockcalc.messages import say
from blockcalc.nn.orders import NORM_KEYS, ORDERS, SUBLAYERS
from blockcalc.records import dataclass

_POWER = re.compile(r"(?<![0-9.\w])([0-9]+)e-(?=[0-9])")


@dataclass(frozen=True)
class Written:
    """The content of an input file, as keys and values.

    ``what`` names its layers; ``comment`` lists what it leaves out of the model.
    """

    what: str
    data: dict[str, Any]
    comment: str | None = None

    @property
    def notes(self) -> list[str]:
        """Give notes about the numbers, and about what is not in the file."""
        notes = str(self.data.get("notes", "")).splitlines()
        return notes + ([self.comment] if self.comment else [])


def layer_file(checkpoint: Checkpoint, layer: int | None, target: Path, rows: int = 4) -> Written:
    """Make the content of an input file for one layer, or for a stack of all.

    Parameters
    ----------
    checkpoint : Checkpoint
    layer : int or None
        Counted from 0; None is every layer and the final norm.
    target : Path
        The path of the file: paths of weights are relative to it.
    rows : int
        How many tokens the placeholder x has.

    Raises
    ------
    InputError
        There is no such layer, or the model has settings that an input file cannot express.
    """
    name, family = checkpoint.family
    found = Tensors(checkpoint.where, family, Place(str(checkpoint.path)))
    layers = found.layers()
    wanted = sorted(layers) if layer is None else [layer]
    if not layers or any(i not in layers for i in wanted):
        text = say("import.no_layer", n=layer, count=len(layers))
        raise InputError(Fault(text, Place(str(checkpoint.path))))
    starts = {i: prefix + family.layer.format(i=i) for i, prefix in layers.items()}
    readings = {i: read_layer(checkpoint, family, i, rows) for i in wanted}
    first = readings[wanted[0]]
    found.check_depth(layers, layer, first.config.facts["depth"])
    own = {i: found.of_layer(starts[i], r.presence, r.config) for i, r in readings.items()}
    final = {}
    if layer is None:
        final = found.of_keys(family.final, layers[wanted[0]], first.presence)
    used = [name for names in (*own.values(), final) for name in names.values()]
    unused = found.unused(used, [start for i, start in starts.items() if i not in own])
    comment = say("import.note.unused", names=unused) if unused else None
    notes = dict.fromkeys(note for r in readings.values() for note in r.config.notes)
    what = say("import.layers", n=len(wanted)) if layer is None else say("import.layer", n=layer)
    data: dict[str, Any] = {
        "title": f"{checkpoint.path.resolve().name} ({name}), {what}",
        **({"notes": "\n".join(notes)} if notes else {}),
        "norm": first.parts["norm"],
        "weight_layout": "in_out" if family.in_out else "out_in",
        "x": {"random": [rows, found.width(own[wanted[0]])], "seed": 0},
    }
    blocks = [_block(checkpoint, readings[i], own[i], target) for i in wanted]
    if layer is not None:
        return Written(what, {**data, **blocks[0]}, comment)
    return Written(what, {**data, "blocks": blocks, **_refs(checkpoint, final, target)}, comment)


def _block(
    checkpoint: Checkpoint, reading: LayerConfig, names: Mapping[str, str], target: Path
) -> dict[str, Any]:
    """Make the keys of one layer."""
    refs = _refs(checkpoint, names, target)
    norms = NORM_KEYS[: len(SUBLAYERS) * ORDERS[reading.parts["norm"]["order"]].norms]
    parts = (*SUBLAYERS, *norms)
    return {part: {**reading.parts.get(part, {}), **refs.get(part, {})} for part in parts}


def _refs(
    checkpoint: Checkpoint, names: Mapping[str, str], target: Path
) -> dict[str, dict[str, Any]]:
    """Make the reference to each tensor."""
    found: dict[str, dict[str, Any]] = {}
    for key, name in names.items():
        part, _, own = key.partition(".")
        there = checkpoint.where[name][0]
        file = os.path.relpath(os.path.realpath(there), os.path.realpath(target.parent))
        found.setdefault(part, {})[own] = {"file": Path(file).as_posix(), "key": name}
    return found


def as_yaml(written: Written) -> str:
    """Write the content as YAML: blocks indented, their inner values on one line.

    Examples
    --------
    >>> data = {"norm": {"eps": 1e-05}, "blocks": [{"attn": {"n_heads": 2}}]}
    >>> print(as_yaml(Written("", data)), end="")
    norm: {"eps": 1.0e-05}
    blocks:
      - attn:
          n_heads: 2
    """
    lines = [f"# {written.comment}"] if written.comment else []
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
    """Write a value on one line; invisible characters as escapes."""
    text = json.dumps(value, ensure_ascii=False)
    text = text if text.isprintable() else json.dumps(value)
    # every YAML reader reads 1.0e-12 as a number, but not all read 1e-12 so
    return text if '"file"' in text else _POWER.sub(r"\1.0e-", text)


def _part(name: str, own: Mapping[str, Any], indent: str) -> list[str]:
    inner = [f"{indent}  {k}: {_written(v)}" for k, v in own.items()]
    return [f"{indent}{name}:", *inner] if own else [f"{indent}{name}: {{}}"]
