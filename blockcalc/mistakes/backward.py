"""Mistakes in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from blockcalc.mistakes.alternative import NEW, Alternative, Block, Mistake, copied, extra, instead
from blockcalc.ops.derivative import ZERO
from blockcalc.ops.elementwise import Elementwise, Slope
from blockcalc.ops.expr import Call, Expr, Num, Slot, substitute, walk
from blockcalc.ops.matmul import Gram
from blockcalc.ops.movement import Gather, Total
from blockcalc.ops.op import Array, Ref
from blockcalc.program.program import Equation

Alternatives = Callable[[Block], Iterator[Alternative]]


def _backward(block: Block) -> Sequence[Equation]:
    """Give the equations of the backward pass."""
    start = block.program.forward
    return () if start is None else block.program.equations[start:]


def _changed(eq: Equation, slot: int, by: Expr) -> Alternative:
    """Replace an operand of an elementwise step."""
    assert isinstance(eq.op, Elementwise)
    body = substitute(eq.op.body, lambda e: by if e == Slot(slot) else e)
    return Alternative((instead(eq, replace(eq.op, body=body)),))


# activations ----------------------------------------------------------------------------------


def grad_relu_mask_missing(block: Block) -> Iterator[Alternative]:
    """Pass the gradient on where ReLU gave 0."""
    for eq in _backward(block):
        if isinstance(eq.op, Elementwise) and any(
            isinstance(e, Call) and e.function == "step" for e in walk(eq.op.body)
        ):
            yield Alternative((copied(eq, eq.inputs[0]),))


def grad_activation_missing(block: Block) -> Iterator[Alternative]:
    """Leave out the derivative of another activation."""
    for eq in _backward(block):
        if eq.inputs and eq.inputs[-1].name == f"{eq.out.name}.slope":
            yield Alternative((copied(eq, eq.inputs[0]),))


# norms ----------------------------------------------------------------------------------------


def _slope(term: str, layer: bool, by: Callable[[int], Expr]) -> Alternatives:
    """Change one term of the closed-form gradient of LayerNorm or RMSNorm."""

    def work(block: Block) -> Iterator[Alternative]:
        for eq in _backward(block):
            names = [ref.name for ref in eq.inputs]
            own, mean = f"{eq.out.name}.{term}", f"{eq.out.name}.row_mean"
            if isinstance(eq.op, Slope) and own in names and (mean in names) == layer:
                slot = names.index(own)
                yield _changed(eq, slot, by(slot))

    return work


grad_norm_mean_missing = _slope("row_mean", True, lambda slot: ZERO)
grad_norm_mean_twice = _slope("row_mean", True, lambda slot: 2.0 * Slot(slot))
grad_norm_product_missing = _slope("product_mean", True, lambda slot: ZERO)
grad_rms_fixed = _slope("product_mean", False, lambda slot: ZERO)


def _gains(block: Block) -> Iterator[Equation]:
    """Yield the steps that multiply a gradient by gamma, where that changes it."""
    for eq in _backward(block):
        if isinstance(eq.op, Elementwise) and eq.inputs[-1].part == "gamma":
            gamma = block.trace.arrays[eq.inputs[-1].name]
            if np.any(eq.op.forward([np.ones(eq.out.shape), gamma]) != 1.0):
                yield eq


def grad_gamma_missing(block: Block) -> Iterator[Alternative]:
    """Leave out gamma."""
    for eq in _gains(block):
        yield Alternative((copied(eq, eq.inputs[0]),))


def grad_gamma_twice(block: Block) -> Iterator[Alternative]:
    """Multiply by gamma twice."""
    for eq in _gains(block):
        assert isinstance(eq.op, Elementwise)
        yield _changed(eq, 0, eq.op.body)


# attention ------------------------------------------------------------------------------------


def grad_softmax_diagonal(block: Block) -> Iterator[Alternative]:
    """Use p (1 - p) for the softmax, as if each weight depended only on its own score."""
    for eq in _backward(block):
        if len(eq.inputs) == 3 and eq.inputs[2].name == f"{eq.out.name}.row_sum":
            yield _changed(eq, 2, Slot(0) * Slot(1))


def grad_scale_twice(block: Block) -> Iterator[Alternative]:
    """Scale the gradient of the queries or keys twice."""
    for attention in block.sections("attention"):
        scores = block.equation(f"grad.{attention.name}.scores")
        if scores is None or not _scales(scores):
            continue
        for eq in _backward(block):
            if scores.out in eq.inputs:
                again = extra(f"{eq.out.name}.scaled", scores.op, scores.out)
                inputs = (again.out if r == scores.out else r for r in eq.inputs)
                yield Alternative((again, instead(eq, eq.op, *inputs)))


def _scales(eq: Equation) -> bool:
    """Tell whether a step multiplies one matrix by a factor other than 1."""
    single = isinstance(eq.op, Elementwise) and len(eq.inputs) == 1
    return single and bool(np.any(eq.op.forward([np.ones(eq.out.shape)]) != 1.0))


def grad_kv_not_summed(block: Block) -> Iterator[Alternative]:
    """Use the gradient of one query head for the key head that its group shares."""
    for eq in _backward(block):
        if isinstance(eq.op, Gather) and eq.op.times > 1:
            heads = eq.inputs[0].shape[-3]
            for which in (0, eq.op.times - 1):
                kept = (np.arange(heads) % eq.op.times == which).astype(np.float64)
                yield _weighted(eq, -3, kept, head=which + 1)


# sums -----------------------------------------------------------------------------------------


def _weighted(eq: Equation, axis: int, weights: Array, **words: int) -> Alternative:
    """Multiply the slices of the first operand along an axis by weights, before a sum over it."""
    x = eq.inputs[0]
    name = f"{eq.out.name}.{'_'.join(f'{k}{v}' for k, v in words.items())}"
    ref = Ref(f"{NEW}{name}.weights", name, (x.axes[axis],), weights.shape, "constant")
    own = extra(name, Elementwise.on(lambda a, w: a * w, x, ref), x, ref)
    changed = instead(eq, eq.op, own.out, *eq.inputs[1:])
    return Alternative((own, changed), {ref.name: weights}, words)


def _sums(block: Block) -> Iterator[tuple[Equation, int]]:
    """Yield the gradients of weights that are sums over the tokens, and how many there are."""
    weights = {ref.name for ref in block.program.inputs if ref.role == "weight"}
    for eq in _backward(block):
        name = eq.out.name.removeprefix("grad.").partition(".from.")[0]
        if name in weights and isinstance(eq.op, Total | Gram) and eq.inputs[0].shape[-2] > 1:
            yield eq, eq.inputs[0].shape[-2]


def grad_tokens_not_summed(block: Block) -> Iterator[Alternative]:
    """Use the gradient of one token, the first or the last."""
    for eq, tokens in _sums(block):
        for token in (1, tokens):
            kept = (np.arange(tokens) == token - 1).astype(np.float64)
            yield _weighted(eq, -2, kept, token=token)


def grad_tokens_averaged(block: Block) -> Iterator[Alternative]:
    """Divide the sum by the number of tokens."""
    for eq, tokens in _sums(block):
        mean = extra(f"{eq.out.name}.mean", Elementwise(Slot(0) / Num(float(tokens))), eq.inputs[0])
        yield Alternative((mean, instead(eq, eq.op, mean.out, *eq.inputs[1:])))


def grad_residual_missing(block: Block) -> Iterator[Alternative]:
    """Leave out the part through a residual, or the part through its sublayer."""
    known = {eq.out.name: eq for eq in _backward(block)}
    for eq in block.program.equations[: block.program.forward]:
        total = known.get(f"grad.{eq.inputs[0].name}") if eq.inputs else None
        if eq.out.part != "residual" or total is None or len(total.inputs) < 2:
            continue
        part = f"{total.out.name}.from.{eq.out.name}"
        own = block.program.aliases.get(part, part)
        for slot, ref in enumerate(total.inputs):
            if ref.name == own:
                yield replace(_changed(total, slot, ZERO), words={"part": eq.out.name})
                beside = eq.inputs[1].name
                yield Alternative((copied(total, ref),), words={"part": beside})


MISTAKES = (
    Mistake("grad_relu_mask_missing", "grad.ffn.pre", grad_relu_mask_missing),
    Mistake("grad_activation_missing", "grad.ffn.pre", grad_activation_missing),
    Mistake("grad_norm_mean_missing", "grad.*", grad_norm_mean_missing),
    Mistake("grad_norm_product_missing", "grad.*", grad_norm_product_missing),
    Mistake("grad_norm_mean_twice", "grad.*", grad_norm_mean_twice),
    Mistake("grad_gamma_missing", "grad.norm*.normalized", grad_gamma_missing),
    Mistake("grad_gamma_twice", "grad.norm*.normalized", grad_gamma_twice),
    Mistake("grad_rms_fixed", "grad.*", grad_rms_fixed),
    Mistake("grad_softmax_diagonal", "grad.attn.masked", grad_softmax_diagonal),
    Mistake("grad_tokens_not_summed", "grad.*.w_*", grad_tokens_not_summed),
    Mistake("grad_tokens_averaged", "grad.*.w_*", grad_tokens_averaged),
    Mistake("grad_residual_missing", "grad.residual*", grad_residual_missing),
    Mistake("grad_scale_twice", "grad.attn.q_heads", grad_scale_twice),
    Mistake("grad_kv_not_summed", "grad.attn.k_heads", grad_kv_not_summed),
)
