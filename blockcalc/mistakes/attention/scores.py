"""Mistakes in scores: the scale, and what is multiplied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from blockcalc.mistakes.alternative import (
    NORM_KINDS,
    Alternative,
    Block,
    Mistake,
    copied,
    extra,
    instead,
    no_place,
)
from blockcalc.nn.attention import ADDED, KEEPERS
from blockcalc.nn.block import program_of
from blockcalc.nn.spec import AttentionSpec, BlockSpec
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Num, Slot
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.program.program import Equation
from blockcalc.records import dataclass

SOFTMAX = ("weights.max", "weights.shifted", "weights.exp", "weights.sum", "weights")


@dataclass(frozen=True)
class Attention:
    """An attention that is computed at least up to its scores.

    Attributes
    ----------
    block : Block
    own : BlockSpec
        The block of the stack that it stands in.
    spec : AttentionSpec
    scores : Equation
    """

    block: Block
    own: BlockSpec
    spec: AttentionSpec
    scores: Equation

    @property
    def name(self) -> str:
        """Give the prefix of the names of its steps: ``blocks.0.attn``."""
        return self.own.steps + self.spec.name

    @property
    def keys(self) -> str:
        """Give the prefix of the names of its weights and masks."""
        return self.own.keys + self.spec.name

    @property
    def d_head(self) -> int:
        return self.scores.inputs[0].shape[-1]

    @property
    def factor(self) -> float:
        """Give the scale, 1 where there is none."""
        if self.spec.scale is None:
            return float(self.d_head**-0.5)
        return 1.0 if self.spec.scale == "none" else float(self.spec.scale)

    @property
    def divisor(self) -> str:
        """Write what the scores are divided by."""
        return "√d_head" if self.spec.scale is None else f"1/{self.spec.scale:g}"

    def step(self, part: str) -> Equation | None:
        """Give a step by its short name; None if there is none, or the name is an alias."""
        eq = self.block.equation(f"{self.name}.{part}")
        return eq if eq is not None and eq.out.name == f"{self.name}.{part}" else None

    def path(self, side: int) -> list[Equation]:
        """List the steps of the queries (0) or keys (1), from the projection to the scores."""
        found: list[Equation] = []
        ref = self.scores.inputs[side]
        while (eq := self.block.equation(ref.name)) and eq.out.part == ("query", "key")[side]:
            found.insert(0, eq)
            ref = eq.inputs[0]
        return found

    def later(self, name: str, source: Ref) -> tuple[Equation, ...]:
        """Use another matrix wherever a step is used, without changing the step itself."""
        forward = self.block.program.equations[: self.block.program.forward]
        return tuple(
            instead(eq, eq.op, *(source if ref.name == name else ref for ref in eq.inputs))
            for eq in forward
            if any(ref.name == name for ref in eq.inputs)
        )

    def with_maximum(self) -> dict[str, Equation]:
        """Give the steps of its softmax in the form that subtracts the row maximum."""
        form = self.own.with_attention(lambda spec: replace(spec, softmax="shifted"))
        spec = self.block.spec
        blocks = tuple(form if own is self.own else own for own in spec.blocks)
        other = replace(spec, blocks=blocks, stop=f"{self.name}.weights")
        found = {eq.out.name: eq for eq in program_of(other, spec.shapes).equations}
        return {part: found[f"{self.name}.{part}"] for part in SOFTMAX}


def attentions(block: Block) -> Iterator[Attention]:
    """Yield every attention that is not given, and so has scores."""
    for own in block.spec.blocks:
        for sublayer in own.sublayers:
            if isinstance(sublayer.work, AttentionSpec):
                scores = block.equation(f"{own.steps}{sublayer.work.name}.scores")
                if scores is not None:
                    yield Attention(block, own, sublayer.work, scores)


@dataclass(frozen=True)
class Mask:
    """A mask of an attention: its key, the name of its matrix, and its name in sentences."""

    key: str
    name: str
    label: str
    array: Array

    @property
    def adds(self) -> bool:
        return self.key == ADDED

    @property
    def allowed(self) -> Array:
        """Tell which keys are visible."""
        return np.asarray(~np.isneginf(self.array) if self.adds else self.array != 0)

    @property
    def keys(self) -> int:
        return int(self.array.shape[-1])

    @property
    def square(self) -> bool:
        """Tell whether it has a row for each query."""
        return self.key != "padding" and self.array.ndim >= 2

    def of(self, allowed: Array) -> Array:
        """Give the matrix of another mask of this kind."""
        seen = np.broadcast_to(allowed, self.array.shape)
        if not self.adds:
            return seen.astype(np.float64)
        return np.where(seen, np.where(self.allowed, self.array, 0.0), -np.inf)


def masks(a: Attention) -> list[Mask]:
    """List the masks that the masked scores of an attention use."""
    eq = a.step("masked")
    known = {ref.name for ref in a.block.program.inputs} if eq is not None else set()
    right = a.block.trace.arrays
    return [
        Mask(key, name, f"{a.spec.name}.{key}", right[name])
        for key in (*KEEPERS, ADDED)
        if (name := f"{a.keys}.{key}") in known
    ]


Part = Callable[[Attention], Iterator[Alternative]]


def each(make: Part) -> Callable[[Block], Iterator[Alternative]]:
    """Make alternatives of every attention of a block."""

    def every(block: Block) -> Iterator[Alternative]:
        for attention in attentions(block):
            yield from make(attention)

    return every


def times(factor: float) -> Op:
    """Multiply by a number."""
    return Elementwise(Slot(0) * Num(factor))


# the scale ---------------------------------------------------------------------------------------


def _scaled(
    factor: Callable[[Attention], float | None],
) -> Callable[[Block], Iterator[Alternative]]:
    """Scale by another factor, if it differs."""

    @each
    def make(a: Attention) -> Iterator[Alternative]:
        eq, other = a.step("scaled"), factor(a)
        if eq is not None and other is not None and not np.isclose(other, a.factor, rtol=1e-12):
            words = {"divisor": a.divisor}
            yield Alternative((instead(eq, times(other)),), words=words)

    return make


@each
def scale_missing(a: Attention) -> Iterator[Alternative]:
    """Leave out the scale, or compute the scaled scores and use the unscaled ones."""
    eq = a.step("scaled")
    if eq is not None and a.factor != 1:
        words = {"divisor": a.divisor}
        yield Alternative((copied(eq, a.scores.out),), words=words)
        used = a.later(eq.out.name, a.scores.out)
        if used:
            yield Alternative(used, words=words | {"at": "later"})


@each
def scale_default(a: Attention) -> Iterator[Alternative]:
    """Divide by √d_head if the block has another scale, or none."""
    root = float(a.d_head**-0.5)
    if a.spec.scale is None or np.isclose(root, a.factor, rtol=1e-12):
        return
    eq = a.step("scaled")
    if eq is not None:
        yield Alternative((instead(eq, times(root)),))
        return
    own = extra(f"{a.name}.scaled", times(root), a.scores.out)
    yield Alternative((own, *a.later(a.scores.out.name, own.out)), words={"at": "later"})
    plain = extra(f"{a.name}.unscaled", a.scores.op, *a.scores.inputs)
    yield Alternative((plain, instead(a.scores, times(root), plain.out)))


def _model(a: Attention) -> int:
    return next(ref.shape[-1] for ref in a.block.program.inputs if ref.name == "x")


def _derived(a: Attention) -> float | None:
    """Give the scale of d_head = d_model / n_heads, if d_head differs from it."""
    derived = _model(a) // a.spec.n_heads
    return float(derived**-0.5) if derived else None


def _before(a: Attention, *changes: tuple[Equation, float]) -> Alternative:
    """Multiply steps before the scores by a factor, and leave the scores unscaled."""
    scaled = a.step("scaled")
    assert scaled is not None
    found = [copied(scaled, a.scores.out)]
    for eq, factor in changes:
        plain = extra(f"{eq.out.name}.unscaled", eq.op, *eq.inputs)
        found += [plain, instead(eq, times(factor), plain.out)]
    names = [eq.out.name.removeprefix(a.own.steps) for eq, _ in changes]
    return Alternative(tuple(found), words={"at": " and ".join(names)})


def _scale_first(side: int) -> Callable[[Block], Iterator[Alternative]]:
    """Apply the scale to the queries or keys, at any of their steps."""

    @each
    def make(a: Attention) -> Iterator[Alternative]:
        if a.step("scaled") is not None and a.factor != 1:
            for eq in a.path(side):
                yield _before(a, (eq, a.factor))
            if side == 0:
                yield _before(a, (a.scores, a.factor))

    return make


@each
def scale_root_on_both(a: Attention) -> Iterator[Alternative]:
    """Apply the root of the scale to the queries and to the keys."""
    paths = a.path(0), a.path(1)
    if a.step("scaled") is None or a.factor in (0, 1) or not all(paths):
        return
    root = abs(a.factor) ** 0.5
    ends = {path[i].out.name: i for i in (0, -1) for path in paths}
    for i in sorted(set(ends.values())):
        q, k = (path[i] for path in paths)
        yield _before(a, (q, root), (k, float(np.copysign(root, a.factor))))


# what is multiplied ------------------------------------------------------------------------------


@each
def scores_k_not_transposed(a: Attention) -> Iterator[Alternative]:
    """Multiply Q by K without the transpose, if the shapes fit."""
    k = a.scores.inputs[1]
    own = a.block.trace.arrays[k.name]
    if k.shape[-1] == k.shape[-2] and not np.array_equal(own, own.swapaxes(-1, -2)):
        yield Alternative((instead(a.scores, MatMul()),))


@each
def qk_exchanged(a: Attention) -> Iterator[Alternative]:
    """Exchange queries and keys: in the product, or from the projections on."""
    own = a.block.trace.arrays[a.scores.out.name]
    if np.allclose(own, own.swapaxes(-1, -2), rtol=1e-12, atol=0):
        return
    q, k = a.scores.inputs
    yield Alternative((instead(a.scores, a.scores.op, k, q),), words={"at": "scores"})
    first, second = a.step("q"), a.step("k")
    if first is not None and second is not None and first.out.shape == second.out.shape:
        both = instead(first, second.op, *second.inputs), instead(second, first.op, *first.inputs)
        yield Alternative(both, words={"at": "projections"})


@each
def attention_from_unnormed(a: Attention) -> Iterator[Alternative]:
    """Project the input of the norm, in a block with the norm before attention."""
    norms = {
        section.out.name: section.inputs[0]
        for section in a.block.sections(*NORM_KINDS)
        if section.name.startswith(a.own.steps)
    }
    inside = [eq for eq in a.block.program.equations if eq.out.name.startswith(f"{a.name}.")]
    taken = [eq for eq in inside if eq.inputs and eq.inputs[0].name in norms]
    if taken:
        yield Alternative(
            tuple(instead(eq, eq.op, norms[eq.inputs[0].name], *eq.inputs[1:]) for eq in taken)
        )


def _default(a: Attention, factor: float) -> float | None:
    """Give a factor for blocks with the default scale."""
    return factor if a.spec.scale is None else None


MISTAKES = (
    Mistake("scale_missing", "attn.scaled", scale_missing),
    Mistake("scale_not_rooted", "attn.scaled", _scaled(lambda a: _default(a, 1 / a.d_head))),
    Mistake("scale_d_model", "attn.scaled", _scaled(lambda a: _default(a, _model(a) ** -0.5))),
    Mistake("scale_twice", "attn.scaled", _scaled(lambda a: a.factor**2)),
    Mistake("scale_inverted", "attn.scaled", _scaled(lambda a: 1 / a.factor if a.factor else None)),
    Mistake("scale_head_dim_derived", "attn.scaled", _scaled(_derived)),
    Mistake("scale_default", "attn.scaled", scale_default),
    Mistake("scale_other", "attn.scaled", no_place),  # its factor is solved
    Mistake("scale_on_q", "attn.q*", _scale_first(0), same_result=True),
    Mistake("scale_on_k", "attn.k*", _scale_first(1), same_result=True),
    Mistake("scale_root_on_both", "attn.q*", scale_root_on_both, same_result=True),
    Mistake("scores_k_not_transposed", "attn.scores", scores_k_not_transposed),
    Mistake("qk_exchanged", "attn.scores", qk_exchanged),
    Mistake("attention_from_unnormed", "attn.q", attention_from_unnormed),
)
