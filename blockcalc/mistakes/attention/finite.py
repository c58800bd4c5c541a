"""Mistakes in what stands for minus infinity where a key is masked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import islice
from operator import mul

import numpy as np

from blockcalc.mistakes.alternative import Alternative, Block, Mistake, instead
from blockcalc.mistakes.attention.masks import parts
from blockcalc.mistakes.attention.scores import Attention, attentions, each, masks
from blockcalc.mistakes.attention.seen import blind_rows
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Expr, Num, call
from blockcalc.program.program import Equation
from blockcalc.records import dataclass

FINITE = (-1e9, -1e4, -65504.0, -3.4028234663852886e38, -1e5, -1e8, -1e10, -1e30, -1000.0, -100.0)
TOO_LARGE = 1e30  # adding a score to so large a number changes nothing in any format


@dataclass(frozen=True)
class Filled:
    """The masked scores of an attention with a number where a key is masked.

    Attributes
    ----------
    attention : Attention
    eq : Equation
        Its masked scores.
    added : bool
        Whether the number is added to the score, not put in its place.
    shifted : bool
        Whether the softmax subtracts the maximum of the row, which the block does not.
    """

    attention: Attention
    eq: Equation
    added: bool
    shifted: bool

    def by(self, size: float) -> Alternative:
        """Fill with the negative of a positive number."""
        assert isinstance(self.eq.op, Elementwise)
        total, keep = parts(self.eq)
        found = [m for m in masks(self.attention) if m.adds and not m.allowed.all()]
        arrays = {m.name: np.where(m.allowed, m.array, -size) for m in found}
        if keep is not None:
            sees = call("allowed", keep)
            total = (total if self.added else total * sees) + Num(-size) * (1.0 - sees)
        small = self.added and size < TOO_LARGE
        words = {"number": f"S − {size:.7g}" if small else f"{-size:.7g}"}
        eq = instead(self.eq, Elementwise(total, None, self.eq.op.placements))
        if not self.shifted:
            return Alternative((eq,), arrays, words)
        return Alternative(
            (eq, *self.attention.with_maximum().values()), arrays, words | {"at": "shifted"}
        )


def filled(block: Block) -> Iterator[Filled]:
    """Yield the masked scores of every attention, in each way of filling them with a number."""
    for a in attentions(block):
        eq = a.step("masked")
        if eq is None or all(m.allowed.all() for m in masks(a)):
            continue
        assert isinstance(eq.op, Elementwise)
        # with its maximum subtracted, a row whose keys are all masked is uniform
        right = block.trace.arrays[eq.out.name]
        blind = bool(np.isneginf(right).all(axis=-1).any()) and a.step("weights.max") is None
        for added in (True,) if parts(eq)[1] is None else (False, True):
            for shifted in (False, True) if blind else (False,):
                yield Filled(a, eq, added, shifted)


def mask_finite(block: Block) -> Iterator[Alternative]:
    """Use a large negative number for minus infinity: instead of the score, or added to it."""
    forms = list(filled(block))
    if any(form.shifted for form in forms):  # else 0/0, or one small number as well
        forms = [form for form in forms if form.shifted]
    for number in FINITE:
        for form in forms:
            if not (form.added and -number >= TOO_LARGE) or parts(form.eq)[1] is None:
                yield form.by(-number)


@each
def mask_row_undefined(a: Attention) -> Iterator[Alternative]:
    """Keep 0/0, which is nan, where a row sees no key and is 0 by the convention of the block."""
    eq = a.step("masked")
    if eq is not None and np.isneginf(a.block.trace.arrays[eq.out.name]).all(axis=-1).any():
        yield from (Alternative((undefined,)) for undefined in islice(blind_rows(a), 1))


@each
def mask_multiplied(a: Attention) -> Iterator[Alternative]:
    """Multiply scores by 1 and 0: each masked key counts e⁰."""
    eq = a.step("masked")
    if eq is not None and any(not m.adds and not m.allowed.all() for m in masks(a)):
        total, keep = parts(eq)
        assert isinstance(eq.op, Elementwise)
        assert keep is not None
        op = Elementwise(total * call("allowed", keep), None, eq.op.placements)
        yield Alternative((instead(eq, op),))


@each
def mask_padding_counts(a: Attention) -> Iterator[Alternative]:
    """Give padded keys the score 0, so that each counts e⁰, while other masks are right."""
    eq, found = a.step("masked"), masks(a)
    padding = next((m for m in found if m.key == "padding"), None)
    if eq is None or padding is None or padding.allowed.all():
        return
    total, _ = parts(eq)
    refs = {ref.name: ref for ref in a.block.program.inputs}
    others = [refs[m.name] for m in found if not m.adds and m is not padding]
    inputs = (*eq.inputs[:-1], refs[padding.name], *others)

    def body(*slots: Expr) -> Expr:
        pad, *rest = (call("allowed", slot) for slot in slots[len(eq.inputs) - 1 :])
        return call("mask", total * pad, reduce(mul, rest)) if rest else total * pad

    op = Elementwise.on(body, *inputs, axes=eq.out.axes)
    yield Alternative((instead(eq, op, *inputs),))


MISTAKES = (
    Mistake("mask_finite", "attn.masked", mask_finite, same_result=True),
    Mistake("mask_row_undefined", "attn.weights", mask_row_undefined),
    Mistake("mask_multiplied", "attn.masked", mask_multiplied),
    Mistake("mask_padding_counts", "attn.masked", mask_padding_counts),
)
