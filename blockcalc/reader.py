"""From a file to a checked ``Spec``: all faults that can be found, each with its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from blockcalc.block import build, written
from blockcalc.card import dims
from blockcalc.checker import Checker, is_text, kind_of
from blockcalc.decimals import Rounding
from blockcalc.errors import Fault, InputError, LookupFault, Place, UsageError
from blockcalc.keys import TOP, eps
from blockcalc.parts import parts
from blockcalc.program import Misfit, Missing, Program
from blockcalc.shapes import check_shapes
from blockcalc.source import decode, read_text, read_value
from blockcalc.spec import BlockSpec, Spec
from blockcalc.text import MAX_BYTES, MAX_DEPTH, Path, Source, is_index
from blockcalc.titles import say
from blockcalc.yaml_text import plain_scalar


def load(
    source: str | FilePath | Mapping[str, Any],
    sets: Sequence[tuple[str, str]] = (),
    orders: Sequence[str] = (),
    shapes_only: bool = False,
) -> Spec:
    """Read a file, or the same content as a dict, into a checked spec.

    Parameters
    ----------
    source : path or mapping
        A YAML or JSON file; ``-`` is standard input. A mapping may hold NumPy arrays.
    sets : sequence of (key, value text)
        Keys set over those of the file: ``("attn.scale", "none")``.
    orders : sequence of str
        The orders, ``post`` or ``pre``, in which it is to be worked; the file's own if empty. The spec
        has the first; ``with_order`` gives the others.
    shapes_only : bool
        Ask named files for their headers alone, and draw nothing: such matrices have a shape and no numbers.

    Raises
    ------
    InputError
        With every fault that was found, up to twenty, each with its place.

    Examples
    --------
    >>> spec = load({"x": [[1, "1/3"]], "attn": {"out": [[0, 1]]}})
    >>> spec.arrays["x"]
    array([[1.        , 0.33333333]])
    """
    if isinstance(source, Mapping):
        text = Source("<dict>", "", _plain(source))
    else:
        text = read_file(str(source))
    if sets:
        text.data = _plain(text.data)  # what aliases share is set in one place only
    for key, value in sets:
        for one in _every(text.data, key):
            _set(text, one, value)
    return check(Checker(text, shapes_only), orders)


def read_file(name: str) -> Source:
    """Read a file, or standard input for ``-``, as plain data with places."""
    if name == "-":
        if sys.stdin is None:
            raise InputError(Fault(say("file.no_stdin")))
        return read_text(decode(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>"), "<stdin>")
    try:
        with FilePath(name).open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        hint = say("file.missing.hint")
        raise InputError(Fault(say("file.missing"), Place(name), hint)) from None
    except IsADirectoryError:
        raise InputError(Fault(say("file.directory"), Place(name))) from None
    except OSError as error:
        message = say("file.unreadable", problem=error.strerror or str(error))
        raise InputError(Fault(message, Place(name))) from None
    except ValueError:
        raise InputError(Fault(say("file.missing"), Place(repr(name)))) from None
    return read_text(decode(raw, name), name)


def parse_sets(texts: Sequence[str], options: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Split ``KEY=VALUE`` texts.

    A key set twice, or against an option that sets the same, is a usage error; ``options`` are
    those by key, such as ``norm.order`` of ``--norm``.
    """
    found = {key: value for key, value in options.items() if value is not None}
    pairs = []
    for text in texts:
        if not is_text(text):
            raise UsageError(Fault(say("set.encoding")))
        key, equals, value = text.partition("=")
        if not equals or not all(key.strip().split(".")):
            raise UsageError(Fault(say("set.key", text=text)))
        key, value = key.strip(), value.strip()
        name = "norm.order" if key == "norm" else key
        if key.endswith(".eps") and "eps" in found:
            name = "eps"
        if found.setdefault(name, value) != value:
            raise UsageError(Fault(say("set.twice", key=key, first=found[name], second=value)))
        pairs.append((key, value))
    return pairs


def parse_eps(text: str) -> float:
    """Read the value of ``--eps``."""
    checker = Checker(Source(f"--eps {text}", ""))
    number: float | None = eps(checker, plain_scalar(text), ())
    checker.give_up()
    assert number is not None
    return number


def parse_round(text: str) -> Rounding:
    """Read the value of ``--round``: ``3`` is decimals, ``4sf`` significant figures."""
    found = re.fullmatch(r"([0-9]{1,2})(sf)?", text.strip())
    kind = "significant" if found and found[2] else "decimals"
    if not found or not (1 if found[2] else 0) <= int(found[1]) <= 15:
        raise UsageError(Fault(say("round.text", text=text)))
    return Rounding(kind, int(found[1]))


def _plain(value: Any, depth: int = 0) -> Any:
    """Turn a dict from Python into the plain data that a file gives."""
    if depth > MAX_DEPTH:
        raise InputError(Fault(say("file.deep", limit=MAX_DEPTH)))
    if isinstance(value, Mapping):
        return {str(key): _plain(v, depth + 1) for key, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v, depth + 1) for v in value]
    return value


def _every(data: Any, key: str) -> list[str]:
    """Give the keys that ``blocks.*.attn.causal`` means: one for each entry of the list."""
    before, star, after = key.partition(".*.")
    for part in before.split("."):
        data = data.get(part) if isinstance(data, dict) else None
    if not star or not isinstance(data, list):
        return [key]
    return [f"{before}.{i}.{after}" for i in range(len(data))]


def _set(source: Source, key: str, text: str) -> None:
    """Set one key over those of the file."""
    origin = Place(f"--set {key}={text}")
    path: Path = tuple(int(p) if is_index(p) else p for p in key.split("."))
    for holder_path in (("expect",), ("dropout", "p"), ("dropout", "keep")):
        n = len(holder_path)
        if path[:n] == holder_path and len(path) > n:
            path = (*holder_path, *_name_and_indices(key.split(".")[n:]))
    if not text.strip():
        raise InputError(Fault(say("set.empty"), origin))
    if not isinstance(source.data, dict):
        return
    holder: Any = source.data
    for depth, part in enumerate(path[:-1]):
        where = _entry(holder, part, origin)
        below = holder[where] if isinstance(holder, list) else holder.get(where)
        if not isinstance(below, dict | list):
            short = {"norm": "order", "dropout": "p"}.get(str(part)) if depth == 0 else None
            below = {} if short is None or below is None else {short: below}
            holder[where] = below
            source.overrides[path[: depth + 1]] = origin
        holder = below
    holder[_entry(holder, path[-1], origin)] = read_value(text, origin.file, path)
    source.overrides[path] = origin


def _entry(holder: Any, part: str | int, origin: Place) -> Any:
    """Give the key or the place of a part of a path in what holds it."""
    if not isinstance(holder, list):
        if isinstance(part, int) and holder:
            raise InputError(Fault(say("set.mapping", keys=", ".join(holder)), origin))
        return str(part)
    if not (isinstance(part, int) and part < len(holder)):
        raise InputError(Fault(say("set.index"), origin))
    return part


def _name_and_indices(words: list[str]) -> Path:
    """Split ``attn.q.0.1`` into the name of a step and places in its matrix."""
    end = len(words)
    while end > 1 and is_index(words[end - 1]):
        end -= 1
    return (".".join(words[:end]), *(int(word) for word in words[end:]))


def check(c: Checker, orders: Sequence[str] = ()) -> Spec:
    """Check everything, in each order that is asked for, and give the spec."""
    data = c.source.data
    if not isinstance(data, dict):
        raise InputError(Fault(say("file.not_mapping", what=kind_of(data)), c.source.place(())))
    top = c.mapping(data, (), TOP)
    found = parts(c, top)
    if "x" not in top:
        c.fault((), say("key.required", key="x"), say("key.required.x"))
    c.give_up()
    before = len(c.faults)
    check_shapes(c, c.arrays, found["blocks"], found["stop"])
    _blame_layout(c, found, before)
    for keys, block in {block.keys: block for block in found["blocks"]}.items():
        for key in (f"{keys}attn.mask.keep", f"{keys}attn.mask.add"):
            array = c.arrays.get(key)
            if array is not None and array.ndim == 4 and array.shape[1] == 1:
                c.arrays[key] = array[:, 0]
            elif array is not None and array.ndim == 3 and block.attention.n_heads == 1:
                c.arrays[key] = array[0]
    c.give_up()
    spec = _resolved(
        c,
        Spec(
            arrays=c.arrays, origins=c.origins, remarks=tuple(c.inexact), source=c.source, **found
        ),
    )
    for order in orders or (spec.order,):
        spec = _judged(c, spec.with_order(order))
        _check_steps(c, spec, top)
        c.give_up()
    return spec.with_order(orders[0]) if orders else spec


def _judged(c: Checker, spec: Spec) -> Spec:
    """Leave out answers of the file that no longer fit what was set beside it, and say so."""
    if not spec.expect or all(path[0] == "expect" for path in c.source.overrides):
        return spec
    program = written(spec)
    lost = []
    for key, numbers in spec.expect.items():
        with suppress(LookupFault):
            if not _alike(numbers.shape, program.refs()[program.find(key)].shape):
                lost += [] if c.is_set(("expect", key)) else [key]
    if not lost:
        return spec
    kept = {key: numbers for key, numbers in spec.expect.items() if key not in lost}
    told = say("expect.lost", names=", ".join(lost))
    return replace(spec, expect=kept, remarks=(*spec.remarks, told))


def _alike(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Tell whether two shapes are one, axes of length 1 aside."""
    return [n for n in shape if n > 1] == [n for n in other if n > 1]


def _resolved(c: Checker, spec: Spec) -> Spec:
    """Give ``stop`` the whole name of the step that it means."""
    if spec.stop is None:
        return spec
    program = written(spec)
    names = [name for name in (*program.refs(), *program.aliases) if name.endswith(f".{spec.stop}")]
    if spec.stop in program.refs() or spec.stop in program.aliases or not names:
        return spec
    _check_step(c, program, ("stop",), spec.stop)
    c.give_up()
    return replace(spec, stop=program.find(spec.stop))


def _blame_layout(c: Checker, found: Mapping[str, Any], before: int) -> None:
    """Where the other weight layout would fit, say that instead of every mismatch."""
    if len(c.faults) - before < 2:
        return
    other = [_turned(block) for block in found["blocks"]]
    silent = Checker(c.source)
    check_shapes(silent, c.arrays, other, found["stop"])
    if not silent.faults:
        first = c.faults[before]
        layout = "out_in" if other[0].attention.out_in else "in_out"
        hint = say("shape.layout", layout=layout)
        c.faults[before:] = [replace(first, hint=hint)]


def _turned(block: BlockSpec) -> BlockSpec:
    """Give a block with the other weight layout."""
    attention = replace(block.attention, out_in=not block.attention.out_in)
    return replace(block, attention=attention)


def _check_steps(c: Checker, spec: Spec, top: Mapping[str, Any]) -> None:
    """Build the program: nothing it needs may be missing, nothing named unknown."""
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
    _check_answers(c, spec, _whole(spec, program))
    out = program.equations[-1].out if program.equations else None
    for key in ("loss.target", "loss.with"):
        if out is not None and key in spec.arrays and spec.arrays[key].shape != out.shape:
            sizes = {"has": dims(spec.arrays[key].shape), "wanted": dims(out.shape)}
            c.fault(key, say("loss.shape", name=key, out=out.name, **sizes))
    if spec.stop is not None and _check_step(c, program, ("stop",), spec.stop):
        reached = program.equations and program.find(spec.stop)
        if not reached or program.equations[-1].out.name != reached:
            c.fault(("stop",), say("stop.input", name=spec.stop))


def _check_answers(c: Checker, spec: Spec, program: Program) -> None:
    """Hold the answers of the file against the steps; of several that misfit the first is shown."""
    misfits = []
    for key, numbers in spec.expect.items():
        if _check_step(c, program, ("expect", key), key):
            shape = program.refs()[program.find(key)].shape
            if not _alike(numbers.shape, shape):
                sizes = {"has": dims(numbers.shape), "shape": dims(shape)}
                misfits.append((key, say("expect.shape", name=key, **sizes)))
    if misfits:
        key, text = misfits[0]
        more = say("expect.more", n=len(misfits) - 1) if len(misfits) > 1 else ""
        c.fault(("expect", key), text, more + say("expect.hint"))


def _check_unused(c: Checker, spec: Spec, program: Program) -> None:
    """Note what is given and takes no part, so that nothing is left out in silence.

    A second norm may stand where there is no FFN; the head says so.
    """
    used = {ref.name for ref in program.inputs}
    spare = tuple(f"{block.keys}norm2." for block in spec.blocks if block.ffn is None)
    for key in spec.arrays:
        kept = (spec.evaluation and key.endswith("_keep")) or key.startswith((*spare, "loss."))
        if key not in used and not kept:
            c.fault(key, say("key.unused", key=key))


def _whole(spec: Spec, program: Program) -> Program:
    """Give the program without its stop, as far as there are weights for it."""
    return written(spec) if spec.stop else program


def _check_step(c: Checker, program: Program, path: Path, name: str) -> bool:
    """Note a name that is no step."""
    try:
        program.find(name)
    except LookupFault as error:
        c.fault(path, error.faults[0].message, error.faults[0].hint)
        return False
    return True
