"""The text of a designed block: YAML with short comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from blockcalc.messages import say
from blockcalc.nn.orders import NORM_KEYS
from blockcalc.records import dataclass
from blockcalc.teach.design.score import Design
from blockcalc.teach.design.wanted import Wanted

FORMULAS = {"w_q": "Q = X W_Q", "w_k": "K = X W_K", "w_v": "V = X W_V", "w_o": "O = Z W_O",
            "w_1": "U = N W_1", "w_2": "F = A W_2"}  # fmt: skip


@dataclass(frozen=True)
class Text:
    """What the first comments of a file say: its name, and the command that made it."""

    file: str
    command: str
    number: int = 0


def block_text(wanted: Wanted, design: Design, text: Text) -> str:
    """Write a block as a file."""
    return "\n".join(_lines(wanted, design, text)) + "\n"


def _lines(wanted: Wanted, design: Design, text: Text) -> Iterator[str]:
    data = design.data
    yield f"# {say('design.first', command=text.command)}"
    yield f"# {summary(design)}"
    yield f"# {say('design.run', file=text.file)}"
    number = f" {text.number}" if text.number else ""
    default = say("design.title", number=number, order=wanted.order)
    yield f"title: {_quoted(str(data.get('title') or default))}"
    if "notes" in data:
        yield f"notes: {_quoted(str(data['notes']))}"
    yield f"tokens: {_row(data['tokens'])}"
    yield f"norm: {_flow(data['norm'])}"
    yield f"x:  # {say('design.x', tokens=wanted.tokens, d_model=wanted.d_model)}"
    yield from (f"  - {_row(row)}" for row in data["x"])
    yield "attn:"
    yield from _part(data["attn"], wanted)
    yield "ffn:"
    yield from _part({"activation": "relu", **data["ffn"]}, wanted)
    for key in NORM_KEYS[:2]:
        if data.get(key):
            yield f"{key}: {_flow(data[key])}"
    if "round" in data:
        yield f"round: {_flow(data['round'])}  # {say('design.round')}"


def summary(design: Design) -> str:
    """Say in one line how long the numbers are."""
    if not design.exact:
        return say("design.sum.round")
    whole = sum(s.whole for s in design.steps)
    total = sum(s.numbers for s in design.steps)
    return say("design.sum", most=design.denominator, whole=whole, numbers=total)


ORDER = ("n_heads", "scale", "softmax", "causal", "mask", "activation")


def _part(own: Mapping[str, Any], wanted: Wanted) -> Iterator[str]:
    names = sorted(
        own, key=lambda key: (ORDER.index(key) if key in ORDER else 9, list(own).index(key))
    )
    for key in names:
        value = own[key]
        if key.startswith("w_") and isinstance(value, list):
            yield f"  {key}:  # [{len(value)} × {len(value[0])}] {FORMULAS[key]}"
            yield from (f"    - {_row(row)}" for row in value)
            continue
        note = _note(key, value, wanted)
        yield f"  {key}: {_flow(value)}" + (f"  # {note}" if note else "")


def _note(key: str, value: object, wanted: Wanted) -> str:
    """Give the comment of a setting, if it has one."""
    if key == "scale":
        name = "design.scale.none" if value == "none" else "design.scale"
        return say(name, d_head=wanted.d_head)
    if key == "softmax":
        return say(f"design.softmax.{wanted.softmax}")
    return (
        say(f"design.{key}", d_head=wanted.d_head) if key in ("causal", "mask", "n_heads") else ""
    )


def _row(row: Any) -> str:
    return _flow(list(row))


def _flow(value: Any) -> str:
    """Write a value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = value.replace("_", "").replace("/", "").isalnum() and value.isascii()
        return (
            value
            if plain
            and value.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
            else _quoted(value)
        )
    return f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)
