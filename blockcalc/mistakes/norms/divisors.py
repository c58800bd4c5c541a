"""Mistakes in what a row is divided by: its variance, the root of it, and eps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from blockcalc.mistakes.alternative import NORM_KINDS, Alternative, Block, Mistake, extra, instead
from blockcalc.mistakes.norms.places import at, divisor
from blockcalc.nn.settings import NormSettings
from blockcalc.ops.elementwise import SQUARE, Elementwise
from blockcalc.ops.expr import Expr, Num, Slot, call, sqrt
from blockcalc.ops.reduce import Reduce
from blockcalc.program.program import Equation, Section

OTHER_EPS = (1e-12, 1e-8, 1e-6, 1e-5, 1e-3)


def rooted(eps: float, outside: bool) -> Expr:
    """Write the root of a variance with eps inside or outside."""
    return sqrt(Slot(0)) + Num(eps) if outside else sqrt(Slot(0) + Num(eps))


def with_eps(block: Block, across: bool = False) -> Iterator[Callable[[float], Alternative]]:
    """Give for each norm what is computed with another eps, where the own is or across the root."""
    for norm in block.sections(*NORM_KINDS):
        eq = divisor(block, norm)
        if eq is not None:
            yield partial(_with_eps, eq, norm.settings, across)


def _with_eps(eq: Equation, own: NormSettings, across: bool, eps: float) -> Alternative:
    words = {"eps": f"{eps:g}", "own": f"{own.eps:g}"}
    return Alternative((instead(eq, Elementwise(rooted(eps, own.outside != across))),), words=words)


@at("divisor")
def eps_other(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Use another common eps."""
    for eps in OTHER_EPS:
        if eps != own.eps:
            yield _with_eps(eq, own, False, eps)


@at("divisor")
def eps_outside_other(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Use another common eps, on the other side of the root."""
    for eps in OTHER_EPS:
        if eps != own.eps:
            yield _with_eps(eq, own, True, eps)


@at("divisor")
def eps_missing(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Leave out eps."""
    if own.eps:
        yield Alternative((instead(eq, Elementwise(sqrt(Slot(0)))),))


@at("divisor")
def eps_outside(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Add eps on the other side of the root."""
    if own.eps:
        yield Alternative((instead(eq, Elementwise(rooted(own.eps, not own.outside))),))


@at("divisor")
def variance_not_rooted(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Divide by the variance instead of its square root."""
    yield Alternative((instead(eq, Elementwise(Slot(0) + Num(own.eps))),))


@at("divisor")
def std_inverted(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Keep 1/σ instead of σ, and multiply by it: later steps are unchanged."""
    assert isinstance(eq.op, Elementwise)
    sigma = extra(f"{eq.out.name}.itself", eq.op, *eq.inputs)
    users = [
        instead(user, user.op, *(sigma.out if r == eq.out else r for r in user.inputs))
        for user in block.program.equations
        if eq.out in user.inputs
    ]
    kept = instead(eq, Elementwise(call("over", 1.0, Slot(0))), sigma.out)
    yield Alternative((sigma, kept, *users))


@at("var")
def variance_sample(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Divide the variance by n - 1 instead of n, or by n instead of n - 1."""
    if own.width > 1:
        op = Reduce("mean", SQUARE, 0 if own.sample else 1)
        yield Alternative((instead(eq, op),), words={"less": "n" if own.sample else "n - 1"})


MISTAKES = (
    Mistake("eps_other", "norm*.std", eps_other),
    Mistake("eps_missing", "norm*.std", eps_missing),
    Mistake("eps_outside", "norm*.std", eps_outside),
    Mistake("eps_outside_other", "norm*.std", eps_outside_other, compound=True),
    Mistake("variance_not_rooted", "norm*.std", variance_not_rooted),
    Mistake("variance_sample", "norm*.var", variance_sample),
    Mistake("std_inverted", "norm*.std", std_inverted, same_result=True),
)
