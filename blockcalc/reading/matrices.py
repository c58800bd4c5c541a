"""Read a matrix: rows written out, or a mapping such as ``{file: …}``."""

from __future__ import annotations

import math
import re
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.errors import InputError
from blockcalc.files.source import Path
from blockcalc.limits import MOST_NUMBERS
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean, dims, listed
from blockcalc.reading.checker import EXACT, NUMBERS, Checker, Entries, is_whole, kind_of, quoted

if TYPE_CHECKING:  # rooms of ``files`` are imported only where a matrix names a file
    from blockcalc.files.sheets import Names
    from blockcalc.files.tensors import Tensor


def matrix(
    c: Checker,
    value: Any,
    path: Path,
    ranks: tuple[int, ...],
    entries: Entries = NUMBERS,
) -> NDArray[Any] | None:
    """Read a matrix in any form; ``ranks`` are the allowed numbers of axes."""
    if isinstance(value, dict):
        array = formed(c, value, path, ranks, entries)
    else:
        array = c.array(value, path, ranks, entries)
    if array is not None and entries.flags and not set(np.unique(array)) <= {0.0, 1.0}:
        c.fault(path, say("mask.keep"))
    return array


FORMS: dict[str, tuple[str, ...]] = {
    "value": ("transpose",),
    "file": ("key", "transpose", "rows", "cols", "header", "index"),
    "random": ("seed", "std"),
    "eye": (),
    "zeros": (),
    "ones": (),
}
MOST_SIZE = 10**6 - 1  # of one axis
MOST_COUNTED = 2**59  # numbers of all matrices if only shapes are read
MOST_SEED = 2**32 - 1
_WINDOW = re.compile(r"([0-9]{0,9}):([0-9]{0,9})")

Ranks = tuple[int, ...]


def formed(
    c: Checker, value: dict[str, Any], path: Path, ranks: Ranks, entries: Entries
) -> NDArray[Any] | None:
    """Read a mapping in place of a matrix."""
    form = next((word for word in FORMS if word in value), None)
    known = [form, *FORMS[form]] if form else list(FORMS)
    for key in value:
        if key not in known:
            hint = did_you_mean(key, known) or say("key.known", keys=", ".join(known))
            c.fault((*path, key), say("key.unknown", key=key), hint, key=True)
            return None
    if form is None:
        c.fault(path, say("matrix.form", forms=", ".join(FORMS)))
        return None
    if form == "value":
        array = c.array(value["value"], (*path, "value"), ranks, entries)
    elif form == "file":
        array = _from_file(c, value, path, ranks)
    else:
        array = _by_rule(c, form, value, path, ranks)
    if array is None:
        return None
    if ranks == (1,) and array.ndim == 2:
        array = array.ravel()  # a csv file always has rows, even if there is only one
    turned = true_or_false(c, value.get("transpose", False), (*path, "transpose"))
    if turned and array.ndim > 1:
        array = array.swapaxes(-1, -2)
        array = array if c.shapes_only else np.ascontiguousarray(array)
    return array


def hollow(shape: tuple[int, ...]) -> NDArray[Any]:
    """Make an array of zeros with a shape, by broadcasting one number."""
    return np.broadcast_to(np.float64(0), shape)


def true_or_false(c: Checker, value: Any, path: Path) -> bool | None:
    """Read true or false."""
    if isinstance(value, bool):
        return value
    c.fault(path, say("want.flag", got=quoted(value)))
    return None


def whole_number(c: Checker, value: Any, path: Path, most: int) -> int | None:
    """Read a whole number from 0 to ``most``."""
    if is_whole(value, 0, most):
        return int(value)
    c.fault(path, say("want.whole", most=most, got=quoted(value)))
    return None


# a rule ---------------------------------------------------------------------------------


def _by_rule(
    c: Checker, form: str, value: dict[str, Any], path: Path, ranks: Ranks
) -> NDArray[Any] | None:
    """Make a matrix of ones, zeros, the identity, or drawn numbers."""
    shape = _shape(c, form, value[form], (*path, form), ranks)
    if shape is None:
        return None
    if form == "random":
        return _drawn(c, shape, value, path)
    c.origins[".".join(map(str, path))] = f"{form} {dims(shape)}"
    if c.shapes_only:
        return hollow(shape)
    if form == "eye":
        return np.eye(shape[0])
    return np.zeros(shape) if form == "zeros" else np.ones(shape)


def _drawn(
    c: Checker, shape: tuple[int, ...], value: dict[str, Any], path: Path
) -> NDArray[Any] | None:
    """Draw a matrix of normally distributed numbers."""
    seed = whole_number(c, value.get("seed", 0), (*path, "seed"), MOST_SEED)
    if seed is None:
        return None
    std = value.get("std", 1)
    number = c.number(std, (*path, "std"))
    if number is None or number < 0:
        if number is not None:
            c.fault((*path, "std"), say("matrix.std"))
        return None
    name = ".".join(map(str, path))
    c.origins[name] = say("origin.random", shape=dims(shape), seed=seed, std=std)
    if c.shapes_only:
        return hollow(shape)
    return np.random.RandomState(seed).normal(0, number, shape)


def _example(ranks: Ranks) -> str:
    """Give an example of a list of sizes with an allowed rank."""
    return str([4, 8, 8, 8][: ranks[0]])


def _shape(c: Checker, form: str, value: Any, at: Path, ranks: Ranks) -> tuple[int, ...] | None:
    """Read a shape; ``eye`` takes one number."""
    sizes = [value, value] if form == "eye" else value
    whole = isinstance(sizes, list) and all(type(n) is int and 0 < n <= MOST_SIZE for n in sizes)
    if not whole or not sizes or len(sizes) not in ranks:
        got = say("matrix.got", got=kind_of(value))
        got = say("matrix.whole", most=MOST_SIZE) if isinstance(value, list) else got
        c.fault(at, _wanted_shape(form, ranks), None if whole else got)
        return None
    return tuple(sizes) if _within_limit(c, tuple(sizes), at) else None


def _wanted_shape(form: str, ranks: Ranks) -> str:
    """Say what a shape looks like."""
    if form == "eye":
        return say("matrix.eye")
    if ranks == (1,):
        return say("matrix.shape.one")
    return say("matrix.shape", n=_ranks(ranks), example=_example(ranks))


def _ranks(ranks: Ranks) -> str:
    return say("matrix.or").join(map(str, ranks))


def _within_limit(c: Checker, shape: tuple[int, ...], at: Path) -> bool:
    """Count the numbers of matrices from files and rules, and check the limit.

    If only shapes are read, nothing is allocated and the limit is what NumPy can index.
    """
    most = MOST_COUNTED if c.shapes_only else MOST_NUMBERS
    held = 0 if c.shapes_only else c.numbers
    if held + math.prod(shape) > most:
        text = say("weights.too_many", shape=dims(shape), most=most)
        c.fault(at, text, say("weights.window") if at[-1] == "file" else None)
        return False
    c.numbers = held + math.prod(shape)
    return True


# a file ---------------------------------------------------------------------------------


def _from_file(c: Checker, value: dict[str, Any], path: Path, ranks: Ranks) -> NDArray[Any] | None:
    """Read a matrix from another file: first the header, then the requested part."""
    from blockcalc.files.sheets import SHEETS
    from blockcalc.files.tensors import read

    name = value["file"]
    if not isinstance(name, str) or not name or "\0" in name:
        c.fault((*path, "file"), say("weights.name", got=quoted(name)))
        return None
    file = c.source.folder(path) / name
    try:
        tensor = _tensor(c, file, value, path)
        window = _window(c, tensor, value, path) if tensor else None
        if tensor is None or window is None:
            return None
        shape = tuple(len(range(*s.indices(n))) for s, n in zip(window, tensor.shape, strict=True))
        if not _fits(c, file, tensor, shape, (*path, "file"), ranks):
            return None
        array = hollow(shape) if c.shapes_only else read(file, tensor, window)
    except InputError as error:
        fault = error.faults[0]
        text = f"{fault.place}: {fault.message}" if fault.place else fault.message
        c.fault((*path, "file"), text, fault.hint)
        return None
    own = ".".join(map(str, path))
    c.origins[own] = _origin(name, tensor, value)
    c.inexact += [text for text in tensor.remarks if text not in c.inexact]
    counted = tensor.dtype[0] in "iuIU" or file.suffix.lower() in SHEETS
    if "64" in tensor.dtype and counted and np.abs(array).max() >= EXACT:
        c.inexact.append(say("weights.nearest", name=own))
    return array


def _fits(
    c: Checker, file: FilePath, tensor: Tensor, shape: tuple[int, ...], at: Path, ranks: Ranks
) -> bool:
    """Check the shape of what is read of a tensor: rank, sizes, and the limit for all matrices."""
    from blockcalc.files.sheets import SHEETS

    ending, name = file.suffix.lower(), tensor.name or c.source.value(at)
    line = ranks == (1,) and ending in SHEETS and 1 in shape
    if len(shape) not in ranks and not line:
        c.fault(at, say("weights.rank", name=name, shape=dims(shape), n=_ranks(ranks)))
        return False
    if 0 in shape:
        c.fault(at, say("array.empty"))
        return False
    whole = shape
    if ending == ".npz":  # rows are read whole, and other shapes completely
        whole = (shape[0], tensor.shape[1]) if len(shape) == 2 else tensor.shape
    if not _within_limit(c, whole, at):
        return False
    if max(shape) > MOST_SIZE:
        text = say("weights.size", name=name, shape=dims(shape), most=MOST_SIZE)
        c.fault(at, text, say("weights.window"))
        return False
    return True


def _tensor(c: Checker, file: FilePath, value: dict[str, Any], path: Path) -> Tensor | None:
    """Find the tensor by its key; a file with only one needs no key."""
    from blockcalc.files.tensors import SINGLE, tensors

    names = _header_and_index(c, file, value, path)
    if names is None:
        return None
    if (file, names) not in c.files:
        c.files[file, names] = {tensor.name: tensor for tensor in tensors(file, names)}
    there: dict[str, Tensor] = c.files[file, names]
    key = value.get("key")
    if not there:
        c.fault((*path, "file"), say("weights.none"))
        return None
    if key is None and len(there) == 1:
        (tensor,) = there.values()
    elif key is None:
        c.fault((*path, "file"), say("weights.which"), say("weights.has", names=listed(there)))
        return None
    elif file.suffix.lower() in SINGLE:
        c.fault((*path, "key"), say("weights.no_key", kind=file.suffix[1:]))
        return None
    elif not isinstance(key, str) or key not in there:
        hint = did_you_mean(key, list(there)) if isinstance(key, str) else None
        hint = hint or say("weights.has", names=listed(there))
        c.fault((*path, "key"), say("weights.missing", key=str(key)), hint)
        return None
    else:
        tensor = there[key]
    if not tensor.readable:
        text = say("weights.dtype", name=tensor.name or file.name, dtype=tensor.dtype)
        c.fault((*path, "file"), text)
        return None
    return tensor


def _header_and_index(
    c: Checker, file: FilePath, value: dict[str, Any], path: Path
) -> Names | None:
    """Read whether a text file has a header row and an index column."""
    from blockcalc.files.sheets import SHEETS, Names
    from blockcalc.files.tensors import ENDINGS

    said: dict[str, bool] = {}
    for key in ("header", "index"):
        if key not in value:
            continue
        flag = true_or_false(c, value[key], (*path, key))
        if flag is None:
            return None
        if file.suffix.lower() in ENDINGS and file.suffix.lower() not in SHEETS:
            c.fault((*path, key), say("sheet.none", key=key, kinds=", ".join(SHEETS)), key=True)
            return None
        said[key] = flag
    return Names(**said)


def _window(
    c: Checker, tensor: Tensor, value: dict[str, Any], path: Path
) -> tuple[slice, ...] | None:
    """Read ``rows: "0:4"`` and ``cols: "0:4"``, of the tensor as stored in the file."""
    window = [slice(None)] * len(tensor.shape)
    for key, axis in (("rows", -2), ("cols", -1)):
        if key not in value:
            continue
        text = value[key]
        found = _WINDOW.fullmatch(text) if isinstance(text, str) else None
        if len(tensor.shape) == 1:
            axis = -1 if key == "rows" else -2
        if found is None or -axis > len(tensor.shape):
            c.fault((*path, key), say("weights.slice", got=quoted(text)))
            return None
        n = tensor.shape[axis]
        start, stop = int(found[1] or 0), int(found[2] or n)
        if not 0 <= start < stop <= n:
            c.fault((*path, key), say("weights.outside", text=text, n=n))
            return None
        window[axis] = slice(start, stop)
    return tuple(window)


def _origin(name: str, tensor: Tensor, value: dict[str, Any]) -> str:
    """Describe the origin of a matrix, and what was done to it."""
    parts = [name, tensor.name, *(f"{k} {value[k]}" for k in ("rows", "cols") if k in value)]
    done = ("header", "index", "transpose")
    parts += [say(f"origin.{key}") for key in done if value.get(key) is True]
    return ", ".join(part for part in parts if part)
