"""Mistakes in linear layers, the FFN and dropout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from blockcalc.messages import say
from blockcalc.mistakes.alternative import (
    Alternative,
    Block,
    Mistake,
    constant,
    copied,
    extra,
    instead,
    moving,
    rewritten,
)
from blockcalc.mistakes.attention.heads import attentions
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.block import program_of
from blockcalc.nn.spec import AttentionSpec, BlockSpec, SublayerSpec
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Num, Slot
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.op import Ref
from blockcalc.program.program import Equation, Section

GELUS = ("gelu", "gelu_tanh", "quick_gelu")


# weights and biases ------------------------------------------------------------------------------


def _linear(block: Block) -> Iterator[Equation]:
    """Yield the linear layers of the forward pass."""
    for eq in block.program.equations[: block.program.forward]:
        if isinstance(eq.op, MatMul) and len(eq.inputs) > 1 and eq.inputs[1].role == "weight":
            yield eq


def _each_and_all(places: Sequence[tuple[Ref, Sequence[Equation]]]) -> Iterator[Alternative]:
    """Make a mistake with one matrix, with all of the attention, and with all of the block."""
    for ref, equations in places:
        yield Alternative(tuple(equations), words={"which": ref.symbol})
    own = [(ref, eqs) for ref, eqs in places if ".attn." in f".{ref.name}"]
    for some in (own, places if len(places) > len(own) else []):
        if len(some) > 1:
            symbols = ", ".join(dict.fromkeys(ref.symbol for ref, _ in some))
            yield Alternative(tuple(eq for _, eqs in some for eq in eqs), words={"which": symbols})


@moving
def weight_transposed(block: Block) -> Iterator[Alternative]:
    """Multiply by the transpose of a square weight."""
    places = []
    for eq in _linear(block):
        rows, columns = eq.inputs[1].shape
        if rows == columns and isinstance(eq.op, MatMul):
            other = instead(eq, MatMul(transpose_b=not eq.op.transpose_b))
            places.append((eq.inputs[1], [other]))
    yield from _each_and_all(places)


@moving
def bias_missing(block: Block) -> Iterator[Alternative]:
    """Leave out a bias."""
    places = [(eq.inputs[2], [instead(eq, eq.op, *eq.inputs[:2])]) for eq in _biased(block)]
    yield from _each_and_all(places)


@moving
def bias_twice(block: Block) -> Iterator[Alternative]:
    """Add a bias twice."""
    places = []
    for eq in _biased(block):
        twice = extra(f"{eq.out.name}.bias", Elementwise(Slot(0) + Slot(0)), eq.inputs[2])
        places.append((eq.inputs[2], [twice, instead(eq, eq.op, *eq.inputs[:2], twice.out)]))
    yield from _each_and_all(places)


def _biased(block: Block) -> Iterator[Equation]:
    return (eq for eq in _linear(block) if len(eq.inputs) == 3)


@moving
def w_o_missing(block: Block) -> Iterator[Alternative]:
    """Use the concatenated heads as the result, with or without the bias."""
    for section in attentions(block):
        eq = block.equation(f"{section.name}.out")
        if eq is None or not isinstance(eq.op, MatMul) or eq.inputs[1].role != "weight":
            continue
        joined, _, *bias = eq.inputs
        if joined.shape == eq.out.shape:
            yield Alternative((copied(eq, joined),), words={"of": "all"})
            if bias:
                op = Elementwise.on(lambda a, b: a + b, joined, bias[0], axes=eq.out.axes)
                yield Alternative((instead(eq, op, joined, *bias),), words={"of": "weight"})


# the FFN -----------------------------------------------------------------------------------------


def _ffns(block: Block) -> Iterator[tuple[Section, Equation, str]]:
    """Yield each FFN that is computed up to its activation, with that equation and its name."""
    for section in block.program.sections:
        if section.kind == "ffn" and not section.given:
            part = "gate_act" if section.settings.gated else "act"
            eq = block.equation(f"{section.name}.{part}")
            if eq is not None:
                yield section, eq, section.settings.activation


@moving
def activation_missing(block: Block) -> Iterator[Alternative]:
    """Leave out the activation."""
    for _, eq, _ in _ffns(block):
        yield Alternative((copied(eq, eq.inputs[0]),))


@moving
def activation_late(block: Block) -> Iterator[Alternative]:
    """Apply the activation after the second layer, or twice, or after gate times up."""
    for section, act, _ in _ffns(block):
        without = copied(act, act.inputs[0])
        ends = [
            (end, eq)
            for end in ("gated", "out")
            if (eq := block.equation(f"{section.name}.{end}")) is not None
        ]
        for end, eq in ends:
            before = extra(f"{eq.out.name}.linear", eq.op, *eq.inputs)
            late = (before, instead(eq, act.op, before.out))
            where = say(f"form.late.{end}")
            yield Alternative((without, *late), words={"where": where})
            again = say("form.late.again", where=where)
            yield Alternative(late, words={"where": again})


@moving
def gelu_other_form(block: Block) -> Iterator[Alternative]:
    """Use another form of GELU."""
    for _, eq, own in _ffns(block):
        if own in GELUS:
            yield from _activated(eq, [name for name in GELUS if name != own])


@moving
def activation_other(block: Block) -> Iterator[Alternative]:
    """Use another activation."""
    for _, eq, own in _ffns(block):
        related = GELUS if own in GELUS else (own,)
        others = [name for name in ACTIVATIONS if name not in (*related, "identity")]
        yield from _activated(eq, others)


def _activated(eq: Equation, names: Sequence[str]) -> Iterator[Alternative]:
    for name in names:
        op = ACTIVATIONS[name].op
        yield Alternative((instead(eq, op),), words={"activation": op.label})


def _gates(block: Block) -> Iterator[tuple[Equation, Equation, Equation, Equation]]:
    """Yield gate, its activation, up and the product, of each gated FFN."""
    for section, act, _ in _ffns(block):
        gate, up, product = (
            block.equation(f"{section.name}.{part}") for part in ("gate", "up", "gated")
        )
        if gate is not None and up is not None and product is not None:
            yield gate, act, up, product


@moving
def gate_up_exchanged(block: Block) -> Iterator[Alternative]:
    """Exchange the weights of gate and up, or apply the activation to up."""
    for gate, act, up, product in _gates(block):
        yield Alternative(
            (instead(gate, up.op, *up.inputs), instead(up, gate.op, *gate.inputs)),
            words={"by": "weights"},
        )
        changed = (instead(act, act.op, up.out), instead(product, product.op, act.out, gate.out))
        yield Alternative(changed, words={"by": "activation"})


@moving
def gate_up_interleaved(block: Block) -> Iterator[Alternative]:
    """Read gate and up as alternate columns of one matrix instead of halves, or the reverse."""
    for gate, _, up, _ in _gates(block):
        wide = 2 * gate.out.shape[-1]
        second = np.arange(wide).reshape(-1, 2).T.ravel()
        for order, columns in (("second", second), ("half", np.argsort(second))):
            yield _regrouped(block, gate, up, columns, order)


def _regrouped(
    block: Block, gate: Equation, up: Equation, columns: np.ndarray, order: str
) -> Alternative:
    """Reorder the columns of two layers as those of one matrix, with their biases."""
    arrays, inputs = {}, [[gate.inputs[0]], [up.inputs[0]]]
    for pair in zip(gate.inputs[1:], up.inputs[1:], strict=False):
        rows = isinstance(gate.op, MatMul) and gate.op.transpose_b
        axis = 0 if rows else -1
        both = np.concatenate([block.trace.arrays[ref.name] for ref in pair], axis=axis)
        halves = np.split(both.take(columns, axis=axis), 2, axis=axis)
        for own, ref, half in zip(inputs, pair, halves, strict=True):
            other = constant(f"{gate.out.name}.{order}.{ref.name}", half, ref)
            arrays[other.name] = half
            own.append(other)
    changed = [instead(eq, eq.op, *own) for eq, own in zip((gate, up), inputs, strict=True)]
    return Alternative(tuple(changed), arrays, {"columns": say(f"form.gate.{order}")})


# dropout -----------------------------------------------------------------------------------------


def _drops(block: Block) -> Iterator[tuple[Equation, Elementwise, float]]:
    """Yield each dropout with its operation and p."""
    for section in block.program.sections:
        eq = block.equation(section.name) if section.kind == "dropout" else None
        if eq is not None and isinstance(eq.op, Elementwise):
            yield eq, eq.op, section.settings.p


@moving
def dropout_on(block: Block) -> Iterator[Alternative]:
    """Apply dropout if it is off and its mask is known; leave it out if it is on."""
    spec = block.spec
    drawn = spec.seed is not None
    known = {k: p for k, p in spec.rates.items() if p and (drawn or f"{k}_keep" in spec.arrays)}
    if spec.evaluation and known:
        on = replace(spec, blocks=tuple(_thinned(own, known) for own in spec.blocks))
        forms = [s.settings.form for s in block.program.sections if s.kind == "softmax"]
        on = on.with_softmax(forms[0]) if forms else on  # the run may subtract the row maximum
        program = program_of(on, on.shapes)
        yield rewritten(block, program, on.arrays, how=say("form.dropout.on"))
    for eq, _, _ in _drops(block):
        yield Alternative((copied(eq, eq.inputs[0]),), words={"how": say("form.dropout.off")})


def _thinned(own: BlockSpec, rates: Mapping[str, float]) -> BlockSpec:
    """Set p of dropout in the parts of a block."""

    def sublayer(part: SublayerSpec) -> SublayerSpec:
        name = f"{own.keys}{part.work.name}"
        inside = "weights" if isinstance(part.work, AttentionSpec) else "act"
        work = replace(part.work, dropout=rates.get(f"{name}.{inside}", 0.0))
        return replace(part, work=work, dropout=rates.get(f"{name}.out", 0.0))

    return replace(own, sublayers=tuple(map(sublayer, own.sublayers)))


@moving
def dropout_not_rescaled(block: Block) -> Iterator[Alternative]:
    """Apply dropout without dividing by 1 - p, or dividing by p."""
    for eq, op, p in _drops(block):
        kept = Slot(0) * Slot(1)
        for body, how in ((kept, "none"), (kept / Num(p, "p"), "p")):
            words = {"by": say(f"form.dropout.{how}")}
            yield Alternative((instead(eq, replace(op, body=body)),), words=words)


@moving
def dropout_pattern_inverted(block: Block) -> Iterator[Alternative]:
    """Invert the dropout mask."""
    for eq, op, p in _drops(block):
        body = Slot(0) * (1.0 - Slot(1)) / (1.0 - Num(p, "p"))
        yield Alternative((instead(eq, replace(op, body=body)),))


MISTAKES: tuple[Mistake, ...] = (
    Mistake("weight_transposed", "*", weight_transposed),
    Mistake("bias_missing", "*", bias_missing),
    Mistake("bias_twice", "*", bias_twice),
    Mistake("w_o_missing", "attn.out", w_o_missing),
    Mistake("activation_missing", "ffn.*act", activation_missing),
    Mistake("activation_late", "ffn.*", activation_late),
    Mistake("gelu_other_form", "ffn.*act", gelu_other_form),
    Mistake("activation_other", "ffn.*act", activation_other),
    Mistake("gate_up_exchanged", "ffn.*", gate_up_exchanged),
    Mistake("gate_up_interleaved", "ffn.*", gate_up_interleaved),
    Mistake("dropout_on", "*", dropout_on),
    Mistake("dropout_not_rescaled", "*_dropped", dropout_not_rescaled),
    Mistake("dropout_pattern_inverted", "*_dropped", dropout_pattern_inverted),
)
