"""Mistakes in residuals and the order of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from blockcalc.mistakes.alternative import (
    NORM_KINDS,
    Alternative,
    Block,
    Mistake,
    copied,
    extra,
    instead,
    rewritten,
)
from blockcalc.nn.block import program_of
from blockcalc.nn.settings import SoftmaxSettings
from blockcalc.nn.spec import BlockSpec, NormSpec, Spec
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Slot
from blockcalc.ops.op import Array, Ref
from blockcalc.program.backward import BackwardSettings, with_gradients
from blockcalc.program.builder import Missing
from blockcalc.program.loss import LOSSES, Loss
from blockcalc.program.program import Equation, Program, Section

# another program ------------------------------------------------------------------------------


def reworked(block: Block, change: Callable[[Spec], Spec]) -> Alternative | None:
    """Make the alternative of a changed spec, with its backward pass.

    None if nothing changes, or if it needs a matrix that a file with ``stop`` does not give.
    """
    spec = change(_as_worked(block))
    try:
        program = program_of(spec, spec.shapes)
    except Missing:
        return None
    loss = _loss(block.program)
    if loss is not None:
        program = with_gradients(program, loss)
    found = rewritten(block, program, {**block.trace.arrays, **spec.arrays})
    return found if found.equations or found.arrays else None


def _as_worked(block: Block) -> Spec:
    """Set the form of softmax that the run chose."""
    shifted = SoftmaxSettings("shifted")
    forms = [s.settings for s in block.program.sections if s.kind == "softmax"]
    chose = bool(forms) and all(form == shifted for form in forms)
    return block.spec.with_softmax(shifted.form) if chose else block.spec


def _loss(program: Program) -> Loss | None:
    """Find the loss of a backward pass."""
    for section in program.sections:
        if section.kind == "loss" and isinstance(section.settings, BackwardSettings):
            return LOSSES.get(section.settings.of)
    return None


def _every(places: Iterator[Alternative | None]) -> Iterator[Alternative]:
    return (place for place in places if place is not None)


# residuals ------------------------------------------------------------------------------------


def _residuals(block: Block) -> Iterator[tuple[Equation, Ref, Ref]]:
    """Yield each residual sum, with the residual stream and the output added to it."""
    for eq in block.program.equations[: block.program.forward]:
        if eq.out.part == "residual" and len(eq.inputs) == 2:
            yield eq, *eq.inputs


def residual_missing(block: Block) -> Iterator[Alternative]:
    """Use the output of the sublayer without the residual."""
    for eq, _, result in _residuals(block):
        yield Alternative((copied(eq, result),))


def residual_twice(block: Block) -> Iterator[Alternative]:
    """Add the input of the sublayer twice, or its output."""
    for eq, stream, result in _residuals(block):
        assert isinstance(eq.op, Elementwise)
        for which, ref in enumerate((stream, result)):
            twice = replace(eq.op, body=eq.op.body + Slot(which))
            yield Alternative((instead(eq, twice),), words={"matrix": ref.name})


def residual_from_normed(block: Block) -> Iterator[Alternative]:
    """Add the normalized rows instead of the residual stream before the norm."""
    program = block.program
    for eq, stream, result in _residuals(block):
        at = program.equations.index(eq)
        for norm in block.sections(*NORM_KINDS):
            if norm.inputs[0] == stream and norm.last <= at:
                yield Alternative((instead(eq, eq.op, norm.out, result),))


def residual_from_block_input(block: Block) -> Iterator[Alternative]:
    """Add the input of the block instead of that of the sublayer."""
    program, first = block.program, dict[Section | None, Ref]()
    for eq, stream, result in _residuals(block):
        into = first.setdefault(program.block_of(program.equations.index(eq)), stream)
        if into != stream:
            yield Alternative((instead(eq, eq.op, into, result),))


def residual_after_norm(block: Block) -> Iterator[Alternative]:
    """Normalize the output of the sublayer, and add the residual after that."""
    final = {norm.name for norm in _final(block)}
    forward = block.program.equations[: block.program.forward]
    for eq, stream, result in _residuals(block):
        users = [user for user in forward if eq.out in user.inputs]
        for norm in block.sections(*NORM_KINDS):
            inside = block.inside(norm)
            if users and norm.name not in final and all(user in inside for user in users):
                yield _added_after(block, eq, stream, result, norm)
                yield _added_inside(block, eq, stream, result, norm)


def _added_after(
    block: Block, eq: Equation, stream: Ref, result: Ref, norm: Section
) -> Alternative:
    """Write the sum under the name of the residual, for the steps after the norm."""
    inside = [_with(e, {eq.out.name: result}) for e in block.inside(norm) if eq.out in e.inputs]
    after = [
        _with(e, {norm.out.name: eq.out})
        for i, e in enumerate(block.program.equations)
        if i >= norm.last and norm.out in e.inputs and not e.out.name.startswith("grad.")
    ]
    total = instead(eq, eq.op, stream, norm.out)
    return Alternative((total, *inside, *after), words={"form": "residual"})


def _added_inside(
    block: Block, eq: Equation, stream: Ref, result: Ref, norm: Section
) -> Alternative:
    """Write the sum under the name of the norm."""
    *inside, last = (_with(e, {eq.out.name: result}) for e in block.inside(norm))
    alone = extra(f"{norm.name}.alone", last.op, *last.inputs)
    return Alternative(
        (*inside, alone, instead(last, eq.op, stream, alone.out)), words={"form": "norm"}
    )


def _with(eq: Equation, other: Mapping[str, Ref]) -> Equation:
    """Replace some operands of an equation."""
    return instead(eq, eq.op, *(other.get(r.name, r) for r in eq.inputs))


# the order of a block -------------------------------------------------------------------------


def _order(own: str, other: str) -> Callable[[Block], Iterator[Alternative]]:
    def work(block: Block) -> Iterator[Alternative]:
        """Compute the block in the other order."""
        if block.spec.order == own:
            yield from _every(iter([reworked(block, lambda spec: spec.with_order(other))]))

    return work


order_pre_for_post = _order("post", "pre")
order_post_for_pre = _order("pre", "post")


def _norms(block: Block) -> Iterator[tuple[str, tuple[NormSpec, NormSpec]]]:
    """Yield the two norms of each block, once if repeated blocks share them, with their keys."""
    seen: set[str] = set()
    for own in block.spec.blocks:
        if len(own.norms) > 1 and own.keys not in seen:
            seen.add(own.keys)
            yield own.keys, own.norms[:2]  # type: ignore[misc]


def _dealt(spec: Spec, keys: str, names: Sequence[str], sources: Sequence[NormSpec]) -> Spec:
    """Give norms the settings, gamma and beta of other norms."""
    arrays: dict[str, Array] = {
        name: array
        for name, array in spec.arrays.items()
        if name.rpartition(".")[0] not in {keys + own for own in names}
    }
    for own, source in zip(names, sources, strict=True):
        for part in ("gamma", "beta"):
            if (array := spec.arrays.get(f"{keys}{source.name}.{part}")) is not None:
                arrays[f"{keys}{own}.{part}"] = array

    def change(b: BlockSpec) -> BlockSpec:
        new = dict(zip(names, sources, strict=True))
        norms = (replace(new.get(n.name, n), name=n.name) for n in b.norms)
        return replace(b, norms=tuple(norms)) if b.keys == keys else b

    return replace(spec, blocks=tuple(map(change, spec.blocks)), arrays=arrays)


def norms_exchanged(block: Block) -> Iterator[Alternative]:
    """Exchange gamma and beta of the two norms."""
    for keys, (a, b) in _norms(block):
        names = (a.name, b.name)
        yield from _every(
            iter([reworked(block, lambda s, k=keys, n=names, o=(b, a): _dealt(s, k, n, o))])  # type: ignore[misc]
        )


def norm_shared(block: Block) -> Iterator[Alternative]:
    """Use gamma and beta of one norm in both."""
    for keys, pair in _norms(block):
        names = [norm.name for norm in pair]
        for one in pair:
            found = reworked(
                block,
                lambda s, k=keys, n=names, o=(one, one): _dealt(s, k, n, o),  # type: ignore[misc]
            )
            if found is not None:
                yield replace(found, words={"norm": one.name})


# the final norm -------------------------------------------------------------------------------


def _final(block: Block) -> Iterator[Section]:
    final = block.spec.final_norm
    for norm in block.sections(*NORM_KINDS):
        if final is not None and norm.name == final.name:
            yield norm


def final_norm_missing(block: Block) -> Iterator[Alternative]:
    """End without the final norm."""
    for norm in _final(block):
        yield Alternative((copied(block.inside(norm)[-1], norm.inputs[0]),))


def final_norm_twice(block: Block) -> Iterator[Alternative]:
    """Apply the final norm twice; its inner steps are those of the first or the second time."""
    for norm in _final(block):
        inside = block.inside(norm)
        last = inside[-1]
        once = extra(f"{norm.name}.once", last.op, *last.inputs)
        again = _again(inside, norm, once.out)
        end = instead(last, last.op, *again[-1].inputs)
        yield Alternative((once, *again[:-1], end), words={"parts": "first"})
        first = _again(inside, norm, norm.inputs[0])
        second = {norm.inputs[0].name: first[-1].out}
        moved = [_with(eq, second) for eq in inside if norm.inputs[0] in eq.inputs]
        yield Alternative((*first, *moved), words={"parts": "second"})


def _again(inside: Sequence[Equation], norm: Section, x: Ref) -> list[Equation]:
    """Repeat the equations of a norm for other rows."""
    other = {norm.inputs[0].name: x}
    found = []
    for eq in inside:
        new = extra(f"{eq.out.name}.again", eq.op, *(other.get(r.name, r) for r in eq.inputs))
        other[eq.out.name] = new.out
        found.append(new)
    return found


MISTAKES = (
    Mistake("residual_missing", "residual*", residual_missing),
    Mistake("residual_twice", "residual*", residual_twice),
    Mistake("residual_from_normed", "residual*", residual_from_normed),
    Mistake("residual_from_block_input", "residual2", residual_from_block_input),
    Mistake("residual_after_norm", "residual*", residual_after_norm),
    Mistake("order_pre_for_post", "norm*", order_pre_for_post),
    Mistake("order_post_for_pre", "norm*", order_post_for_pre),
    Mistake("norms_exchanged", "norm*", norms_exchanged),
    Mistake("norm_shared", "norm*", norm_shared),
    Mistake("final_norm_missing", "final_norm", final_norm_missing),
    Mistake("final_norm_twice", "final_norm", final_norm_twice),
)
