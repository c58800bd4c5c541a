"""Mistakes in arithmetic: precision, rounding, copying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from blockcalc.mistakes.alternative import Alternative, Block, Mistake, copied, extra, instead
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import ITSELF, At, Expr
from blockcalc.ops.matmul import Gram, MatMul
from blockcalc.ops.op import Array, Axes, Op, Ref, Shape
from blockcalc.program.bounds import NUMBERS, Format
from blockcalc.program.program import Equation
from blockcalc.program.rounding import Rounding
from blockcalc.records import dataclass

Alternatives = Callable[[Block], Iterator[Alternative]]


FORMATS = {
    **{name: NUMBERS[name] for name in ("float32", "bfloat16", "float16")},
    "tf32": replace(NUMBERS["float32"], name="tf32", unit=2.0**-11),
}


@dataclass(frozen=True)
class Inexact(Op):
    """An operation with some operands rounded before, or its result after.

    Attributes
    ----------
    exact : Op
    refs : tuple of Ref
        Its operands.
    result_to : Rounding or Format, optional
    operands_to : tuple
        For each operand the rounding, or None.
    """

    exact: Op
    refs: tuple[Ref, ...]
    result_to: Rounding | Format | None = None
    operands_to: tuple[Format | None, ...] = ()

    def result(self, refs: Sequence[Ref]) -> tuple[Axes, Shape]:
        return self.exact.result(refs)

    def forward(self, xs: Sequence[Array]) -> Array:
        xs = self._operands(xs)
        value = np.asarray(self.exact.forward(xs))
        if isinstance(self.result_to, Rounding):
            return self.result_to.result(self.exact, self.refs, xs, value)
        return self.result_to(value) if self.result_to else value

    def formula(self, xs: Sequence[Expr]) -> Expr:
        return self.exact.formula(xs)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        return self.exact.cell(at, refs)

    def bound(self, xs: Sequence[Array], errors: Sequence[Array], unit: float) -> Array:
        """Bound the error; rounding keeps the order of numbers, so its ends bound it."""
        value = np.asarray(self.exact.forward(self._operands(xs)))
        each = zip(xs, errors, self.operands_to or (None,) * len(xs), strict=True)
        moved = [_moved(to, x, e) for x, e, to in each]
        bound = self.exact.bound(self._operands(xs), moved, unit)
        return _moved(self.result_to, value, bound)

    def _operands(self, xs: Sequence[Array]) -> list[Array]:
        if not self.operands_to:
            return list(xs)
        return [to(x) if to else x for x, to in zip(xs, self.operands_to, strict=True)]


def _moved(to: Rounding | Format | None, value: Array, error: Array) -> Array:
    """Bound the change of a rounded number, given a bound on that of the number."""
    if to is None:
        return error
    with np.errstate(all="ignore"):
        own = to(value)
        most = np.maximum(np.abs(to(value + error) - own), np.abs(to(value - error) - own))
        return np.where(error > 0, np.where(np.isnan(most), np.inf, most), 0.0)


# rounding -------------------------------------------------------------------------------------


def _digits(kinds: Sequence[tuple[str, int]]) -> Iterator[tuple[Rounding, dict[str, str]]]:
    """Yield roundings as ``--round`` writes them: 3 for decimals, 4sf for significant figures."""
    for kind, digits in kinds:
        yield Rounding(kind, digits), {"digits": f"{digits}{'' if kind == 'decimals' else 'sf'}"}


def rounded_each_step(block: Block) -> Iterator[Alternative]:
    """Round every step to some decimals or significant figures."""
    kinds = [("decimals", n) for n in range(1, 6)] + [("significant", n) for n in range(2, 6)]
    own = block.trace.rounding
    for rounding, words in _digits(kinds):
        if own and own.kind == rounding.kind and own.digits <= rounding.digits:
            continue
        yield Alternative(
            tuple(
                instead(eq, Inexact(eq.op, eq.inputs, rounding))
                for eq in block.program.equations
                if eq.op.worked
            ),
            words=words,
        )


def softmax_rounded_row(block: Block) -> Iterator[Alternative]:
    """Use rounded weights of which a row does not add up to 1."""
    for section in block.sections("softmax"):
        eq = block.inside(section)[-1]
        for rounding, words in _digits([("decimals", n) for n in range(1, 5)]):
            sums = rounding(block.trace.arrays[eq.out.name]).sum(axis=-1)
            if np.allclose(sums, 1.0, atol=1e-9, rtol=0.0):
                continue
            kept = Inexact(eq.op, eq.inputs, rounding)
            yield Alternative((instead(eq, kept),), words={**words, "form": "kept"})
            used = extra(
                f"{eq.out.name}.rounded{rounding.digits}",
                Inexact(Elementwise(ITSELF), (eq.out,), rounding),
                eq.out,
            )
            users = tuple(
                instead(user, user.op, *(used.out if r == eq.out else r for r in user.inputs))
                for user in block.program.equations
                if eq.out in user.inputs
            )
            yield Alternative((used, *users), words={**words, "form": "used"})


# precision ------------------------------------------------------------------------------------


def _products(block: Block, factors: Format, result: Format | None) -> Alternative:
    """Round the factors and the result of every matrix product."""
    return Alternative(
        tuple(
            instead(
                eq,
                Inexact(
                    eq.op, eq.inputs, result, (factors, factors, *(None for _ in eq.inputs[2:]))
                ),
            )
            for eq in block.program.equations
            if isinstance(eq.op, MatMul | Gram)
        ),
        words={"form": "products"},
    )


def _steps(block: Block, to: Format, inputs: bool, kernels: bool) -> Alternative:
    """Round every step, with or without the inputs; of a kernel only its result."""
    inner = {
        eq.out.name
        for s in block.program.sections
        if s.short and kernels
        for eq in block.inside(s)
        if eq.out.name != s.out.name
    }

    def rounded(eq: Equation) -> Equation:
        given = tuple(to if inputs and r.role != "computed" else None for r in eq.inputs)
        return instead(eq, Inexact(eq.op, eq.inputs, None if eq.out.name in inner else to, given))

    form = f"{'kernels' if kernels else 'steps'}{' and inputs' if inputs else ''}"
    worked = (eq for eq in block.program.equations if eq.op.worked)
    return Alternative(tuple(map(rounded, worked)), words={"form": form})


def _arithmetic(name: str) -> Alternatives:
    def work(block: Block) -> Iterator[Alternative]:
        """Compute in this precision: every step, whole kernels, or matrix products only."""
        to = FORMATS[name]
        if name == "tf32":
            yield _products(block, to, None)
            return
        for inputs in (False, True):
            for kernels in (False, True):
                yield _steps(block, to, inputs, kernels)
        if name != "float32":
            yield _products(block, to, to)

    return work


# copying --------------------------------------------------------------------------------------


def copied_step(block: Block) -> Iterator[Alternative]:
    """Copy an earlier step of this block with the same shape, or the same step of another."""
    program, values = block.program, block.trace.arrays
    names = [program.own_name(index) for index in range(len(program.equations))]
    for index, eq in enumerate(program.equations):
        own = program.block_of(index)
        start = program.forward if program.forward and index >= program.forward else 0
        for at, source in enumerate(program.equations[start:index], start):
            near = program.block_of(at) is own or names[at] == names[index]
            alike = source.out.shape == eq.out.shape and source.op.worked
            if near and alike and not np.array_equal(values[source.out.name], values[eq.out.name]):
                words = {"step": eq.out.name, "source": source.out.name}
                yield Alternative((copied(eq, source.out),), words=words)


MISTAKES = (
    Mistake("rounded_each_step", "*", rounded_each_step, general=True),
    Mistake("arithmetic_float32", "*", _arithmetic("float32"), general=True),
    Mistake("arithmetic_tf32", "*", _arithmetic("tf32"), general=True),
    Mistake("arithmetic_bfloat16", "*", _arithmetic("bfloat16"), general=True),
    Mistake("arithmetic_float16", "*", _arithmetic("float16"), general=True),
    Mistake("softmax_rounded_row", "attn.weights", softmax_rounded_row, general=True),
    Mistake("copied_step", "*", copied_step, general=True),
)
