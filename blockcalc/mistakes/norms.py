"""Mistakes in LayerNorm and RMSNorm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from blockcalc.mistakes.alternative import (
    NORM_KINDS,
    Alternative,
    Block,
    Mistake,
    copied,
    extra,
    instead,
)
from blockcalc.mistakes.orders import reworked
from blockcalc.nn.settings import NormSettings
from blockcalc.nn.spec import NormSpec, Spec
from blockcalc.ops.elementwise import SQUARE, Elementwise
from blockcalc.ops.expr import Expr, Num, Slot, call, sqrt, substitute
from blockcalc.ops.movement import Along, Total
from blockcalc.ops.op import Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.program import Equation, Section

OTHER_EPS = (1e-12, 1e-8, 1e-6, 1e-5, 1e-3)
Part = Callable[[Block, Section, Equation, NormSettings], Iterator[Alternative]]


def _at(part: str) -> Callable[[Part], Callable[[Block], Iterator[Alternative]]]:
    """Make alternatives of each norm from its equation of a part: ``var``, or ``divisor``."""

    def of(make: Part) -> Callable[[Block], Iterator[Alternative]]:
        def every(block: Block) -> Iterator[Alternative]:
            for section in block.sections(*NORM_KINDS):
                own = block.equation(f"{section.name}.{part}")
                eq = _divisor(block, section) if part == "divisor" else own
                if eq is not None:
                    yield from make(block, section, eq, section.settings)

        return every

    return of


def with_eps(block: Block) -> Iterator[Callable[[float], Alternative]]:
    """Give for each norm what is computed with another eps."""
    for norm in block.sections(*NORM_KINDS):
        eq = _divisor(block, norm)
        if eq is not None:
            yield partial(_with_eps, eq, norm.settings)


def _with_eps(eq: Equation, own: NormSettings, eps: float) -> Alternative:
    body: Expr = sqrt(Slot(0)) + Num(eps) if own.outside else sqrt(Slot(0) + Num(eps))
    words = {"eps": f"{eps:g}", "own": f"{own.eps:g}"}
    return Alternative((instead(eq, Elementwise(body)),), words=words)


def _divisor(block: Block, norm: Section) -> Equation | None:
    """Give the equation of the divisor: one number per row that is not a sum over it."""
    rows = norm.inputs[0].axes[:-1]
    inside = (eq for eq in block.inside(norm) if eq.out.axes == rows)
    return next((eq for eq in inside if isinstance(eq.op, Elementwise)), None)


@_at("divisor")
def eps_other(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Use another common eps."""
    for eps in OTHER_EPS:
        if eps != own.eps and not own.outside:
            yield _with_eps(eq, own, eps)


@_at("divisor")
def eps_missing(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Leave out eps."""
    if own.eps:
        yield Alternative((instead(eq, Elementwise(sqrt(Slot(0)))),))


@_at("divisor")
def eps_outside(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Add eps on the other side of the root."""
    if own.eps:
        eps = Num(own.eps)
        body: Expr = sqrt(Slot(0) + eps) if own.outside else sqrt(Slot(0)) + eps
        yield Alternative((instead(eq, Elementwise(body)),))


@_at("divisor")
def variance_not_rooted(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Divide by the variance instead of its square root."""
    yield Alternative((instead(eq, Elementwise(Slot(0) + Num(own.eps))),))


@_at("divisor")
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


@_at("var")
def variance_sample(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Divide the variance by n - 1 instead of n, or by n instead of n - 1."""
    if own.width > 1:
        op = Reduce("mean", SQUARE, 0 if own.sample else 1)
        yield Alternative((instead(eq, op),), words={"less": "n" if own.sample else "n - 1"})


# statistics of something else -----------------------------------------------------------------


def _means(block: Block, norm: Section) -> list[Equation]:
    """Give the equations of a norm that compute a mean or a sum: of the row, or of its squares."""
    return [eq for eq in block.inside(norm) if isinstance(eq.op, Reduce)]


@_at("normalized")
def norm_over_tokens(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Compute mean and variance of each column, or of the whole matrix."""
    x = norm.inputs[0]
    if x.shape[-2] > 1:
        yield Alternative(tuple(_over_tokens(block, norm, eq)), words={"axes": x.axes[-2]})
        both = f"{x.axes[-2]}, {x.axes[-1]}"
        yield Alternative(tuple(_over_whole(block, norm)), words={"axes": both})


def _over_whole(block: Block, norm: Section) -> Iterator[Equation]:
    """Compute one mean for all rows."""
    tokens, width = norm.inputs[0].shape[-2:]
    for eq in _means(block, norm):
        assert isinstance(eq.op, Reduce)
        rows = extra(f"{eq.out.name}.rows", Reduce("sum", eq.op.each), *eq.inputs)
        total = extra(f"{eq.out.name}.total", Reduce("sum"), rows.out)
        share = Elementwise(_share(eq.op, tokens * width))
        mean = extra(f"{eq.out.name}.whole", share, total.out)
        yield from (rows, total, mean)
        yield instead(eq, Along(tokens, eq.out.axes[-1]), mean.out)


def _share(op: Reduce, n: int) -> Expr:
    """Divide a sum of n terms as a mean does; a sum is left as it is."""
    return Slot(0) / Num(float(n - op.less)) if op.kind == "mean" else Slot(0)


def _over_tokens(block: Block, norm: Section, quotient: Equation) -> Iterator[Equation]:
    """Compute a mean for each column, written in place of the row means if it has their shape."""
    swapped: dict[str, Ref] = {}
    for eq in block.inside(norm):
        refs = [swapped.get(r.name, r) for r in eq.inputs]
        if isinstance(eq.op, Reduce):
            (x,) = refs
            each = extra(f"{eq.out.name}.each", Elementwise(eq.op.each), x)
            total = extra(f"{eq.out.name}.total", Total((len(x.axes) - 2,)), each.out)
            share = Elementwise(_share(eq.op, x.shape[-2]))
            column = extra(f"{eq.out.name}.column", share, total.out)
            yield from (each, total, column)
        elif eq.out.axes == norm.inputs[0].axes:
            yield instead(eq, _placed(eq.op, *refs), *refs)
            if eq.out == quotient.out:
                return
            continue
        else:
            column = extra(f"{eq.out.name}.column", eq.op, *refs)
            yield column
        swapped[eq.out.name] = column.out
        if column.out.shape == eq.out.shape:
            yield copied(eq, column.out)


def _placed(op: object, *refs: Ref) -> Elementwise:
    """Adapt an operation to operands with other axes."""
    assert isinstance(op, Elementwise)
    return type(op).on(lambda *_: op.body, *refs, rowwise=op.rowwise)


@_at("centered")
def norm_mean_kept(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Leave out the subtraction of the mean: in the numerator alone, or in the variance too."""
    quotient = block.equation(f"{norm.name}.normalized")
    yield Alternative((copied(eq, eq.inputs[0]),), words={"form": "both"})
    if quotient is not None:
        own_row = instead(quotient, quotient.op, eq.inputs[0], quotient.inputs[1])
        yield Alternative((own_row,), words={"form": "numerator"})


def _with_norm(spec: Spec, name: str, change: Callable[[NormSpec], NormSpec]) -> Spec:
    """Change the settings of the norm with this section name."""
    final = spec.final_norm
    blocks = tuple(
        replace(b, norms=tuple(change(n) if b.steps + n.name == name else n for n in b.norms))
        for b in spec.blocks
    )
    if final is not None and final.name == name:
        final = change(final)
    return replace(spec, blocks=blocks, final_norm=final)


def _of_kind(kind: str, parts: dict[str, str]) -> Part:
    """Compute a norm as another kind; steps that only one kind has are mapped to each other."""

    def make(block: Block, norm: Section, eq: Equation, own: NormSettings) -> Iterator[Alternative]:
        other = reworked(block, lambda s: _with_norm(s, norm.name, lambda n: replace(n, kind=kind)))
        if other is None:
            return
        yield Alternative(other.equations, other.arrays, {"form": "result"})
        refs = {eq.out.name: eq.out for eq in other.equations} | {
            norm.inputs[0].name: norm.inputs[0]
        }
        named = []
        for part, stands in parts.items():
            right = block.equation(f"{norm.name}.{part}")
            new = refs.get(f"{norm.name}.{stands}" if stands else norm.inputs[0].name)
            if right is not None and new is not None:
                named.append(copied(right, new))
        yield Alternative((*other.equations, *named), other.arrays, {"form": "parts"})

    return make


norm_rms_for_layer = _at("centered")(
    _of_kind("rms", {"centered": "", "var": "mean_square", "std": "rms"})
)
norm_layer_for_rms = _at("mean_square")(_of_kind("layer", {"mean_square": "var", "rms": "std"}))


# gamma and beta -------------------------------------------------------------------------------


def _with(key: str) -> Callable[[Part], Callable[[Block], Iterator[Alternative]]]:
    """Make alternatives of each norm from its equation with gamma or beta."""

    def of(make: Part) -> Callable[[Block], Iterator[Alternative]]:
        def every(block: Block) -> Iterator[Alternative]:
            for section in block.sections(*NORM_KINDS):
                for eq in block.inside(section):
                    if eq.inputs[-1].part == key:
                        yield from make(block, section, eq, section.settings)

        return every

    return of


@_with("gamma")
def gamma_missing(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Leave out gamma."""
    gain = block.trace.arrays[eq.inputs[1].name] + (1.0 if own.unit_offset else 0.0)
    if np.any(gain != 1.0):
        yield Alternative((copied(eq, eq.inputs[0]),))


@_with("beta")
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


@_with("gamma")
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


@_with("gamma")
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
    Mistake("eps_other", "norm*.std", eps_other),
    Mistake("eps_missing", "norm*.std", eps_missing),
    Mistake("eps_outside", "norm*.std", eps_outside),
    Mistake("variance_not_rooted", "norm*.std", variance_not_rooted),
    Mistake("variance_sample", "norm*.var", variance_sample),
    Mistake("norm_over_tokens", "norm*.centered", norm_over_tokens),
    Mistake("norm_mean_kept", "norm*.centered", norm_mean_kept),
    Mistake("norm_rms_for_layer", "norm*", norm_rms_for_layer),
    Mistake("norm_layer_for_rms", "norm*", norm_layer_for_rms),
    Mistake("gamma_missing", "norm*.scaled", gamma_missing),
    Mistake("beta_missing", "norm*", beta_missing),
    Mistake("gamma_plus_one", "norm*.scaled", gamma_plus_one),
    Mistake("gamma_plus_one_twice", "norm*.scaled", gamma_plus_one_twice),
    Mistake("qk_norm_missing", "attn.*_norm", qk_norm_missing),
    Mistake("std_inverted", "norm*.std", std_inverted, same_result=True),
)
