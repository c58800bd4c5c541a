"""Check a whole file: shapes fit, names are steps, nothing is unused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from blockcalc.errors import BlockcalcError, LookupFault
from blockcalc.files.source import Path
from blockcalc.messages import say
from blockcalc.messages.words import dims
from blockcalc.nn.block import build, written
from blockcalc.nn.spec import BlockSpec, Spec
from blockcalc.program.builder import Misfit, Missing
from blockcalc.program.loss import KEYS, is_backward
from blockcalc.program.program import Program
from blockcalc.reading.checker import Checker
from blockcalc.reading.shapes import check_shapes


def without_stale_expect(c: Checker, spec: Spec) -> Spec:
    """Ignore expected values and points that no longer fit after ``--set``, and add a note."""
    if all(path[0] in ("expect", "points") for path in c.source.overrides):
        return spec
    program = written(spec)
    lost, unknown = [], []
    for key, numbers in _kept(c, spec, "expect").items():
        shape = _shape_of(program, key)
        if shape is None:
            unknown.append(key)
        elif not alike(numbers.shape, shape):
            lost.append(key)
    unknown += [key for key in _kept(c, spec, "points") if _shape_of(program, key) is None]
    gone = _steps_before(c, unknown)
    lost += [key for key in gone if key in spec.expect]
    if not (lost or gone):
        return spec
    kept = {key: numbers for key, numbers in spec.expect.items() if key not in lost}
    points = {key: number for key, number in spec.points.items() if key not in gone}
    told = say("expect.lost", names=", ".join(lost)) if lost else say("points.lost")
    return replace(spec, expect=kept, points=points, remarks=(*spec.remarks, told))


def _kept(c: Checker, spec: Spec, section: str) -> Mapping[str, Any]:
    """Give the entries of a section that no override sets."""
    found: Mapping[str, Any] = getattr(spec, section)
    return {key: value for key, value in found.items() if not c.is_set((section, key))}


def _steps_before(c: Checker, names: Sequence[str]) -> list[str]:
    """Give those of some names that are steps of the file without its overrides."""
    if not names or c.without_sets is None:
        return []
    with suppress(BlockcalcError):
        program = written(c.without_sets())
        return [name for name in names if _shape_of(program, name) is not None]
    return []


def alike(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Tell whether two shapes are equal apart from axes of length 1."""
    return [n for n in shape if n > 1] == [n for n in other if n > 1]


def with_stop_resolved(c: Checker, spec: Spec) -> Spec:
    """Resolve ``stop`` to the full name of a step."""
    if spec.stop is None:
        return spec
    program = written(spec)
    names = [name for name in (*program.refs(), *program.aliases) if name.endswith(f".{spec.stop}")]
    if spec.stop in program.refs() or spec.stop in program.aliases or not names:
        return spec
    _check_step(c, program, ("stop",), spec.stop)
    c.give_up()
    return replace(spec, stop=program.find(spec.stop))


def blame_layout(c: Checker, found: Mapping[str, Any], before: int) -> None:
    """If the other weight layout would fit, replace all mismatches by that hint."""
    if len(c.faults) - before < 2:
        return
    other = [_with_other_layout(block) for block in found["blocks"]]
    silent = Checker(c.source)
    check_shapes(silent, c.arrays, other, found["stop"])
    if not silent.faults:
        first = c.faults[before]
        layout = "out_in" if other[0].out_in else "in_out"
        hint = say("shape.layout", layout=layout)
        c.faults[before:] = [replace(first, hint=hint)]


def _with_other_layout(block: BlockSpec) -> BlockSpec:
    """Give a block with the other weight layout."""
    return block.with_work(lambda work: replace(work, out_in=not work.out_in))


def check_steps(c: Checker, spec: Spec, top: Mapping[str, Any]) -> None:
    """Build the program, and report missing matrices and unknown steps."""
    try:
        program = build(spec)
    except (Missing, Misfit) as error:
        fault = error.faults[0]
        if error.key.startswith("attn.") and not {"attn", "blocks"} & top.keys():
            c.fault((), say("key.required", key="attn"), say("key.required.attn"))
        else:
            c.fault(error.key, fault.message, fault.hint)
        return
    if spec.stop is None:
        _check_unused(c, spec, program)
    whole = _whole(spec, program)
    _check_answers(c, spec, whole)
    for name in spec.points:
        if not is_backward(name):  # those are found where gradients are computed
            _check_step(c, whole, ("points", name), name)
    out = program.equations[-1].out if program.equations else None
    for key in (f"loss.{key}" for key in KEYS):
        if out is not None and key in spec.arrays and spec.arrays[key].shape != out.shape:
            sizes = {"has": dims(spec.arrays[key].shape), "wanted": dims(out.shape)}
            c.fault(key, say("loss.shape", name=key, out=out.name, **sizes))
    if spec.stop is not None and _check_step(c, program, ("stop",), spec.stop):
        reached = program.equations and program.find(spec.stop)
        if not reached or program.equations[-1].out.name != reached:
            c.fault(("stop",), say("stop.input", name=spec.stop))


def _check_answers(c: Checker, spec: Spec, program: Program) -> None:
    """Check the shapes of expected values; only the first mismatch is reported in full."""
    misfits = []
    for key, numbers in spec.expect.items():
        shape = _shape_of(program, key)
        if shape is None:
            if not is_backward(key):  # those are found where gradients are computed
                _check_step(c, program, ("expect", key), _forward(key))
        elif not alike(numbers.shape, shape):
            sizes = {"has": dims(numbers.shape), "shape": dims(shape)}
            misfits.append((key, say("expect.shape", name=key, **sizes)))
    if misfits:
        key, text = misfits[0]
        more = say("expect.more", n=len(misfits) - 1) if len(misfits) > 1 else ""
        c.fault(("expect", key), text, more + say("expect.hint"))


def _check_unused(c: Checker, spec: Spec, program: Program) -> None:
    """Report given matrices that nothing uses, so that none is ignored silently.

    Norms of a missing sublayer are allowed; the head mentions them.
    """
    used = {ref.name for ref in program.inputs}
    spare = tuple(f"{name}." for name in spec.spare_norms)
    for key in spec.arrays:
        unused = spec.evaluation and c.paths.get(key, ())[:2] == ("dropout", "keep")
        kept = unused or key.startswith((*spare, "loss."))
        if key not in used and not kept:
            c.fault(key, say("key.unused", key=key))


def _whole(spec: Spec, program: Program) -> Program:
    """Build the program without ``stop``, as far as weights are given."""
    return written(spec) if spec.stop else program


def _shape_of(program: Program, name: str) -> tuple[int, ...] | None:
    """Give the shape of a step, a matrix or a gradient; None for any other name."""
    with suppress(LookupFault):
        return program.refs()[program.find(_forward(name))].shape
    return None


def _forward(name: str) -> str:
    """Give the step or matrix that has the shape of a name: that of ``grad.attn.q`` is attn.q."""
    first, _, rest = name.partition(".")
    return rest if rest and is_backward(first) else name


def _check_step(c: Checker, program: Program, path: Path, name: str) -> bool:
    """Report a name that is not a step."""
    try:
        program.find(name)
    except LookupFault as error:
        c.fault(path, error.faults[0].message, error.faults[0].hint)
        return False
    return True
