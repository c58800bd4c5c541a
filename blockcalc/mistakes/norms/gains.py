"""Mistakes in gamma and beta, and norms left out of an attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from blockcalc.mistakes.alternative import (
    NORM_KINDS,
    Alternative,
    Block,
    Mistake,
    copied,
    instead,
)
from blockcalc.mistakes.norms.places import with_
from blockcalc.nn.settings import NormSettings
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Expr, Num, Slot, substitute
from blockcalc.program.program import Equation, Section


@with_("gamma")
def gamma_missing(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Leave out gamma."""
    gain = block.trace.arrays[eq.inputs[1].name] + (1.0 if own.unit_offset else 0.0)
    if np.any(gain != 1.0):
        yield Alternative((copied(eq, eq.inputs[0]),))


@with_("beta")
def beta_missing(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Leave out beta."""
    if np.any(block.trace.arrays[eq.inputs[1].name]):
        yield Alternative((copied(eq, eq.inputs[0]),))


def _gain(eq: Equation, gain: Expr) -> Equation:
    """Replace gamma by another gain."""
    assert isinstance(eq.op, Elementwise)
    body = substitute(eq.op.body, lambda e: gain if e == Slot(1) else e)
    return instead(eq, replace(eq.op, body=body))


@with_("gamma")
def gamma_plus_one(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Multiply by 1 + gamma instead of gamma, or by gamma instead of 1 + gamma."""
    if own.unit_offset:
        assert isinstance(eq.op, Elementwise)
        op = replace(eq.op, body=Slot(0) * Slot(1))
        yield Alternative((instead(eq, op),), words={"gain": "gamma"})
    else:
        yield Alternative((_gain(eq, Num(1.0) + Slot(1)),), words={"gain": "1 + gamma"})


@with_("gamma")
def gamma_plus_one_twice(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Add 1 to gamma twice."""
    yield Alternative((_gain(eq, Num(1.0 if own.unit_offset else 2.0) + Slot(1)),))


def qk_norm_missing(block: Block) -> Iterator[Alternative]:
    """Leave out the norm of queries or keys inside an attention."""
    attentions = list(block.sections("attention"))
    for norm in block.sections(*NORM_KINDS):
        if any(a.first <= norm.first and norm.last <= a.last for a in attentions):
            yield Alternative((copied(block.inside(norm)[-1], norm.inputs[0]),))


MISTAKES = (
    Mistake("gamma_missing", "norm*.scaled", gamma_missing),
    Mistake("beta_missing", "norm*", beta_missing),
    Mistake("gamma_plus_one", "norm*.scaled", gamma_plus_one),
    Mistake("gamma_plus_one_twice", "norm*.scaled", gamma_plus_one_twice),
    Mistake("qk_norm_missing", "attn.*_norm", qk_norm_missing),
)
