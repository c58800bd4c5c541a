"""Build the program of a spec: sublayers with their weights, composed in the order of the block."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from blockcalc.nn.attention import attention
from blockcalc.nn.dropout import dropout
from blockcalc.nn.layers import feed_forward, residual
from blockcalc.nn.norms import norm
from blockcalc.nn.orders import ORDERS, Sublayer
from blockcalc.nn.spec import AttentionSpec, BlockSpec, Spec, Work
from blockcalc.ops.op import Ref, Shape
from blockcalc.program.builder import Builder, Finished, Misfit, Missing
from blockcalc.program.program import Program


def _work(b: Builder, x: Ref, work: Work) -> Ref:
    """Write what a sublayer computes, ``[T, d_model] -> [T, d_model]``."""
    if isinstance(work, AttentionSpec):
        return attention(b, x, work)
    return feed_forward(b, x, work)


def sublayers(b: Builder, spec: BlockSpec, norms: int) -> list[Sublayer]:
    """Bind the sublayers of a block to their weights, with ``norms`` norms each."""
    return [_sublayer(b, spec, i, norms) for i in range(len(spec.sublayers))]


def _sublayer(b: Builder, spec: BlockSpec, i: int, norms: int) -> Sublayer:
    sublayer, number = spec.sublayers[i], str(i + 1)
    numbered = list(enumerate(spec.norms, 1))[i * norms : (i + 1) * norms]

    def add(x: Ref, *results: Ref) -> Ref:
        kept = [dropout(b, f"{sublayer.work.name}.out", y, sublayer.dropout) for y in results]
        return residual(b, f"residual{number}", number, x, *kept)

    return Sublayer(
        lambda x: _work(b, x, sublayer.work),
        [lambda x, n=n, k=k: norm(b, x, n, str(k)) for k, n in numbered],  # type: ignore[misc]
        add,
    )


def build(spec: Spec) -> Program:
    """Build the program of a spec, once; no values are computed.

    Examples
    --------
    >>> from blockcalc import load
    >>> [eq.out.name for eq in build(load({"x": [[1, 2]], "attn": {"out": [[0, 1]]}})).equations]
    ['residual1', 'norm1.mean', 'norm1.centered', 'norm1.var', 'norm1.std', 'norm1']
    """
    if not spec.built:
        spec.built.append(program_of(spec, spec.shapes))
    program = spec.built[0]
    assert isinstance(program, Program)
    return program


def program_of(spec: Spec, shapes: Mapping[str, Shape]) -> Program:
    """Build the program of a spec for matrices of these shapes, which need not exist."""
    b = Builder(shapes, spec.stop, spec.seed)
    with suppress(Finished):
        _write(b, spec)
    if b.equations and "out" not in b.aliases:
        b.alias(b.equations[-1].out, "out")
    return b.program()


def _write(b: Builder, spec: Spec) -> None:
    """Write every block, and the final norm."""
    x = b.given("x", "X", ("batch", "token", "d_model")[-len(b.shape("x")) :], role="data")
    order = ORDERS[spec.order]
    for number, block in enumerate(spec.blocks, 1):
        into = x if number == 1 else replace(x, symbol=f"X_{number}")
        with b.block(block.steps, block.keys, into):
            x = order.compose(into, sublayers(b, block, order.norms))
        last = number == len(spec.blocks) or spec.blocks[number].keys != block.keys
        if last and block.steps != block.keys:
            b.alias(x, block.keys.removesuffix("."), f"{block.keys}out")
    if spec.final_norm is not None:
        x = norm(b, x, spec.final_norm, "f")
    b.alias(x, "out")


def written(spec: Spec) -> Program:
    """Build the program of a spec as far as weights are given, ignoring ``stop``."""
    b = Builder(spec.shapes, None, spec.seed)
    with suppress(Missing, Misfit):
        _write(b, spec)
    return b.program()
