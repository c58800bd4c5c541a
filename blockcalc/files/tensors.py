"""Tensors in npz, npy, csv and safetensors files: listed by their headers, read when asked for.

Nothing is unpickled. A size is known before anything is loaded.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.decode import decode
from blockcalc.files.yaml_text import plain_scalar
from blockcalc.limits import MOST_NUMBERS as MOST_NUMBERS
from blockcalc.messages import say

ENDINGS = (".npz", ".npy", ".csv", ".safetensors")
CHUNK = 2**20
MAX_HEADER = 2**16
MAX_CSV = 4 * 2**20
SINGLE = (".npy", ".csv")
STORED = (0, 8)  # as it is, and deflated: what is read of these is bounded by what is asked for

Window = tuple[slice, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor of a file, without its numbers; ``dtype`` as NumPy or safetensors names it."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def readable(self) -> bool:
        """Tell whether its numbers become float64: floats and whole numbers do."""
        return self.dtype in _SAFE or self.dtype.startswith(("float", "int", "uint"))


_SAFE = ("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "U16", "U32", "U64")


def tensors(path: Path) -> list[Tensor]:
    """List the tensors of a file, reading its headers only.

    Parameters
    ----------
    path : Path
        A file whose name ends in .npz, .npy, .csv or .safetensors.

    Raises
    ------
    InputError
        The file is not there, or is not what its name says.
    """
    with _refusing(path):
        return list(_LISTS[_ending(path)](path))


def read(path: Path, tensor: Tensor, window: Window = ()) -> NDArray[np.float64]:
    """Read a tensor, or a window of its rows and columns, as float64.

    bfloat16 and float16 are widened exactly. What is not finite is refused with its place.
    """
    with _refusing(path):
        array = _READS[_ending(path)](path, tensor, window).astype(np.float64)
    bad = ~np.isfinite(array)
    if bad.any():
        at = "".join(f"[{i}]" for i in np.argwhere(bad)[0])
        what = array[bad][0]
        raise InputError(
            Fault(say("weights.not_finite", name=tensor.name + at, what=what), Place(str(path)))
        )
    return array


def _ending(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError
    if path.is_dir():
        raise IsADirectoryError
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        text = say("weights.ending", ending=ending or path.name, known=", ".join(ENDINGS))
        raise InputError(Fault(text, Place(str(path))))
    return ending


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say in one line what is wrong with a file."""
    place = Place(str(path))
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(Fault(say("weights.special"), place))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of headers that Python 2 wrote
            yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(Fault(say("file.missing"), place)) from None
    except IsADirectoryError:
        raise InputError(Fault(say("file.directory"), place)) from None
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(Fault(say("file.unreadable", problem=problem), place)) from None
    except MemoryError:
        raise InputError(Fault(say("weights.memory"), place)) from None
    except Exception as error:  # whatever a broken file makes of the library that reads it
        problem = " ".join(str(error).split())[:200] or type(error).__name__
        text = say("weights.broken", kind=path.suffix[1:], problem=problem)
        raise InputError(Fault(text, place)) from None


# npz and npy -----------------------------------------------------------------------------


def _header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    raw = stream.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(raw, "little")
    if length > MAX_HEADER:
        raise ValueError(f"its header has {length} bytes")
    header = io.BytesIO(raw + stream.read(length))
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, fortran, dtype = read_header(header)
    if any(n < 0 for n in shape):
        raise ValueError(f"its shape is {shape}")
    return shape, fortran, dtype


def _npz(path: Path) -> Iterator[Tensor]:
    import zipfile  # most runs open none

    with zipfile.ZipFile(path) as archive:
        odd = [i.filename for i in archive.infolist() if i.compress_type not in STORED]
        if odd:
            raise ValueError(f"{odd[0]} is compressed in a way that NumPy does not write")
        names = archive.namelist()
        if len(set(names)) < len(names):
            raise ValueError("two of its entries have one name")
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                with archive.open(info) as stream:
                    shape, _, dtype = _header(stream)
                yield Tensor(info.filename.removesuffix(".npy"), shape, dtype.name)


def _read_npz(path: Path, tensor: Tensor, window: Window) -> NDArray[Any]:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        with archive.open(f"{tensor.name}.npy") as stream:
            shape, fortran, dtype = _header(stream)
            if len(shape) == 2 and not fortran and window:
                rows = _some_rows(stream, shape, dtype, window[0])
                return rows[:, window[1]]
        with archive.open(f"{tensor.name}.npy") as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array[window]


def _some_rows(
    stream: Any, shape: tuple[int, ...], dtype: np.dtype[Any], rows: slice
) -> NDArray[Any]:
    """Read some rows of a matrix from a stream; those before them are passed by."""
    width = shape[1] * dtype.itemsize
    start, stop, _ = rows.indices(shape[0])
    left = start * width
    while left > 0 and (passed := len(stream.read(min(left, CHUNK)))):
        left -= passed
    raw = stream.read((stop - start) * width)
    return np.frombuffer(raw, dtype).reshape(stop - start, shape[1])


def _npy(path: Path) -> Iterator[Tensor]:
    with path.open("rb") as stream:
        shape, _, dtype = _header(stream)
    yield Tensor("", shape, dtype.name)


def _read_npy(path: Path, tensor: Tensor, window: Window) -> NDArray[Any]:
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return np.array(array[window])


# csv ------------------------------------------------------------------------------------


def _csv(path: Path) -> Iterator[Tensor]:
    rows = _csv_rows(path)
    yield Tensor("", (len(rows), len(rows[0])), "float64")


def _read_csv(path: Path, tensor: Tensor, window: Window) -> NDArray[Any]:
    return np.array(_csv_rows(path))[window]


def _csv_rows(path: Path) -> list[list[float]]:
    """Read rows of numbers apart by tabs, semicolons or commas: the first of them that is there."""
    with path.open("rb") as stream:
        raw = stream.read(MAX_CSV + 1)
    if len(raw) > MAX_CSV:
        text = say("file.too_large", limit=MAX_CSV)
        raise InputError(Fault(text, Place(str(path)), say("file.too_large.hint")))
    lines = decode(raw, str(path)).split("\n")
    apart = next((sign for sign in "\t;," if any(sign in line for line in lines)), ",")
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = [_cell(path, number, line, found) for found in _cells(line, apart)]
        if rows and len(row) != len(rows[0]):
            place = Place(str(path), number, 1, line)
            text = say("weights.ragged", has=_count(row), first=_count(rows[0]))
            raise InputError(Fault(text, place))
        rows.append(row)
    if not rows:
        raise InputError(Fault(say("file.empty"), Place(str(path))))
    return rows


def _count(row: list[float]) -> str:
    return say("numbers.one") if len(row) == 1 else say("numbers.many", n=len(row))


def _cells(line: str, apart: str) -> Iterator[re.Match[str]]:
    """Split a line at its signs; what stands in quotes is one cell, with the signs in it."""
    pattern = re.compile(rf' *("[^"]*"|[^{apart}]*)[^{apart}]*({apart}|$)')
    at = 0
    while True:
        found = pattern.match(line, at)
        assert found is not None
        yield found
        if not found[2]:
            return
        at = found.end()


def _cell(path: Path, number: int, line: str, found: re.Match[str]) -> float:
    cell = found[0].removesuffix(found[2])
    word = cell.strip(" \t")
    value = plain_scalar(word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word)
    if isinstance(value, bool) or not isinstance(value, int | float):
        from blockcalc.files.misread import lookalike  # only where something went wrong

        sign = lookalike(word)
        column = found.start() + len(cell) - len(cell.lstrip(" \t")) + (sign.at if sign else 0)
        place = Place(str(path), number, column + 1, line)
        hint = say("hint.decimal_comma") if "," in word else say("weights.csv")
        hint = sign.hint() if sign else hint
        raise InputError(Fault(say("number.text", text=word[:40]), place, hint))
    return float(value)


# safetensors ----------------------------------------------------------------------------


def _open_safetensors(path: Path) -> Any:
    try:
        from safetensors import safe_open
    except ImportError:
        fault = Fault(say("weights.extra"), Place(str(path)), say("weights.extra.hint"))
        raise InputError(fault) from None
    path.open("rb").close()  # its own errors name no cause
    return safe_open(str(path), framework="numpy")


def _safetensors(path: Path) -> Iterator[Tensor]:
    with _open_safetensors(path) as file:
        for name in sorted(file.keys()):
            lazy = file.get_slice(name)
            yield Tensor(name, tuple(lazy.get_shape()), lazy.get_dtype())


def _read_safetensors(path: Path, tensor: Tensor, window: Window) -> NDArray[Any]:
    if tensor.dtype == "BF16":
        import ml_dtypes  # noqa: F401 - its import teaches NumPy the type
    with _open_safetensors(path) as file:
        lazy = file.get_slice(tensor.name)
        array: NDArray[Any] = lazy[window] if window else file.get_tensor(tensor.name)
    return array


_LISTS = {".npz": _npz, ".npy": _npy, ".csv": _csv, ".safetensors": _safetensors}
_READS = {".npz": _read_npz, ".npy": _read_npy, ".csv": _read_csv,
          ".safetensors": _read_safetensors}  # fmt: skip


def numbers_in(shape: tuple[int, ...]) -> int:
    """Count the numbers of a shape."""
    return math.prod(shape)
