"""Read files of answers of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from blockcalc.answers.answer import Answer, Answers, Unreadable, written
from blockcalc.answers.dumps import (
    DUMPS,
    PICKLES,
    check_dtype,
    narrow,
    of_array,
    printed,
    read_dump,
    refuse_pickle,
)
from blockcalc.answers.llama import is_llama, read_llama
from blockcalc.answers.maps import STACKED
from blockcalc.answers.numbers import Typed
from blockcalc.answers.tables import read_table
from blockcalc.answers.text import answers_in, collected
from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.decode import read_text
from blockcalc.files.sheets import SHEETS
from blockcalc.files.source import Source
from blockcalc.messages import say
from blockcalc.nn.spec import Spec
from blockcalc.reading.checker import kind_of
from blockcalc.reading.load import read_file, read_raw

# extensions of files whose kind is known only from the content
_LLAMA = (".txt", ".log", ".out", "")


def read_answers(name: str | Path, dtype: str | None = None) -> Answers:
    """Read a file of answers.

    Parameters
    ----------
    name : path
        YAML, JSON, csv, npz, npy, safetensors, an export of blockcalc, or the text of
        llama.cpp's evaluation callback; ``-`` is standard input, as text.
    dtype : str, optional
        The storage format of the numbers, a key of ``NUMBERS``; overrides the file.

    Raises
    ------
    InputError
        The file cannot be read at all; single answers that cannot are in ``unreadable``.
    UsageError
        There is no such format.
    """
    check_dtype(dtype)
    return stored_as(_read(Path(name), str(name)), dtype)


def answers_from(data: Mapping[str, Any], name: str = "<answers>") -> Answers:
    """Read answers from a mapping: arrays as stored numbers, all else as text from a file.

    Examples
    --------
    >>> own = answers_from({"attn.q": np.float32([[0.1, 0.2]]), "attn.k": [[0.17, None]]}).given
    >>> [(a.name, a.read_as, a.judged.tolist()) for a in own]
    [('attn.k', 'text', [[True, False]]), ('attn.q', 'float32', [[True, True]])]
    """
    if not data:
        raise InputError(Fault(say("answers.none"), Place(name)))
    entries = dict(_entries(data))
    rest = {key: value for key, value in entries.items() if not _is_array(value)}
    read = printed(collected(Source(name, "", rest), rest))
    found = [of_array(key, value) for key, value in entries.items() if key not in rest]
    narrowed, remarks = narrow([a for a in found if isinstance(a, Answer)])
    lost = (*read.unreadable, *(a for a in found if isinstance(a, Unreadable)))
    given = (*read.given, *narrowed)
    return replace(read, given=given, unreadable=lost, remarks=(*read.remarks, *remarks))


def _entries(data: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Give what stands under each name.

    A mapping that holds arrays is a part of names; of a list of hidden states or attentions each
    has its number.
    """
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and any(map(_is_array, value.values())):
            yield from _entries(value, f"{name}.")
        elif (
            STACKED.fullmatch(name)
            and isinstance(value, list | tuple)
            and any(map(_is_array, value))
        ):
            yield from ((f"{name}.{i}", one) for i, one in enumerate(value) if one is not None)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
            yield name, value.tolist()  # numbers of Python
        else:
            yield name, value


def _is_array(value: Any) -> bool:
    """Tell whether a value is an array, or a list of arrays alone."""
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_is_array, value))
    return hasattr(value, "__array__") and not (
        isinstance(value, np.ndarray) and value.dtype.kind == "O"
    )


def _read(path: Path, name: str) -> Answers:
    ending = path.suffix.lower()
    if ending in PICKLES:
        raise refuse_pickle(path)
    if ending in DUMPS:
        return read_dump(path)
    text, shown = read_raw(name)
    if (ending in _LLAMA or name == "-") and is_llama(text):
        return read_llama(text, shown)
    if ending in SHEETS:
        return printed(read_table(text, path))
    return printed(answers_in(read_text(text, shown, Typed)))


def stored_as(read: Answers, dtype: str | None) -> Answers:
    """Treat numbers as those of a storage format; without one, leave them as they were read.

    Raises
    ------
    UsageError
        There is no such format.
    """
    check_dtype(dtype)
    if dtype is None:
        return read
    return replace(read, given=tuple(_stored_as(answer, dtype) for answer in read.given))


def _stored_as(answer: Answer, dtype: str) -> Answer:
    """Treat an answer as numbers of a format; written digits round them once more."""
    return replace(answer, read_as=dtype)


def read_map(name: str | Path) -> dict[str, str]:
    """Read a map of names: a mapping from the names of the answers to ours.

    Raises
    ------
    InputError
        It is not a mapping of texts.
    """
    source = read_file(str(name))
    if not isinstance(source.data, dict):
        text = say("answers.map", what=kind_of(source.data))
        raise InputError(Fault(text, source.place(())))
    for key, value in source.data.items():
        if not isinstance(value, str):
            text = say("answers.map.name", what=kind_of(value))
            raise InputError(Fault(text, source.place((key,))))
    return dict(source.data)


def answers_of(spec: Spec) -> Answers:
    r"""Give the answers under ``expect`` in a block's own file.

    Examples
    --------
    >>> from blockcalc import loads
    >>> spec = loads("x: [[1, 2]]\nattn: {out: [[0, 1]]}\nexpect: {residual1: [[1.0, 3]]}")
    >>> answers_of(spec).given[0].half
    array([[0.05, 0.  ]])
    """
    source = spec.source
    if source is None:
        given = (written(k, v, judged=~np.isnan(v)) for k, v in spec.expect.items())
        return Answers("", tuple(given))
    typed = source
    if source.text and not any(path[0] == "expect" for path in source.overrides):
        typed = replace(source, data=read_text(source.text, source.name, Typed).data)
    numbers = typed.data.get("expect") or {}
    kept = {key: value for key, value in numbers.items() if key in spec.expect}
    return collected(typed, kept, ("expect",))
