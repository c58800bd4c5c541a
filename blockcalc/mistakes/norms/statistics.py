"""Mistakes in what the mean and variance of a norm are taken over, and norms of another kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from blockcalc.mistakes.alternative import (
    Alternative,
    Alternatives,
    Block,
    Mistake,
    copied,
    extra,
    instead,
)
from blockcalc.mistakes.norms.divisors import rooted
from blockcalc.mistakes.norms.places import Part, at
from blockcalc.mistakes.orders import reworked
from blockcalc.nn.settings import NormSettings
from blockcalc.nn.spec import NormSpec, Spec
from blockcalc.ops.elementwise import SQUARE, Elementwise
from blockcalc.ops.expr import Expr, Num, Slot
from blockcalc.ops.movement import Along, Total
from blockcalc.ops.op import Ref
from blockcalc.ops.reduce import Reduce
from blockcalc.program.program import Equation, Section


def _means(block: Block, norm: Section) -> list[Equation]:
    """Give the equations of a norm that compute a mean or a sum: of the row, or of its squares."""
    return [eq for eq in block.inside(norm) if isinstance(eq.op, Reduce)]


@at("normalized")
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


@at("normalized")
def norm_squares_summed(
    block: Block, norm: Section, eq: Equation, own: NormSettings
) -> Iterator[Alternative]:
    """Add up the squares of a row and take no mean: each row is divided by its length."""
    for mean in _means(block, norm):
        assert isinstance(mean.op, Reduce)
        if mean.op.each == SQUARE and own.width - mean.op.less != 1:
            yield Alternative((instead(mean, Reduce("sum", SQUARE)),))


@at("centered")
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


USUAL_EPS = (1e-6, 1e-5)
LAYER_AS_RMS = at("centered"), _of_kind("rms", {"centered": "", "var": "mean_square", "std": "rms"})
RMS_AS_LAYER = at("mean_square"), _of_kind("layer", {"mean_square": "var", "rms": "std"})


def _with_other_eps(make: Part) -> Part:
    """Compute a norm as another kind that has another usual eps too."""

    def other(
        block: Block, norm: Section, eq: Equation, own: NormSettings
    ) -> Iterator[Alternative]:
        divisors = {f"{norm.name}.{part}" for part in ("std", "rms")}
        # whoever writes the parts shows the other kind in one, and the other eps in another
        for result in islice(make(block, norm, eq, own), 1):
            for eps in (eps for eps in USUAL_EPS if eps != own.eps):
                op = Elementwise(rooted(eps, own.outside))
                equations = tuple(
                    instead(eq, op) if eq.out.name in divisors else eq for eq in result.equations
                )
                yield Alternative(equations, result.arrays, {"eps": f"{eps:g}"})

    return other


def _made(places: tuple[Callable[[Part], Alternatives], Part], eps: bool = False) -> Alternatives:
    where, make = places
    return where(_with_other_eps(make) if eps else make)


MISTAKES = (
    Mistake("norm_over_tokens", "norm*.centered", norm_over_tokens),
    Mistake("norm_mean_kept", "norm*.centered", norm_mean_kept),
    Mistake("norm_squares_summed", "norm*.var", norm_squares_summed),
    Mistake("norm_rms_for_layer", "norm*", _made(LAYER_AS_RMS)),
    Mistake("norm_layer_for_rms", "norm*", _made(RMS_AS_LAYER)),
    Mistake("norm_rms_for_layer_eps", "norm*", _made(LAYER_AS_RMS, True), compound=True),
    Mistake("norm_layer_for_rms_eps", "norm*", _made(RMS_AS_LAYER, True), compound=True),
)
