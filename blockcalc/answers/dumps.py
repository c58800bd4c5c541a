"""Answers stored by a program: npz, npy and safetensors, with the format of each array."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT, Answer, Answers, Array, Unreadable, written
from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.tensors import Tensor, numbers_in, stored, tensors
from blockcalc.limits import MOST_NUMBERS
from blockcalc.messages import say
from blockcalc.messages.words import dims, require_word
from blockcalc.program.bounds import NUMBERS

DUMPS = (".npz", ".npy", ".safetensors")
PICKLES = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt")
ALIASES = "aliases"  # the names of our own npz export
ENOUGH = 16  # so many numbers that are neither whole nor short fractions show a format
_FORMATS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "float64": "float64", "float32": "float32", "float16": "float16", "void16": "bfloat16",
}  # fmt: skip
_BOOLEAN = ("bool", "BOOL")
LONG_DIGITS = 8  # a number with so many that fits float32 is printed from it
MOST_DIGITS = 9  # of the shortest decimals that float32 reads back
MOST_READ = 2000  # numbers that are printed again to see
_NARROWER = {"float64": ("bfloat16", "float16", "float32"), "float32": ("bfloat16", "float16")}


def check_dtype(dtype: str | None) -> None:
    """Raise an error if there is no such format."""
    if dtype is not None:
        require_word("--dtype", dtype, NUMBERS)


def refuse_pickle(path: Path) -> InputError:
    """Make the error for a pickle, with the way to convert it to npz."""
    key = (
        "answers.pickle.any"
        if path.suffix.lower() in (".pkl", ".pickle")
        else "answers.pickle.hint"
    )
    hint = say(key, name=path.name, out=f"{path.stem}.npz")
    return InputError(Fault(say("answers.pickle", ending=path.suffix), Place(str(path)), hint))


def read_dump(path: Path) -> Answers:
    """Read every array of a file.

    A float32 or float64 array whose numbers all fit a narrower format is read in that format,
    if enough of its numbers, or of other arrays in the file, show it.

    Raises
    ------
    InputError
        The file is not there, is not what its name says, or has too many numbers.
    """
    listed = [t for t in tensors(path) if not (t.name == ALIASES and t.dtype.startswith("str"))]
    total = sum(numbers_in(t.shape) for t in listed if _taken(t))
    if total > MOST_NUMBERS:
        text = say("answers.too_many", n=total, most=MOST_NUMBERS)
        raise InputError(Fault(text, Place(str(path)), say("answers.too_many.hint")))
    if not listed:
        raise InputError(Fault(say("answers.none"), Place(str(path))))
    given: list[Answer] = []
    lost: list[Unreadable] = []
    for tensor in listed:
        name = tensor.name or path.stem
        if not _taken(tensor) or 0 in tensor.shape:
            lost.append(Unreadable(name, _why(tensor, name), Place(str(path))))
            continue
        values = _widened(tensor, stored(path, tensor))
        read_as = _FORMATS.get(tensor.dtype, TEXT)
        given.append(written(name, values, read_as=read_as, place=Place(str(path))))
    narrowed, remarks = narrow(given)
    return Answers(str(path), tuple(narrowed), tuple(lost), remarks=tuple(remarks), dump=True)


def _taken(tensor: Tensor) -> bool:
    return tensor.readable or tensor.dtype in _BOOLEAN or tensor.dtype in _FORMATS


def _why(tensor: Tensor, name: str) -> str:
    if 0 in tensor.shape:
        return say("answers.empty", shape=dims(tensor.shape))
    if tensor.dtype == "object":
        return say("answers.object")
    return say("weights.dtype", name=name, dtype=tensor.dtype)


def _widened(tensor: Tensor, array: Array) -> Array:
    """Convert to float64; bfloat16 comes as two bytes without a type."""
    if tensor.dtype == "void16":
        bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(array.astype(np.float64))


def of_array(name: str, value: Any) -> Answer | Unreadable:
    """Read an array of Python in the format of its numbers; masked entries are not given.

    A whole number, true and false are exact.
    """
    try:
        array = (
            np.ma.asanyarray(value) if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
        )
    except Exception as error:  # whatever the program that made it raises
        return Unreadable(name, say("answers.no_array", error=str(error).split("\n")[0]))
    if array.dtype.name not in NUMBERS and array.dtype.kind not in "biuf":
        return Unreadable(name, say("answers.array_dtype", dtype=array.dtype.name))
    if not array.size:
        return Unreadable(name, say("answers.empty", shape=dims(array.shape)))
    known = array.dtype.name in NUMBERS
    read_as = array.dtype.name if known else "float64" if array.dtype.kind == "f" else TEXT
    judged = ~np.ma.getmaskarray(array)
    return written(name, np.ma.getdata(array), judged=judged, read_as=read_as)


def fits_of(dtype: str, values: Array) -> str:
    """Find the format of an array by its type and its numbers."""
    return _narrowed(_FORMATS.get(dtype, TEXT), values)


def _narrowed(read_as: str, values: Array) -> str:
    return next((n for n in _NARROWER.get(read_as, ()) if _shows(values, n)), read_as)


def narrow(given: list[Answer]) -> tuple[list[Answer], list[str]]:
    """Read arrays in a narrower format if their numbers, or others of the file, show it."""
    own = {a.name: _narrowed(a.read_as, a.values) for a in given}
    shown = {own[a.name] for a in given if own[a.name] != a.read_as}
    found, remarks = [], []
    for answer in given:
        read_as = own[answer.name]
        if read_as == answer.read_as and _telling(answer.values) < ENOUGH:
            narrower = _NARROWER.get(read_as, ())
            fit = (n for n in narrower if n in shown and _fits(answer.values, n))
            read_as = next(fit, read_as)
        found.append(replace(answer, read_as=read_as))
    for wide in dict.fromkeys(a.read_as for a in given):
        to = {f.read_as for a, f in zip(given, found, strict=True) if a.read_as == wide}
        for thin in sorted(to - {wide}):
            n = sum(
                a.read_as == wide and f.read_as == thin for a, f in zip(given, found, strict=True)
            )
            remarks.append(say("answers.narrow", n=n, wide=wide, thin=thin))
    return found, remarks


def printed(answers: Answers) -> Answers:
    """Read typed numbers as those of a format, if a program printed them: all have its digits.

    They are exact, as ``tolist`` of an array gives them, or the shortest that the format reads
    back. A file with a few long numbers stays as it was typed.
    """
    typed = [answer for answer in answers.given if answer.read_as == TEXT]
    numbers = [
        (a.values[a.judged], np.broadcast_to(a.half, a.values.shape)[a.judged]) for a in typed
    ]
    if not numbers:
        return answers
    values, half = (np.concatenate(part) for part in zip(*numbers, strict=True))
    digits = _digits(values, half)
    long = values[digits >= LONG_DIGITS]
    if len(long) < ENOUGH:
        return answers
    if not _fits(values, "float32") and (digits.max() > MOST_DIGITS or not _shortest(long)):
        return answers
    single = NUMBERS["float32"]
    stored = [_as_stored(a, single(a.values)) if a.read_as == TEXT else a for a in answers.given]
    forms = {own.read_as for own in narrow([a for a in stored if a.read_as == single.name])[0]}
    form = forms.pop() if len(forms) == 1 else single.name
    given = tuple(
        replace(own, read_as=form) if a.read_as == TEXT else a
        for a, own in zip(answers.given, stored, strict=True)
    )
    remark = say("answers.printed", n=len(typed), form=form)
    return replace(answers, given=given, remarks=(*answers.remarks, remark))


def _as_stored(answer: Answer, values: Array) -> Answer:
    return replace(answer, values=values, half=np.zeros(values.shape), read_as="float32")


def _shortest(values: Array) -> bool:
    """Tell whether numbers are the shortest decimals that float32 reads back."""
    with np.errstate(over="ignore"):
        return all(float(str(np.float32(x))) == x for x in values[:MOST_READ].tolist())


def _digits(values: Array, half: Array) -> Array:
    """Count the significant digits that numbers are written with; 0 of whole numbers."""
    with np.errstate(all="ignore"):
        found = np.floor(np.log10(np.abs(values))) - np.log10(2 * half) + 1
    known = np.isfinite(values) & (values != 0) & (half > 0)
    return np.where(known, np.round(found), 0)


def _shows(values: Array, name: str) -> bool:
    return _fits(values, name) and _telling(values) >= ENOUGH


def _fits(values: Array, name: str) -> bool:
    """Tell whether a format holds every finite number exactly."""
    own = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        single = own.astype(np.float32)
        if name == "float16":
            return bool(np.array_equal(own.astype(np.float16), own))
    exact = bool(np.array_equal(single, own))
    if name == "bfloat16":
        return exact and not (single.view(np.uint32) & 0xFFFF).any()
    return exact


def _telling(values: Array) -> int:
    """Count numbers that are neither whole nor short binary fractions."""
    own = values[np.isfinite(values)]
    parts: Any = np.frexp(own)[0] * 64
    return int(np.count_nonzero((parts != np.round(parts)) & (own != np.round(own))))
