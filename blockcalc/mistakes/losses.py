"""Mistakes in the loss, and in its gradient with respect to the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

from blockcalc.mistakes.alternative import (
    Alternative,
    Alternatives,
    Block,
    Mistake,
    extra,
    instead,
)
from blockcalc.ops.derivative import negative
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Expr, Num, Slot
from blockcalc.ops.op import Ref
from blockcalc.ops.reduce import Everywhere
from blockcalc.program.backward import BackwardSettings
from blockcalc.program.loss import LOSSES, Loss
from blockcalc.program.program import Equation

Factor = Callable[[Loss, Ref], Iterator[tuple[float, str]]]


def _losses(block: Block) -> Iterator[tuple[Loss, Ref]]:
    """Yield the loss of the backward pass, and the result that it is a function of."""
    for section in block.program.sections:
        if section.kind == "loss" and isinstance(section.settings, BackwardSettings):
            yield LOSSES[section.settings.of], section.inputs[0]


def _gradient(block: Block, out: Ref) -> Equation | None:
    """Give the equation of the gradient of the result; None where it is a matrix of the file."""
    eq = block.equation(f"grad.{out.name}")
    return eq if eq is not None and eq.out.name == f"grad.{out.name}" else None


def _times(eq: Equation, factor: Expr) -> Equation:
    """Multiply a gradient by a factor."""
    if isinstance(eq.op, Everywhere):
        return instead(eq, replace(eq.op, value=eq.op.value * factor))
    assert isinstance(eq.op, Elementwise)
    return instead(eq, replace(eq.op, body=eq.op.body * factor))


def _by(factors: Factor) -> Alternatives:
    """Multiply the loss, and the gradient of the result, each by a factor."""

    def make(block: Block) -> Iterator[Alternative]:
        for loss, out in _losses(block):
            own, gradient = block.equation("loss"), _gradient(block, out)
            for factor, words in factors(loss, out):
                said = {"by": words} if words else {}
                if own is not None:
                    plain = extra("loss.itself", own.op, *own.inputs)
                    other = instead(own, Elementwise(Slot(0) * Num(factor)), plain.out)
                    yield Alternative((plain, other), words=said)
                if gradient is not None:
                    yield Alternative((_times(gradient, Num(factor)),), words=said)

    return make


def _summed(loss: Loss, out: Ref) -> Iterator[tuple[float, str]]:
    """Leave out the division by N."""
    if loss.mean and prod(out.shape) > 1:
        yield float(prod(out.shape)), ""


def _averaged(loss: Loss, out: Ref) -> Iterator[tuple[float, str]]:
    """Divide by N where the loss is a sum."""
    if not loss.mean and prod(out.shape) > 1:
        yield 1.0 / prod(out.shape), ""


def _partly(loss: Loss, out: Ref) -> Iterator[tuple[float, str]]:
    """Divide by the number of rows or columns alone."""
    size, width = prod(out.shape), out.shape[-1]
    if loss.mean and 1 < width < size:
        for by, axes in ((size // width, out.axes[:-1]), (width, out.axes[-1:])):
            yield float(size // by), f"{' × '.join(axes)} = {by}"


def _halved(loss: Loss, out: Ref) -> Iterator[tuple[float, str]]:
    """Take half the square, whose derivative has no factor 2."""
    if loss.difference:
        yield 0.5, ""


def _half(factors: Factor) -> Factor:
    """Take half the square, and divide otherwise too."""

    def make(loss: Loss, out: Ref) -> Iterator[tuple[float, str]]:
        if loss.difference:
            yield from ((factor / 2, words) for factor, words in factors(loss, out))

    return make


def loss_sign(block: Block) -> Iterator[Alternative]:
    """Subtract the result from the target, or negate the gradient of the result."""
    for loss, out in _losses(block):
        difference, gradient = block.equation("loss.difference"), _gradient(block, out)
        if loss.difference and difference is not None:
            assert isinstance(difference.op, Elementwise)
            op = replace(difference.op, body=negative(difference.op.body))
            yield Alternative((instead(difference, op),))
        if gradient is not None:
            yield Alternative((_times(gradient, Num(-1.0)),))


MISTAKES = (
    Mistake("loss_mean_missing", "grad.residual2", _by(_summed)),
    Mistake("loss_mean_added", "grad.residual2", _by(_averaged)),
    Mistake("loss_mean_partly", "grad.residual2", _by(_partly)),
    Mistake("loss_halved", "grad.residual2", _by(_halved)),
    Mistake("loss_halved_sum", "grad.residual2", _by(_half(_summed)), compound=True),
    Mistake("loss_halved_partly", "grad.residual2", _by(_half(_partly)), compound=True),
    Mistake("loss_sign", "grad.residual2", loss_sign),
)
