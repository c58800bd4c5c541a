"""Match the tensors of a checkpoint with a family and its config: names, shapes, unused tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from blockcalc.checkpoints.configs import Config
from blockcalc.checkpoints.families import Family, Presence
from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.tensors import Tensor
from blockcalc.messages import say
from blockcalc.messages.words import dims, listed
from blockcalc.notation.signs import clean
from blockcalc.records import dataclass

MOST_UNUSED = 6


def layer_pattern(family: Family) -> re.Pattern[str]:
    """Give the pattern of the prefix of a layer, with the layer number."""
    return re.compile("(.*?)" + re.escape(family.layer).replace(r"\{i\}", "([0-9]{1,6})"))


def fits(family: Family, names: Mapping[str, Any]) -> bool:
    """Tell whether tensors are named as in a family, by the first layer found."""
    starts = (found[0] for name in names if (found := layer_pattern(family).match(name)))
    start = next(starts, None)
    weights = [name for key, name in family.names.items() if ".w_" in key]
    return start is not None and all(start + name in names for name in weights)


@dataclass(frozen=True)
class Tensors:
    """The tensors of a checkpoint, with the names of a family.

    Every method raises `InputError` if tensors are missing, superfluous, or have the wrong shape.
    """

    where: Mapping[str, tuple[Path, Tensor]]
    family: Family
    place: Place

    def layers(self) -> dict[int, str]:
        """Find the prefix of each layer; two prefixes for one layer are an error."""
        layers: dict[int, str] = {}
        for tensor in self.where:
            if found := layer_pattern(self.family).match(tensor):
                n, prefix = int(found[2]), found[1]
                if layers.setdefault(n, prefix) != prefix:
                    self._fail("prefixes", n=n, a=layers[n] or '""', b=prefix or '""')
        return layers

    def check_depth(self, layers: Mapping[int, str], layer: int | None, said: int | None) -> None:
        """Require the number of layers in the config, or that the single layer is among them."""
        if said is None:
            said = len(layers) if layer is None else layer + 1
        if sorted(layers) != list(range(said)) if layer is None else layer >= said:
            numbers = ", ".join(map(str, sorted(layers)))
            self._fail("depth", said=said, key=self.family.depth, there=numbers)

    def of_layer(self, start: str, presence: Presence, config: Config) -> dict[str, str]:
        """Give the tensor of each key of a layer; every tensor of the layer must match a key."""
        names = self.of_keys(self.family.names, start, presence)
        own = {name for name in self.where if name.startswith(start)} - set(names.values())
        strange = sorted(name for name in own if not re.search(self.family.spare, name))
        if strange:
            self._fail("strange", names=listed(strange))
        self._check_shapes(names, config)
        return names

    def of_keys(self, keys: Mapping[str, str], start: str, presence: Presence) -> dict[str, str]:
        """Give the tensor of each key: all that the config requires, and no others.

        Parameters
        ----------
        keys : mapping
            Names of tensors after ``start``, by key.
        start : str
        presence : mapping
            Which tensors must exist or not, from the family and the config.
        """
        found = {}
        missing: dict[str, list[str]] = {}
        contrary: dict[str, list[str]] = {}
        for key, name in keys.items():
            there = [own for own in _spellings(key, start + name) if own in self.where]
            said = [own for pattern, own in presence.items() if re.search(pattern, key)]
            never = [reason for wanted, reason in said if not wanted]
            if never and there:
                contrary.setdefault(never[0], []).extend(there)
            elif there:
                found[key] = there[0]
            elif not never:
                reason = next((reason for _, reason in said), "")
                missing.setdefault(reason, []).append(start + name)
        for reason, names in contrary.items():
            hint = say("import.contrary.hint")
            self._fail("contrary", hint, reason=reason, names=listed(names))
        for reason, names in missing.items():
            self._fail("missing_by" if reason else "missing", reason=reason, names=listed(names))
        return found

    def width(self, names: Mapping[str, str]) -> int:
        """Find d_model: the input width of the query projection."""
        name = names.get("attn.w_q") or names["attn.w_qkv"]
        return self.where[name][1].shape[0 if self.family.in_out else 1]

    def unused(self, used: Iterable[str], others: Sequence[str]) -> str | None:
        """Name the unused tensors, except those of other layers."""
        taken, starts = set(used), tuple(others)
        names = [n for n in self.where if n not in taken and not n.startswith(starts)]
        text, more = ", ".join(map(clean, names[:MOST_UNUSED])), len(names) - MOST_UNUSED
        return (say("step.more", names=text, n=more) if more > 0 else text) or None

    def _check_shapes(self, names: Mapping[str, str], config: Config) -> None:
        """Require that every weight has the shape given by the config."""
        for key, sizes in _shapes(config.facts).items():
            if key not in names:
                continue
            shape = self.where[names[key]][1].shape
            if len(shape) != 2:
                text = say("weights.rank", name=names[key], shape=dims(shape), n=2)
                raise InputError(Fault(text, self.place))
            ordered = sizes[::-1] if self.family.in_out else sizes
            wanted = [own if n is None else n for n, own in zip(ordered, shape, strict=True)]
            if wanted != list(shape):
                said = ", ".join(f"{name} {value}" for name, value in config.sizes.items())
                self._fail(
                    "shape", name=names[key], shape=dims(shape), wanted=dims(wanted), said=said
                )

    def _fail(self, key: str, hint: str | None = None, /, **parts: object) -> NoReturn:
        raise InputError(Fault(say(f"import.{key}", **parts), self.place, hint))


def _spellings(key: str, name: str) -> list[str]:
    """Give the possible names of a tensor: norms of old checkpoints have gamma and beta."""
    if not key.endswith((".gamma", ".beta")):
        return [name]
    return [name, re.sub("weight$", "gamma", re.sub("bias$", "beta", name))]


def _shapes(facts: Mapping[str, Any]) -> dict[str, tuple[int | None, int | None]]:
    """Give the shapes [out, in] of weights, with None for sizes that the config does not give."""

    def times(a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else a * b

    width, inner, head = facts["width"], facts["inner"], facts.get("head_dim")
    queries, keys = times(facts["heads"], head), times(facts["kv_heads"], head)
    fused = None if queries is None or keys is None else queries + 2 * keys
    into, out = (inner, width), (width, inner)
    return {
        "attn.w_q": (queries, width), "attn.w_k": (keys, width), "attn.w_v": (keys, width),
        "attn.w_qkv": (fused, width), "attn.w_o": (width, queries),
        "ffn.w_1": into, "ffn.w_gate": into, "ffn.w_up": into, "ffn.w_2": out, "ffn.w_down": out,
    }  # fmt: skip
