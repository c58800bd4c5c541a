"""Post-norm and pre-norm: two compositions of the same layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from blockcalc.nn.attention import attention
from blockcalc.nn.dropout import dropout
from blockcalc.nn.layers import feed_forward, residual
from blockcalc.nn.norms import norm
from blockcalc.nn.spec import BlockSpec, Spec
from blockcalc.ops.op import Ref, Shape
from blockcalc.program.builder import Builder, Finished, Misfit, Missing
from blockcalc.program.program import Program

Layer = Callable[[Ref], Ref]


@dataclass(frozen=True)
class Sublayer:
    """A layer with the residual and the norm that go with it."""

    work: Layer
    add: Callable[[Ref, Ref], Ref]
    norm: Layer


def post_norm(x: Ref, sublayers: list[Sublayer]) -> Ref:
    """``x = norm(x + work(x))`` for each: the order of Vaswani et al. (2017)."""
    for s in sublayers:
        x = s.norm(s.add(x, s.work(x)))
    return x


def pre_norm(x: Ref, sublayers: list[Sublayer]) -> Ref:
    """``x = x + work(norm(x))`` for each: the order of GPT-2 (2019) and most models since."""
    for s in sublayers:
        x = s.add(x, s.work(s.norm(x)))
    return x


ORDERS: dict[str, Callable[[Ref, list[Sublayer]], Ref]] = {"post": post_norm, "pre": pre_norm}


def sublayers(b: Builder, spec: BlockSpec) -> list[Sublayer]:
    """Give the parts of one block, bound to their weights."""

    def adds(index: str, place: str) -> Callable[[Ref, Ref], Ref]:
        p = spec.dropout.get(place, 0.0)
        return lambda x, y: residual(b, f"residual{index}", index, x, dropout(b, place, y, p))

    parts = [
        Sublayer(
            lambda x: attention(b, x, spec.attention),
            adds("1", "attn.out"),
            lambda x: norm(b, x, spec.norm1, "1"),
        )
    ]
    ffn = spec.ffn
    if ffn is not None:
        parts.append(
            Sublayer(
                lambda x: feed_forward(b, x, ffn),
                adds("2", "ffn.out"),
                lambda x: norm(b, x, spec.norm2, "2"),
            )
        )
    return parts


def build(spec: Spec) -> Program:
    """Write the program of a spec; no numbers are worked.

    Examples
    --------
    >>> from blockcalc import load
    >>> [eq.out.name for eq in build(load({"x": [[1, 2]], "attn": {"out": [[0, 1]]}})).equations]
    ['residual1', 'norm1.mean', 'norm1.centered', 'norm1.var', 'norm1.std', 'norm1']
    """
    return program_of(spec, spec.shapes)


def program_of(spec: Spec, shapes: Mapping[str, Shape]) -> Program:
    """Write the program of a spec for matrices of these shapes, whether there are such or not."""
    b = Builder(shapes, spec.stop, spec.seed)
    with suppress(Finished):
        _write(b, spec)
    if b.equations and "out" not in b.aliases:
        b.alias(b.equations[-1].out, "out")
    return b.program()


def _write(b: Builder, spec: Spec) -> None:
    """Write every block, and the final norm."""
    x = b.given("x", "X", ("batch", "token", "d_model")[-len(b.shape("x")) :], role="data")
    for number, block in enumerate(spec.blocks, 1):
        into = x if number == 1 else replace(x, symbol=f"X_{number}")
        with b.block(block.steps, block.keys, into):
            x = ORDERS[spec.order](into, sublayers(b, block))
        last = number == len(spec.blocks) or spec.blocks[number].keys != block.keys
        if last and block.steps != block.keys:
            b.alias(x, block.keys.removesuffix("."), f"{block.keys}out")
    if spec.final_norm is not None:
        x = norm(b, x, spec.final_norm, "f")
    b.alias(x, "out")


def written(spec: Spec) -> Program:
    """Write the program of a spec as far as there are weights for it, past any ``stop``."""
    b = Builder(spec.shapes, None, spec.seed)
    with suppress(Missing, Misfit):
        _write(b, spec)
    return b.program()
