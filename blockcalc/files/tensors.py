"""Tensors in npz, npy, safetensors and text files: listed by their headers, read on demand.

Nothing is unpickled, and memory is allocated only for data that the file really has.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.headers import Broken, Npy, read_npy, read_safetensors
from blockcalc.files.sheets import SHEETS, Names, Sheet
from blockcalc.files.source import short, unreadable
from blockcalc.messages import say
from blockcalc.records import dataclass

CHUNK = 2**20
STORED = (0, 8)  # stored and deflated: reading these is bounded by the requested size
DEFLATE = 1032  # the largest expansion of one byte

Window = tuple[slice, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor of a file, without its numbers; ``dtype`` is the name in NumPy or safetensors.

    ``numbers`` is set for a text file, which is read whole for its shape; ``remarks`` are notes
    about it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    numbers: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    remarks: Sequence[str] = ()

    @property
    def readable(self) -> bool:
        """Tell whether its numbers can be converted to float64: floats and integers can."""
        return self.dtype in _READABLE


_READABLE = {
    "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "U16", "U32", "U64",
    "float64", "float32", "float16", "int64", "int32", "int16", "int8",
    "uint64", "uint32", "uint16", "uint8",
}  # fmt: skip


def tensors(path: Path, names: Names | None = None) -> list[Tensor]:
    """List the tensors of a file, reading only its headers; a text file is read whole.

    Parameters
    ----------
    path : Path
        A file whose name has one of the endings ``ENDINGS``.
    names : Names, optional
        Whether a text file has a header row and an index column.

    Raises
    ------
    InputError
        The file does not exist, or does not have the format of its name.
    """
    with _refusing(path):
        ending = _ending(path)
        if ending in SHEETS:
            return [_sheet(Sheet(path), names or Names())]
        return list(READERS[ending][0](path))


def listed_tensors(path: Path) -> list[Tensor]:
    """List the tensors of a file; a header row and an index column of a text file are guessed."""
    if path.suffix.lower() not in SHEETS:
        return tensors(path)
    with _refusing(path):
        _ending(path)
        sheet = Sheet(path)
        needed, _ = sheet.looks(Names())
        names = Names(needed.header or None, needed.index or None)
        found = _sheet(sheet, names)
        said = [say("sheet.with", names=names)] if str(names) else []
        return [Tensor(found.name, found.shape, found.dtype, None, [*said, *found.remarks])]


def _sheet(sheet: Sheet, names: Names) -> Tensor:
    numbers = sheet.numbers(names)
    return Tensor("", numbers.shape, "float64", numbers, sheet.remarks(names))


def read(path: Path, tensor: Tensor, window: Window = ()) -> NDArray[np.float64]:
    """Read a tensor, or a part of it, as float64; narrower floats are upcast exactly.

    Parameters
    ----------
    path : Path
    tensor : Tensor
        One of those that ``tensors`` lists for the file.
    window : tuple of slice
        One for each axis; empty for the whole tensor.

    Raises
    ------
    InputError
        The file is broken or has changed, the dtype cannot be converted, or a number is not
        finite; the message has its position.
    """
    with _refusing(path):
        if not tensor.readable:
            text = say("weights.dtype", name=tensor.name or path.name, dtype=tensor.dtype)
            raise InputError(Fault(text, Place(str(path))))
        array = stored(path, tensor, window).astype(np.float64)
    bad = ~np.isfinite(array)
    if bad.any():
        at = "".join(f"[{i}]" for i in np.argwhere(bad)[0])
        what = array[bad][0]
        raise InputError(
            Fault(say("weights.not_finite", name=tensor.name + at, what=what), Place(str(path)))
        )
    return array


def stored(path: Path, tensor: Tensor, window: Window = ()) -> NDArray[Any]:
    """Read a tensor, or a part of it, in its own dtype; it may have infinities and NaN."""
    with _refusing(path):
        if tensor.numbers is not None:
            return tensor.numbers[window]
        return READERS[_ending(path)][1](path, tensor, window)


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
    """Convert the errors of reading a file to an InputError."""
    place = Place(str(path))
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(Fault(say("weights.special"), place))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from NumPy, for dtypes with an old name
            yield
    except InputError:
        raise
    except OSError as error:
        raise unreadable(error, str(path)) from None
    except MemoryError:
        raise InputError(Fault(say("weights.memory"), place)) from None
    except Exception as error:  # any error that a library raises for a broken file
        problem = str(error) if isinstance(error, Broken) else say("weights.damaged")
        text = say("weights.broken", kind=path.suffix[1:], problem=problem)
        raise InputError(Fault(text, place)) from None


# npz and npy -----------------------------------------------------------------------------


@contextmanager
def _archive(path: Path) -> Iterator[Any]:
    """Open an archive; errors of the zip reader mean that the archive is broken."""
    import zipfile  # imported here because most runs open no archive

    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                yield archive
        except OSError:
            raise Broken(say("weights.damaged")) from None


def _npz(path: Path) -> Iterator[Tensor]:
    with _archive(path) as archive:
        entries = archive.infolist()
        for info in entries:
            if info.compress_type not in STORED:
                raise Broken(say("archive.packed", name=short(info.filename)))
            if info.flag_bits & 1:
                raise Broken(say("archive.locked", name=short(info.filename)))
            _size(info, path)
        if len(set(archive.namelist())) < len(entries):
            raise Broken(say("archive.twice"))
        for info in entries:
            if info.filename.endswith(".npy"):
                with archive.open(info) as stream:
                    header = read_npy(stream)
                yield Tensor(info.filename.removesuffix(".npy"), header.shape, header.name)


def _size(info: Any, path: Path) -> int:
    """Give the size of an archive entry in bytes, if it is possible for this file."""
    packed: int = info.compress_size
    most = packed * (DEFLATE if info.compress_type else 1)
    if packed > path.stat().st_size or info.file_size > most:
        raise Broken(say("weights.damaged"))
    return int(info.file_size)


def _read_npz(path: Path, tensor: Tensor, window: Window) -> NDArray[Any]:
    with _archive(path) as archive:
        info = archive.getinfo(f"{tensor.name}.npy")
        room = _size(info, path)
        with archive.open(info) as stream:
            header = read_npy(stream)
            first, last = 0, None
            if len(header.shape) == 2 and not header.fortran and window:
                first, last, _ = window[0].indices(header.shape[0])
            array = _entries(stream, header, tensor, room, first, last)
    return array[window] if last is None else array[:, window[1]]


def _entries(
    stream: IO[bytes], header: Npy, tensor: Tensor, room: int, first: int, last: int | None
) -> NDArray[Any]:
    """Read an array from a stream, or some of its rows; earlier rows are skipped."""
    dtype = _expected(header, tensor)
    height, *others = header.shape or (1,)
    width = math.prod(others) * dtype.itemsize
    stop = height if last is None else last
    if header.start + stop * width > room:
        raise Broken(say("header.short", name=tensor.name))
    left = first * width
    while left > 0 and (passed := len(stream.read(min(left, CHUNK)))):
        left -= passed
    raw = stream.read((stop - first) * width)
    if len(raw) < (stop - first) * width:
        raise Broken(say("header.short", name=tensor.name))
    shape = header.shape if last is None else (stop - first, *others)
    return np.frombuffer(raw, dtype).reshape(shape, order="F" if header.fortran else "C")


def _expected(header: Npy, tensor: Tensor) -> np.dtype[Any]:
    """Give the dtype of an array whose header was read before, if it is unchanged."""
    if header.dtype is None or (header.shape, header.name) != (tensor.shape, tensor.dtype):
        raise Broken(say("weights.changed"))
    return header.dtype


def _npy(path: Path) -> Iterator[Tensor]:
    with path.open("rb") as stream:
        header = read_npy(stream)
    yield Tensor("", header.shape, header.name)


def _read_npy(path: Path, tensor: Tensor, window: Window) -> NDArray[Any]:
    with path.open("rb") as stream:
        header = read_npy(stream)
    dtype = _expected(header, tensor)
    if header.start + numbers_in(header.shape) * dtype.itemsize > path.stat().st_size:
        raise Broken(say("header.short", name=path.name))
    order: Literal["F", "C"] = "F" if header.fortran else "C"
    return np.array(np.memmap(path, dtype, "r", header.start, header.shape, order)[window])


# safetensors ----------------------------------------------------------------------------


def _safe_open(path: Path) -> Any:
    """Import the reader of safetensors, an optional dependency."""
    try:
        from safetensors import safe_open
    except ImportError:
        fault = Fault(say("weights.extra"), Place(str(path)), say("weights.extra.hint"))
        raise InputError(fault) from None
    return safe_open


def _safetensors(path: Path) -> Iterator[Tensor]:
    safe_open = _safe_open(path)
    with path.open("rb") as stream:
        header = read_safetensors(stream, path.stat().st_size)
    with safe_open(str(path), framework="numpy"):  # it rejects overlaps and gaps
        yield from (Tensor(name, *header[name]) for name in sorted(header))


def _read_safetensors(path: Path, tensor: Tensor, window: Window) -> NDArray[Any]:
    if tensor.dtype == "BF16":
        import ml_dtypes  # noqa: F401 - its import teaches NumPy the type
    with _safe_open(path)(str(path), framework="numpy") as file:
        lazy = file.get_slice(tensor.name)
        array: NDArray[Any] = lazy[window] if window else file.get_tensor(tensor.name)
    return array


Lister = Callable[[Path], Iterator[Tensor]]
Reader = Callable[[Path, Tensor, Window], NDArray[Any]]
# the readers of each kind of file: of the list of its tensors, and of one of them
READERS: dict[str, tuple[Lister, Reader]] = {
    ".npz": (_npz, _read_npz),
    ".npy": (_npy, _read_npy),
    ".safetensors": (_safetensors, _read_safetensors),
}
ENDINGS = (*READERS, *SHEETS)
SINGLE = (".npy", *SHEETS)  # formats with one matrix per file


def numbers_in(shape: tuple[int, ...]) -> int:
    """Count the entries of a shape."""
    return math.prod(shape)
