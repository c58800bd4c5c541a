"""Mistakes in rotary positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace

import numpy as np

from blockcalc.messages import say
from blockcalc.mistakes.alternative import (
    Alternative,
    Block,
    Mistake,
    constant,
    copied,
    extra,
    instead,
    moving,
)
from blockcalc.mistakes.attention.heads import Swapped, attentions
from blockcalc.nn.attention import frequencies
from blockcalc.nn.spec import RopeSpec
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import At, Expr, Num, Slot
from blockcalc.ops.movement import Columns, Join, Split
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.ops.rotate import Rotate
from blockcalc.program.program import Equation
from blockcalc.records import dataclass

THETAS = (10.0, 100.0, 1000.0, 10000.0, 100000.0, 500000.0, 1000000.0, 10000000.0)
SHIFTS = ((1, "m + 1"), (-1, "m - 1"))


@dataclass(frozen=True)
class Mixed(Rotate):
    """Pairs of one style, each column rotated by the angle it has in the other style."""

    def pair(self, column: int) -> tuple[int, int, int]:
        first, second, _ = super().pair(column)
        return first, second, Rotate(self.dims, not self.half).pair(column)[2]


@dataclass(frozen=True)
class Unsigned(Rotate):
    """Pairs rotated without the minus: ``a cos + b sin`` in the first column too."""

    def like(self, column: int) -> Rotate:
        """Give the rotation with the same signs as a column."""
        first = column < self.dims and self.pair(column)[0] == column
        return Rotate(self.dims, self.half, back=first)

    def forward(self, xs: Sequence[Array]) -> Array:
        columns = [self.like(j).forward(xs)[..., j] for j in range(xs[0].shape[-1])]
        return np.stack(columns, axis=-1)

    def cell(self, at: At, refs: Sequence[Ref]) -> Expr:
        return self.like(at[-1]).cell(at, refs)


@dataclass(frozen=True)
class Turning:
    """The rotation of one attention: its settings, and those of its equations that are computed."""

    block: Block
    name: str
    rope: RopeSpec
    angles: Equation
    turned: tuple[Equation, ...]

    @property
    def steps(self) -> tuple[Ref, Ref]:
        """Give the positions, and the angles per step."""
        return self.angles.inputs[0], self.angles.inputs[1]

    def instead(self, **words: str) -> Making:
        return Making(self, words)


@dataclass
class Making:
    """Builds an alternative of a rotation."""

    turning: Turning
    words: dict[str, str]
    equations: list[Equation] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)

    def add(self, name: str, op: Op, *inputs: Ref) -> Ref:
        """Add a new step."""
        self.equations.append(extra(name, op, *inputs))
        return self.equations[-1].out

    def given(self, name: str, array: Array, like: Ref) -> Ref:
        """Add an input with numbers."""
        ref = constant(name, array, like)
        self.arrays[ref.name] = array
        return ref

    def turns(self, name: str, positions: Ref, freqs: Ref) -> tuple[Ref, Ref]:
        """Add the cosines and sines of other angles."""
        own, rope = self.turning, f"{self.turning.name}.rope"
        angles = self.add(f"{name}.angles", own.angles.op, positions, freqs)
        cos, sin = (own.block.equation(f"{rope}.{part}") for part in ("cos", "sin"))
        assert cos is not None
        assert sin is not None
        return self.add(f"{name}.cos", cos.op, angles), self.add(f"{name}.sin", sin.op, angles)

    def put(self, eq: Equation, op: Op, *inputs: Ref) -> None:
        """Replace a step of the block."""
        self.equations.append(instead(eq, op, *inputs))

    def done(self, *last: Equation) -> Alternative:
        return Alternative((*self.equations, *last), self.arrays, self.words)


Make = Callable[[Turning], Iterator[Alternative]]


def turnings(block: Block) -> Iterator[Turning]:
    """Yield every rotation in a block."""
    for section in attentions(block):
        rope = section.settings.rope
        angles = block.equation(f"{section.name}.rope.angles")
        if rope is not None and angles is not None:
            both = (block.equation(f"{section.name}.{part}_rope") for part in "qk")
            turned = tuple(eq for eq in both if eq is not None)
            yield Turning(block, section.name, rope, angles, turned)


def _each(make: Make) -> Callable[[Block], Iterator[Alternative]]:
    """Make alternatives of every rotation in a block."""
    return moving(lambda block: (change for own in turnings(block) for change in make(own)))


@_each
def rope_missing(own: Turning) -> Iterator[Alternative]:
    """Leave queries and keys as they are."""
    yield Alternative(tuple(copied(eq, eq.inputs[0]) for eq in own.turned))


def _by(own: Turning, op: Op) -> Alternative:
    return Alternative(tuple(instead(eq, op) for eq in own.turned))


@_each
def rope_other_pairing(own: Turning) -> Iterator[Alternative]:
    """Pair neighbours instead of halves, or halves instead of neighbours."""
    yield _by(own, Rotate(own.rope.dims, not own.rope.half))


@_each
def rope_mixed_pairing(own: Turning) -> Iterator[Alternative]:
    """Rotate the pairs of one style by the angles that the columns have in the other."""
    for half in (own.rope.half, not own.rope.half):
        change = _by(own, Mixed(own.rope.dims, half))
        yield replace(change, words={"pairs": say(f"form.pairs.{'half' if half else 'near'}")})


@_each
def rope_sign(own: Turning) -> Iterator[Alternative]:
    """Rotate the other way, by negative angles or sines, or lose the minus of each pair."""
    back = {"sign": say("form.sign.back")}
    yield replace(_by(own, Rotate(own.rope.dims, own.rope.half, back=True)), words=back)
    for eq in (own.block.equation(f"{own.name}.rope.sin"), own.angles):
        if eq is not None:
            making = own.instead(**back, of=eq.out.name.rpartition(".")[2])
            right = making.add(eq.out.name, eq.op, *eq.inputs)
            yield making.done(instead(eq, Elementwise(-Slot(0)), right))
    plain = Unsigned(own.rope.dims, own.rope.half)
    yield replace(_by(own, plain), words={"sign": say("form.sign.none")})


@_each
def rope_q_only(own: Turning) -> Iterator[Alternative]:
    """Rotate only queries or only keys."""
    for eq in own.turned:
        part = "Q" if eq.out.part == "key" else "K"
        yield Alternative((copied(eq, eq.inputs[0]),), words={"part": part})


# positions ---------------------------------------------------------------------------------------


def _moved(own: Turning, body: Expr, **words: str) -> Alternative:
    """Use other positions for queries and keys."""
    making, (positions, freqs) = own.instead(**words), own.steps
    moved = making.add(f"{own.name}.rope.positions", Elementwise(body), positions)
    return making.done(instead(own.angles, own.angles.op, moved, freqs))


@_each
def rope_off_by_one(own: Turning) -> Iterator[Alternative]:
    """Shift positions by one for queries and keys, which changes no score."""
    for by, m in SHIFTS:
        yield _moved(own, Slot(0) + Num(by), m=m)


@_each
def rope_positions_differ(own: Turning) -> Iterator[Alternative]:
    """Shift the positions of only queries or only keys by one."""
    for by, m in SHIFTS:
        for eq in own.turned:
            part = "Q" if eq.out.part == "query" else "K"
            making, (positions, freqs) = own.instead(m=m, part=part), own.steps
            body = Elementwise(Slot(0) + Num(by))
            moved = making.add(f"{eq.out.name}.positions", body, positions)
            turn = making.turns(eq.out.name, moved, freqs)
            yield making.done(instead(eq, eq.op, eq.inputs[0], *turn))


@_each
def rope_position_zero(own: Turning) -> Iterator[Alternative]:
    """Count positions from 0 if they start later, or use 0 for every token."""
    if own.rope.start:
        start = say("form.zero.start", start=own.rope.start)
        yield _moved(own, Slot(0) - Num(own.rope.start), positions=start)
    yield _moved(own, Slot(0) * Num(0.0), positions=say("form.zero.all"))


@_each
def rope_heads_as_positions(own: Turning) -> Iterator[Alternative]:
    """Rotate each head by its index instead of each token by its position."""
    making, (positions, freqs) = own.instead(), own.steps
    for eq in own.turned:
        if len(eq.out.axes) < 3 or eq.out.axes[-3] not in ("head", "kv_head"):
            return
        name, start = eq.out.name, own.rope.start
        heads = np.arange(start, start + eq.out.shape[-3], dtype=np.float64)[:, None]
        turn = making.turns(name, making.given(f"{name}.positions", heads, positions), freqs)
        swapped = making.add(f"{name}.swapped", Swapped(), eq.inputs[0])
        turned = making.add(f"{name}.turned", eq.op, swapped, *turn)
        making.put(eq, Swapped(), turned)
    yield making.done()


def _at(own: Turning, freqs: Array, **words: str) -> Alternative:
    """Use other angles per step for queries and keys."""
    making, (positions, known) = own.instead(**words), own.steps
    other = making.given(f"{own.name}.rope.freqs", freqs.reshape(1, -1), known)
    return making.done(instead(own.angles, own.angles.op, positions, other))


def turned_by(own: Turning, theta: float) -> Alternative:
    """Take another theta."""
    return _at(own, frequencies(theta, own.rope.dims), theta=f"{theta:.10g}")


@_each
def rope_theta(own: Turning) -> Iterator[Alternative]:
    """Use another common theta."""
    return (turned_by(own, theta) for theta in THETAS if theta != own.rope.theta)


@_each
def rope_frequencies(own: Turning) -> Iterator[Alternative]:
    """Use another exponent of theta."""
    theta, dims = own.rope.theta, own.rope.dims
    if theta is None:
        return
    known = own.block.trace.arrays[own.steps[1].name]
    yield _at(own, 1 / known, power="2i / d")
    yield _at(own, known * theta ** (-2 / dims), power="-2(i + 1) / d")
    widths = {2 * dims: "-i / d"}
    if own.turned:
        x = own.turned[0].inputs[0]
        widths |= {
            x.shape[-1]: "-2i / d_head",
            own.block.trace.arrays["x"].shape[-1]: "-2i / d_model",
        }
    for width, power in widths.items():
        found = frequencies(theta, width)[: dims // 2]
        if width != dims and len(found) == dims // 2:
            yield _at(own, found, power=power)


# columns -----------------------------------------------------------------------------------------


@_each
def rope_wrong_slice(own: Turning) -> Iterator[Alternative]:
    """Rotate other columns: all or the last of each head, half of them, or all heads as one row."""
    if not own.turned:
        return
    dims, wide, theta = own.rope.dims, own.turned[0].out.shape[-1], own.rope.theta
    if dims < wide:
        yield _last(own, dims, wide)
    if theta is not None and dims < wide and wide % 2 == 0:
        yield _over(own, wide, say("form.slice.all"))
    if theta is not None and dims % 4 == 0:
        yield _over(own, dims // 2, say("form.slice.half"))
    if theta is not None and "head" in own.turned[0].out.axes:
        yield _joined(own)


def _last(own: Turning, dims: int, wide: int) -> Alternative:
    """Rotate the last columns of a head instead of the first."""
    making = own.instead(columns=say("form.slice.last"))
    there = (*range(wide - dims, wide), *range(wide - dims))
    back = tuple(map(int, np.argsort(there)))
    for eq in own.turned:
        axis = eq.out.axes[-1]
        moved = making.add(f"{eq.out.name}.columns", Columns(there, axis), eq.inputs[0])
        turned = making.add(f"{eq.out.name}.turned", eq.op, moved, *eq.inputs[1:])
        making.put(eq, Columns(back, axis), turned)
    return making.done()


def _over(own: Turning, dims: int, columns: str) -> Alternative:
    """Rotate some columns of a head, by the angles of some number of columns."""
    assert own.rope.theta is not None
    making, (positions, known) = own.instead(columns=columns), own.steps
    freqs = frequencies(own.rope.theta, dims).reshape(1, -1)
    for eq in own.turned:
        other = making.given(f"{eq.out.name}.freqs", freqs, known)
        turn = making.turns(eq.out.name, positions, other)
        op = Rotate(dims, own.rope.half)
        making.put(eq, op, eq.inputs[0], *turn)
    return making.done()


def _joined(own: Turning) -> Alternative:
    """Rotate the columns of all heads as one row, before they are split."""
    assert own.rope.theta is not None
    making, (positions, known) = own.instead(columns=say("form.slice.heads")), own.steps
    for eq in own.turned:
        name, (*_, heads, _, e) = eq.out.name, eq.out.shape
        freqs = frequencies(own.rope.theta, heads * e).reshape(1, -1)
        turn = making.turns(name, positions, making.given(f"{name}.freqs", freqs, known))
        row = making.add(f"{name}.joined", Join(), eq.inputs[0])
        turned = making.add(f"{name}.turned", Rotate(heads * e, own.rope.half), row, *turn)
        making.put(eq, Split(heads, (eq.out.axes[-3], eq.out.axes[-1])), turned)
    return making.done()


MISTAKES: tuple[Mistake, ...] = (
    Mistake("rope_missing", "attn.*_rope", rope_missing),
    Mistake("rope_other_pairing", "attn.*_rope", rope_other_pairing),
    Mistake("rope_mixed_pairing", "attn.*_rope", rope_mixed_pairing),
    Mistake("rope_off_by_one", "attn.rope.angles", rope_off_by_one, same_result=True),
    Mistake("rope_positions_differ", "attn.*_rope", rope_positions_differ),
    Mistake("rope_position_zero", "attn.rope.angles", rope_position_zero),
    Mistake("rope_heads_as_positions", "attn.*_rope", rope_heads_as_positions),
    Mistake("rope_sign", "attn.*", rope_sign),
    Mistake("rope_theta", "attn.rope.angles", rope_theta),
    Mistake("rope_frequencies", "attn.rope.angles", rope_frequencies),
    Mistake("rope_q_only", "attn.*_rope", rope_q_only),
    Mistake("rope_wrong_slice", "attn.*_rope", rope_wrong_slice),
)
