"""The head of a document: which block this is, and every convention that is in force."""

from __future__ import annotations

from collections.abc import Iterator

from blockcalc.explain.document import Head
from blockcalc.explain.summary import flow
from blockcalc.messages import say
from blockcalc.nn.spec import Spec
from blockcalc.notation.digits import constant
from blockcalc.program.program import Program, Section
from blockcalc.program.trace import Trace

MOST_HINTS = 5
NAMED = ("d_model", "d_head", "d_ff")


def head(spec: Spec, trace: Trace) -> Head:
    """Say what block this is and which conventions are in force."""
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
    norms = [s for s in program.sections if s.kind == "layer_norm"]
    two = any(s.settings["width"] == 2 for s in norms)
    hints = [say("hint.two_features")] if two else []
    hints += spec.remarks[:MOST_HINTS]
    for block in {block.keys: block for block in spec.blocks if block.ffn is None}.values():
        if any(key.startswith(f"{block.keys}norm2.") for key in spec.arrays):
            hints.append(say("hint.spare_norm", name=f"{block.keys}norm2"))
    return Head(spec.title or say("title.none"), spec.notes, tuple(facts), tuple(hints))


def rounding(trace: Trace) -> Iterator[str]:
    """Say how every step is rounded, if it is."""
    if trace.rounding:
        yield say(f"rounding.{trace.rounding.kind}", digits=trace.rounding.digits)


def dropouts(spec: Spec) -> Iterator[str]:
    """Say that dropout is written and off."""
    if spec.evaluation:
        yield say("convention.dropout.off")


def flows(program: Program) -> Iterator[str]:
    """Draw the flow; in a stack once for each block, equal ones together."""
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
    several = any(s.settings.get("n_heads", 1) > 1 for s in program.sections)
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
    """Name every convention by which two textbooks could differ.

    In a stack, one that several parts follow is said once with all their names; so is dropout.
    """
    out_in = any(block.attention.out_in for block in spec.blocks)
    yield say("convention.rows.out_in" if out_in else "convention.rows")
    lines: dict[str, list[str]] = {}
    for section in program.sections:
        for line in _conventions(section):
            name = section.name.removesuffix("_dropped")
            together = program.blocks or section.kind == "dropout"
            key = line if together else line.replace("{name}", name)
            lines.setdefault(key, []).append(name)
    for line, names in lines.items():
        yield line.replace("{name}", _several(names))
    yield from dropouts(spec)


def _conventions(section: Section) -> Iterator[str]:
    """Name those of one section; ``{name}`` stands for it."""
    settings, name = section.settings, "{name}"
    if section.kind == "attention" and not settings.get("given"):
        yield from _of_attention(section)
    elif section.kind == "softmax":
        yield say(f"convention.softmax.{settings['form']}")
    elif section.kind in ("layer_norm", "rms_norm"):
        key = "sample" if settings.get("sample") else section.kind
        yield say(f"convention.{key}", name=name, eps=plain(settings["eps"]))
        for extra in ("outside", "unit_offset"):
            if settings[extra]:
                yield say(f"convention.{extra}", name=name)
    elif section.kind == "ffn":
        if settings["gated"]:
            yield say("convention.gated")
        yield say("convention.activation", form=say(f"activation.{settings['activation']}"))
    elif section.kind == "dropout":
        seed = settings["seed"]
        how = say("dropout.given") if seed is None else say("dropout.drawn", seed=seed)
        yield say("convention.dropout", name=name, p=plain(settings["p"]), how=how)


def _of_attention(section: Section) -> Iterator[str]:
    """Name the heads, the scale and the masks of an attention."""
    settings = section.settings
    heads, few = settings["n_heads"], settings["n_kv_heads"]
    if settings["fused"]:
        yield say("convention.fused", layout=say(f"fused.{settings['fused']}"))
    if heads > 1:
        yield say("convention.heads", heads=heads)
    if few < heads:
        m = heads // few
        pairs = (
            say("convention.groups.pair", queries=", ".join(map(str, own)), key=g + 1)
            for g, own in enumerate([range(i * m + 1, i * m + m + 1) for i in range(few)])
        )
        yield say("convention.groups", pairs="; ".join(pairs))
    if settings.get("scale") == "none":
        yield say("convention.scale.none")
    elif settings["default_scale"] and "d_head" in settings:
        yield say("convention.scale.default", d_head=settings["d_head"])
    elif "scale" in settings:
        yield say("convention.scale.given", scale=plain(settings["scale"]))
    if "rope_dims" in settings:
        dims, start = settings["rope_dims"], settings["rope_start"]
        paired = say(f"rope.{'half' if settings['rope_half'] else 'interleaved'}", m=dims // 2)
        theta = settings["rope_theta"]
        angles = (
            say("rope.freqs_given") if theta is None else say("rope.theta_is", theta=plain(theta))
        )
        yield say("convention.rope", dims=dims, style=paired, theta=angles, start=start)
    if settings.get("causal"):
        yield say("convention.causal")
    if settings.get("masked"):
        yield say("convention.mask")
    if settings.get("added"):
        yield say("convention.mask_add")


def plain(x: float) -> str:
    """Write a constant in a sentence: 0.5, 1e-05."""
    shown = constant(x)
    return shown.digits if shown.exponent is None else f"{shown.digits}e{shown.exponent}"
