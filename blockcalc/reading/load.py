"""Read a file to a checked ``Spec``, and report all errors with their positions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.decode import decode, read_text
from blockcalc.files.source import Source, unreadable
from blockcalc.limits import MAX_BYTES, MAX_DEPTH
from blockcalc.messages import say
from blockcalc.nn.spec import AttentionSpec, BlockSpec, Spec
from blockcalc.reading.assemble import parts
from blockcalc.reading.checker import Checker, kind_of
from blockcalc.reading.checks import (
    blame_layout,
    check_steps,
    with_stop_resolved,
    without_stale_expect,
)
from blockcalc.reading.keys import TOP
from blockcalc.reading.overrides import expanded, set_key
from blockcalc.reading.shapes import check_shapes
from blockcalc.reading.value_types import keys_in, section

Orders = Sequence[str] | Callable[[str], Sequence[str]]


def load(
    source: str | FilePath | Mapping[str, Any],
    sets: Sequence[tuple[str, Any]] = (),
    orders: Orders = (),
    shapes_only: bool = False,
    typed: bool = True,
) -> Spec:
    """Read a file, or the same content as a dict, into a checked spec.

    Parameters
    ----------
    source : path or mapping
        A YAML or JSON file; ``-`` is standard input. A mapping may hold NumPy arrays.
    sets : sequence of (key, value)
        Keys that override the file: ``("attn.scale", "none")``. A text is read as in a file.
    orders : sequence of str, or callable
        The orders, keys of ``ORDERS``, to check it for; that of the file if empty. The spec
        has the first; ``with_order`` gives the others. A function gives them from the order
        of the file, which the spec then keeps.
    shapes_only : bool
        Read only the headers of named files, and draw no numbers: such matrices have a shape but no
        values.
    typed : bool
        Whether ``sets`` were typed on the command line: their errors name the option.

    Returns
    -------
    Spec
        Its matrices are float64 and read-only.

    Raises
    ------
    InputError
        All errors found, up to twenty, each with its position.

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
    c = Checker(text, shapes_only)
    if sets:
        given = text.data
        text.data = _plain(given)  # a copy in which aliases share nothing
        plain = replace(text, data=given, overrides={})
        c.without_sets = lambda: check(Checker(plain, shapes_only=True))
    for key, value in sets:
        for one in expanded(text.data, key):
            set_key(text, one, value if isinstance(value, str) else _plain(value), typed)
    return check(c, orders)


def read_file(name: str) -> Source:
    """Read a file, or standard input for ``-``, as plain data with positions."""
    return read_text(*read_raw(name))


def read_raw(name: str) -> tuple[str, str]:
    """Read a file, or standard input for ``-``; return the text, and the name for messages."""
    if name == "-":
        if sys.stdin is None:
            raise InputError(Fault(say("file.no_stdin")))
        return decode(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>"), "<stdin>"
    try:
        with FilePath(name).open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise unreadable(error, name, say("file.missing.hint")) from None
    except ValueError:  # a name with a null character
        raise InputError(Fault(say("file.missing"), Place(repr(name)))) from None
    return decode(raw, name), name


def _plain(value: Any, depth: int = 0) -> Any:
    """Convert a Python dict to the plain data of a file."""
    if depth > MAX_DEPTH:
        raise InputError(Fault(say("file.deep", limit=MAX_DEPTH)))
    if isinstance(value, Mapping):
        return {str(key): _plain(v, depth + 1) for key, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v, depth + 1) for v in value]
    return value


def check(c: Checker, orders: Orders = ()) -> Spec:
    """Check everything in each of the orders, and return the spec."""
    data = c.source.data
    if not isinstance(data, dict):
        c.fault((), say("file.not_mapping", what=kind_of(data)))
        c.give_up()
    c.elsewhere = lambda: keys_in(section(TOP, ""))
    top = c.mapping(data, (), TOP)
    found = parts(c, top)
    if "x" not in top:
        c.fault((), say("key.required", key="x"), say("key.required.x"))
    c.give_up()
    before = len(c.faults)
    check_shapes(c, c.arrays, found["blocks"], found["stop"])
    blame_layout(c, found, before)
    _drop_head_axes(c, found["blocks"])
    c.give_up()
    remarks = tuple(c.inexact)
    spec = Spec(arrays=c.arrays, origins=c.origins, remarks=remarks, source=c.source, **found)
    spec = with_stop_resolved(c, spec)
    chosen = orders(spec.order) if callable(orders) else orders
    kept = spec.order if callable(orders) or not orders else orders[0]
    for order in chosen or (spec.order,):
        spec = without_stale_expect(c, spec.with_order(order))
        check_steps(c, spec, top)
        c.give_up()
    return spec.with_order(kept)


def _drop_head_axes(c: Checker, blocks: Sequence[BlockSpec]) -> None:
    """Drop the axis of one head from masks.

    [B, 1, T, T] is for all heads, [1, T, T] for the only head.
    """
    for block in {block.keys: block for block in blocks}.values():
        for key in (f"{block.keys}attn.mask.keep", f"{block.keys}attn.mask.add"):
            array = c.arrays.get(key)
            if array is not None and array.ndim == 4 and array.shape[1] == 1:
                c.arrays[key] = array[:, 0]
            elif array is not None and array.ndim == 3 and _one_head(block):
                c.arrays[key] = array[0]


def _one_head(block: BlockSpec) -> bool:
    works = (s.work for s in block.sublayers)
    return all(work.n_heads == 1 for work in works if isinstance(work, AttentionSpec))
