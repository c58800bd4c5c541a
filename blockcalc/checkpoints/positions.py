"""Read rotary positions and sliding windows from a config, and tell whether they affect x."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockcalc.checkpoints.configs import Config, is_number, shown
from blockcalc.messages import say
from blockcalc.reading.checker import kind_of

Rule = Mapping[str, Any]

THETA = 10000.0
# Rules that change no angle if their factor is 1: their other fields then have no effect.
_FACTORS = ("linear", "yarn", "llama3", "proportional")
_KINDS = ("rope_type", "type")
_READ = (*_KINDS, "rope_theta", "partial_rotary_factor")
FULL = ("full_attention", "attention")
SLIDING = "sliding_attention"


def rope(c: Config) -> dict[str, Any]:
    """Read rotary positions from ``rope_parameters``, or ``rope_theta`` and ``rope_scaling``.

    If both are given, transformers uses only ``rope_scaling``. A rule that changes the angles, and
    fields that contradict each other, are rejected.
    """
    rules = {name: c.mapping(name) for name in ("rope_parameters", "rope_scaling")}
    thetas = {"rope_theta": c.take("rope_theta")}
    for name, rule in rules.items():
        _check_rule(c, name, rule)
        thetas[f"{name}.rope_theta"] = rule.get("rope_theta")
    _check_part(c, "partial_rotary_factor", c.take("partial_rotary_factor"))
    said = {name: value for name, value in thetas.items() if value is not None}
    for name, value in said.items():
        if not _is_size(value):
            c.wrong(name, say("import.want.size", got=kind_of(value)))
    if rules["rope_scaling"] and list(said) == ["rope_parameters.rope_theta"]:
        said["rope_scaling.rope_theta"] = THETA  # the value if the field is missing
    if len(set(said.values())) > 1:
        (name, value), *others = said.items()
        c.refuse(name, value, *others)
    c.facts["theta"] = next(iter(said.values()), THETA)
    return {"theta": c.facts["theta"], "style": "half"}


def _is_size(value: Any) -> bool:
    return is_number(value) and bool(value > 0)


def _check_part(c: Config, name: str, part: Any) -> None:
    """Reject partial rotation, which transformers ignores in these families and others do not."""
    if part is None:
        return
    if not _is_size(part):
        c.wrong(name, say("import.want.size", got=kind_of(part)))
    if part != 1:
        c.refused.append(say("import.partial", name=name, part=shown(part)))


def _check_rule(c: Config, name: str, rule: Rule) -> None:
    """Reject a rule that changes the angles of x; note the fields of one that does not."""
    given = {key: value for key, value in rule.items() if value is not None}
    kinds = {key: given[key] for key in _KINDS if key in given}
    spare = {key: value for key, value in given.items() if key not in _READ}
    changing = [key for key, kind in kinds.items() if not _changes_nothing(c, kind, given)]
    nested = [key for key, value in spare.items() if isinstance(value, dict)]
    unnamed = ["factor"] if not kinds and given.get("factor", 1) != 1 else []
    _check_part(c, f"{name}.partial_rotary_factor", given.get("partial_rotary_factor"))
    c.refused += [f"rope scaling {shown(kinds[key])} ({name}.{key})" for key in changing]
    for key in (*nested, *unnamed):
        c.refuse(f"{name}.{key}", spare[key])
    if spare and not changing and "dynamic" not in kinds.values():
        c.note("rope", names=", ".join(f"{name}.{shown(key)}" for key in spare))


def _changes_nothing(c: Config, kind: Any, rule: Rule) -> bool:
    """Tell whether a rule leaves the angles of x unchanged."""
    if kind == "dynamic":  # the base grows only if x is longer than the maximum position
        most = c.whole("max_position_embeddings")
        if c.tokens <= most:
            c.note("dynamic", most=most, tokens=c.tokens)
        return bool(c.tokens <= most)
    unscaled = rule.get("factor") == 1 and rule.get("attention_factor", 1) == 1
    return kind == "default" or (kind in _FACTORS and unscaled)


def kind_of_layer(c: Config, layer: int) -> str | None:
    """Read the kind of a layer from ``layer_types``, None if it is missing."""
    kinds = c.take("layer_types")
    if kinds is None:
        return None
    count = c.facts.get("depth")
    if not isinstance(kinds, list) or len(kinds) != (count or len(kinds)) or layer >= len(kinds):
        c.wrong("layer_types", say("import.want.layers", n=count or layer + 1))
    kind = kinds[layer]
    if kind not in (*FULL, SLIDING):
        c.refuse("layer_types", kind)
    return str(kind)


def window(c: Config, kind: str | None, default: int | None, used: bool) -> None:
    """Read the sliding window, and reject it if it masks a key for a query of x.

    Parameters
    ----------
    c : Config
    kind : str or None
        The kind of the layer in ``layer_types``.
    default : int or None
        The size if the config has none.
    used : bool
        Whether the layer uses the window.
    """
    if not used and kind != SLIDING:
        size = c.take("sliding_window")
        if size is not None:
            c.note("no_window", size=shown(size))
        return
    size = c.whole("sliding_window", default, None)
    if size is None and kind == SLIDING:
        c.refuse("layer_types", kind)
    elif size is not None and c.tokens > size:
        c.refuse("sliding_window", size)
    elif size is not None:
        c.note("window", size=size, tokens=c.tokens)
