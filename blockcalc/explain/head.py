"""The head of a document: the block and all its conventions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from blockcalc.explain.document import Head
from blockcalc.explain.summary import flow
from blockcalc.messages import say
from blockcalc.messages.words import clauses
from blockcalc.nn.settings import (
    AttentionSettings,
    DropoutSettings,
    FfnSettings,
    NormSettings,
    SoftmaxSettings,
)
from blockcalc.nn.spec import AttentionSpec, RopeSpec, Spec
from blockcalc.notation.digits import constant
from blockcalc.ops.op import Array
from blockcalc.program.program import Program, Section
from blockcalc.program.trace import Trace

MOST_HINTS = 5
NAMED = ("d_model", "d_head", "d_ff")


def head(spec: Spec, trace: Trace) -> Head:
    """Describe the block and its conventions."""
    program = trace.program
    x = program.inputs[0]
    tokens = (f"{x.shape[-2]} ({', '.join(own)})" for own in dict.fromkeys(spec.tokens))
    facts = [
        (say("fact.tokens"), tuple(tokens)),
        (say("fact.sizes"), (sizes(program),)),
        (say("fact.order"), (say(f"order.{spec.order}"),)),
        (say("fact.flow"), tuple(flows(program))),
        (say("fact.conventions"), tuple(conventions(spec, program))),
    ]
    if spec.origins:
        lines = tuple(f"{name}: {origin}" for name, origin in spec.origins.items())
        facts.append((say("fact.origins"), lines))
    facts += [(say("fact.rounding"), (text,)) for text in rounding(trace)]
    hints = [say("hint.two_features")] if collapses(program) else []
    hints += spec.remarks[:MOST_HINTS]
    hints += mask_hints(spec)
    for name in spec.spare_norms:
        if any(key.startswith(f"{name}.") for key in spec.arrays):
            hints.append(say("hint.spare_norm", name=name))
    return Head(spec.title or say("title.none"), spec.notes, tuple(facts), tuple(hints))


def collapses(program: Program) -> bool:
    """Tell whether a program has a LayerNorm of two features, which only gives ±1."""
    return any(two_features(section) for section in program.sections)


def two_features(section: Section) -> bool:
    """Tell whether a section is a LayerNorm of two features."""
    own = section.settings
    return isinstance(own, NormSettings) and own.kind == "layer" and own.width == 2


BLOCKS = -1e4  # an additive mask below this is meant to mask its key


def mask_hints(spec: Spec) -> Iterator[str]:
    """Give hints for masks whose numbers are probably a mistake."""
    for start in _attentions(spec):
        name = f"{start}.mask.add"
        if name not in spec.arrays:
            continue
        add = spec.arrays[name]
        if set(np.unique(add)) == {0.0, 1.0}:
            yield say("hint.mask_bits", name=name, keep=f"{start}.mask.keep")
        rows = _hidden_rows(spec, start, add)
        if rows.size:
            tokens = ", ".join(str(i + 1) for i in rows[:MOST_HINTS])
            yield say("hint.mask_finite", name=name, rows=tokens)


def _attentions(spec: Spec) -> list[str]:
    """Name the attentions of a file by their keys, each once: ``blocks.0.attn``."""
    works = ((block.keys, sublayer.work) for block in spec.blocks for sublayer in block.sublayers)
    found = (keys + work.name for keys, work in works if isinstance(work, AttentionSpec))
    return list(dict.fromkeys(found))


def _hidden_rows(spec: Spec, start: str, add: Array) -> Array:
    """Find the queries whose keys all have a large negative number instead of minus infinity."""
    allowed = np.ones(add.shape[-2:], dtype=bool)
    for key in ("causal", "mask.keep"):
        keep = spec.arrays.get(f"{start}.{key}")
        if keep is not None and keep.ndim == 2:
            allowed &= keep != 0
    low = np.where(allowed, (add <= BLOCKS) & np.isfinite(add), True).all(axis=-1)
    low &= (allowed & np.isfinite(add)).any(axis=-1)
    return np.unique(np.argwhere(low)[:, -1])


def rounding(trace: Trace) -> Iterator[str]:
    """Describe the rounding of steps, if there is any."""
    if trace.rounding:
        yield say(f"rounding.{trace.rounding.kind}", digits=trace.rounding.digits)


def dropouts(spec: Spec) -> Iterator[str]:
    """Note dropout that is in the file but off."""
    if spec.evaluation:
        yield say("convention.dropout.off")


def flows(program: Program) -> Iterator[str]:
    """Write the data flow; in a stack once for each block, with equal blocks grouped."""
    if not program.blocks:
        yield " → ".join(flow(program))
        return
    lines: dict[str, list[str]] = {}
    for block in program.blocks:
        lines.setdefault(" → ".join(flow(program, block)), []).append(block.name)
    for line, names in lines.items():
        yield f"{_several(names)}: {line}"
    last = program.blocks[-1].last
    if last < len(program.equations):
        yield " → ".join((program.blocks[-1].name, *flow(program, first=last)))


def _several(names: list[str]) -> str:
    """List names, or the first and the last of many."""
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"


def sizes(program: Program) -> str:
    """List the sizes that the matrices have."""
    settings = (s.settings for s in program.sections)
    several = any(isinstance(own, AttentionSettings) and own.n_heads > 1 for own in settings)
    named = NAMED if several else ("d_model", "d_head", "d_v", "d_ff")
    found: dict[str, int] = {}
    for ref in program.refs().values():
        for axis, n in zip(ref.axes, ref.shape, strict=True):
            if axis in named:
                found.setdefault(axis, n)
    if found.get("d_v") == found.get("d_head"):
        found.pop("d_v", None)
    return ", ".join(f"{axis} = {n}" for axis, n in found.items())


def conventions(spec: Spec, program: Program) -> Iterator[str]:
    """List every convention in which two textbooks may differ.

    In a stack, a convention shared by several parts is listed once with all their names; so is
    dropout.
    """
    out_in = any(block.out_in for block in spec.blocks)
    yield say("convention.rows.out_in" if out_in else "convention.rows")
    lines: dict[str, list[str]] = {}
    for section in program.sections:
        for line in _conventions(section):
            own = section.settings
            name = own.place if isinstance(own, DropoutSettings) else section.name
            together = program.blocks or isinstance(own, DropoutSettings)
            key = line if together else line.replace("{name}", name)
            lines.setdefault(key, []).append(name)
    for line, names in lines.items():
        yield line.replace("{name}", _several(names))
    yield from dropouts(spec)


def _conventions(section: Section) -> Iterator[str]:
    """List the conventions of one section; ``{name}`` is a placeholder for its name."""
    own, name = section.settings, "{name}"
    if isinstance(own, AttentionSettings):
        yield from _of_attention(own)
    elif isinstance(own, SoftmaxSettings):
        yield say(f"convention.softmax.{own.form}{'.base2' * own.base2}")
    elif isinstance(own, NormSettings):
        key = "sample" if own.sample else section.kind
        yield say(f"convention.{key}", name=name, eps=plain(own.eps))
        if own.outside:
            yield say("convention.outside", name=name)
        if own.unit_offset:
            yield say("convention.unit_offset", name=name)
    elif isinstance(own, FfnSettings):
        if own.gated:
            yield say("convention.gated")
        yield say("convention.activation", form=say(f"activation.{own.activation}"))
    elif isinstance(own, DropoutSettings):
        how = say("dropout.given") if own.seed is None else say("dropout.drawn", seed=own.seed)
        yield say("convention.dropout", name=name, p=plain(own.p), how=how)


def _of_attention(own: AttentionSettings) -> Iterator[str]:
    """List the conventions of an attention: heads, scale and masks."""
    heads, few = own.n_heads, own.n_kv_heads
    if own.fused:
        yield say("convention.fused", layout=say(f"fused.{own.fused}"))
    if heads > 1:
        yield say("convention.heads", heads=heads)
    if few < heads:
        m = heads // few
        pairs = (
            say("convention.groups.pair", queries=", ".join(map(str, group)), key=g + 1)
            for g, group in enumerate([range(i * m + 1, i * m + m + 1) for i in range(few)])
        )
        yield say("convention.groups", pairs=clauses(pairs))
    if own.d_head is not None:
        yield from _scale(own.scale, own.d_head)
    if own.rope is not None:
        yield _rope(own.rope)
    if own.causal:
        yield say("convention.causal")
    if own.masked:
        yield say("convention.mask")
    if own.added:
        yield say("convention.mask_add")


def _scale(scale: float | str | None, d_head: int) -> Iterator[str]:
    if scale is None:
        yield say("convention.scale.default", d_head=d_head)
    elif isinstance(scale, str):
        yield say("convention.scale.none")
    else:
        yield say("convention.scale.given", scale=plain(scale))


def _rope(rope: RopeSpec) -> str:
    paired = say(f"rope.{'half' if rope.half else 'interleaved'}", m=rope.dims // 2)
    angles = say("rope.freqs_given")
    if rope.theta is not None:
        angles = say("rope.theta_is", theta=plain(rope.theta))
    return say("convention.rope", dims=rope.dims, style=paired, theta=angles, start=rope.start)


def plain(x: float) -> str:
    """Write a constant in a sentence: 0.5, 1e-05."""
    shown = constant(x)
    return shown.digits if shown.exponent is None else f"{shown.digits}e{shown.exponent}"
